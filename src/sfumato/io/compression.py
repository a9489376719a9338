"""Files that are packed with gzip or Zstandard, which their names tell."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any, BinaryIO, cast

import pyarrow as pa

_CODECS = {".gz": "gzip", ".zst": "zstd"}
PACKED = tuple(_CODECS)
FACTOR = 10  # how much larger texts are than what they are packed to, about


def codec_of(path: Path) -> str | None:
    """The codec that a file's name tells."""
    return _CODECS.get(path.suffix.lower())


def open_stream(path: Path) -> Any:
    """The plain bytes of a file, for Arrow."""
    return pa.input_stream(str(path), compression=codec_of(path))


def open_bytes(path: Path) -> BinaryIO:
    """The plain bytes of a file, for Python."""
    codec = codec_of(path)
    if codec == "gzip":
        return cast(BinaryIO, gzip.open(path))  # says more about damage than Arrow does
    return path.open("rb") if codec is None else cast(BinaryIO, open_stream(path))
