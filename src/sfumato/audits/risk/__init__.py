"""Risk, before and after: who can be found, by which columns, and whose value is then known.

    risk = assess("patients.csv", schema)
    risk.sentences

Three outsiders, as in El Emam, "Guide to the De-Identification of Personal Health Information"
(2013): the prosecutor looks for somebody who is in the table, the journalist for somebody of the
population, the marketer for everybody. All of it is the owner's: single people are behind it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.audits.risk.classes import (
    SMALL,
    Alike,
    Tally,
    chances_of,
    guessed,
    household_chances,
    people_of,
)
from sfumato.audits.risk.population import (
    listed_sizes,
    mean_chances,
    of_list,
    of_weights,
    weights_of,
)
from sfumato.audits.risk.released import of_folder, of_release
from sfumato.audits.risk.results import (
    AttributeRisk,
    Chances,
    ColumnShare,
    Population,
    Risk,
    SensitiveProfile,
    UniqueSet,
    UniqueSets,
)
from sfumato.audits.risk.unique_sets import LARGEST, unique_sets
from sfumato.core._kernels import number_rows
from sfumato.core.arrays import Codes, Floats
from sfumato.core.compiled import announce
from sfumato.core.foreign import our_errors
from sfumato.core.histograms import Histograms
from sfumato.core.microdata import Microdata
from sfumato.core.schema import Schema
from sfumato.engines.memory import memory_or_half
from sfumato.engines.parts import TableParts
from sfumato.errors import ParameterError, SchemaError
from sfumato.forms.manifest import FILE
from sfumato.forms.registry import FORMS
from sfumato.io.schema_files import as_schema
from sfumato.io.tables import Source, read_table
from sfumato.models.diversity import entropies

__all__ = [
    "AttributeRisk", "Chances", "ColumnShare", "Population", "Risk", "SensitiveProfile",
    "UniqueSet", "UniqueSets", "assess",
]  # fmt: skip

# what it takes to find the rows that are alike, and how much of the memory may go into it
_ROW_BYTES, _CODE_BYTES, _SHARE = 64, 8, 2


@our_errors("assessing the risk")
def assess(
    source: Source,
    schema: Schema | str | Path | None = None,
    *,
    person: str | None = None,
    household: str | None = None,
    weight: str | None = None,
    population: Source | None = None,
    sets: int = LARGEST,
) -> Risk:
    """How exposed people are in a table, a release or a release folder.

    A table that is not read yet needs a ``schema``, or the path of one. ``person`` names the column
    that tells whose rows are whose, so that people are counted and not rows; ``household`` the one
    that tells who lives together: whoever finds one finds all. ``weight`` is a column of survey
    weights, and ``population`` a list of everybody with the quasi-identifiers; either gives the
    journalist's risk. Combinations of up to ``sets`` columns that single people out are looked for;
    0 for none.

    >>> patients = sf.read("patients.csv", sf.read_schema("patients.toml"))
    >>> risk = sf.assess(patients)
    >>> risk.rows, risk.unique_rows, risk.sensitive[0].largest_l
    (1000, 984, 8)
    >>> risk.sets.sets[0]
    UniqueSet(columns=('age', 'zipcode'), people=706)
    >>> print(sf.assess(sf.publish(patients, sf.Mondrian(), sf.KAnonymity(10))).sentences[0])
    Nobody stands alone on age, sex, zipcode, education and job: everybody is one of 10 at least ...
    """
    announce(number_rows)
    named = {"person": person, "household": household, "weight": weight}
    if callable(own := getattr(source, "assess", None)):
        _require_none(named, "a database")
        found: Risk = own()
        return found
    if getattr(source, "kind", None) in FORMS or _is_folder(source):
        _require_none(named, "a release, which names nobody; assess the table")
        if _is_folder(source):
            return of_folder(source, memory_or_half(None), population)
        return of_release(source, population)
    if isinstance(source, TableParts) and source.engine is not None:
        _require_none({**named, "population": population}, "a table beyond memory")
        return _of_parts(source)
    known = as_schema(schema) if isinstance(schema, str | Path) else schema
    table, columns = _read(source, known, named)
    return _of_table(table, columns, weight, population, sets)


@dataclass(frozen=True, slots=True, eq=False)
class _Columns:
    """What is known of the rows beside the schema's columns."""

    person: Codes | None = None
    household: Codes | None = None
    weight: Floats | None = None


def _of_parts(parts: TableParts) -> Risk:
    n = parts.buckets(_SHARE * (_ROW_BYTES + _CODE_BYTES * len(parts.schema.quasi)), parts.memory)
    tally = parts.dealt(parts.schema.quasi, n).folded(Tally.of_table, Tally.together)
    return Risk(
        quasi=parts.schema.quasi,
        rows=parts.n_rows,
        people=parts.n_rows,
        classes=tally.classes,
        unique_rows=tally.sizes.get(1, 0),
        rows_in_small_classes=tally.small,
        smallest_class=min(tally.sizes),
        largest_k=parts.n_rows,
        prosecutor=tally.chances(),
        marketer=tally.classes / tally.people,
        attributes=tuple(
            tally.attribute(name, _baseline(parts, name)) for name in parts.schema.sensitive
        ),
        sensitive=tuple(_promises(parts, name) for name in parts.schema.sensitive),
    )


def _of_table(
    table: Microdata,
    columns: _Columns,
    weight: str | None,
    population: Source | None,
    sets: int,
) -> Risk:
    if weight is not None and population is not None:
        raise ParameterError("give weights or a list, not both", parameter="population")
    parts, alike = TableParts.of(table), Alike.of(table, columns.person)
    each = alike.worst(1 / alike.people)
    outside, behind = _outside(table, alike, columns, population)
    alone = int(np.count_nonzero(each == 1))
    return Risk(
        quasi=table.schema.quasi,
        rows=table.n_rows,
        people=alike.n_people,
        classes=len(alike.rows),
        unique_rows=alone,
        rows_in_small_classes=int(np.count_nonzero(each > (1 / SMALL) * (1 + 1e-9))),
        smallest_class=int(alike.people.min()),
        largest_k=alike.n_people,
        prosecutor=chances_of(each),
        marketer=float((each if outside is None else outside.each).mean()),  # type: ignore[union-attr]
        journalist=outside,
        households=_households(alike, columns),
        population=behind,
        attributes=tuple(_learned(parts, alike, name) for name in table.schema.sensitive),
        sets=_sets(table, alike, sets) if sets else None,
        sensitive=tuple(_promises(parts, name) for name in table.schema.sensitive),
    )


def _outside(
    table: Microdata, alike: Alike, columns: _Columns, population: Source | None
) -> tuple[Chances | None, Population | None]:
    """How likely people are found in the population, and what is known of it."""
    if population is not None:
        sizes = listed_sizes(table, alike.people, alike.first, population)
        listed = _rows_of(population, table.schema)
        return chances_of(alike.worst(1 / sizes)), of_list(sizes, listed)
    if columns.weight is None:
        return None, None
    # a person's rows have one weight together
    weights: Floats = columns.weight
    if alike.who is not None:
        weights = weights / np.bincount(alike.who)[alike.who]
    sums: Floats = np.bincount(alike.number, weights, len(alike.rows)).astype(np.float64)
    chances = mean_chances(alike.people, sums)
    return chances_of(alike.worst(chances)), of_weights(alike.people, float(weights.sum()))


def _rows_of(population: Source, schema: Schema) -> int:
    return int(read_table(population, columns=schema.quasi[:1]).num_rows)


def _households(alike: Alike, columns: _Columns) -> Chances | None:
    if columns.household is None:
        return None
    each, homes = alike.worst(1 / alike.people), columns.household
    if alike.who is not None:
        of_person = np.zeros(alike.n_people, np.int32)
        of_person[alike.who] = homes
        homes = of_person
    return household_chances(each, homes)


def _sets(table: Microdata, alike: Alike, largest: int) -> UniqueSets:
    points = table.quasi_codes()[alike.first]
    return unique_sets(table.schema.quasi, points, table.quasi_sizes(), alike.only(), largest)


def _learned(parts: TableParts, alike: Alike, name: str) -> AttributeRisk:
    attribute, codes = parts.attributes[name], parts.domain.codes[name]
    values = Histograms.of_groups(attribute, codes, alike.number, len(alike.rows))
    return guessed(name, alike.worst(alike.guesses(values)), _baseline(parts, name))


def _baseline(table: TableParts, name: str) -> float:
    return float(table.value_counts[name].max() / table.n_rows)


def _promises(table: TableParts, name: str) -> SensitiveProfile:
    whole = Histograms.of_whole(table.attributes[name], table.value_counts[name])
    most, distinct = int(whole.largest[0]), int(whole.distinct[0])
    return SensitiveProfile(
        name=name,
        most_frequent_share=most / table.n_rows,
        largest_l=table.n_rows // most,
        largest_distinct_l=distinct,
        largest_entropy_l=math.floor(100 * math.exp(entropies(whole)[0])) / 100,
        largest_m=min(table.n_rows // most, distinct),
    )


def _read(
    source: Any, schema: Schema | None, named: Mapping[str, str | None]
) -> tuple[Microdata, _Columns]:
    table = source.domain if isinstance(source, TableParts) else source
    wanted = {part: name for part, name in named.items() if name is not None}
    if isinstance(table, Microdata):
        if schema is not None and schema != table.schema:
            raise ParameterError("the table has a schema already; leave it out", parameter="schema")
        return table, _columns({part: _beside(table, name) for part, name in wanted.items()}, named)
    if not isinstance(schema, Schema):
        raise ParameterError(
            "a table that is not read yet needs a schema: assess(table, sf.Schema(quasi=[...])), "
            "or sf.read_schema(path)",
            parameter="schema",
        )
    columns = list(dict.fromkeys([*schema.roles, *wanted.values()]))
    read = read_table(source, columns=columns, trim=True)
    return (
        Microdata.from_arrow(read, schema),
        _columns({part: read.column(name) for part, name in wanted.items()}, named),
    )


def _columns(found: Mapping[str, pa.ChunkedArray], named: Mapping[str, str | None]) -> _Columns:
    weight = found.get("weight")
    return _Columns(
        people_of(found["person"]) if "person" in found else None,
        people_of(found["household"]) if "household" in found else None,
        None if weight is None else weights_of(weight, str(named["weight"])),
    )


def _beside(table: Microdata, name: str) -> pa.ChunkedArray:
    """A column that was read beside the coded ones."""
    if table.ids is not None and table.ids.name == name:
        return table.ids.values
    if name in table.insensitive.column_names:
        return table.insensitive.column(name)
    raise SchemaError(
        f"column {name!r} was not kept when the table was read; give assess the file or frame and "
        f"its schema, or read it with id={name!r}",
        column=name,
    )


def _is_folder(source: Any) -> bool:
    return isinstance(source, str | Path) and (Path(source) / FILE).is_file()


def _require_none(given: Mapping[str, object], what: str) -> None:
    for name, value in given.items():
        if value is not None:
            raise ParameterError(f"{name} is not for {what}", parameter=name)
