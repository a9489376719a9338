"""Past failures, replayed, and new cases of every kind: none may fail.

``python -m fuzzing`` hunts on; benchmarks/RESULTS.md has what the long hunts found.
"""

from pathlib import Path

import pytest

from fuzzing.hunting import CORPUS, hunt, kept
from fuzzing.kinds import KINDS

CASES = 500  # in each of two parts, which two processes share
# How much memory is short depends on the machine and what else it does: that is for `make fuzz`.
JUDGED = [kind for kind in KINDS if kind != "memory"]


@pytest.mark.parametrize("path", sorted(CORPUS.glob("*.json")), ids=lambda path: path.stem)
def test_what_failed_once_does_not_fail_again(path: Path) -> None:
    kind, case = kept(path)
    KINDS[kind].check(case)


@pytest.mark.parametrize("part", range(2))
@pytest.mark.parametrize("kind", JUDGED)
def test_nothing_is_found(kind: str, part: int) -> None:
    tally = hunt(kind, count=CASES, first_seed=1_000 + 2 * part)
    assert not tally.found, "\n".join(f"{reason}: {case}" for case, reason in tally.found)
    assert tally.cases >= CASES
