"""Past failures, replayed, and new cases of every kind: none may fail.

``python -m fuzzing`` hunts on; benchmarks/RESULTS.md has what the long hunts found.
"""

from pathlib import Path

import pytest

from fuzzing.hunting import CORPUS, hunt, kept
from fuzzing.kinds import KINDS

CASES = 250  # in each of four parts, so that two processes share the work evenly
# A case of short memory takes a process of its own and a table large enough to need some.
FEWER = {"memory": 15}


@pytest.mark.parametrize("path", sorted(CORPUS.glob("*.json")), ids=lambda path: path.stem)
def test_what_failed_once_does_not_fail_again(path: Path) -> None:
    kind, case = kept(path)
    KINDS[kind].check(case)


@pytest.mark.parametrize("part", range(4))
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_found(kind: str, part: int) -> None:
    tally = hunt(kind, count=FEWER.get(kind, CASES), first_seed=1_000 + part)
    assert not tally.found, "\n".join(f"{reason}: {case}" for case, reason in tally.found)
    assert tally.cases >= FEWER.get(kind, CASES)
