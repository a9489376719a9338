"""Workbooks that would end the process are known before they are read."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from sfumato.errors import DataError
from sfumato.io.workbook_sizes import takes_more
from sfumato.studio import opened
from sfumato.studio.opened import Opened

MEMORY = 2**30
FAR = '<row r="1"><c r="A1"><v>1</v></c></row><row><c r="XFD1048576"><v>1</v></c></row>'
MANY = ("<row>" + "<c><v>1</v></c>" * 1_000 + "</row>") * 8_000
SMALL = '<row r="1"><c r="A1"><v>1</v></c><c r="AB20"><v>2</v></c></row>'


def book(path: Path, sheet: str, name: str = "xl/worksheets/sheet1.xml") -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr(name, f"<worksheet><sheetData>{sheet}</sheetData></worksheet>")
    return path


@pytest.mark.parametrize(
    ("sheet", "large"), [(SMALL, False), (FAR, True), (MANY, True)], ids=["small", "far", "many"]
)
def test_what_a_sheet_takes(tmp_path: Path, sheet: str, large: bool) -> None:
    path = book(tmp_path / "one.xlsx", sheet)
    assert path.stat().st_size < 1_000_000
    assert takes_more(path, MEMORY) == large


@pytest.mark.parametrize("offset", range(0, 40, 3))
def test_a_place_across_two_parts_is_seen(tmp_path: Path, offset: int) -> None:
    before = " " * (2**20 - len("<worksheet><sheetData>") - 75 + offset)
    assert takes_more(book(tmp_path / "one.xlsx", before + FAR), MEMORY)


def test_other_parts_count_as_well(tmp_path: Path) -> None:
    path = book(tmp_path / "one.xlsx", " " * 10_000_000, "xl/sharedStrings.xml")
    assert takes_more(path, 50_000_000)
    assert not takes_more(path, MEMORY)
    (tmp_path / "old.xls").write_bytes(b"\xd0\xcf\x11\xe0" + bytes(1_000))
    assert not takes_more(tmp_path / "old.xls", MEMORY)


def test_the_desk_refuses_what_would_end_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opened, "memory_or_half", lambda _: MEMORY)
    path = book(tmp_path / "far.xlsx", FAR)
    with pytest.raises(DataError, match="does not fit into memory, where workbooks are held"):
        Opened.of(str(path), "far.xlsx", uploaded=True, reading={})
