"""What a user waits for before anything happens: imports, help, the first compilation."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import PATIENCE, Line

_FIRST = """
import time
start = time.perf_counter()
import pyarrow as pa, sfumato as sf
rows = 400
table = pa.table({"age": [i % 90 for i in range(rows)], "sex": ["fm"[i % 2] for i in range(rows)],
                  "ill": ["abcdefgh"[i * 7 % 8] for i in range(rows)]})
data = sf.Microdata.from_arrow(table, sf.Schema(quasi=["age", "sex"], sensitive="ill"))
sf.publish(data, sf.Mondrian(), sf.KAnonymity(5) & sf.LDiversity(2))
print(time.perf_counter() - start)
"""


def run(folder: Path | None) -> Iterator[Line]:  # noqa: ARG001
    """Seconds of fresh processes, the best of several."""
    yield Line("import sfumato", _best(_import_only), 0.25, "s", "the import alone, in-process")
    command = Path(sys.executable).with_name("sfumato")
    yield Line("sfumato --help", _best(lambda: _wall([str(command), "--help"])), 0.4, "s")
    with tempfile.TemporaryDirectory() as cache:
        first = _first_publish(cache)
        again = _first_publish(cache)
        yield Line(
            "first compilation ever",
            first - again,
            15.0,
            "s",
            f"first publish in an empty cache {first:.1f} s, next process {again:.1f} s",
        )


def _best(measure: object, repeats: int = 7) -> float:
    assert callable(measure)
    return min(float(measure()) for _ in range(repeats + 1))


def _import_only() -> float:
    code = "import time; s = time.perf_counter(); import sfumato; print(time.perf_counter() - s)"
    return float(_python(code))


def _wall(command: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True, env=_environment(), timeout=PATIENCE)
    return time.perf_counter() - start


def _first_publish(cache: str) -> float:
    return float(_python(_FIRST, NUMBA_CACHE_DIR=cache))


def _python(code: str, **more: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        capture_output=True,
        text=True,
        env={**_environment(), **more},
        timeout=PATIENCE,
    )
    return done.stdout


def _environment() -> dict[str, str]:
    # users have byte code on disk; a test machine may forbid it
    return {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
