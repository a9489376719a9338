"""python -m fuzzing [KIND ...] --count N --seed S --minutes M --keep NAME."""

from __future__ import annotations

import argparse
import sys
import time

from fuzzing.hunting import Tally, hunt, keep
from fuzzing.kinds import KINDS


def main() -> int:
    """Hunt, report, and fail if anything was found."""
    parser = argparse.ArgumentParser(prog="python -m fuzzing", description=__doc__)
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=", ".join(KINDS))
    parser.add_argument("--count", type=int, default=1_000, help="cases of each kind")
    parser.add_argument("--seed", type=int, default=1, help="of the first round")
    parser.add_argument("--minutes", type=float, help="stop a kind after so many")
    parser.add_argument("--keep", metavar="NAME", help="write what is found into the corpus")
    arguments = parser.parse_args()
    if unknown := set(arguments.kinds) - set(KINDS):
        parser.error(f"no kind {', '.join(sorted(unknown))}; there are {', '.join(KINDS)}")
    found = 0
    for kind in arguments.kinds or KINDS:
        started = time.monotonic()
        seconds = None if arguments.minutes is None else arguments.minutes * 60
        tally = hunt(
            kind, count=arguments.count, first_seed=arguments.seed, seconds=seconds, tell=_tell
        )
        _report(kind, tally, time.monotonic() - started)
        for number, (case, reason) in enumerate(tally.found if arguments.keep else ()):
            print(f"  kept as {keep(kind, f'{arguments.keep}-{number}', case, reason)}")
        found += len(tally.found)
    return 1 if found else 0


def _tell(tally: Tally) -> None:
    if sys.stderr.isatty():
        print(f"\r{tally.cases:,} cases, {len(tally.found)} found", end="", file=sys.stderr)


def _report(kind: str, tally: Tally, seconds: float) -> None:
    print(f"{kind}: {tally.cases:,} cases in {seconds:,.0f} s, {len(tally.found)} findings")
    for outcome, times in tally.outcomes.most_common(12):
        print(f"  {times:8,}  {outcome}")
    for case, reason in tally.found:
        print(f"  FOUND {reason}\n        {case}")


if __name__ == "__main__":
    sys.exit(main())
