"""The kinds of cases: what is drawn, and how it is judged."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from hypothesis import strategies as st

from fuzzing import damage, databases, engines, faults, joins, memory, releases, texts


class Kind(NamedTuple):
    """A strategy of cases, their class, and the check that gives an outcome or a Finding."""

    cases: Callable[[], st.SearchStrategy[Any]]
    case: type[Any]
    check: Callable[[Any], str]


KINDS: dict[str, Kind] = {
    "releases": Kind(releases.cases, releases.Published, releases.check),
    "joins": Kind(joins.cases, joins.JoinCase, joins.check),
    "engines": Kind(engines.cases, engines.Streamed, engines.check),
    "databases": Kind(databases.cases, databases.Life, databases.check),
    "inputs": Kind(damage.input_cases, damage.DamagedInput, damage.check_input),
    "stored": Kind(damage.stored_cases, damage.DamagedFolder, damage.check_stored),
    "faults": Kind(faults.cases, faults.Faulty, faults.check),
    "memory": Kind(memory.cases, memory.Short, memory.check),
    "texts": Kind(texts.cases, texts.Text, texts.check),
}
