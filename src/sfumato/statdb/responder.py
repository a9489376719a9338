"""The statistical database in memory: any number of counting questions, an interval for each.

Xiao, Tao: "Dynamic anonymization: accurate statistical analysis with privacy preservation", SIGMOD
2008. Every answer is the result interval of some version of the table, which is never shown, and
contains the truth. There is one version of neighbours for all questions (neighbourhoods.py), or one
is made for each (bucketization.py). All versions together are m-invariant: a row has the same
signature in each, in which no value has more than 1/m of the places, so somebody who knows
everybody's quasi-identifiers and all answers has a chance of 1/m to guess a value, if all are
equally likely beforehand.

Answers are functions of what is stored and of what a query means: asked again, or in other words,
they are the same. The domains of the attributes, as the table's schema declares or its columns show
them, are public.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from sfumato.answers.group_bounds import Counted
from sfumato.answers.value_bounds import Choices
from sfumato.core.answer import Answer, CountAnswers, Result
from sfumato.core.arrays import Counts, Ints
from sfumato.core.attribute import Attribute
from sfumato.core.compiled import announce
from sfumato.core.exact import Numbers, exact_numbers
from sfumato.core.fingerprint import digest
from sfumato.core.microdata import Microdata
from sfumato.core.partition import Partition
from sfumato.core.query import Query
from sfumato.core.randomness import Randomness
from sfumato.core.schema import Role, Schema
from sfumato.core.seeds import Seed
from sfumato.errors import ParameterError, QueryRefused
from sfumato.queries.asked import condition_of
from sfumato.queries.columns import Catalog, Column, declared_order
from sfumato.statdb.count import asking
from sfumato.statdb.count.aggregates import no_choices, not_answered
from sfumato.statdb.count.conditions import Axis, Conditions, Runs, is_all
from sfumato.statdb.count.kernel import a_count
from sfumato.statdb.count.near_kernel import near_count
from sfumato.statdb.count.neighbours import NearAnswers
from sfumato.statdb.count.points import (
    Pair,
    PointAxis,
    point_axes,
    reaching,
    refusal_of,
    require_lines,
)
from sfumato.statdb.count.regrouped import RegroupedAnswers
from sfumato.statdb.count.search import Searcher
from sfumato.statdb.layout.layout import Layout
from sfumato.statdb.layout.making import Cohort, First, Framework, Making
from sfumato.statdb.layout.neighbourhoods import Neighbourhoods

_NONE = Counted(0.0, 0, 0)


@dataclass(frozen=True, eq=False)
class Responder:
    """What is stored, under the attributes of a schema, in one of the two frameworks.

    Neighbourhoods have at least ``size`` places; other groups are regrouped in a ``cohort``, inside
    regions of at least ``region`` rows if that is given.
    """

    schema: Schema
    attributes: Mapping[str, Attribute]
    m: int
    cohort: int | None
    framework: Framework
    stored: Layout | Neighbourhoods
    size: int | None = None
    region: int | None = None

    @classmethod
    def create(
        cls,
        table: Microdata,
        *,
        m: int = 10,
        first: First | Partition | None = None,
        size: int | None = None,
        cohort: Cohort = "default",
        framework: Framework = "anatomy",
        seed: Seed | None = None,
    ) -> Responder:
        """Group a table so that every row hides among m values.

        ``first`` are neighbours in groups of ``size`` rows (making.py has the defaults), a way to
        groups that are regrouped (signatures.py), or an m-unique partition. ``cohort`` is the
        number of groups that are regrouped among each other, None for whole buckets. With a
        ``seed`` the result can be repeated, by everybody who knows it.
        """
        require_lines(table.schema.points, table.attributes)
        making = Making.of(m, framework, first, size, cohort).on(table)
        if size is not None and size > table.n_rows:
            raise ParameterError(
                f"size = {size:,} is more than the table's {table.n_rows:,} rows", parameter="size"
            )
        announce(near_count if making.first == "neighbours" else a_count)
        randomness = Randomness(seed)
        bound = making.size if making.first == "neighbours" else making.cohort
        randomness.bind((m, bound, framework, making.first), lambda: digest(table))
        stored = making.places(table, randomness)
        return cls(
            schema=table.schema,
            attributes=table.attributes,
            m=m,
            cohort=making.cohort,
            framework=framework,
            stored=stored,
            size=making.size,
            region=making.region,
        )

    def count(self, where: str | Query = "") -> Answer:
        """How many rows satisfy a condition: an interval that contains the truth."""
        return asking.count(self, where)

    def query(self, query: str | Query) -> Result:
        """Answer ``SELECT ... FROM t [WHERE ...] [GROUP BY ...]``; empty groups are included."""
        return asking.answer(self, query)

    def counts(self, queries: Iterable[str | Query]) -> CountAnswers:
        """How many rows satisfy each query of a workload, as arrays."""
        return asking.counts(self, queries)

    def version(self, where: str | Query = "") -> Partition:
        """The version behind an answer, for the owner: a partition of the rows of ``table()``."""
        quasi, _ = self._split(asking.count_conditions(self, condition_of(where)))
        self._require_ranges(quasi)
        groups = self._answers.version(quasi)
        # groups without a row are no groups
        _, numbers = np.unique(groups[self.stored.occupied()], return_inverse=True)
        return Partition.of(numbers.astype(np.int32))

    def table(self) -> Microdata:
        """The rows as they are stored, for the owner."""
        return self.rows_at(self.stored.occupied())

    def rows_at(self, places: Counts) -> Microdata:
        """The rows at places that have one."""
        codes = {name: column[places] for name, column in self.stored.codes.items()}
        codes[self.sensitive] = self.stored.values_at(places)
        return self.coded(self.attributes, codes)

    def coded(self, attributes: Mapping[str, Attribute], codes: Mapping[str, Ints]) -> Microdata:
        """Rows in these domains, as a table."""
        schema = Schema(
            quasi=self.schema.quasi, sensitive=self.sensitive, points=self.schema.points
        )
        n_rows = len(codes[self.sensitive])
        nothing = pa.table({"": pa.nulls(n_rows)}).select([])
        return Microdata(schema, n_rows, {name: attributes[name] for name in codes}, codes, nothing)

    @cached_property
    def n_rows(self) -> int:
        """How many rows there are."""
        return self.stored.n_rows

    @property
    def sensitive(self) -> str:
        """The name of the sensitive attribute."""
        return self.schema.sensitive[0]

    @cached_property
    def axes(self) -> Mapping[str, Axis]:
        """The public domains."""
        return {name: Axis(self.attributes[name]) for name in (*self.schema.quasi, self.sensitive)}

    @cached_property
    def points(self) -> Mapping[str, PointAxis]:
        """Pairs of attributes that circles are asked about."""
        return point_axes(self.schema.points, self.axes)

    @cached_property
    def catalog(self) -> Catalog:
        """The columns that can be asked about, and those that are known by name only."""
        asked = [
            Column(name, axis.attribute.values.type, declared_order(axis.attribute))
            for name, axis in self.axes.items()
        ]
        others = [
            Column(name, pa.string(), refusal=f"{name!r} is {_A[role]}; it is not in the database")
            for name, role in self.schema.roles.items()
            if role in _A
        ]
        points = [
            Column(name, pa.string(), refusal=refusal_of(axis))
            for name, axis in self.points.items()
        ]
        return Catalog.of([*asked, *others, *points])

    def counted(self, conditions: Conditions) -> Counted:
        """How many rows satisfy all conditions."""
        quasi, wanted = self._split(conditions)
        self._require_ranges(quasi)
        if not wanted or not all(quasi.values()):
            return _NONE
        return self._answers.counted(quasi, wanted)

    def choices(self, conditions: Conditions, name: str, function: str) -> Choices:
        """The values of an attribute that rows which satisfy all conditions may have."""
        quasi, wanted = self._split(conditions)
        self._require_ranges(quasi)
        if name != self.sensitive:
            raise not_answered(name, function)
        if not wanted or not all(quasi.values()):
            return no_choices()
        return self._answers.choices(quasi, wanted, self._numbers)

    def __repr__(self) -> str:
        """Sizes only."""
        made = f"cohort={self.cohort}" if self.size is None else f"size={self.size}"
        made += "" if self.region is None else f", region={self.region}"
        kind, n = self.stored.kinds
        return (
            f"Responder({self.n_rows:,} rows, m={self.m}, {made}, "
            f"framework={self.framework!r}, {n:,} {kind})"
        )

    def _split(self, conditions: Conditions) -> tuple[dict[int, Runs], Runs]:
        """Conditions on quasi-identifiers by their place in the schema, and wanted values.

        Conditions that keep everything are none; schema order makes the answer independent of
        that of the words.
        """
        places, axes = self._places, self.axes
        if self.points:
            conditions = reaching(conditions, self.points)
        quasi = {
            places[name]: runs
            for name, runs in conditions.items()
            if name in places and not (name in axes and is_all(runs, axes[name]))
        }
        everything = ((0, axes[self.sensitive].size - 1),)
        wanted = conditions.get(self.sensitive, everything)
        return dict(sorted(quasi.items())), wanted

    def _require_ranges(self, quasi: Mapping[int, Runs]) -> None:
        if self.framework == "anatomy":
            return
        for place, runs in quasi.items():
            if place >= len(self.schema.quasi):
                self._require_standing(place)
            elif len(runs) > 1:
                name = self.schema.quasi[place]
                raise QueryRefused(
                    f"the values wanted of {name!r} are not neighbours; boxes answer ranges only",
                    clause=name,
                )

    def _require_standing(self, place: int) -> None:
        """Boxes of rows that are regrouped are made along one attribute after the other."""
        if isinstance(self.stored, Layout):
            name = [*self.points][place - len(self.schema.quasi)]
            raise QueryRefused(
                f"circles around {name!r} are answered by groups of neighbours, or in the "
                "framework 'anatomy'; the boxes of this database are made anew for every question",
                clause=name,
            )

    @cached_property
    def _places(self) -> Mapping[str, int]:
        return {name: place for place, name in enumerate((*self.schema.quasi, *self.points))}

    def _pairs(self) -> list[Pair]:
        """Points by the places of their columns."""
        return [
            Pair(self._places[one.columns[0]], self._places[one.columns[1]], one.x.size, one.y.size)
            for one in self.points.values()
        ]

    @cached_property
    def _numbers(self) -> Numbers:
        return exact_numbers(self.attributes[self.sensitive].values)

    @cached_property
    def _answers(self) -> NearAnswers | RegroupedAnswers:
        names, stored = self.schema.quasi, self.stored
        sizes = [self.axes[name].size for name in names]
        codes = [stored.codes[name] for name in names]
        searcher = Searcher.of(stored.index, sizes, codes, self._pairs())
        boxed = self.framework == "generalization"
        if isinstance(stored, Neighbourhoods):
            return NearAnswers(stored, searcher, self.axes[self.sensitive].size, boxed)
        return RegroupedAnswers(stored, searcher, boxed, self.n_rows)


_A = {Role.IDENTIFIER: "an identifier", Role.INSENSITIVE: "insensitive"}
