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
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.audits.breach.everybody import everybody, named_chances
from sfumato.audits.breach.persons import Persons
from sfumato.audits.breach.results import QUANTILES, Belief, Breach
from sfumato.audits.breach.view import View, chosen_column, ranked
from sfumato.core.histograms import Histograms
from sfumato.core.microdata import Microdata
from sfumato.core.partition import Partition
from sfumato.engines.parts import TableParts
from sfumato.errors import ParameterError
from sfumato.forms.registry import Release

__all__ = [
    "QUANTILES", "Belief", "Breach", "Persons", "View", "belief", "everybody",
    "individual_breach", "partition_breach", "row_breach", "uncertain_belief",
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
        probabilities=ranked({value: joint / present for value, joint in named.items() if joint}),
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
    ((chances, unmatched),) = named_chances(view, TableParts.of(truth), external)
    return Breach(view.name, chances, view.bound(), unmatched)


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
    name = chosen_column(truth.schema.sensitive, sensitive)
    attribute, codes = truth.attributes[name], truth.codes[name]
    groups = Histograms.of_groups(attribute, codes, partition.groups, partition.n_groups)
    entries = groups.groups.astype(np.int64) * attribute.size + groups.values
    own = np.searchsorted(entries, partition.groups.astype(np.int64) * attribute.size + codes)
    return Breach(name, groups.shares[own])


def _require_chances(chances: Sequence[float]) -> None:
    if not chances or min(chances) < 0 or not sum(chances) <= 1 + _TOLERANCE:
        raise ParameterError(
            "the chances of a person's possible values must be at least 0 and add up to at most 1",
            parameter="persons",
        )
