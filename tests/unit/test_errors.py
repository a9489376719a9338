"""Errors travel: a worker that raises one must not leave its pool waiting."""

from __future__ import annotations

import inspect
import pickle
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

import sfumato as sf
from sfumato import errors
from tests.support.waiting import PATIENCE

# What every class wants to be made of; found by introspection, so a new one must be named here.
MADE: dict[str, dict[str, Any]] = {
    "SfumatoError": {},
    "ParameterError": {"parameter": "k"},
    "SchemaError": {"column": "age"},
    "DataError": {"source": "patients.csv"},
    "QueryRefused": {"clause": "HAVING", "position": 7},
    "Infeasible": {"model": sf.LDiversity(3), "value": "flu", "largest": 2},
    "PromiseBroken": {"failures": [1, 2]},
    "ReleaseError": {"path": Path("out")},
    "OutputExists": {"path": Path("out")},
    "StoreError": {"path": Path("db")},
    "LedgerError": {"path": Path("db")},
    "MachineError": {"doing": "publishing"},
    "OutOfMemory": {"doing": "publishing"},
    "RemoteError": {"status": 503, "code": "busy", "hint": "later", "request_id": "r1"},
    "MissingExtra": {"extra": "plot"},
}


def classes() -> dict[str, type[errors.SfumatoError]]:
    found = inspect.getmembers(errors, inspect.isclass)
    return {name: one for name, one in found if issubclass(one, errors.SfumatoError)}


def test_every_error_is_looked_at() -> None:
    assert set(classes()) == set(MADE)


@pytest.mark.parametrize("name", MADE)
def test_an_error_comes_back_as_it_went(name: str) -> None:
    error = classes()[name]("it is so", **MADE[name])
    back = pickle.loads(pickle.dumps(error))
    assert type(back) is type(error)
    assert str(back) == str(error)
    assert back.__dict__ == error.__dict__


def _fail(_: int) -> None:
    raise errors.Infeasible("no", model=sf.KAnonymity(5), largest=4)


@pytest.mark.slow
def test_a_pool_does_not_wait_for_ever() -> None:
    with (
        ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool,
        pytest.raises(errors.Infeasible) as caught,
    ):
        pool.submit(_fail, 1).result(timeout=PATIENCE)
    assert caught.value.largest == 4


def local() -> Any:
    """A value of a class that no other process can find."""

    class Own:
        def __repr__(self) -> str:
            return "Own(3)"

    return Own()


class Unsayable:
    """Can be neither sent nor shown."""

    def __reduce__(self) -> str:
        raise RuntimeError

    def __repr__(self) -> str:
        raise RuntimeError


class Unreadable:
    """Can be sent, and fails where it arrives."""

    def __reduce__(self) -> tuple[Any, ...]:
        return int, ("no number",)

    def __repr__(self) -> str:
        return "Unreadable"


@pytest.mark.parametrize("name", ["Infeasible", "PromiseBroken"])
def test_what_cannot_travel_goes_as_its_text(name: str) -> None:
    (part,) = set(MADE[name]) & {"model", "failures"}
    many = part == "failures"
    texts = {"Own(3)": local(), "<Unsayable>": Unsayable(), "Unreadable": Unreadable()}
    for text, value in texts.items():
        error = classes()[name]("it is so", **{**MADE[name], part: [value, 1] if many else value})
        back = pickle.loads(pickle.dumps(error))
        assert type(back) is type(error)
        assert str(back) == str(error)
        assert getattr(back, part) == ((text, 1) if many else text)
        assert back.__dict__ | {part: None} == error.__dict__ | {part: None}


def test_an_error_of_a_local_class_arrives_as_the_one_above_it() -> None:
    class Own(errors.DataError):
        pass

    back = pickle.loads(pickle.dumps(Own("no", source="x")))
    assert type(back) is errors.DataError
    assert (str(back), back.source) == ("no", "x")


def _fail_with_own(_: int) -> None:
    raise errors.Infeasible("no", model=local(), largest=4)


@pytest.mark.slow
def test_a_pool_does_not_wait_for_a_local_model() -> None:
    with (
        ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool,
        pytest.raises(errors.Infeasible) as caught,
    ):
        pool.submit(_fail_with_own, 1).result(timeout=PATIENCE)
    assert caught.value.model == "Own(3)"
