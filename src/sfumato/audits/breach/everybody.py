"""The breach of everybody: each row of the true table beside what is published.

The rows are dealt into buckets by their values, so that persons who are alike are looked at once.
Boxes are few, and each bucket is compared with all of them. Exact vectors are as many as rows: they
are dealt as well, and only what may be equal meets.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.audits.breach.kernel import name_values
from sfumato.audits.breach.known_values import (
    require_matched,
    require_possible,
    require_rows,
    require_values,
)
from sfumato.audits.breach.matching import ShownCells, cells_of
from sfumato.audits.breach.persons import Persons
from sfumato.audits.breach.results import Breach
from sfumato.audits.breach.view import View, row_chances
from sfumato.core._kernels import rows_by_group
from sfumato.core.arrays import Codes, Floats
from sfumato.core.attribute import Attribute
from sfumato.core.microdata import Microdata
from sfumato.engines.coded import codes_of
from sfumato.engines.parts import TableParts, buckets_of
from sfumato.engines.tally import Tally
from sfumato.errors import OutOfMemory, SchemaError
from sfumato.forms.registry import form_of

_VECTOR_BYTES = 160  # what it takes to compare a row of a QIT
_CHANCE_BYTES = 64  # ... and to count a probability that no other row has
_SHARE = 4  # of the memory, one part in so many is for each of the two


def everybody(
    view: View, truth: TableParts, external: pa.Table | None, memory: int
) -> tuple[Breach, Breach]:
    """The breach of rows whose group is known, and of persons by their quasi-identifiers.

    Probabilities are counted: rows need not be in memory.
    """
    order = np.argsort(view.groups.shares)
    shares, times = view.groups.shares[order], view.groups.counts[order]
    tally, unmatched = Tally(pa.float64()), 0
    for chances, strangers in named_chances(view, truth, external, memory):
        tally.add(pa.chunked_array([chances]))
        unmatched += strangers
        most = memory // (_SHARE * _CHANCE_BYTES)
        if len(tally) > most and len(tally.result()[0]) > most:
            raise OutOfMemory(
                f"{memory:,} bytes of memory are too few: nearly everybody has a probability of "
                f"their own; allow {_SHARE * _CHANCE_BYTES * truth.n_rows:,} bytes",
                doing="guessing values",
            )
    values, counts = tally.result()
    found = values.to_numpy()
    ascending = np.argsort(found)
    bound = view.bound()
    return (
        Breach(view.name, shares, bound, times=times),
        Breach(view.name, found[ascending], bound, unmatched, counts[ascending]),
    )


def named_chances(
    view: View, truth: TableParts, external: pa.Table | None, memory: int | None = None
) -> Iterator[tuple[Floats, int]]:
    """Part by part, the chance that each person's real value is named, and how many fit nothing.

    In memory a table is one part.
    """
    if view.name not in truth.schema.sensitive:
        raise SchemaError(f"the true table has no sensitive column {view.name!r}", column=view.name)
    suppressed = view.release.manifest.suppressed
    names = Persons.true(view.release, truth.domain).names
    require_rows(view.release, truth.n_rows)
    real = translated(truth.attributes[view.name], view.attribute)
    require_values(view.groups, truth.value_counts[view.name], real, suppressed)
    shares, unmatched, impossible = view.groups.shares, 0, 0
    for cells, part in _blocks(view, truth, memory):
        chances = row_chances(cells, view.release, external, names)
        found, strangers, others = _named(view, cells, part, chances, shares, real)
        unmatched += strangers
        impossible += others
        yield found, strangers
    require_matched(unmatched, suppressed)
    require_possible(impossible, suppressed - unmatched, view.name)


def _blocks(
    view: View, truth: TableParts, memory: int | None
) -> Iterator[tuple[ShownCells, Microdata]]:
    """Published cells, and all persons who may fit them and have not come before."""
    release: Any = view.release
    asked = Persons.true(release, truth.domain)
    names = asked.names
    n = truth.buckets(_SHARE * _VECTOR_BYTES, memory or 0)
    if form_of(release).boxes:
        cells = cells_of(release, names)
        yield from ((cells, part) for part in truth.dealt(names, n).parts() if part.n_rows)
        return
    # a value that nobody has lies in any bucket: nobody looks for it
    domains = [replace(truth.attributes[name], values=asked.values[name]) for name in names]
    of_row = buckets_of((codes_of(one, release.qit[one.name]) for one in domains), n)
    for number, part in enumerate(truth.dealt(names, n).parts()):
        shown = release.qit.filter(pa.array(of_row == number))
        if part.n_rows:
            yield cells_of(replace(release, qit=shown), names), part


def _named(
    view: View,
    cells: ShownCells,
    part: Microdata,
    chances: Floats,
    shares: Floats,
    real: Codes,
) -> tuple[Floats, int, int]:
    """The chance that each person's value is named, how many persons fit nothing, and how many fit
    groups without their value; ``chances`` are that a cell's row is theirs.
    """
    persons = Persons.true(view.release, part)
    vectors, numbers, _ = persons.distinct()
    asked, asked_starts = rows_by_group(numbers, vectors.n_rows)
    named, present = np.full(part.n_rows, -1.0), np.zeros(vectors.n_rows)
    wanted = real[part.codes[view.name]]
    for match in cells.match(vectors):
        high = match.low + len(match.starts) - 1
        name_values(
            match.starts, match.cells, cells.starts, cells.groups, cells.rows, view.groups.starts,
            view.groups.values, shares, view.attribute.size,
            asked_starts[match.low : high + 1], asked, wanted, named,
        )  # fmt: skip
        np.add.at(present, match.vectors, chances[match.cells])
    unmatched = named < 0
    found = np.where(unmatched, 0.0, named) * np.minimum(1.0, present)[numbers]
    return found, int(np.count_nonzero(unmatched)), int(np.count_nonzero(named == 0))


def translated(truth: Attribute, published: Attribute) -> Codes:
    """The published code of every true code; -1 for a value that is not published."""
    places = pc.index_in(truth.values.cast(published.values.type), published.values)
    missing = published.missing_code if published.has_missing else -1
    return np.append(places.fill_null(-1).to_numpy(), missing).astype(np.int32)
