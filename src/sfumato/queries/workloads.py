"""Random COUNT queries as the papers ask them; workload_files reads and writes such lists."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sfumato.core.attribute import Attribute
from sfumato.core.microdata import Microdata, require_microdata
from sfumato.core.moments import askable_values
from sfumato.core.predicates import Predicate, between, one_of
from sfumato.core.query import Query
from sfumato.errors import ParameterError, SchemaError


def anatomy_workload(
    table: Microdata,
    *,
    queries: int = 10_000,
    dimensionality: int,
    selectivity: float = 0.05,
    sensitive: str | None = None,
    seed: int | None = None,
) -> tuple[Query, ...]:
    """Random COUNT queries as in section 6.1 of "Anatomy" (Xiao, Tao, VLDB 2006).

    Each names qd (``dimensionality``) random quasi-identifiers and the sensitive attribute, and
    wants b = ceil(|A| * s ** (1 / (qd + 1))) random different values of each (Equation 14), s being
    the share of rows that would satisfy it if all values were equally frequent and independent.
    Missing is a value.

    >>> patients = sf.read("patients.csv", sf.read_schema("patients.toml"))
    >>> questions = sf.anatomy_workload(patients, queries=3, dimensionality=2, seed=1)
    >>> list(questions[0].where)
    ['age', 'job', 'disease']
    """
    require_microdata(table)
    _require_queries(queries)
    _require_dimensionality(dimensionality, table)
    _require_share("selectivity", selectivity)
    asked = _sensitive(table, sensitive)
    random = np.random.default_rng(seed)
    domains = {attribute.name: _values(attribute) for attribute in (*table.quasi, asked)}
    share = selectivity ** (1 / (dimensionality + 1))

    def wanted(name: str) -> list[Any]:
        domain = domains[name]
        return [domain[code] for code in random.permutation(len(domain))[: _upper(domain, share)]]

    def query() -> Query:
        names = _chosen(table, dimensionality, random)
        return Query({name: wanted(name) for name in (*names, asked.name)})

    return tuple(query() for _ in range(queries))


def dynamic_workload(
    table: Microdata,
    *,
    queries: int = 2000,
    dimensionality: int = 2,
    length: float = 0.06,
    sensitive: str | None = None,
    seed: int | None = None,
) -> tuple[Query, ...]:
    """Random COUNT queries as in section 9 of "Dynamic Anonymization" (Xiao, Tao, SIGMOD 2008).

    Each names lambda (``dimensionality``) random quasi-identifiers and the sensitive attribute, and
    wants an interval of ceil(ql * |A|) neighbouring values of each (ql is ``length``), all places
    being equally likely. Values without an order are neighbours in the order of their codes. |A|
    counts the values that occur or are declared; missing lies in no interval.

    >>> patients = sf.read("patients.csv", sf.read_schema("patients.toml"))
    >>> questions = sf.dynamic_workload(patients, queries=3, length=0.2, seed=1)
    >>> list(questions[0].where)
    ['age', 'job', 'disease']
    """
    require_microdata(table)
    _require_queries(queries)
    _require_dimensionality(dimensionality, table)
    _require_share("length", length)
    asked = _sensitive(table, sensitive)
    random = np.random.default_rng(seed)
    lines = {attribute.name: _Line(attribute) for attribute in (*table.quasi, asked)}
    lengths = {name: _upper(line.values, length) for name, line in lines.items()}

    def query() -> Query:
        names = (*_chosen(table, dimensionality, random), asked.name)
        return Query({name: lines[name].interval(lengths[name], random) for name in names})

    return tuple(query() for _ in range(queries))


def range_workload(
    table: Microdata,
    *,
    queries: int = 100,
    share: float = 0.10,
    attributes: Sequence[str] | None = None,
    seed: int | None = None,
) -> tuple[Query, ...]:
    """Random boxes as in section 5 of "k-join-anonymity" (Sacharidis, Mouratidis, Papadias).

    Each query spans |R| (``share``) of the space of d quasi-identifiers, all of them by default,
    and asks nothing of sensitive ones. The paper does not say how; here all sides are equally long
    relative to their domains: ``share ** (1 / d)`` of an attribute's values, rounded to the nearest
    number but at least one, and neighbours as in ``dynamic_workload``.

    >>> patients = sf.read("patients.csv", sf.read_schema("patients.toml"))
    >>> questions = sf.range_workload(patients, queries=3, attributes=["age"], seed=1)
    >>> list(questions[0].where)
    ['age']
    """
    require_microdata(table)
    _require_queries(queries)
    _require_share("share", share)
    names = _named(table, attributes)
    random = np.random.default_rng(seed)
    side = share ** (1 / len(names))
    lines = {name: _Line(table.attributes[name]) for name in names}
    lengths = {name: max(1, math.floor(len(lines[name].values) * side + 0.5)) for name in names}

    def query() -> Query:
        return Query({name: lines[name].interval(lengths[name], random) for name in names})

    return tuple(query() for _ in range(queries))


class _Line:
    """An attribute's values side by side."""

    def __init__(self, attribute: Attribute) -> None:
        self.values = askable_values(attribute.values)
        self.ordered = attribute.ordered

    def interval(self, length: int, random: np.random.Generator) -> Predicate:
        """So many neighbours, at a random place; nothing of a column that is all missing."""
        last = len(self.values) - length
        first = int(random.integers(last, endpoint=True)) if last > 0 else 0
        wanted = self.values[first : first + length]
        return between(wanted[0], wanted[-1]) if self.ordered and wanted else one_of(wanted)


def _chosen(table: Microdata, number: int, random: np.random.Generator) -> list[str]:
    """Random quasi-identifiers, in schema order."""
    places = random.permutation(len(table.quasi))[:number]
    return [table.quasi[place].name for place in sorted(places)]


def _values(attribute: Attribute) -> list[Any]:
    return [*askable_values(attribute.values), *([None] if attribute.has_missing else [])]


def _upper(domain: Sequence[Any], share: float) -> int:
    # the root of a power may come out a hair too large, and would then be rounded up
    return math.ceil(len(domain) * share - 1e-9)


def _sensitive(table: Microdata, name: str | None) -> Attribute:
    names = table.schema.sensitive
    if name is None and len(names) == 1:
        return table.attributes[names[0]]
    if name in names:
        return table.attributes[name]
    if not names:
        raise SchemaError("these queries ask for a sensitive column; the schema names none")
    raise ParameterError(f"name one of {', '.join(names)}: sensitive=...", parameter="sensitive")


def _named(table: Microdata, attributes: Sequence[str] | None) -> tuple[str, ...]:
    known: Mapping[str, Attribute] = {attribute.name: attribute for attribute in table.quasi}
    names = tuple(known) if attributes is None else tuple(attributes)
    strangers = [name for name in names if name not in known]
    if strangers or not names:
        raise ParameterError(
            f"attributes must name some of the quasi-identifiers {', '.join(known)}"
            + (f", not {strangers[0]!r}" if strangers else ""),
            parameter="attributes",
        )
    return names


def _require_queries(queries: int) -> None:
    if queries < 0:
        raise ParameterError(f"queries must be 0 or more, not {queries}", parameter="queries")


def _require_dimensionality(dimensionality: int, table: Microdata) -> None:
    most = len(table.quasi)
    if not 1 <= dimensionality <= most:
        raise ParameterError(
            f"dimensionality must be 1 to {most}, the number of quasi-identifiers, "
            f"not {dimensionality}",
            parameter="dimensionality",
        )


def _require_share(parameter: str, share: float) -> None:
    if not 0 < share <= 1:
        raise ParameterError(
            f"{parameter} is a share above 0 and up to 1, not {share}", parameter=parameter
        )
