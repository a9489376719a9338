"""Query workloads of the papers, and their files: one query per line, as JSON."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.core.attribute import Attribute
from sfumato.core.microdata import Microdata
from sfumato.errors import DataError, ParameterError, SchemaError
from sfumato.queries.count import CountQuery


def anatomy_workload(
    table: Microdata,
    *,
    queries: int = 10_000,
    dimensionality: int,
    selectivity: float = 0.05,
    sensitive: str | None = None,
    seed: int | None = None,
) -> tuple[CountQuery, ...]:
    """Random COUNT queries as in section 6.1 of "Anatomy" (Xiao, Tao, VLDB 2006).

    Each names qd (``dimensionality``) random quasi-identifiers and the sensitive attribute, and
    wants b = ceil(|A| * s ** (1 / (qd + 1))) random different values of each (Equation 14), s being
    the share of rows that would satisfy it if all values were equally frequent and independent.
    Missing is a value.
    """
    _require_parameters(table, queries, dimensionality, selectivity)
    asked = _sensitive(table, sensitive)
    random = np.random.default_rng(seed)
    domains = {attribute.name: _values(attribute) for attribute in (*table.quasi, asked)}
    share = selectivity ** (1 / (dimensionality + 1))

    def wanted(name: str) -> list[Any]:
        domain = domains[name]
        return [domain[code] for code in random.permutation(len(domain))[: _wanted(domain, share)]]

    def query() -> CountQuery:
        chosen = random.permutation(len(table.quasi))[:dimensionality]
        names = [table.quasi[place].name for place in sorted(chosen)]
        return CountQuery({name: wanted(name) for name in (*names, asked.name)})

    return tuple(query() for _ in range(queries))


def write_workload(queries: Iterable[CountQuery], path: str | Path) -> Path:
    """Write queries, one line of JSON each."""
    target = Path(path)
    with target.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{query.to_json()}\n" for query in queries)
    return target


def read_workload(path: str | Path) -> tuple[CountQuery, ...]:
    """Read queries; empty lines are skipped."""
    source = Path(path)
    if not source.is_file():
        raise DataError(f"no workload file {source}", source=str(source))
    queries = []
    with source.open(encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                queries.append(CountQuery.from_json(line))
            except DataError as error:
                raise DataError(f"{source}, line {number}: {error}", source=str(source)) from error
    return tuple(queries)


def _values(attribute: Attribute) -> list[Any]:
    return [*attribute.values.to_pylist(), *([None] if attribute.has_missing else [])]


def _wanted(domain: list[Any], share: float) -> int:
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


def _require_parameters(
    table: Microdata, queries: int, dimensionality: int, selectivity: float
) -> None:
    if queries < 0:
        raise ParameterError(f"queries must be 0 or more, not {queries}", parameter="queries")
    most = len(table.quasi)
    if not 1 <= dimensionality <= most:
        raise ParameterError(
            f"dimensionality must be 1 to {most}, the number of quasi-identifiers, "
            f"not {dimensionality}",
            parameter="dimensionality",
        )
    if not 0 < selectivity <= 1:
        raise ParameterError(
            f"selectivity is a share above 0 and up to 1, not {selectivity}",
            parameter="selectivity",
        )
