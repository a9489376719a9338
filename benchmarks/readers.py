"""inspect, breach and evaluate beyond memory, against the same commands in memory."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.data import CENSUS_QUASI
from benchmarks.measure import PATIENCE, Line
from benchmarks.regions import K, write_census

ROWS = 20_000_000
EVERYTHING = 2**50  # bytes: nothing is too large
# bytes; evaluate keeps the release, whose rows have to fit
MEMORY = {"inspect": 2**29, "breach": 2**29, "evaluate": 3 * 2**29}
_QUERIES = "100"
_SMALL = ".small.parquet"

_CHILD = """
import os, sys
os.environ["SFUMATO_STATE"] = ""
import json, resource, time
from sfumato.cli.main import cli
small, large = json.loads(sys.argv[1])
cli(small, standalone_mode=False)  # loads the kernels
print("\\f")
start = time.process_time()
cli(large, standalone_mode=False)
taken = time.process_time() - start
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
print("\\f" + json.dumps([taken, peak]))
"""

_PUBLISH = """
import json, sys, warnings
warnings.simplefilter("ignore")
import sfumato as sf
source, quasi, k = json.loads(sys.argv[1])
schema = sf.Schema(quasi=quasi, sensitive="occupation")
sf.publish_file(source, schema, sf.Mondrian(), sf.KAnonymity(k), source + ".out", engine="stream")
"""


def run(folder: Path | None) -> Iterator[Line]:
    """The census repeated with noise, and a release of it under k-anonymity."""
    with tempfile.TemporaryDirectory() as made:
        place = Path(made)
        source, schema = place / "census.parquet", place / "schema.toml"
        name = write_census(folder, source, ROWS)
        schema.write_text(f"quasi = {json.dumps(list(CENSUS_QUASI))}\nsensitive = 'occupation'\n")
        for table in (source, Path(f"{source}.small.parquet")):
            _called(_PUBLISH, json.dumps([str(table), list(CENSUS_QUASI), K]))
        for command, memory in MEMORY.items():
            large, small = (_asked(command, f"{source}{end}", schema) for end in ("", _SMALL))
            yield from _compared(f"{command}, {ROWS:,} rows of {name}", small, large, memory)


def _asked(command: str, source: str, schema: Path) -> list[str]:
    if command == "inspect":
        return [command, source, "-s", str(schema), "--json"]
    truth = [command, f"{source}.out", "--truth", source, "-s", str(schema), "--json"]
    return [*truth, "--seed", "7", "--queries", _QUERIES] if command == "evaluate" else truth


def _compared(name: str, small: list[str], large: list[str], memory: int) -> Iterator[Line]:
    there, base = _measured(small, large, EVERYTHING)
    here, found = _measured(small, large, memory)
    yield Line(
        f"{name}: processor time, in parts / in memory",
        here[0] / there[0],
        2.0,
        detail=f"{here[0]:.1f} s and {here[1] / 2**20:,.0f} MiB against {there[0]:.1f} s and "
        f"{there[1] / 2**20:,.0f} MiB",
    )
    yield Line(f"{name}: peak memory / {memory / 2**20:,.0f} MiB", here[1] / memory, 1.3)
    yield Line(f"{name}: other figures", float(found != base), 0.0, unit="")


def _measured(small: list[str], large: list[str], memory: int) -> tuple[list[float], Any]:
    limit = ["--memory", str(memory)]
    said = _called(_CHILD, json.dumps([[*small, *limit], [*large, *limit]]))
    _, printed, taken = said.split("\f")
    return json.loads(taken), _rounded(json.loads(printed))


def _rounded(found: Any) -> Any:
    """The same, sums of fractions without their last digits."""
    return json.loads(json.dumps(found), parse_float=lambda text: round(float(text), 12))


def _called(program: str, given: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program, given],
        stdout=subprocess.PIPE,
        check=True,
        text=True,
        timeout=PATIENCE,
    )
    return done.stdout
