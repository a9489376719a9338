"""What an algorithm is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, ClassVar, Protocol, TypeAlias, runtime_checkable

import pyarrow as pa

from sfumato.core.arrays import Codes, Counts
from sfumato.core.boxes import Boxes
from sfumato.core.expected import given
from sfumato.core.microdata import Microdata
from sfumato.core.partition import Partition
from sfumato.core.randomness import Randomness
from sfumato.engines.base import Engine
from sfumato.engines.room import Room
from sfumato.errors import ParameterError
from sfumato.models.base import BuiltIn
from sfumato.models.bound import Bound
from sfumato.models.requirements import Requirement

OWN: dict[str, Any] = {"name": "own"}  # what release.json says of an algorithm of the owner's own
TIME_LIMIT = 60.0  # seconds; the default of every method that searches
Progress: TypeAlias = Callable[[float], None]
Stages: TypeAlias = Callable[[str, float], None]


def silent(stage: str, share: float) -> None:
    """Tell nobody about a stage and the share of it that is done."""


def ignore_progress(share: float) -> None:
    """Tell nobody about the share that is done."""


class Partitioner(Protocol):
    """The seam: anything that divides a table into groups that meet the requirements."""

    name: ClassVar[str]
    form: ClassVar[str]  # in which its partitions are published unless another is asked for

    def partition(
        self,
        table: Microdata,
        needs: tuple[Requirement, ...],
        randomness: Randomness,
        progress: Progress | None = None,
    ) -> Partition:
        """Divide the table; ``progress`` hears the share of rows that are settled."""
        ...


@runtime_checkable
class Weighing(Protocol):
    """A partitioner that can divide rows each of which stands for many."""

    @property
    def equal_together(self) -> bool:
        """Whether it never tells equal rows apart, without which it cannot."""
        ...

    def partition(
        self,
        table: Microdata,
        needs: tuple[Requirement, ...],
        randomness: Randomness,
        progress: Progress | None = None,
        weights: Counts | None = None,
    ) -> Partition:
        """Divide the table as if every row were there as often as its weight says."""
        ...


@runtime_checkable
class InTurns(Protocol):
    """A partitioner that takes axes in turn, and can go on in a group with the one that is next."""

    @property
    def in_turns(self) -> bool:
        """Whether it does."""
        ...

    def partition_from(
        self,
        turn: int,
        table: Microdata,
        needs: tuple[Requirement, ...],
        randomness: Randomness,
        weights: Counts | None = None,
    ) -> tuple[Partition, Codes]:
        """Divide the table, beginning with some axis; also the axis that is next in each group."""
        ...


class Plan(Protocol):
    """The first cuts of a table beyond memory: regions that fit, to be divided one by one.

    Every group of the table lies in one region, and the groups are those of the table in memory
    unless ``stated`` says that they are others.
    """

    @property
    def loads(self) -> Counts:
        """The rows of every region."""
        ...

    @property
    def boxes(self) -> Boxes | None:
        """The boxes of all groups, if the algorithm has some of its own."""
        ...

    @property
    def notes(self) -> Mapping[str, Any]:
        """Facts about how the groups were found, for the owner only."""
        ...

    @property
    def stated(self) -> Mapping[str, Any]:
        """What release.json says beside the algorithm's options."""
        ...

    def of_rows(self, part: pa.Table) -> Codes:
        """The region of every row of a coded part (engines/coded.py), LEFT_OUT for none."""
        ...

    def divide(self, number: int, table: Microdata, rows: Counts) -> Partition:
        """Divide the rows of a region, whose numbers in the table are given."""
        ...


@runtime_checkable
class Planner(Protocol):
    """A partitioner that can do without having all rows in memory."""

    def require_planned(self, needs: tuple[Requirement, ...]) -> None:
        """Raise unless such requirements can be planned for."""
        ...

    def plan(self, engine: Engine, bound: Bound, room: Room, randomness: Randomness) -> Plan:
        """Find regions that fit; ``bound`` knows the table's counts and none of its rows."""
        ...


def require_algorithm(algorithm: object, parameter: str = "algorithm") -> None:
    """Raise unless this divides tables."""
    if isinstance(algorithm, str) or not callable(getattr(algorithm, "partition", None)):
        hint = "; the algorithm comes before the model" if hasattr(algorithm, "passes") else ""
    elif isinstance(algorithm, type):
        hint = f"; make one: {algorithm.__name__}()"
    else:
        return
    raise ParameterError(
        f"{parameter} must be an algorithm such as sf.Mondrian(), not {given(algorithm)}{hint}",
        parameter=parameter,
    )


def require_compiled(needs: tuple[Requirement, ...]) -> None:
    """Raise unless all models ship, so that kernels know them."""
    if not all(isinstance(need.model, BuiltIn) for need in needs):
        raise ParameterError(
            "a model of one's own needs all rows in memory; use the in-memory engine",
            parameter="engine",
        )


def describe(algorithm: Partitioner) -> dict[str, Any]:
    """Name and options, as written in release.json.

    Options that ``repr`` leaves out are the owner's own business: queries may tell what is in the
    data. Of a workload only its size is stated, of a target that there is one. Of an algorithm that
    does not ship nothing is: who reads its name and options cannot look them up, so they could be
    any message.
    """
    if type(algorithm).__module__.partition(".")[0] != __name__.partition(".")[0]:
        return dict(OWN)
    options = {
        field.name: _stated(getattr(algorithm, field.name))
        for field in fields(algorithm)  # type: ignore[arg-type]
        if field.repr
    }
    if workload := getattr(algorithm, "workload", ()):
        options["workload"] = len(workload)
    if getattr(algorithm, "target", None) is not None:
        options["target"] = 1
    return {"name": algorithm.name, **options}


def _stated(option: Any) -> Any:
    made = hasattr(option, "partition") and hasattr(option, "form")  # texts can be parted, too
    return describe(option) if made else option
