"""What a workbook takes in memory, seen before it is read.

The library that reads workbooks holds a sheet whole, as a rectangle up to its last cell, and ends
the process where memory does not suffice. A few bytes can unpack to many, and two cells in opposite
corners make a rectangle of billions.
"""

from __future__ import annotations

import re
import zipfile
from pathlib import Path
from typing import IO

_PART = 2**20  # bytes that are looked at together
_OVERLAP = 32  # a place may lie across two parts
_OF_CELL, _OF_PLACE, _OF_BYTE = 150, 64, 10  # bytes of memory
_SHEET = re.compile(r"(^|/)worksheets/[^/]+\.xml")
_PLACES = re.compile(rb'\br="([A-Z]{1,3})([0-9]{1,7})"')


def takes_more(path: Path, memory: int) -> bool:
    """Whether a workbook is likely to take more bytes than that when it is read."""
    if not zipfile.is_zipfile(path):  # the oldest kind, whose sheets are small
        return path.stat().st_size * _OF_BYTE > memory
    taken = 0
    with zipfile.ZipFile(path) as book:
        for part in book.infolist():
            if _SHEET.search(part.filename):
                with book.open(part) as sheet:
                    taken += _of_sheet(sheet, memory)
            else:
                taken += part.file_size * _OF_BYTE
            if taken > memory:
                return True
    return False


def _of_sheet(sheet: IO[bytes], most: int) -> int:
    """The bytes that a sheet takes; what is more than ``most`` is not looked at."""
    cells = last_row = last_column = taken = 0
    before = b""
    while taken <= most and (part := sheet.read(_PART)):
        cells += part.count(b"<c")
        for letters, digits in set(_PLACES.findall(before + part)):
            last_row = max(last_row, int(digits))
            last_column = max(last_column, _number(letters))
        before = part[-_OVERLAP:]
        taken = cells * _OF_CELL + last_row * last_column * _OF_PLACE
    return taken


def _number(letters: bytes) -> int:
    """A for 1, AA for 27."""
    found = 0
    for letter in letters:
        found = found * 26 + letter - 64
    return found
