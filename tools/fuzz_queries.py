"""Throw random texts at a table and its releases: each is answered by all, or refused at a place.

.venv/bin/python -m tools.fuzz_queries --count 100000 --seed 1
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random
from types import FrameType

from sfumato.errors import QueryRefused
from tests.support.sql_texts import Texts, asking, sources

PATIENCE = 10  # seconds for one text


@dataclass(slots=True)
class Tally:
    """What came of all texts so far."""

    answered: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    failures: list[tuple[str, str]] = field(default_factory=list)
    slowest: tuple[float, str] = (0.0, "")


def fuzz(ask: Callable[[str], object], count: int, seed: int) -> Tally:
    """Ask so many texts, and note what comes of them."""
    texts, tally = Texts(Random(seed)), Tally()
    for _ in range(count):
        text = texts.text()
        started = time.perf_counter()
        _try(ask, text, tally)
        tally.slowest = max(tally.slowest, (time.perf_counter() - started, text))
    return tally


def main() -> int:
    """Fuzz, report, and fail if anything but answers and refusals came back."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    tally = fuzz(asking(sources()), arguments.count, arguments.seed)
    _report(tally)
    return 1 if tally.failures else 0


def _try(ask: Callable[[str], object], text: str, tally: Tally) -> None:
    try:
        with _watchdog():
            ask(text)
        tally.answered += 1
    except QueryRefused as refusal:
        tally.refused[refusal.clause] += 1
        if refusal.position is None or not 1 <= refusal.position <= len(text) + 1:
            tally.failures.append((text, f"position {refusal.position}: {refusal}"))
    except Exception as error:
        tally.failures.append((text, repr(error)))


@contextmanager
def _watchdog() -> Iterator[None]:
    def bark(_signal: int, _frame: FrameType | None) -> None:
        raise TimeoutError(f"no answer in {PATIENCE} seconds")

    signal.signal(signal.SIGALRM, bark)
    signal.alarm(PATIENCE)
    try:
        yield
    finally:
        signal.alarm(0)


def _report(tally: Tally) -> None:
    refused = sum(tally.refused.values())
    print(f"answered {tally.answered:,}, refused {refused:,}, failed {len(tally.failures):,}")
    for clause, times in tally.refused.most_common(40):
        print(f"{times:8,}  {clause}")
    seconds, text = tally.slowest
    print(f"slowest {seconds * 1000:.1f} ms: {text!r}")
    for text, reason in tally.failures[:20]:
        print(f"FAILED {text!r}\n    {reason}")


if __name__ == "__main__":
    sys.exit(main())
