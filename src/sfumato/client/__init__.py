"""Ask a server as one asks a local database.

    db = sf.connect("https://data.example.org", token=os.environ["SFUMATO_TOKEN"])
    db.count("age BETWEEN 30 AND 50 AND disease = 'flu'")
    db.query("SELECT sex, COUNT(*) FROM t GROUP BY sex").to_pandas()

Answers are the objects that StatDB gives, types included. One connection is kept open. A server
that is busy (429) is asked again when it says so, and one that went away at once, both a few times:
asking again is harmless, for the same question has the same answer.
"""

from __future__ import annotations

import http.client
import ipaddress
import json
import ssl
import threading
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias
from urllib.parse import SplitResult, urlencode, urlsplit

import numpy as np
import pyarrow as pa

from sfumato.core.answer import Answer, CountAnswers, Result
from sfumato.core.query import COUNT, ENDINGS, Query
from sfumato.core.receipts import Head, is_shown
from sfumato.errors import ParameterError, QueryRefused, RemoteError, SfumatoWarning
from sfumato.queries.asked import condition_of, question_of, several
from sfumato.queries.json import to_line

Question: TypeAlias = dict[str, Any]

_ATTEMPTS = 5
_FIRST_PAUSE = 0.1  # seconds before a lost connection is tried again; doubled each time
_BATCH = 1_000  # questions a request; a server takes no more
_BATCH_BYTES = 900_000
_LOST = (OSError, http.client.HTTPException)
_HOPELESS = (TimeoutError, ssl.SSLError)  # the next attempt would end in the same way
_ASK = "SELECT COUNT(*) FROM t WHERE "


def connect(
    url: str,
    token: str | None = None,
    database: str | None = None,
    *,
    timeout: float = 30.0,
    patience: float = 60.0,
) -> Connection:
    """Connect to a server, and choose one of its databases; it may be left out if there is one.

    With postgresql://HOST:PORT/DATABASE it is asked over the port for SQL tools.

    ``timeout`` is the longest wait for a response, and ``patience`` for a busy server in all, both
    in seconds.
    """
    if urlsplit(url).scheme in ("postgresql", "postgres"):
        from sfumato.client import postgres

        return postgres.connect(url, token, database, timeout)
    line = _Line.to(url, token, timeout, patience)
    try:
        known = [one["name"] for one in line.json("GET", "/v1/databases")["databases"]]
        return Connection(_chosen(database, known), line)
    except BaseException:
        line.close()
        raise


@dataclass(frozen=True, slots=True, eq=False)
class Connection:
    """A database on a server; what it answers is what StatDB answers."""

    database: str
    _line: _Line = field(repr=False)

    def count(self, where: str | Query = "") -> Answer:
        """How many rows satisfy a condition."""
        if isinstance(where, Query):
            return self._single(_question_of(where, counting=True), shift=0)
        # read here as well: what is no condition must not become another question
        wanted = condition_of(where).where
        sql = f"{_ASK}{where}" if wanted else "SELECT COUNT(*) FROM t"
        return self._single({"sql": sql}, shift=len(_ASK))

    def query(self, query: str | Query) -> Result:
        """Answer ``SELECT ... FROM t [WHERE ...] [GROUP BY ...]``; empty groups are included."""
        address, question = self._address("/v1/query", format="arrow"), _question_of(query)
        with pa.ipc.open_stream(self._line.ask(address, question)) as stream:
            return result_of(stream.read_all())

    def counts(self, queries: Iterable[str | Query]) -> CountAnswers:
        """How many rows satisfy each query of a workload, as arrays."""
        questions = [_question_of(query, counting=True) for query in several(queries)]
        found = [one for batch in _batches(questions) for one in self._batch(batch)]
        estimate, lo, hi = np.array(found, np.float64).reshape(-1, 3).T
        return CountAnswers(estimate, lo.astype(np.int64), hi.astype(np.int64))

    def schema(self) -> dict[str, Any]:
        """The public domains of all columns, sizes, and the guarantee in words."""
        return self._line.json("GET", self._address("/v1/schema"))

    def databases(self) -> list[dict[str, Any]]:
        """The databases that may be asked with this token."""
        found: list[dict[str, Any]] = self._line.json("GET", "/v1/databases")["databases"]
        return found

    def check(self, receipt: str) -> dict[str, Any] | None:
        """The record that a receipt is for, if the server still shows the very same one.

        The digest in the receipt is computed again from what is shown, so ``record`` and ``answer``
        are those that were recorded before the answer was sent; compare them with yours.

        >>> with sf.connect(url) as db:
        ...     db.check("17-" + 64 * "0") is None
        True
        """
        wanted = Head.of(receipt)
        try:
            told = self._line.json("GET", self._address("/v1/receipt", receipt=str(wanted)))
            return told if is_shown(told, wanted) else None
        except RemoteError as error:
            if error.code == "not_found":
                return None
            raise

    def close(self) -> None:
        """Hang up; the next question connects again."""
        self._line.close()

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _address(self, path: str, **parameters: str) -> str:
        return f"{path}?{urlencode({'database': self.database, **parameters})}"

    def _single(self, question: Question, shift: int) -> Answer:
        try:
            told = json.loads(self._line.ask(self._address("/v1/query"), question))
        except QueryRefused as refusal:
            at = refusal.position and max(1, refusal.position - shift)
            raise QueryRefused(refusal.reason, clause=refusal.clause, position=at) from None
        return _count_of(told)

    def _batch(self, questions: Sequence[Question]) -> Iterator[tuple[float, int, int]]:
        told = json.loads(self._line.ask(self._address("/v1/query"), {"queries": questions}))
        for one in told["results"]:
            if "error" in one:
                raise _error(200, one["error"])
            found = _count_of(one)
            yield found.estimate, found.lo, found.hi


# ----- questions and answers


def _chosen(database: str | None, known: Sequence[str]) -> str:
    if database is None and len(known) == 1:
        return known[0]
    if database is None or database not in known:
        wrong = "choose one" if database is None else f"there is no {database!r}"
        there = ", ".join(map(repr, known)) or "none that you may ask"
        raise ParameterError(f"{wrong}; the server has {there}", parameter="database")
    return database


def _question_of(query: str | Query, *, counting: bool = False) -> Question:
    if isinstance(query, str):
        return {"sql": query}
    asked = question_of(query)
    if counting and (asked.by or asked.select != (COUNT,)):
        raise _not_a_count()
    return {"query": json.loads(to_line(asked))}


def _count_of(told: Mapping[str, Any]) -> Answer:
    if told["by"] or told["aggregates"] != [COUNT.name]:
        raise _not_a_count()
    one = told["rows"][0]["answers"][COUNT.name]
    return Answer(float(one["estimate"]), one["lo"], one["hi"])


def count_of(result: Result) -> Answer:
    """The answer of a result that counts, and does no more."""
    if result.by or result.names != (COUNT.name,):
        raise _not_a_count()
    one = result.answer
    return Answer(float(one.estimate), one.lo, one.hi)


def _not_a_count() -> QueryRefused:
    return QueryRefused("count answers how many rows; use query for the rest", clause="SELECT")


def result_of(table: pa.Table) -> Result:
    """The result whose ``table`` this is; what the table does not show is beside it."""
    names = _aggregates(table.column_names)
    by = table.column_names[: table.num_columns - len(ENDINGS) * len(names)]
    keys = zip(*(table[name].to_pylist() for name in by), strict=True) if by else [()]
    nullable = json.loads((table.schema.metadata or {}).get(b"nullable", b"[]"))
    columns = [
        _answers(table, name, [line[place] for line in nullable])
        for place, name in enumerate(names)
    ]
    types = [table.schema.field(name).type for name in (*by, *(f"{one}_lo" for one in names))]
    return Result(tuple(by), names, tuple(keys), tuple(zip(*columns, strict=True)), tuple(types))


def _aggregates(columns: Sequence[str]) -> tuple[str, ...]:
    """The names of NAME_estimate, NAME_lo, NAME_hi, which stand last."""
    names: list[str] = []
    for start in range(len(columns) - len(ENDINGS), -1, -len(ENDINGS)):
        name = columns[start].removesuffix(f"_{ENDINGS[0]}")
        if [f"{name}_{end}" for end in ENDINGS] != list(columns[start : start + len(ENDINGS)]):
            break
        names.insert(0, name)
    return tuple(names)


def _answers(table: pa.Table, name: str, nullable: Sequence[bool]) -> list[Answer]:
    columns = [table[f"{name}_{end}"].to_pylist() for end in ENDINGS]
    marks = nullable or [False] * table.num_rows
    lines = zip(*columns, marks, strict=True)
    return [Answer(estimate, lo, hi, mark) for estimate, lo, hi, mark in lines]


def _batches(questions: Sequence[Question]) -> Iterator[list[Question]]:
    """So many questions that a server takes them at once."""
    batch: list[Question] = []
    size = 0
    for question in questions:
        length = len(json.dumps(question)) + 2
        if batch and (len(batch) == _BATCH or size + length > _BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(question)
        size += length
    if batch:
        yield batch


# ----- the connection


@dataclass(slots=True, eq=False)
class _Line:
    """One connection to a server that is used again; one request at a time."""

    secure: bool
    host: str
    port: int | None
    path: str
    headers: Mapping[str, str] = field(repr=False)  # the token is one of them
    timeout: float
    patience: float
    lock: threading.Lock = field(default_factory=threading.Lock)
    open: http.client.HTTPConnection | None = None

    @classmethod
    def to(cls, url: str, token: str | None, timeout: float, patience: float) -> _Line:
        parts, port = _parts(url)
        host, secure = parts.hostname or "", parts.scheme == "https"
        if token is not None and not (token.isascii() and token.isprintable()):
            raise ParameterError("this is no token; one looks like sfu_...", parameter="token")
        if token is not None and not secure and not is_near(host):
            warnings.warn(
                "the token goes over the network as plain text; use https",
                SfumatoWarning,
                stacklevel=4,
            )
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        return cls(secure, host, port, parts.path.rstrip("/"), headers, timeout, patience)

    def json(self, method: str, address: str) -> dict[str, Any]:
        """What an address tells."""
        told: dict[str, Any] = json.loads(self._send(method, address, None))
        return told

    def ask(self, address: str, question: Question) -> bytes:
        """The answer to a question, as it comes."""
        return self._send("POST", address, json.dumps(question).encode())

    def close(self) -> None:
        """Hang up."""
        if self.open is not None:
            self.open.close()
            self.open = None

    def _send(self, method: str, address: str, body: bytes | None) -> bytes:
        until = time.monotonic() + self.patience
        with self.lock:
            for attempt in range(_ATTEMPTS):
                try:
                    return self._once(method, address, body)
                except _Busy as busy:
                    if attempt == _ATTEMPTS - 1 or time.monotonic() + busy.wait > until:
                        raise busy.error from None
                    time.sleep(busy.wait)
                except _LOST as error:
                    self.close()
                    if attempt == _ATTEMPTS - 1 or isinstance(error, _HOPELESS):
                        raise self._unreachable(error) from error
                    time.sleep(_FIRST_PAUSE * 2**attempt if attempt else 0)
        raise AssertionError("the last attempt returns or raises")

    def _once(self, method: str, address: str, body: bytes | None) -> bytes:
        if self.open is None:
            kind = http.client.HTTPSConnection if self.secure else http.client.HTTPConnection
            self.open = kind(self.host, self.port, timeout=self.timeout)
        headers = dict(self.headers)
        if body is not None:
            headers["Content-Type"] = "application/json"
        self.open.request(method, f"{self.path}{address}", body, headers)
        response = self.open.getresponse()
        content = response.read()
        if response.status == 200:
            return content
        error = _error(response.status, _told(content))
        wait = response.getheader("Retry-After", "")
        if response.status == 429 and isinstance(error, RemoteError):
            raise _Busy(error, float(wait) if wait.isdigit() else 1.0)
        raise error

    def _unreachable(self, error: Exception) -> RemoteError:
        why = str(error) or type(error).__name__
        return RemoteError(
            f"no answer from {self.host}: {why}",
            status=0,
            code="unreachable",
            hint="is the server running, and the address right?",
        )


class _Busy(Exception):
    """The server asks for patience."""

    def __init__(self, error: RemoteError, wait: float) -> None:
        self.error = error
        self.wait = wait


def _parts(url: str) -> tuple[SplitResult, int | None]:
    try:
        parts = urlsplit(url)
        if parts.scheme in ("http", "https") and parts.hostname:
            return parts, parts.port
    except ValueError:
        pass
    raise ParameterError(
        f"{url!r} is no address of a server; http://127.0.0.1:8000 is one", parameter="url"
    )


def _told(content: bytes) -> Mapping[str, Any]:
    """The error of a response; a proxy's, say, has another shape."""
    try:
        told = json.loads(content)["error"]
    except (ValueError, TypeError, KeyError):
        return {}
    return told if isinstance(told, dict) else {}


def _error(status: int, told: Mapping[str, Any]) -> RemoteError | QueryRefused:
    message = str(told.get("message") or f"the server answered with status {status}")
    if told.get("code") == "query_refused":
        clause = str(told.get("clause", "query"))
        return QueryRefused(message, clause=clause, position=told.get("position"))
    return RemoteError(
        message,
        status=status,
        code=str(told.get("code", "unexpected")),
        hint=str(told.get("hint", "")),
        request_id=str(told.get("request_id", "")),
    )


def is_near(host: str) -> bool:
    """Whether a host is this machine."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
