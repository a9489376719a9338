"""A file with a wrong bit is an error of ours, or a table; never the end of the process.

Reading is done in a process of its own, which tells what it tries next: if it is ended by a signal
the last line is the bit that did it.
"""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest

from sfumato.errors import DataError
from sfumato.io.files import as_dataset
from sfumato.io.tables import read_table
from tests.support.waiting import PATIENCE

LONG = "a text that is longer than a view holds"
TRIES = 400  # bits of each file

READ = """
import sys
from pathlib import Path
from sfumato.errors import SfumatoError
from sfumato.io.tables import read_table

source, tries = Path(sys.argv[1]), int(sys.argv[2])
data = source.read_bytes()
step = max(1, len(data) * 8 // tries) | 1
for bit in range(0, len(data) * 8, step):
    print(bit, flush=True)
    damaged = bytearray(data)
    damaged[bit // 8] ^= 1 << bit % 8
    source.write_bytes(damaged)
    try:
        table = read_table(source)
    except SfumatoError as error:
        assert len(str(error).encode()) < 1000
        continue
    for column in table.columns:
        column.combine_chunks().validate(full=True)
"""


DESCRIBE = """
import sys
from pathlib import Path
from sfumato.engines.rows import stored_size
from sfumato.core.schema import Schema
from sfumato.errors import SfumatoError

source, first = Path(sys.argv[1]), int(sys.argv[2])
schema, data = Schema(quasi=["text", "list"]), source.read_bytes()
for bit in range(first * 8, len(data) * 8):
    print(bit, flush=True)
    damaged = bytearray(data)
    damaged[bit // 8] ^= 1 << bit % 8
    source.write_bytes(damaged)
    try:
        stored_size(source, schema)
    except SfumatoError:
        print("refused")
"""


def plain() -> pa.Table:
    return pa.table(
        {
            "int": pa.array([1, None, 3] * 4),
            "text": pa.array(["a", "bb", None, "dé"] * 3),
            "category": pa.array(["x", "y", None, "x"] * 3).dictionary_encode(),
            "list": pa.array([[1, 2], [], None] * 4),
            "texts": pa.array([["u", "v"], None, [""]] * 4),
            "struct": pa.array([{"a": 1, "b": "q"}, None, {"a": 2, "b": "zz"}] * 4),
            "map": pa.array([[("a", 1)], [], None] * 4, pa.map_(pa.string(), pa.int64())),
            "flag": pa.array([True, None, False] * 4),
            "moment": pa.array([1, 2, None] * 4, pa.timestamp("us", "Europe/Rome")),
            "price": pa.array([1, 2, 3] * 4).cast(pa.decimal128(22, 2)),
        }
    )


def views() -> pa.Table:
    """Types that are memory only, and say where things are in more than one way."""
    return pa.table(
        {
            "view": pa.array(["short", LONG, None] * 4, pa.string_view()),
            "list view": pa.array([[1, 2], None, [3]] * 4, pa.list_view(pa.int64())),
            "views": pa.array([[LONG], None, ["x"]] * 4, pa.list_view(pa.string_view())),
            "large": pa.array([["a"], None, ["b"]] * 4, pa.large_list(pa.large_string())),
            "fixed": pa.array([[1, 2], None, [3, 4]] * 4, pa.list_(pa.int16(), 2)),
            "inner": pa.array(
                [["k", "m"], ["k"], None] * 4, pa.list_(pa.dictionary(pa.int8(), pa.string()))
            ),
        }
    )


def ipc(table: pa.Table, new: Callable[..., Any], compression: str | None) -> bytes:
    sink = io.BytesIO()
    options = pyarrow.ipc.IpcWriteOptions(compression=compression)
    with new(sink, table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=7)
    return sink.getvalue()


def parquet(**options: Any) -> bytes:
    sink = io.BytesIO()
    pq.write_table(plain(), sink, **options)
    return sink.getvalue()


FILES: dict[str, Callable[[], bytes]] = {
    "file.arrow": lambda: ipc(plain(), pyarrow.ipc.new_file, None),
    "stream.arrow": lambda: ipc(plain(), pyarrow.ipc.new_stream, None),
    "views.arrow": lambda: ipc(views(), pyarrow.ipc.new_file, None),
    "views.ipc": lambda: ipc(views(), pyarrow.ipc.new_stream, "zstd"),
    "small.feather": lambda: ipc(plain(), pyarrow.ipc.new_file, "lz4"),
    "pages.parquet": lambda: parquet(),
    "plain.parquet": lambda: parquet(use_dictionary=False, compression="zstd"),
    "sums.parquet": lambda: parquet(write_page_checksum=True, compression="none"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_a_wrong_bit_never_ends_the_process(name: str, tmp_path: Path) -> None:
    source = tmp_path / name
    source.write_bytes(FILES[name]())
    assert read_table(source).num_rows == 12
    done = subprocess.run(
        [sys.executable, "-c", READ, str(source), str(TRIES)],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    tried = done.stdout.split()
    assert done.returncode == 0, f"bit {tried[-1:]} of {name}: {done.returncode} {done.stderr}"
    assert len(tried) > TRIES // 2


@pytest.mark.slow
def test_a_wrong_bit_in_what_describes_columns_never_ends_the_process(tmp_path: Path) -> None:
    source = tmp_path / "t.parquet"
    pq.write_table(plain().select(["text", "list"]), source, store_schema=False)
    data = source.read_bytes()
    footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    done = subprocess.run(
        [sys.executable, "-c", DESCRIBE, str(source), str(footer)],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    tried = done.stdout.split()
    assert done.returncode == 0, f"bit {tried[-1:]}: {done.returncode} {done.stderr}"
    assert "refused" in tried


def test_page_checksums_are_looked_at(tmp_path: Path) -> None:
    """Where a file has them, damage that is a table is found all the same."""
    data = parquet(
        write_page_checksum=True, compression="none", use_dictionary=False, write_statistics=False
    )
    place = data.index("dé".encode())
    source = tmp_path / "sums.parquet"
    source.write_bytes(data[:place] + b"x" + data[place + 1 :])
    with pytest.raises(DataError, match=r"sums\.parquet"):
        read_table(source)


def test_texts_that_are_none_are_refused(tmp_path: Path) -> None:
    """Parquet's reader takes any bytes for a text."""
    data = parquet(compression="none", use_dictionary=False, write_statistics=False)
    place = data.index("dé".encode())
    source = tmp_path / "texts.parquet"
    source.write_bytes(data[:place] + b"\xff" + data[place + 1 :])
    with pytest.raises(DataError, match="UTF8"):
        read_table(source)


def test_a_query_does_not_see_a_damaged_file(tmp_path: Path) -> None:
    data = ipc(pa.table({"n": ["a", "bb", "ccc"]}), pyarrow.ipc.new_file, None)
    offsets = b"".join(number.to_bytes(4, "little") for number in (0, 1, 3, 6))
    place = data.index(offsets)
    source = tmp_path / "t.arrow"
    source.write_bytes(data[: place + 4] + (2**30).to_bytes(4, "little") + data[place + 8 :])
    with pytest.raises(DataError, match=r"t\.arrow"):
        as_dataset(source)


@pytest.mark.parametrize("make", [pa.list_view, pa.large_list_view])
def test_views_of_lists_are_read_whole(make: Callable[[pa.DataType], pa.DataType]) -> None:
    """The last list of a view came back with a length below zero."""
    kind, values = make(pa.int64()), [[1, 2], None, [], [3]]
    for lists in (pa.array(values, kind), pa.array([[9], *values, [9]], kind).slice(1, 4)):
        table = read_table(pa.table({"v": lists}))
        table.validate(full=True)
        assert table["v"].to_pylist() == values


def test_views_of_texts_may_point_anywhere_where_nothing_is() -> None:
    views = pa.array(["short", None, LONG], pa.string_view())
    present, places, *texts = views.buffers()
    stray = bytearray(places.to_pybytes())
    stray[16:32] = (2**30).to_bytes(4, "little") + b"abcd" + (2**20).to_bytes(4, "little") * 2
    buffers = [present, pa.py_buffer(bytes(stray)), *texts]
    odd = pa.Array.from_buffers(pa.string_view(), 3, buffers)
    odd.validate(full=True)
    assert read_table(pa.table({"v": odd}))["v"].to_pylist() == ["short", None, LONG]


def test_a_damaged_input_is_one_line_of_the_command(tmp_path: Path) -> None:
    data = bytearray(ipc(pa.table({"n": ["a"] * 9}), pyarrow.ipc.new_file, None))
    data[-12:-10] = b"\xff\xff"
    (tmp_path / "t.arrow").write_bytes(data)
    done = subprocess.run(
        [sys.executable, "-m", "sfumato", "inspect", str(tmp_path / "t.arrow")],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 2
    assert done.stderr.startswith("sfumato: cannot read ")
    assert done.stderr.count("\n") == 1
