"""Run the benchmarks: python -m benchmarks [name ...] [--data FOLDER] [--markdown]."""

from __future__ import annotations

import argparse
import os
import platform
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks import (
    anatomy,
    answers,
    attackers,
    audits,
    cluster,
    counting,
    end_to_end,
    exploring,
    full_domain,
    growth,
    join,
    learning,
    ledgers,
    many_values,
    masking,
    neighbours,
    partitioning,
    promises,
    qids,
    quality,
    reached,
    readers,
    recoding,
    refine,
    refined,
    regions,
    replay,
    risk,
    searches,
    server,
    server_tools,
    startup,
    statdb,
    streaming,
    studio,
    topdown,
    tradeoff,
    verifying,
    wide,
    workload,
)
from benchmarks.measure import Line

_SUITES = {
    "partitioning": partitioning.run,
    "end_to_end": end_to_end.run,
    "anatomy": anatomy.run,
    "streaming": streaming.run,
    "regions": regions.run,
    "cluster": cluster.run,
    "counting": counting.run,
    "readers": readers.run,
    "answers": answers.run,
    "verifying": verifying.run,
    "wide": wide.run,
    "startup": startup.run,
    "qids": qids.run,
    "quality": quality.run,
    "recoding": recoding.run,
    "refine": refine.run,
    "refined": refined.run,
    "full_domain": full_domain.run,
    "searches": searches.run,
    "workload": workload.run,
    "join": join.run,
    "learning": learning.run,
    "topdown": topdown.run,
    "many_values": many_values.run,
    "masking": masking.run,
    "statdb": statdb.run,
    "ledgers": ledgers.run,
    "promises": promises.run,
    "neighbours": neighbours.run,
    "tradeoff": tradeoff.run,
    "attackers": attackers.run,
    "reached": reached.run,
    "audits": audits.run,
    "replay": replay.run,
    "risk": risk.run,
    "exploring": exploring.run,
    "studio": studio.run,
    "server": server.run,
    "server_tools": server_tools.run,
    "growth": growth.run,
}
_HEADS = ("benchmark", "measured", "limit", "met", "detail")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=f"any of {', '.join(_SUITES)}")
    parser.add_argument("--data", type=Path, default=os.environ.get("SFUMATO_DATA"))
    parser.add_argument("--markdown", action="store_true", help="print a table for RESULTS.md")
    options = parser.parse_args()
    unknown = set(options.names) - set(_SUITES)
    if unknown:
        parser.error(f"no benchmark {', '.join(sorted(unknown))}; there are {', '.join(_SUITES)}")
    os.environ["SFUMATO_STATE"] = ""  # what is published here is nobody's to remember
    measured = []
    folder = Path(options.data) if options.data else None
    for name in options.names or _SUITES:
        for line in _SUITES[name](folder):
            print(f"{line.name}: {_figure(line)} (limit {_limit(line)})", file=sys.stderr)
            measured.append(line)
    if options.markdown:
        print(_markdown(measured))
    else:
        Console(highlight=False, width=150).print(_table(measured))


def _table(measured: list[Line]) -> Table:
    table = Table(*_HEADS, title=_machine(), title_justify="left")
    for line in measured:
        table.add_row(*_cells(line))
    return table


def _markdown(measured: list[Line]) -> str:
    rows = [_HEADS, tuple("---" for _ in _HEADS), *(_cells(line) for line in measured)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _cells(line: Line) -> tuple[str, ...]:
    return line.name, _figure(line), _limit(line), "yes" if line.met else "**no**", line.detail


def _figure(line: Line) -> str:
    return f"{line.figure:.3f} {line.unit}".strip()


def _limit(line: Line) -> str:
    return f"{line.limit:g} {line.unit}".strip()


def _machine() -> str:
    return f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"


if __name__ == "__main__":
    main()
