"""Past failures, replayed, and new cases of every kind: none may fail.

``python -m fuzzing`` hunts on; benchmarks/RESULTS.md has what the long hunts found.
"""

from pathlib import Path

import pytest

from fuzzing.hunting import CORPUS, hunt, kept
from fuzzing.kinds import KINDS

# Of each kind, so many that all take about as long. How much memory is short depends on the machine
# and what else it does: that is for `make fuzz`, as are the long hunts.
CASES = {
    "releases": 250,
    "joins": 250,
    "engines": 100,
    "databases": 100,
    "inputs": 500,
    "stored": 500,
    "faults": 100,
    "texts": 500,
}


@pytest.mark.parametrize("path", sorted(CORPUS.glob("*.json")), ids=lambda path: path.stem)
def test_what_failed_once_does_not_fail_again(path: Path) -> None:
    kind, case = kept(path)
    KINDS[kind].check(case)


@pytest.mark.parametrize("kind", CASES)
def test_nothing_is_found(kind: str) -> None:
    tally = hunt(kind, count=CASES[kind], first_seed=1 if kind == "faults" else 1_000)
    assert not tally.found, "\n".join(f"{reason}: {case}" for case, reason in tally.found)
    assert tally.cases >= CASES[kind]
