"""verify a million rows: against reading and writing the same files, which it cannot do without."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

import sfumato as sf
from benchmarks.data import CENSUS_QUASI, census
from benchmarks.measure import Line, seconds
from sfumato.forms.files import FileFormat

_FORMS: dict[str, tuple[str, FileFormat]] = {
    "boxes": ("generalized", "parquet"),
    "boxes in CSV": ("generalized", "csv"),
    "QIT and ST": ("anatomized", "parquet"),
    "permuted rows": ("permuted", "parquet"),
}


def run(folder: Path | None) -> Iterator[Line]:
    """Processor time of verify over that of copying its files, values and all."""
    table, source = census(folder, 1_000_000)
    kinds = {"occupation": "categorical"}
    schema = sf.Schema(quasi=CENSUS_QUASI, sensitive="occupation", kinds=kinds)
    microdata = sf.read(table, schema)
    for name, (form, file_format) in _FORMS.items():
        with tempfile.TemporaryDirectory() as place:
            made = sf.publish(microdata, sf.Mondrian(), sf.LDiversity(3), form=form)  # type: ignore[call-overload]
            written = made.write(Path(place) / "release", format=file_format)
            yield _measured(f"verify {name} / copy", written, Path(place) / "copy", source)


def _measured(name: str, written: Path, copy: Path, source: str) -> Line:
    copy.mkdir()
    ours, theirs = [], []
    sf.verify(written).require()
    for _ in range(5):
        ours.append(seconds(lambda: sf.verify(written), time.process_time))
        theirs.append(seconds(lambda: _copied(written, copy), time.process_time))
    mine, peer = statistics.median(ours), statistics.median(theirs)
    detail = f"1M rows of {source}, processor time: {mine:.3f} s against {peer:.3f} s"
    return Line(name, mine / peer, 3.0, detail=detail)


def _copied(written: Path, copy: Path) -> None:
    """Read every table of a folder and write it again."""
    for path in written.iterdir():
        if path.suffix == ".parquet":
            pq.write_table(pq.read_table(path), copy / path.name, compression="zstd")
        elif path.suffix == ".csv":
            pa.csv.write_csv(pa.csv.read_csv(path), copy / path.name)
