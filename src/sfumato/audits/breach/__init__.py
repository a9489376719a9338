"""Breach: how surely somebody outside can name a person's sensitive value.

Xiao, Tao: "Anatomy", VLDB 2006, sections 3.2 and 3.3. The adversary knows quasi-identifiers of a
person and reads the published tables:

- every published row that fits them is the person's with equal chance (Theorem 1): in a QIT the
  rows with these values, in a generalized table the rows whose box covers them;
- a row has each value of its group with the value's share in the group (Lemma 1), so what is known
  of a person is a mixture of the groups of the rows that fit;
- whether the person is in the table at all may be uncertain (Formula 3), and so may the
  quasi-identifiers be (Formula 4).

Only published tables are read; the true table, where one is needed, is an argument. The numbers
hold for an adversary with no other knowledge: no correlations, no other release, no accomplices.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.audits.breach.kernel import name_values
from sfumato.audits.breach.known_values import (
    require_alike,
    require_matched,
    require_rows,
    require_values,
    unseen_numbers,
)
from sfumato.audits.breach.matching import ShownCells, cells_of
from sfumato.audits.breach.persons import Persons
from sfumato.audits.breach.results import QUANTILES, Belief, Breach
from sfumato.audits.evidence import evidence_of
from sfumato.core._kernels import rows_by_group
from sfumato.core.arrays import Codes, Counts, Floats
from sfumato.core.attribute import Attribute
from sfumato.core.histograms import Histograms
from sfumato.core.microdata import Microdata
from sfumato.core.moments import python_values
from sfumato.core.partition import Partition
from sfumato.core.schema import Role
from sfumato.errors import DataError, ParameterError, SchemaError
from sfumato.forms.evidence import Evidence
from sfumato.forms.registry import Grouped, Release, form_of
from sfumato.io.hints import did_you_mean
from sfumato.models.diversity import LDiversity

__all__ = [
    "QUANTILES", "Belief", "Breach", "belief", "individual_breach", "partition_breach",
    "row_breach", "uncertain_belief",
]  # fmt: skip

_TOLERANCE = 1e-9


def belief(
    release: Release,
    person: Mapping[str, Any],
    *,
    sensitive: str | None = None,
    external: pa.Table | None = None,
) -> Belief:
    """What an adversary who knows these quasi-identifiers of a person believes (Theorem 1).

    ``person`` names some or all quasi-identifiers; None is a value known to be missing. A word that
    no published row can have is refused, as a typing error; ``unseen`` names such numbers.

    ``external`` is a public list of persons with the same columns (a voter list), which is taken to
    name everybody in the table and perhaps others. It gives Pr_A2, the chance that the person is in
    the table. Published rows are told apart by what they show on the known columns: a vector of
    values in a QIT, a box in a generalized table. Each of the R rows that show the same belongs to
    each of the N persons on the list who fit it with chance 1/N, so that

        Pr_A2 = min(1, sum of R / max(1, N) over all vectors or boxes that fit the person).

    Where only one fits, as always in a QIT, this is rows that fit / persons that fit. (N below 1:
    the list is not complete, and the person at least exists.)

    >>> patients = sf.read("patients.csv", sf.read_schema("patients.toml"))
    >>> release = sf.publish(patients, sf.Anatomize(), sf.LDiversity(4))
    >>> found = sf.belief(release, {"age": 29, "sex": "M", "zipcode": "02175"})
    >>> round(found.largest, 3) <= 1 / 4
    True
    """
    view = View.of(release, sensitive)
    return view.belief(Persons.known(view.release, person), external)


def uncertain_belief(
    release: Release,
    persons: Iterable[tuple[Mapping[str, Any], float]],
    *,
    sensitive: str | None = None,
    external: pa.Table | None = None,
) -> Belief:
    """Formula 4: the adversary holds several quasi-identifier vectors possible, each with a chance.

    ``present`` is the sum of Pr_A1(x) Pr_A2(x), and ``breach(value)`` the sum of Pr_A1(x) Pr_A2(x)
    Pr(value | x), which is Formula 4; ``probabilities`` are given that the person is in the table.
    Without an external list Pr_A2(x) is 1 where a row fits x and 0 where none does. Chances may add
    up to less than 1: the rest is for persons not in the table. ``rows``, ``groups`` and ``listed``
    are summed over the vectors, so what fits two of them counts twice.

    >>> patients = sf.read("patients.csv", sf.read_schema("patients.toml"))
    >>> release = sf.publish(patients, sf.Anatomize(), sf.LDiversity(4))
    >>> likely = {"age": 29, "sex": "M", "zipcode": "02175"}
    >>> possible = [(likely, 0.7), ({**likely, "zipcode": "02176"}, 0.3)]
    >>> round(sf.uncertain_belief(release, possible).largest, 3) <= 1 / 4
    True
    """
    view = View.of(release, sensitive)
    possible = [(Persons.known(view.release, person), chance) for person, chance in persons]
    _require_chances([chance for _, chance in possible])
    found = [(view.belief(person, external), chance) for person, chance in possible]
    present = sum(chance * one.present for one, chance in found)
    named: dict[Any, float] = {}
    for one, chance in found:
        for value in one.probabilities:
            named[value] = named.get(value, 0.0) + chance * one.breach(value)
    return Belief(
        sensitive=view.name,
        probabilities=_ranked({value: joint / present for value, joint in named.items() if joint}),
        rows=sum(one.rows for one, _ in found),
        groups=sum(one.groups for one, _ in found),
        present=present,
        listed=None if external is None else sum(one.listed or 0 for one, _ in found),
        unseen=tuple(dict.fromkeys(name for one, _ in found for name in one.unseen)),
    )


def individual_breach(
    release: Release,
    truth: Microdata,
    *,
    sensitive: str | None = None,
    external: pa.Table | None = None,
) -> Breach:
    """Theorem 1 for everybody: the chance that each person's real value is named.

    The adversary knows all quasi-identifiers of the person. Probabilities are in the order of the
    true table's rows; a person whom no published row fits has 0. With an ``external`` list they are
    multiplied by the person's Pr_A2 (Formula 3; see belief). Another table than the published one
    is refused: people who are not in the release would make the figures look harmless.

    >>> patients = sf.read("patients.csv", sf.read_schema("patients.toml"))
    >>> release = sf.publish(patients, sf.Anatomize(), sf.LDiversity(4))
    >>> round(sf.individual_breach(release, patients).largest, 3) <= 1 / 4
    True
    """
    view = View.of(release, sensitive)
    if view.name not in truth.schema.sensitive:
        raise SchemaError(f"the true table has no sensitive column {view.name!r}", column=view.name)
    persons = Persons.true(view.release, truth)
    require_rows(view.release, truth)
    cells = cells_of(view.release, persons.names)
    vectors, numbers, _ = persons.distinct()
    asked, asked_starts = rows_by_group(numbers, vectors.n_rows)
    real = translated(truth.attributes[view.name], view.attribute)[truth.codes[view.name]]
    suppressed = view.release.manifest.suppressed
    require_values(view.groups, real, suppressed)
    named = np.full(truth.n_rows, -1.0)
    present = np.zeros(vectors.n_rows)
    chances = _row_chances(cells, view.release, external, persons.names)
    shares = view.groups.shares
    for part in cells.match(vectors):
        high = part.low + len(part.starts) - 1
        name_values(
            part.starts, part.cells, cells.starts, cells.groups, cells.rows, view.groups.starts,
            view.groups.values, shares, view.attribute.size,
            asked_starts[part.low : high + 1], asked, real, named,
        )  # fmt: skip
        np.add.at(present, part.vectors, chances[part.cells])
    unmatched = named < 0
    require_matched(int(np.count_nonzero(unmatched)), suppressed)
    overall = np.where(unmatched, 0.0, named) * np.minimum(1.0, present)[numbers]
    return Breach(view.name, overall, view.bound(), int(np.count_nonzero(unmatched)))


def row_breach(release: Release, *, sensitive: str | None = None) -> Breach:
    """Corollary 1 for every row, from the published tables alone.

    A row's real value is named with the value's share in its group. Which row of a group has which
    value does not matter for the summary, so no truth is needed: a group's values follow each other
    as often as they occur. See partition_breach for an array that goes with the true table.

    >>> patients = sf.read("patients.csv", sf.read_schema("patients.toml"))
    >>> release = sf.publish(patients, sf.Anatomize(), sf.LDiversity(4))
    >>> sf.row_breach(release).largest
    0.25
    """
    view = View.of(release, sensitive)
    return Breach(view.name, np.repeat(view.groups.shares, view.groups.counts), view.bound())


def partition_breach(
    partition: Partition, truth: Microdata, *, sensitive: str | None = None
) -> Breach:
    """Corollary 1 for every row of the true table, whose groups the publisher knows."""
    name = _chosen(truth.schema.sensitive, sensitive)
    attribute, codes = truth.attributes[name], truth.codes[name]
    groups = Histograms.of_groups(attribute, codes, partition.groups, partition.n_groups)
    entries = groups.groups.astype(np.int64) * attribute.size + groups.values
    own = np.searchsorted(entries, partition.groups.astype(np.int64) * attribute.size + codes)
    return Breach(name, groups.shares[own])


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """One sensitive attribute of a release, as its tables show it."""

    release: Grouped
    name: str
    attribute: Attribute
    groups: Histograms

    @classmethod
    def of(cls, release: Release, sensitive: str | None) -> View:
        form = form_of(release)
        if form.unguessable is not None:
            raise ParameterError(form.unguessable, parameter="release")
        known = [column.name for column in release.manifest.of_role(Role.SENSITIVE)]
        name = _chosen(known, sensitive)
        evidence = evidence_of(release)
        _require_whole(evidence)
        groups = evidence.histograms(name)
        assert groups.attribute is not None
        return cls(form.guessed(release), name, groups.attribute, groups)

    def belief(self, person: Persons, external: pa.Table | None) -> Belief:
        cells = cells_of(self.release, person.names)
        fitting = np.concatenate([part.cells for part in cells.match(person)])
        entries = np.isin(_entry_cells(cells), fitting)
        rows: Floats = np.bincount(
            cells.groups[entries], weights=cells.rows[entries], minlength=self.groups.n_groups
        ).astype(np.float64)
        known = Belief(
            sensitive=self.name,
            probabilities=self._mixture(rows),
            rows=int(rows.sum()),
            groups=int(np.count_nonzero(rows)),
            present=float(len(fitting) > 0),
            unseen=() if len(fitting) else unseen_numbers(self.release, person),
        )
        if external is None:
            return known
        by_cell, listed = _listed(cells, self.release, external, person.names, fitting)
        chance = float(np.sum((_cell_rows(cells) / np.maximum(1, by_cell))[fitting]))
        return replace(known, present=min(1.0, chance), listed=listed)

    def _mixture(self, rows: Floats) -> Mapping[Any, float]:
        """Values of the groups, weighted by how many of their rows fit."""
        weights = rows[self.groups.groups] * self.groups.shares
        sums = np.bincount(self.groups.values, weights=weights, minlength=self.attribute.size)
        codes = np.flatnonzero(sums)
        values = python_values(self.attribute.decode(codes))
        return _ranked(dict(zip(values, (sums[codes] / rows.sum()).tolist(), strict=True)))

    def bound(self) -> float | None:
        """1/l of the strongest l-diversity that is promised for the attribute."""
        ls = [
            float(stated["l"])
            for stated in self.release.manifest.promise
            if stated.get("model") == LDiversity.name and stated.get("on") == self.name
        ]
        return 1 / max(ls) if ls else None


def _chosen(known: Sequence[str], sensitive: str | None) -> str:
    if not known:
        raise SchemaError("no column is sensitive, so there is no value to name")
    if sensitive is None:
        if len(known) > 1:
            raise ParameterError(f"name one of {', '.join(known)}", parameter="sensitive")
        return known[0]
    if sensitive not in known:
        hint = did_you_mean(sensitive, known) or f"sensitive are {', '.join(known)}"
        raise SchemaError(f"no sensitive column {sensitive!r}; {hint}", column=sensitive)
    return sensitive


def _require_whole(evidence: Evidence) -> None:
    flaw = next(evidence.flaws(), None)
    if flaw is not None:
        raise DataError(f"the release is not what its release.json says: {flaw}")


def _require_chances(chances: Sequence[float]) -> None:
    if not chances or min(chances) < 0 or not sum(chances) <= 1 + _TOLERANCE:
        raise ParameterError(
            "the chances of a person's possible values must be at least 0 and add up to at most 1",
            parameter="persons",
        )


def _ranked(chances: Mapping[Any, float]) -> Mapping[Any, float]:
    """The likeliest first; equals stay in the order of their values."""
    ranked = sorted(chances.items(), key=lambda item: -round(item[1], 12))
    return dict(ranked)


def translated(truth: Attribute, published: Attribute) -> Codes:
    """The published code of every true code; -1 for a value that is not published."""
    places = pc.index_in(truth.values.cast(published.values.type), published.values)
    missing = published.missing_code if published.has_missing else -1
    return np.append(places.fill_null(-1).to_numpy(), missing).astype(np.int32)


def _listed(
    cells: ShownCells, release: Grouped, external: pa.Table, names: Sequence[str], fitting: Codes
) -> tuple[Counts, int]:
    """How many persons of the list fit each cell, and how many fit one of the cells ``fitting``."""
    listed = Persons.listed(release, external, names)
    require_alike(release, listed, names)
    vectors, _, counts = listed.distinct()
    by_cell = np.zeros(len(cells.starts) - 1, np.int64)
    among = np.zeros(vectors.n_rows, np.bool_)
    for part in cells.match(vectors):
        np.add.at(by_cell, part.cells, counts[part.vectors])
        among[part.vectors[np.isin(part.cells, fitting)]] = True
    return by_cell, int(counts[among].sum())


def _row_chances(
    cells: ShownCells, release: Grouped, external: pa.Table | None, names: Sequence[str]
) -> Floats:
    """Per cell, the chance that one of its rows is a given person's who fits it: R / N, or 1."""
    if external is None:
        return np.ones(len(cells.starts) - 1)
    by_cell, _ = _listed(cells, release, external, names, np.empty(0, np.int32))
    return _cell_rows(cells) / np.maximum(1, by_cell)


def _entry_cells(cells: ShownCells) -> Counts:
    """The cell of every entry."""
    return np.repeat(np.arange(len(cells.starts) - 1), np.diff(cells.starts))


def _cell_rows(cells: ShownCells) -> Counts:
    """Published rows in each cell."""
    return np.add.reduceat(cells.rows, cells.starts[:-1])
