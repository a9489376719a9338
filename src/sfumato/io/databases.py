"""Tables in PostgreSQL (through ADBC) and in DuckDB files, read only."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.core.foreign import is_memory, out_of_memory, said
from sfumato.errors import DataError, MissingExtra, ParameterError
from sfumato.io.files import require_file
from sfumato.io.hints import did_you_mean
from sfumato.io.opened import Opened
from sfumato.io.sql import as_select, live_with_limit, query_duckdb, quoted

# What a failed connection may say. The driver's own words can quote parts of the URL, and with
# them the password, so they are recognized and never repeated.
_REASONS = (
    ("Connection refused", "no server is listening there; check host and port"),
    ("could not translate host name", "the host is unknown; check its name"),
    ("password authentication failed", "user or password is wrong"),
    ("no password supplied", "the server wants a password: postgresql://user:password@host/db"),
    ("no pg_hba.conf entry", "the server does not let this user in from here"),
    ("timeout expired", "the server did not answer within ten seconds; check host and network"),
    ("No such file or directory", "no server is listening on that socket"),
    ("percent-encoded", "the URL has a stray %; write it as %25"),
    ("does not exist", "the server knows no such database or user"),
)
_TIMEOUT = "connect_timeout=10"


def reason_of(error: Exception) -> str | None:
    """Why a connection to PostgreSQL failed, in words that quote nothing; None if unknown."""
    return next((reason for words, reason in _REASONS if words in str(error)), None)


def is_url(source: str) -> bool:
    """Whether a text names a database rather than a file."""
    # a mistyped URL is one too: as a path it would be repeated in an error, password and all
    return re.match(r"(?i:[a-z][a-z0-9+.-]+://|postgres(ql)?:)", source) is not None


def shown_source(source: str) -> str:
    """A path as it is, a URL with *** for its password: fit for a screen or a log."""
    if not is_url(source):
        return source
    scheme, _, rest = source.partition("://")
    place, *secrets = re.split(r"([?&](?:ssl)?password=)", rest, maxsplit=1)
    if "@" not in place and "@" in rest.partition("/")[0]:
        place, secrets = rest, []  # what looks like an option stands in front of the host
    login, at, host = place.rpartition("@")
    user, colon, _ = login.partition(":")
    hidden = f"{secrets[0]}***" if secrets else ""
    return f"{scheme}://{user}{':***' if colon else ''}{at}{host}{hidden}"


def open_database(url: str, query: str | None) -> AbstractContextManager[Opened]:
    """The result of a query in the database behind a URL."""
    scheme = url.partition(":")[0].lower()
    if "://" not in url:
        raise DataError(f"a database URL starts with {scheme}://", source=scheme)
    openers = {"postgresql": _open_postgres, "postgres": _open_postgres, "duckdb": _open_duckdb}
    if scheme not in openers:
        raise DataError(
            f"cannot read from {scheme}://; use a local file, https://..., s3://..., "
            "postgresql://... or duckdb:///...",
            source=scheme,
        )
    if query is None:
        raise ParameterError(
            "a database holds many tables; add query='table' or query='SELECT ...'",
            parameter="query",
        )
    return openers[scheme](url, as_select(query))


@contextmanager
def _open_duckdb(url: str, query: str) -> Iterator[Opened]:
    import duckdb

    path = _duckdb_path(url)
    require_file(path)
    try:
        connection = duckdb.connect(path, read_only=True)
    except duckdb.Error as error:
        if is_memory(error):
            raise out_of_memory(f"opening {path}") from error
        raise DataError(f"cannot open {path}: {said(error)}", source=str(path)) from None
    with connection:
        live_with_limit(connection)
        connection.execute("SET python_enable_replacements = false")
        yield query_duckdb(connection, str(path), query)


def _duckdb_path(url: str) -> Path:
    """``duckdb:///a/b.db`` is /a/b.db or, as other tools read it, a/b.db in the working folder."""
    rest = url.partition("://")[2]
    absolute, relative = Path(rest), Path(rest.removeprefix("/"))
    return relative if relative.exists() and not absolute.exists() else absolute


@contextmanager
def _open_postgres(url: str, query: str) -> Iterator[Opened]:
    label = _without_secrets(url)
    with _connected(url, label) as connection:
        # a query that writes is a mistake here, and fails before it does anything
        _fetched(connection, "SET TRANSACTION READ ONLY")
        fields = _postgres(connection, label, f"SELECT * FROM ({query}\n) AS t LIMIT 0").schema
        selected = {field.name: _selected(field) for field in fields}

        def load(columns: Sequence[str]) -> pa.Table:
            listed = ", ".join(selected[name] for name in columns)
            table = _postgres(connection, label, f"SELECT {listed} FROM ({query}\n) AS t")
            return pa.table([_numbers(column) for column in table.columns], names=list(columns))

        yield Opened(label, tuple(fields.names), load)


@contextmanager
def _connected(url: str, label: str) -> Iterator[Any]:
    try:
        import adbc_driver_postgresql.dbapi as postgres
    except ImportError:
        raise MissingExtra("reading from PostgreSQL", "postgres") from None
    try:
        connection = postgres.connect(_with_timeout(url))
    except postgres.Error as error:
        reason = reason_of(error) or "the driver could not connect; try the URL with psql"
        raise DataError(f"cannot connect to {label}: {reason}", source=label) from None
    with connection:
        yield connection


def _postgres(connection: Any, label: str, query: str) -> pa.Table:
    import adbc_driver_postgresql.dbapi as postgres

    try:
        return _fetched(connection, query)
    except postgres.Error as error:
        reason = _reason(str(error)) + _nearest_table(connection, str(error))
        raise DataError(f"the query on {label} failed: {reason}", source=label) from None


def _fetched(connection: Any, query: str) -> pa.Table:
    with connection.cursor() as cursor:
        cursor.execute(query)
        return cursor.fetch_arrow_table()


def _reason(message: str) -> str:
    """The server's own sentence, without the statement, which is ours and not the user's."""
    found = re.search(r"ERROR:\s+(.*?)(?:\nLINE|\n\n|\. SQLSTATE|$)", message, re.DOTALL)
    hint = re.search(r"HINT:\s+(.*)", message)
    said = " ".join((found[1] if found else message.partition("\n")[0]).split())
    return f"{said} ({hint[1]})" if hint else said


def _nearest_table(connection: Any, message: str) -> str:
    unknown = re.search(r'relation "([^"]+)" does not exist', message)
    if not unknown:
        return ""
    connection.rollback()
    tables = _fetched(connection, "SELECT table_name FROM information_schema.tables")
    hint = did_you_mean(unknown[1].rpartition(".")[2], tables.column(0).to_pylist())
    return f"; {hint}" if hint else ""


def _selected(field: pa.Field) -> str:
    """The column as it is asked for: types that Arrow does not have are sent as texts."""
    kind, name = field.type, quoted(field.name)
    foreign = isinstance(kind, pa.BaseExtensionType) or pa.types.is_nested(kind)
    if _is_numeric(kind) or not (foreign or pa.types.is_interval(kind)):
        return name
    return f"{name}::text AS {name}"


def _is_numeric(kind: pa.DataType) -> bool:
    return isinstance(kind, pa.OpaqueType) and kind.type_name == "numeric"


def _numbers(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """NUMERIC has no limit on its digits and arrives as text; whole numbers stay whole."""
    if not _is_numeric(column.type):
        return column
    texts = pa.chunked_array([chunk.storage for chunk in column.chunks], pa.string())
    try:
        return texts.cast(pa.int64())
    except pa.ArrowInvalid:
        numbers = texts.cast(pa.float64())
    return pc.if_else(pc.is_nan(numbers), pa.scalar(None, pa.float64()), numbers)


def _with_timeout(url: str) -> str:
    place = url.rpartition("@")[2]
    if "connect_timeout=" in place:
        return url
    return f"{url}{'&' if '?' in place else '?'}{_TIMEOUT}"


def _without_secrets(url: str) -> str:
    """Host and database only. A password may hold any character, so all before @ is dropped."""
    place = re.split(r"[?&](?:ssl)?password=", url.partition("://")[2])[0]
    return "postgresql://" + place.rpartition("@")[2].partition("?")[0]
