"""What a join release gives away about the people of the microdata, for its owner.

Sacharidis, Mouratidis, Papadias: "k-Anonymity in the Presence of External Databases", TKDE 2010.
The attacker knows a person's quasi-identifiers and reads the published tables.

*Re-identification* (Theorem 2): all lines of all boxes that cover the person's values are equally
likely the person's, so that one is picked with chance 1 / lines <= 1/k.

*Presence*: is the person in the microdata? Box b has n_b lines and holds e_b rows of the microdata,
as far as one can expect: e_b = 1 + (M - B) (n_b - 1) / (N - B) under Refinement (forms/
joined/stock.py: its sensitive group has M rows in B boxes of N lines), so that the lines of a group
are microdata with a chance of M / N on average. Under Direct only 1 <= e_b <= n_b is known.

- Nobody else known: the person is behind one of the lines that cover the values, each as likely as
  the other: sum of e_b / sum of n_b over the covering boxes.
- With an external list (Assumption 1: it may name more people than the publisher's): each of the
  e_b rows belongs to each of the N_b listed people whose values lie in the box with chance 1 / N_b:
  min(1, sum of e_b / max(1, N_b)).

Both take people in a box to be equally likely in the microdata. An attacker who knows better (old
people are in hospital more often) believes otherwise.

*Edges*: edges.py says which people on the list are in the microdata for certain.

*Absence*: every row of the microdata is in a box. Whoever is on the list and in no box is certainly
not in the microdata, whatever the method; wide boxes cover more people and prove less.

None of this is bounded by k-join-anonymity, but for re-identification.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from sfumato.audits.breach.matching import cells_of
from sfumato.audits.breach.persons import Persons
from sfumato.audits.evidence import evidence_of
from sfumato.audits.join_risk.edges import Boxes, exposed
from sfumato.audits.join_risk.listed import Listed, ListReading
from sfumato.audits.join_risk.results import JoinRisk
from sfumato.core.arrays import Counts, Floats
from sfumato.core.microdata import Microdata, require_microdata
from sfumato.engines.choice import Engine
from sfumato.errors import DataError, ParameterError
from sfumato.forms.compact import number_lines
from sfumato.forms.generalized.release import GeneralizedTable
from sfumato.forms.joined.release import JoinRelease
from sfumato.forms.joined.stock import Stock
from sfumato.forms.registry import Release, form_of
from sfumato.io.tables import Source, markers
from sfumato.models.anonymity import KJoinAnonymity

__all__ = ["JoinRisk", "edge_attack", "join_risk"]


def join_risk(
    release: Release,
    table: Microdata,
    external: Source | None = None,
    *,
    columns: Mapping[str, str] | None = None,
    missing: str | Collection[str] = (),
    header: bool | None = None,
    engine: Engine = "auto",
    memory_limit: int | None = None,
) -> JoinRisk:
    """How surely people of the table can be picked, or told to be in it, from a join release.

    ``external`` is a list of people that an attacker may have, with the quasi-identifiers;
    ``columns`` gives the names it has for them where they differ (by default those that
    release.json states of the publisher's list); others, such as the id's, are of no use here.
    ``missing`` are texts that stand for a missing value in it, and ``header`` is about its first
    line; see ``read``. ``engine`` and ``memory_limit`` are those of ``publish_join``.

    >>> import pyarrow.csv as csv
    >>> voters = csv.read_csv("patients.csv")
    >>> schema = sf.Schema(identifiers=["name"], quasi=["age", "sex"])
    >>> table = sf.read(voters.slice(0, 200), schema, id="name")
    >>> release = sf.publish_join(table, voters, sf.Direct(sf.Mondrian()), sf.KJoinAnonymity(10))
    >>> sf.join_risk(release, table).kept
    True
    """
    require_microdata(table)
    known = _Known.of(release)
    seen = Persons.true(known.boxes.table, table)
    _require_same(known, table)
    lines = known.boxes.lines
    covered = _sums(known, seen, np.stack([lines, known.expected], axis=1))
    if not covered[:, 0].all():
        raise DataError(
            f"{np.count_nonzero(covered[:, 0] == 0):,} rows of the table lie in no published box; "
            "give the table that was published"
        )
    risk = JoinRisk(
        bound=1 / known.k,
        reidentification=1 / covered[:, 0],
        presence=np.minimum(1.0, covered[:, 1] / covered[:, 0]),
        known=known.counted,
    )
    if external is None:
        return risk
    reading = ListReading(columns or {}, markers(missing), header, engine, memory_limit)
    listed = reading.listed(known.boxes.table, external)
    vectors, _, counts = listed
    people, nowhere = np.zeros(len(lines), np.int64), np.ones(vectors.n_rows, np.bool_)
    for part in cells_of(known.boxes.table, vectors.names).match(vectors):
        np.add.at(people, part.cells, counts[part.vectors])
        nowhere[part.vectors] = False
    chances = _sums(known, seen, (known.expected / np.maximum(1, people))[:, None])[:, 0]
    named = exposed(known.boxes, listed)
    return replace(
        risk,
        listed_presence=np.minimum(1.0, chances),
        exposed=named,
        mistaken=_mistaken(named, listed, seen),
        listed=int(counts.sum()),
        lacking=int(np.count_nonzero(people < lines)),
        # every row of the microdata lies in a box, unless some were left out
        absent=0 if release.manifest.suppressed else int(counts[nowhere].sum()),
    )


def edge_attack(
    release: Release,
    external: Source,
    columns: Mapping[str, str] | None = None,
    *,
    missing: str | Collection[str] = (),
    header: bool | None = None,
    engine: Engine = "auto",
    memory_limit: int | None = None,
) -> Counts:
    """Rows of a public list about people who are in the microdata for certain.

    Only published tables are read. The list must name everybody who may be in the microdata or
    among the publisher's external rows; then no claim is wrong. ``engine`` and ``memory_limit`` are
    those of ``publish_join``.

    >>> import pyarrow.csv as csv
    >>> voters = csv.read_csv("patients.csv")
    >>> schema = sf.Schema(identifiers=["name"], quasi=["age", "sex"])
    >>> table = sf.read(voters.slice(0, 200), schema, id="name")
    >>> release = sf.publish_join(table, voters, sf.Direct(sf.Mondrian()), sf.KJoinAnonymity(10))
    >>> exposed = sf.edge_attack(release, voters)  # numbers of their rows
    >>> len(exposed) < 10
    True
    """
    known = _Known.of(release)
    reading = ListReading(columns or {}, markers(missing), header, engine, memory_limit)
    return exposed(known.boxes, reading.listed(known.boxes.table, external))


class _Known(NamedTuple):
    """What the published tables say: boxes, rows to expect in each, whether those are counted."""

    boxes: Boxes
    expected: Floats
    counted: bool
    rows: int | None
    k: int

    @classmethod
    def of(cls, release: Any) -> _Known:
        if not form_of(release).external:
            raise ParameterError(
                "only join releases have lines that are not of the microdata; for other releases "
                "see individual_breach",
                parameter="release",
            )
        flaw = next(evidence_of(release).flaws(), None)
        if flaw is not None:
            raise DataError(f"the release is not what its release.json says: {flaw}")
        if release.sis:
            stock, boxes = Stock.of_release(release)
            rows = int(stock.rows.sum())
            found = Boxes(_as_boxes(release, boxes), stock.lines, stock.group)
            return cls(found, stock.expected, True, rows, _k(release))
        numbers, first = number_lines(release.groups)
        lines = np.bincount(numbers[release.group_of_row], minlength=len(first))
        found = Boxes(_as_boxes(release, release.groups.take(pa.array(first))), lines, None)
        # one row in each box, and perhaps more
        return cls(found, np.ones(len(lines)), False, None, _k(release))


def _k(release: JoinRelease) -> int:
    """The k of the promise; evidence has no say in it."""
    ks = [
        stated.get("k")
        for stated in release.manifest.promise
        if stated.get("model") == KJoinAnonymity.name
    ]
    known = [k for k in ks if isinstance(k, int) and k >= 1]
    if not known:
        raise DataError("release.json does not promise k-join-anonymity")
    return max(known)


def _as_boxes(release: JoinRelease, lines: pa.Table) -> GeneralizedTable:
    """The JAT read as a generalized table with one row per box, which matching knows."""
    n = lines.num_rows
    shown = lines.select(release.manifest.quasi_columns)
    return GeneralizedTable(shown, np.arange(n, dtype=np.int32), shown.select([]), release.manifest)


def _mistaken(named: Counts, listed: Listed, seen: Persons) -> int:
    """How many of the people who are named have values that nobody in the table has."""
    own = seen.distinct()[0]
    there = set(_lines(own, np.arange(own.n_rows)))
    vectors = np.flatnonzero(np.isin(listed.first, named))
    return sum(one not in there for one in _lines(listed.vectors, vectors))


def _lines(persons: Persons, chosen: Counts) -> Iterator[tuple[Any, ...]]:
    columns = []
    for name, values in persons.values.items():
        known = [*values.to_pylist(), None]
        columns.append([known[code] for code in persons.codes[name][chosen].tolist()])
    return zip(*columns, strict=True)


def _sums(known: _Known, persons: Persons, amounts: Floats) -> Floats:
    """For every person, amounts of the covering boxes added up."""
    vectors, numbers, _ = persons.distinct()
    sums = np.zeros((vectors.n_rows, amounts.shape[1]))
    for part in cells_of(known.boxes.table, persons.names).match(vectors):
        np.add.at(sums, part.vectors, amounts[part.cells])
    return sums[numbers]


def _require_same(known: _Known, table: Microdata) -> None:
    if known.rows is not None and known.rows != table.n_rows:
        raise DataError(
            f"the release was made of {known.rows:,} rows and the table has {table.n_rows:,}; "
            "give the table that was published"
        )
