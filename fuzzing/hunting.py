"""The hunt: draw cases, have them judged, shrink what fails."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from hypothesis.errors import Flaky

from fuzzing.judging import Finding
from fuzzing.kinds import KINDS
from fuzzing.plain import from_plain, to_plain
from fuzzing.worker import Worker

CORPUS = Path(__file__).parent / "corpus"
SIMPLIFYING = 120.0  # seconds for making one failing case small
ROUND = 250  # cases that Hypothesis remembers, to draw no two alike


@dataclass(slots=True)
class Tally:
    """What came of all cases so far; ``found`` are the shrunk ones that failed, and why."""

    outcomes: Counter[str] = field(default_factory=Counter)
    found: list[tuple[Any, str]] = field(default_factory=list)

    @property
    def cases(self) -> int:
        """How many there were."""
        return self.outcomes.total()


def hunt(
    kind: str,
    *,
    count: int,
    first_seed: int,
    seconds: float | None = None,
    tell: Callable[[Tally], None] = lambda _: None,
) -> Tally:
    """Judge so many cases, or as many as the time allows, in rounds that each have a seed."""
    tally, started = Tally(), time.monotonic()
    with Worker(KINDS[kind].check) as worker:
        for number in range(-(-count // ROUND)):
            if seconds is not None and time.monotonic() - started > seconds:
                break
            some = min(ROUND, count - number * ROUND)
            failed = find(KINDS[kind].cases(), worker.outcome, tally, some, first_seed + number)
            if failed is not None:
                tally.found.append(failed)
            tell(tally)
    return tally


def find(
    cases: st.SearchStrategy[Any],
    outcome: Callable[[Any], str],
    tally: Tally,
    count: int,
    number: int,
) -> tuple[Any, str] | None:
    """The simplest case found that fails, with the reason; None if none of a round does.

    When simplifying takes long, as it does with cases that hang, what is found so far will do.
    """
    failed: dict[str, str] = {}
    smallest: list[tuple[Any, str]] = []
    until = [float("inf")]

    @seed(number)
    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate, Phase.shrink],
        report_multiple_bugs=False,
        print_blob=False,
    )
    @given(cases)
    def attempt(case: Any) -> None:
        key = repr(case)
        if key not in failed and time.monotonic() < until[0]:
            try:
                tally.outcomes[outcome(case)] += 1
            except Finding as finding:
                until[0] = min(until[0], time.monotonic() + SIMPLIFYING)
                failed[key] = str(finding)
        if key in failed:
            smallest[:] = [(case, failed[key])]
            raise Finding(failed[key])  # in one place: elsewhere it would be another failure

    try:
        attempt()
    except (Finding, Flaky):
        # flaky: it failed once, and perhaps not when it was tried again; that is a finding too
        return smallest[0]
    return None


def keep(kind: str, name: str, case: Any, reason: str) -> Path:
    """Write a case into the corpus, which is replayed for ever."""
    path = CORPUS / f"{kind}-{name}.json"
    stated = {"kind": kind, "found": reason, "case": to_plain(case)}
    path.write_text(json.dumps(stated, indent=1, ensure_ascii=True) + "\n", "utf-8")
    return path


def kept(path: Path) -> tuple[str, Any]:
    """The kind and the case of a file of the corpus."""
    stated = json.loads(path.read_text("utf-8"))
    return stated["kind"], from_plain(KINDS[stated["kind"]].case, stated["case"])
