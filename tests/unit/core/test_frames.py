"""Frames for those who have no library of frames."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.core import frames


@pytest.fixture(name="missing")
def _missing(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Hides a library from Python's own imports only: Arrow looks for pandas wherever it can."""
    real = builtins.__import__

    def hide(library: str) -> None:
        def found(name: str, *rest: Any, **named: Any) -> Any:
            if name == library:
                raise ImportError(name)
            return real(name, *rest, **named)

        monkeypatch.setattr(builtins, "__import__", found)

    return hide


@pytest.mark.parametrize(
    ("library", "made"), [("pandas", frames.pandas_frame), ("polars", frames.polars_frame)]
)
def test_without_the_library_it_says_what_to_install(
    library: str, made: Callable[[pa.Table], Any], missing: Callable[[str], None]
) -> None:
    missing(library)
    with pytest.raises(sf.errors.MissingExtra, match=rf"to_{library}\(\) .*sfumato\[frames\]"):
        made(pa.table({"age": [1]}))


def test_releases_and_results_say_it_too(missing: Callable[[str], None]) -> None:
    table = sf.read(pa.table({"age": [1, 2, 3, 4]}), sf.Schema(quasi=["age"]))
    release = sf.publish(table, sf.Mondrian(), sf.KAnonymity(2))
    result = release.query("SELECT COUNT(*) FROM t")
    assert len(release.to_pandas()) == len(release.to_polars()) == 4
    missing("pandas")
    for asked in (release.to_pandas, result.to_pandas):
        with pytest.raises(sf.errors.MissingExtra, match="frames"):
            asked()
    missing("polars")
    with pytest.raises(sf.errors.MissingExtra, match="frames"):
        release.to_polars()
