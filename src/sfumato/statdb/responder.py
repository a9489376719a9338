"""The statistical database in memory: any number of counting questions, an interval for each.

Xiao, Tao: "Dynamic anonymization: accurate statistical analysis with privacy preservation", SIGMOD
2008. Every answer is the result interval of some version of the table, made for the question and
never shown, and contains the truth. All versions together are m-invariant: a row has the same
signature in each, of at least m values, so somebody who knows everybody's quasi-identifiers and all
answers has a chance of 1/m to guess a value, if all are equally likely beforehand.

Answers are functions of what is stored and of what a query means: asked again, or in other words,
they are the same. The domains of the attributes, as the table's schema declares or its columns show
them, are public.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias, get_args

import numpy as np
import pyarrow as pa

from sfumato.answers.group_bounds import Counted
from sfumato.answers.value_bounds import Choices
from sfumato.core.answer import Answer, CountAnswers, Result
from sfumato.core.arrays import Codes, Counts
from sfumato.core.attribute import Attribute
from sfumato.core.compiled import announce
from sfumato.core.exact import exact_numbers
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
from sfumato.statdb.count.aggregates import a_choices, g_choices, no_choices, not_answered
from sfumato.statdb.count.anatomy import a_decompose
from sfumato.statdb.count.conditions import Axis, Conditions, Runs, is_all
from sfumato.statdb.count.generalization import g_count, g_decompose
from sfumato.statdb.count.kernel import a_count
from sfumato.statdb.count.margin_kernel import g_types, margin_maps
from sfumato.statdb.count.match_kernel import matching_places
from sfumato.statdb.count.search import Searcher
from sfumato.statdb.count.tally_kernel import a_tally
from sfumato.statdb.layout.index import EVERYBODY
from sfumato.statdb.layout.layout import Layout, build
from sfumato.statdb.layout.signatures import First

Framework: TypeAlias = Literal["anatomy", "generalization"]
_NONE = Counted(0.0, 0, 0)


@dataclass(frozen=True, eq=False)
class Responder:
    """What is stored, under the attributes of a schema, in one of the two frameworks."""

    schema: Schema
    attributes: Mapping[str, Attribute]
    m: int
    cohort: int | None
    framework: Framework
    stored: Layout

    @classmethod
    def create(
        cls,
        table: Microdata,
        *,
        m: int = 10,
        cohort: int | None = 8,
        framework: Framework = "anatomy",
        first: First | Partition = "signatures",
        seed: Seed | None = None,
    ) -> Responder:
        """Bucketize a table so that every row hides among m values.

        ``cohort`` is the number of groups that are regrouped among each other, None for whole
        buckets. ``first`` is the way to the first version, see signatures.py, or an m-unique
        partition. With a ``seed`` the result can be repeated, by everybody who knows it.
        """
        if framework not in get_args(Framework):
            known = " or ".join(map(repr, get_args(Framework)))
            raise ParameterError(
                f"framework must be {known}, not {framework!r}", parameter="framework"
            )
        announce(a_count)
        randomness = Randomness(seed)
        randomness.bind((m, cohort, framework, first), lambda: digest(table))
        stored = build(table, m, cohort, first, randomness)
        return cls(table.schema, table.attributes, m, cohort, framework, stored)

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
        empty = not all(quasi.values())
        if self.framework == "generalization" and not empty:
            return self._partition(self._g_version(quasi))
        return self._partition(self._a_version({} if empty else quasi))

    def table(self) -> Microdata:
        """The rows as they are stored, for the owner."""
        return self.rows_at(self.stored.occupied())

    def rows_at(self, places: Counts) -> Microdata:
        """The rows at places that have one."""
        codes = {name: column[places] for name, column in self.stored.codes.items()}
        codes[self.sensitive] = self.stored.sensitive_codes()[places]
        schema = Schema(quasi=self.schema.quasi, sensitive=self.sensitive)
        nothing = pa.table({"": pa.nulls(len(places))}).select([])
        attributes = {name: self.attributes[name] for name in codes}
        return Microdata(schema, len(places), attributes, codes, nothing)

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
        return Catalog.of([*asked, *others])

    def counted(self, conditions: Conditions) -> Counted:
        """How many rows satisfy all conditions."""
        quasi, wanted = self._split(conditions)
        self._require_ranges(quasi)
        if not wanted.size or not all(quasi.values()):
            return _NONE
        stored, search = self.stored, self._searcher.search(quasi)
        if self.framework == "anatomy":
            return Counted(*a_count(stored.index.bitmaps, *search, wanted, stored.buckets))
        if not quasi and wanted.tolist() == [0, self.axes[self.sensitive].size - 1]:
            return Counted(float(self.n_rows), self.n_rows, self.n_rows)
        types = g_types(stored.index.bitmaps, search.steps, len(quasi), wanted, stored.buckets)
        return g_count(*types, self.n_rows)

    def choices(self, conditions: Conditions, name: str, function: str) -> Choices:
        """The values of an attribute that rows which satisfy all conditions may have."""
        quasi, wanted = self._split(conditions)
        self._require_ranges(quasi)
        if name != self.sensitive:
            raise not_answered(name, function)
        if not wanted.size or not all(quasi.values()):
            return no_choices()
        numbers = exact_numbers(self.attributes[name].values)
        stored, search = self.stored, self._searcher.search(quasi)
        if self.framework == "anatomy":
            tally = a_tally(stored.index.bitmaps, *search, wanted, stored.buckets)
            return a_choices(tally, wanted, numbers, stored.buckets)
        types = g_types(stored.index.bitmaps, search.steps, len(quasi), wanted, stored.buckets)
        return g_choices(*types[1:], wanted, numbers, stored.buckets)

    def __repr__(self) -> str:
        """Sizes only."""
        return (
            f"Responder({self.n_rows:,} rows, m={self.m}, cohort={self.cohort}, "
            f"framework={self.framework!r}, {self.stored.buckets.n_buckets:,} buckets)"
        )

    def _split(self, conditions: Conditions) -> tuple[dict[int, Runs], Counts]:
        """Conditions on quasi-identifiers by their place in the schema, and wanted values.

        Conditions that keep everything are none; schema order makes the answer independent of
        that of the words.
        """
        places, axes = self._places, self.axes
        quasi = {
            places[name]: runs
            for name, runs in conditions.items()
            if name in places and not is_all(runs, axes[name])
        }
        everything = ((0, axes[self.sensitive].size - 1),)
        wanted = conditions.get(self.sensitive, everything)
        return dict(sorted(quasi.items())), np.array(wanted, np.int64).ravel()

    def _require_ranges(self, quasi: Mapping[int, Runs]) -> None:
        if self.framework == "anatomy":
            return
        for place, runs in quasi.items():
            if len(runs) > 1:
                name = self.schema.quasi[place]
                raise QueryRefused(
                    f"the values wanted of {name!r} are not neighbours; boxes answer ranges only",
                    clause=name,
                )

    @cached_property
    def _places(self) -> Mapping[str, int]:
        return {name: place for place, name in enumerate(self.schema.quasi)}

    @cached_property
    def _searcher(self) -> Searcher:
        names = self.schema.quasi
        return Searcher.of(
            self.stored.index,
            [self.axes[name].size for name in names],
            [self.stored.codes[name] for name in names],
        )

    def _a_version(self, quasi: Mapping[int, Runs]) -> Codes:
        search = self._searcher.search(quasi)
        hit = matching_places(self.stored.index.bitmaps, *search)
        occupied = self.stored.flags(self.stored.index.bitmaps[EVERYBODY])
        return a_decompose(self.stored.buckets, self.stored.flags(hit), occupied)

    def _g_version(self, quasi: Mapping[int, Runs]) -> Codes:
        self._require_ranges(quasi)
        search = self._searcher.search(quasi)
        maps = margin_maps(self.stored.index.bitmaps, search.steps, len(quasi))
        margins, inside = (
            np.array([self.stored.flags(one) for one in part], np.bool_) for part in maps
        )
        occupied = self.stored.flags(self.stored.index.bitmaps[EVERYBODY])
        return g_decompose(self.stored.buckets, margins, inside, occupied)

    def _partition(self, groups: Codes) -> Partition:
        # groups without a row are no groups
        _, numbers = np.unique(groups[self.stored.occupied()], return_inverse=True)
        return Partition.of(numbers.astype(np.int32))


_A = {Role.IDENTIFIER: "an identifier", Role.INSENSITIVE: "insensitive"}
