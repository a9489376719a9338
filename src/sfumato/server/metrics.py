"""Numbers about the server in Prometheus' text format; none of them is about rows."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from sfumato.server.databases import Served

_EDGES = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Metrics:
    """Counts since the start; written and read in the event loop only."""

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, int]] = Counter()
        self._times: dict[str, list[int]] = {}
        self._spent: Counter[str] = Counter()
        self.questions: Counter[tuple[str, str]] = Counter()  # by database and what became of them
        self.reloads: Counter[tuple[str, str]] = Counter()
        self.refused: Counter[str] = Counter()  # connections, by reason
        self.connections: Callable[[], int] = int  # how many are open

    def request(self, route: str, status: int, seconds: float) -> None:
        """A request is done."""
        self._requests[route, status] += 1
        times = self._times.get(route)
        if times is None:
            times = self._times[route] = [0] * (len(_EDGES) + 1)
        times[bisect_left(_EDGES, seconds)] += 1
        self._spent[route] += seconds  # type: ignore[assignment]

    def text(self, databases: Mapping[str, Served], running: int) -> str:
        """Those of the whole server, and of these databases."""
        lines = [
            *_family("sfumato_requests_total", "counter", "Requests by route and status."),
            *(
                _line("sfumato_requests_total", count, route=route, status=status)
                for (route, status), count in sorted(self._requests.items())
            ),
            *_family("sfumato_request_seconds", "histogram", "Time to the end of the answer."),
            *(line for route in sorted(self._times) for line in self._histogram(route)),
            *_family("sfumato_requests_running", "gauge", "Requests under way."),
            _line("sfumato_requests_running", running),
            *_family("sfumato_connections", "gauge", "Open connections."),
            _line("sfumato_connections", self.connections()),
            *_family("sfumato_connections_refused_total", "counter", "Connections ended early."),
            *(
                _line("sfumato_connections_refused_total", count, reason=reason)
                for reason, count in sorted(self.refused.items())
            ),
            *_family("sfumato_questions_total", "counter", "Questions by outcome."),
            *(
                _line("sfumato_questions_total", count, database=name, outcome=outcome)
                for (name, outcome), count in sorted(self.questions.items())
                if name in databases
            ),
            *_family("sfumato_reloads_total", "counter", "Looks at a changed database."),
            *(
                _line("sfumato_reloads_total", count, database=name, outcome=outcome)
                for (name, outcome), count in sorted(self.reloads.items())
                if name in databases
            ),
        ]
        for metric, kind, text, value in _PER_DATABASE:
            lines += _family(metric, kind, text)
            lines += [_line(metric, value(one), database=one.name) for one in databases.values()]
        lines += [*_family("sfumato_cpu_seconds_total", "counter", "Processor time.")]
        lines += [_line("sfumato_cpu_seconds_total", time.process_time())]
        return "\n".join(lines) + "\n"

    def _histogram(self, route: str) -> Iterable[str]:
        total = 0
        for edge, count in zip((*_EDGES, "+Inf"), self._times[route], strict=True):
            total += count
            yield _line("sfumato_request_seconds_bucket", total, route=route, le=edge)
        yield _line("sfumato_request_seconds_sum", self._spent[route], route=route)
        yield _line("sfumato_request_seconds_count", total, route=route)


_PER_DATABASE = (
    ("sfumato_ledger_commits_total", "counter", "Commits.", lambda one: one.ledger.commits),
    ("sfumato_ledger_entries_total", "counter", "Entries.", lambda one: one.ledger.entries),
    (
        "sfumato_database_ready",
        "gauge",
        "Whether the database answers.",
        lambda one: int(one.problem() is None),
    ),
    ("sfumato_generation", "gauge", "Changes.", lambda one: one.state.statdb.generation),
    ("sfumato_cached_answers", "gauge", "Answers held.", lambda one: len(one.state.answers)),
    ("sfumato_cached_bytes", "gauge", "Their size.", lambda one: one.state.answers.size),
)


def _family(name: str, kind: str, text: str) -> tuple[str, str]:
    return f"# HELP {name} {text}", f"# TYPE {name} {kind}"


def _line(name: str, value: float, **labels: object) -> str:
    shown = ",".join(f'{label}="{_escaped(str(one))}"' for label, one in labels.items())
    return f"{name}{{{shown}}} {value}" if shown else f"{name} {value}"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
