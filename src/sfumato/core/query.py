"""A question about one table: which rows, what of them, by which groups.

    SELECT sex, COUNT(*), AVG(age) FROM t WHERE age BETWEEN 30 AND 50 AND disease = 'flu' GROUP BY sex

    Query({"age": between(30, 50), "disease": ["flu"]}, [COUNT, Aggregate("avg", "age")], by=["sex"])

Conditions on different attributes must all hold. The text of the query, if it came from one, is
read in queries.sql.
"""  # noqa: E501

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sfumato.core.aggregates import AGGREGATES
from sfumato.core.predicates import Position, Predicate, one_of
from sfumato.errors import ParameterError


@dataclass(frozen=True, slots=True)
class Aggregate:
    """A function of the rows that satisfy a query; COUNT without an attribute counts them all.

    With an attribute, rows in which it is missing are left out, as in SQL.

    >>> patients = sf.read("patients.csv", sf.read_schema("patients.toml"))
    >>> patients.query(sf.Query(select=[sf.Aggregate("max", "age")])).answer.hi
    89
    """

    function: str
    attribute: str | None = None
    name: str = ""
    at: Position = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Refuse functions that do not exist; an aggregate without a name is called like itself."""
        if self.function not in AGGREGATES:
            raise ParameterError(
                f"function must be one of {', '.join(AGGREGATES)}, not {self.function!r}",
                parameter="function",
            )
        if self.attribute is None and self.function != "count":
            raise ParameterError(
                f"{self.function} of what? name an attribute", parameter="attribute"
            )
        if not self.name:
            of = "" if self.attribute is None else f"_{self.attribute}"
            object.__setattr__(self, "name", f"{self.function}{of}")


COUNT = Aggregate("count")
ENDINGS = ("estimate", "lo", "hi")  # of the columns that show an aggregate
LIKELY = ("likely_lo", "likely_hi")  # ... and of those that some answers have besides


@dataclass(frozen=True, slots=True, init=False)
class Query:
    """Conditions per attribute, what to compute, and the attributes to compute it by.

    A condition is a predicate, or a list of wanted values in which None stands for missing.

    >>> patients = sf.read("patients.csv", sf.read_schema("patients.toml"))
    >>> young = sf.Query({"age": sf.at_most(30), "disease": ["asthma", "flu"]})
    >>> patients.count(young).lo
    75
    """

    where: Mapping[str, Predicate] = field(hash=False)
    select: tuple[Aggregate, ...]
    by: tuple[str, ...]
    places: Mapping[str, int] = field(hash=False, compare=False, repr=False)

    def __init__(
        self,
        where: Mapping[str, Predicate | Iterable[Any]] | None = None,
        select: Sequence[Aggregate] = (COUNT,),
        by: Sequence[str] = (),
        *,
        places: Mapping[str, int] | None = None,
    ) -> None:
        """``places`` says where in its text a query names each attribute."""
        if not isinstance(where or {}, Mapping):
            raise ParameterError(
                f"conditions are a dict of columns, not a {type(where).__name__}; a text is asked "
                "as it is, without Query",
                parameter="where",
            )
        conditions = {name: _predicate(name, wanted) for name, wanted in (where or {}).items()}
        object.__setattr__(self, "where", conditions)
        object.__setattr__(self, "select", tuple(select))
        object.__setattr__(self, "by", (by,) if isinstance(by, str) else tuple(by))
        object.__setattr__(self, "places", dict(places or {}))
        self._check()

    def __hash__(self) -> int:
        return hash((frozenset(self.where.items()), self.select, self.by))

    def _check(self) -> None:
        if not self.select:
            raise ParameterError("a query computes at least one aggregate", parameter="select")
        shown = [f"{one.name}_{end}" for one in self.select for end in (*ENDINGS, *LIKELY)]
        seen: set[str] = set()
        for name in (*self.by, *(one.name for one in self.select), *shown):
            if name in seen:
                raise ParameterError(
                    f"the answer would have two columns {name!r}", parameter="select"
                )
            seen.add(name)


def _predicate(name: str, wanted: Predicate | Iterable[Any]) -> Predicate:
    if isinstance(wanted, Predicate):
        return wanted
    if isinstance(wanted, str):
        raise ParameterError(
            f"the condition on {name!r} is the text {wanted!r}; a list of values is meant?",
            parameter="where",
        )
    if not isinstance(wanted, Iterable):
        raise ParameterError(
            f"the condition on {name!r} is {wanted!r}; a list of values is meant?",
            parameter="where",
        )
    return one_of(wanted)
