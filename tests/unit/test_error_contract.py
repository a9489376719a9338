"""The contract of errors: short messages, and everybody else's errors as ours."""

from __future__ import annotations

import errno
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato import errors
from sfumato.algorithms.mondrian import Mondrian
from sfumato.cli.main import _run
from sfumato.core.foreign import as_ours, is_memory, our_errors
from sfumato.errors import DataError, MachineError, OutOfMemory, SfumatoError, shortened
from sfumato.io.tables import read_table
from sfumato.statdb.access.ledger import Ledger
from sfumato.statdb.access.tokens import Tokens
from tests.unit.test_errors import MADE, classes

MOST = 1000  # bytes
HUGE = "x" * 50_000_000
MANY = [f"column {i}" for i in range(100_000)]
DEEP = "/".join(["a folder with a long name"] * 150)


@pytest.mark.parametrize("name", sorted(set(MADE) - {"MissingExtra"}))
@pytest.mark.parametrize("letter", ["a", "é", "\ud800", "😀"], ids=["1", "2", "odd", "4"])
def test_every_message_is_short(name: str, letter: str) -> None:
    value = letter * 10**6
    error = classes()[name](f"{value} is wrong; take another", **MADE[name])
    assert len(str(error).encode("utf-8", "surrogatepass")) < MOST
    assert str(error).startswith(value[:100])
    assert "take another" in str(error)


def test_short_messages_are_left_alone() -> None:
    for text in ("", "a", "é" * 450, "a" * 900):
        assert shortened(text) == text
    assert shortened("a" * 901) != "a" * 901
    assert len(shortened("a" * 901)) <= 900


def test_warnings_are_short() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.warn("w" * 10**6, errors.SfumatoWarning, stacklevel=1)
    assert len(str(caught[0].message)) < MOST


def table(**columns: Any) -> sf.Microdata:
    rows = {"age": list(range(40)), "ill": ["a", "b", "c", "d"] * 10, **columns}
    others = [name for name in rows if name not in ("age", "ill")]
    schema = sf.Schema(quasi=["age"], sensitive="ill", insensitive=others)
    return sf.Microdata.from_arrow(pa.table(rows), schema)


def wide(path: Path) -> Path:
    (path / "wide.csv").write_text(",".join(MANY) + "\n" + ",".join(["a"] * len(MANY)) + "\n")
    return path / "wide.csv"


TOO_LONG: dict[str, Callable[[Path], object]] = {
    "a path": lambda _: sf.read(f"/{DEEP}.csv", sf.Schema(quasi=["a"])),
    "a path to write": lambda _: sf.publish(table(), sf.Mondrian(), sf.KAnonymity(2)).write(
        f"/proc/{DEEP}"
    ),
    "a path to load": lambda _: sf.load(f"/{DEEP}"),
    "a name that is not there": lambda path: read_table(wide(path), columns=["nothing alike"]),
    "a long name that is not there": lambda path: read_table(wide(path), columns=[HUGE]),
    "columns that are not in the schema": lambda path: sf.read(
        wide(path), sf.Schema(quasi=MANY[:3], sensitive="absent")
    ),
    "a schema of many columns": lambda _: sf.Schema(quasi=[*MANY, "age"], sensitive="age"),
    "a name": lambda _: sf.Schema(quasi=[HUGE], sensitive=HUGE),
    "a value that is most of a table": lambda _: sf.publish(
        table(ill=[HUGE[: 10**5]] * 39 + ["b"]), sf.Anatomize(), sf.LDiversity(2)
    ),
    "a value outside of an order": lambda _: sf.read(
        pa.table({"a": [HUGE[: 10**6]]}), sf.Schema(quasi=["a"], orders={"a": ["b", "c"]})
    ),
    "a question": lambda _: table().count(f"ill = '{HUGE[: 10**6]}' AND"),
    "a column of a question": lambda _: table().count(f'"{HUGE[: 10**6]}" = 1'),
    "a number that is none": lambda _: table().count(f"age = '{HUGE[: 10**6]}'"),
    "a format": lambda _: sf.publish(table(), sf.Mondrian(), sf.KAnonymity(2)).write(
        "out",
        format=HUGE,  # type: ignore[arg-type]
    ),
    "a query": lambda _: read_table(
        pa.table({"a": [1]}), query=f"SELECT '{HUGE[: 10**6]}' FROM nowhere"
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", TOO_LONG)
def test_values_of_any_length_give_short_messages(name: str, tmp_path: Path) -> None:
    with pytest.raises((SfumatoError, TypeError)) as caught:
        TOO_LONG[name](tmp_path)
    assert isinstance(caught.value, SfumatoError)
    assert len(str(caught.value).encode()) < MOST


def test_the_command_line_is_as_short(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (
        ["inspect", f"/{DEEP}.csv"],
        ["publish", "x.csv", "-s", "s.toml", "-o", "out", "--method", HUGE[:100_000]],
        ["query", str(tmp_path), HUGE[:100_000]],
        [HUGE[:100_000]],
    ):
        assert _run(arguments) == 2
        assert len(capsys.readouterr().err.encode()) < MOST


@pytest.mark.slow
def test_details_of_a_verification_are_short(tmp_path: Path) -> None:
    made = sf.publish(
        table(ill=[HUGE[: 10**6], "b", "c", "d"] * 10), sf.Mondrian(), sf.KAnonymity(4)
    )
    folder = made.write(tmp_path / "out", format="csv")
    path = folder / "generalized.csv"
    path.write_text(path.read_text().replace("x" * 10**6, " " + "x" * 10**6, 1))
    found = sf.verify(folder)
    assert not found.ok
    assert all(len(check.detail) < MOST for check in found.checks)
    with pytest.raises(errors.PromiseBroken) as caught:
        found.require()
    assert len(str(caught.value).encode()) < MOST


def allocation() -> Exception:
    """What NumPy raises for more than there can be."""
    try:
        np.empty(2**59, np.int8)
    except MemoryError as error:
        return error
    raise AssertionError


FOREIGN: dict[str, tuple[Callable[[], Exception], type[SfumatoError]]] = {
    "Python's memory": (MemoryError, OutOfMemory),
    "NumPy's memory": (allocation, OutOfMemory),
    "Arrow's memory": (lambda: pa.ArrowMemoryError("malloc of size 64 failed"), OutOfMemory),
    "DuckDB's memory": (lambda: duckdb.OutOfMemoryException("Out of Memory Error"), OutOfMemory),
    "a mapping": (lambda: OSError(errno.ENOMEM, "Cannot allocate memory"), OutOfMemory),
    "a thread": (lambda: RuntimeError("can't start new thread"), OutOfMemory),
    "a library": (lambda: ImportError("x.so: failed to map segment"), OutOfMemory),
    "Arrow": (lambda: pa.ArrowInvalid("no"), DataError),
    "Arrow's types": (lambda: pa.ArrowNotImplementedError("no kernel"), DataError),
    "DuckDB": (lambda: duckdb.ConversionException("Conversion Error: no"), DataError),
    "a disk": (lambda: OSError(errno.ENOSPC, "No space left on device"), MachineError),
    "rights": (lambda: PermissionError(errno.EACCES, "Permission denied"), MachineError),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_errors_of_others_arrive_as_ours(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    make, kind = FOREIGN[name]

    def failing(*_: object, **__: object) -> Any:
        raise make()

    people = table()
    monkeypatch.setattr(Mondrian, "partition", failing)
    with pytest.raises(kind) as caught:
        sf.publish(people, sf.Mondrian(), sf.KAnonymity(2))
    assert type(caught.value) is kind
    assert type(caught.value.__cause__) is type(make())
    (tmp_path / "in.csv").write_text("age,ill\n" + "\n".join(f"{i},a{i % 4}" for i in range(40)))
    (tmp_path / "s.toml").write_text('quasi = ["age"]\nsensitive = "ill"\n')
    source, schema, out = (str(tmp_path / one) for one in ("in.csv", "s.toml", "out"))
    assert _run(["publish", source, "-s", schema, "--k", "2", "-o", out]) == 2
    assert capsys.readouterr().err.startswith("sfumato: ")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.csv", "s.toml"]


@pytest.mark.parametrize("verb", ["load", "verify", "read"])
def test_every_verb_says_so(verb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = sf.publish(table(), sf.Mondrian(), sf.KAnonymity(2)).write(tmp_path / "out")
    (tmp_path / "in.csv").write_text("age,ill\n1,a\n")

    def failing(*_: object, **__: object) -> Any:
        raise MemoryError

    monkeypatch.setattr("sfumato.forms.files._typed", failing)
    monkeypatch.setattr("sfumato.io.csv_files.typed", failing)
    calls: dict[str, Callable[[], object]] = {
        "load": lambda: sf.load(folder),
        "verify": lambda: sf.verify(folder),
        "read": lambda: sf.read(tmp_path / "in.csv", sf.Schema(quasi=["age"], sensitive="ill")),
    }
    with pytest.raises(OutOfMemory):
        calls[verb]()


def test_a_mistake_of_ours_stays_one(capsys: pytest.CaptureFixture[str]) -> None:
    for mistake in (KeyError("x"), TypeError("x"), RuntimeError("x"), ZeroDivisionError("x")):
        assert as_ours(mistake, "publishing") is None
        assert not is_memory(mistake)
        with pytest.raises(type(mistake)), our_errors("publishing"):
            raise mistake
    assert not capsys.readouterr().err


def test_a_busy_lock_is_not_short_memory() -> None:
    assert not is_memory(BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable"))


NO_NAMES = ["a\0b", "\0", "half of a character \ud800"]
WITH_PATHS: dict[str, Callable[[str], object]] = {
    "load": sf.load,
    "verify": sf.verify,
    "read": lambda path: sf.read(path, sf.Schema(quasi=["age"])),
    "read_schema": sf.read_schema,
    "write_schema": lambda path: sf.write_schema(path, sf.Schema(quasi=["age"])),
    "write": lambda path: sf.publish(table(), sf.Mondrian(), sf.KAnonymity(2)).write(path),
    "publish_file": lambda path: sf.publish_file(
        pa.table({"age": [1, 2], "ill": ["a", "b"]}),
        sf.Schema(quasi=["age"], sensitive="ill"),
        sf.Mondrian(),
        sf.KAnonymity(2),
        path,
    ),
    "evaluate": lambda path: sf.evaluate(path, table()),
    "audit": lambda path: sf.audit(path, table()),
    "StatDB.create": lambda path: sf.StatDB.create(path, table(), m=2),
    "StatDB.open": sf.StatDB.open,
    "Ledger.open": Ledger.open,
    "Tokens.open": Tokens.open,
}


@pytest.mark.parametrize("path", NO_NAMES, ids=["inside", "alone", "half"])
@pytest.mark.parametrize("verb", WITH_PATHS)
def test_what_is_no_name_of_a_file_is_refused(
    verb: str, path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SfumatoError):
        WITH_PATHS[verb](path)
    assert not list(tmp_path.iterdir())


def test_an_order_beyond_all_types_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "in.csv").write_text("age,ill\n1,a\n2,b\n3,a\n")
    order = "[attributes.age]\norder = [1, 2, 3, 99999999999999999999999]\n"
    (tmp_path / "s.toml").write_text(f'quasi = ["age"]\nsensitive = "ill"\n{order}')
    source, schema, out = (str(tmp_path / one) for one in ("in.csv", "s.toml", "out"))
    assert _run(["publish", source, "-s", schema, "--k", "2", "-o", out]) == 2
    assert "99999999999999999999999" in capsys.readouterr().err
