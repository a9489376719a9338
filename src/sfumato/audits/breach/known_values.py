"""Whether what is known of persons can be looked up in a release at all.

"Nobody fits" is good news for a person, and must not be the answer to a typing error. A word that
no published row can have is therefore refused, with the word that was meant; of a number, which may
well be nobody's, it is only noted. A list or a true table of which a whole column occurs nowhere is
written in another way, or another table.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.audits.breach.matching import cells_of
from sfumato.audits.breach.persons import Persons, few, quasi_column
from sfumato.core.arrays import Codes, Counts
from sfumato.core.histograms import Histograms
from sfumato.errors import DataError, ParameterError
from sfumato.forms.manifest import PublishedColumn
from sfumato.forms.registry import Guessed
from sfumato.io.hints import did_you_mean

_REMEDY = "give the table that was published, read as it was then (query, --query)"


def unseen_numbers(release: Guessed, person: Persons) -> tuple[str, ...]:
    """The known columns whose value no published row can have; for a word, raise."""
    unseen = []
    for name in person.names:
        known = person.values[name]
        if not len(known) or _fits_somewhere(release, name, known):
            continue  # a missing value may be nobody's, and is no typing error
        column = quasi_column(release.manifest, name)
        if pa.types.is_string(known.type) or pa.types.is_boolean(known.type):
            raise _misspelled(release, column, known[0].as_py())
        unseen.append(name)
    return tuple(unseen)


def require_alike(release: Guessed, listed: Persons, names: Sequence[str]) -> None:
    """Raise if a column of a list has nothing in common with the release."""
    for name in names:
        values = listed.values[name]
        if len(values) and not _fits_somewhere(release, name, values):
            shown = _shown_values(release, quasi_column(release.manifest, name))
            hint = f"; the release shows {few(shown)}" if shown else ""
            raise DataError(
                f"no value of {name!r} on the external list occurs in the release{hint}; write "
                "the list's values as the table has them",
                source=name,
            )


def require_rows(release: Guessed, found: int) -> None:
    """Raise unless the table has as many rows as the release was made of."""
    manifest = release.manifest
    rows = manifest.rows + manifest.suppressed
    if rows != found:
        raise DataError(
            f"the release was made of {rows:,} rows and the table has {found:,}; {_REMEDY}"
        )


def require_values(published: Histograms, found: Counts, real: Codes, suppressed: int) -> None:
    """Raise unless the values are the ones published.

    The table has true code i ``found[i]`` times; the published code of it is ``real[i]``, or -1.
    """
    assert published.attribute is not None
    known = np.flatnonzero(real[: len(found)] >= 0)
    there = np.zeros(published.attribute.size, np.int64)
    np.add.at(there, real[known], found[known])
    lacking = int(np.maximum(published.whole - there, 0).sum())
    if lacking or int(found.sum() - found[known].sum()) > suppressed:
        raise DataError(
            f"the release shows {published.attribute.name!r} with other counts than the table has "
            f"them; {_REMEDY}"
        )


def require_matched(unmatched: int, suppressed: int) -> None:
    """Raise if more rows than were left out fit nothing that is published."""
    if unmatched > suppressed:
        raise DataError(f"{unmatched:,} rows of the true table fit no published row; {_REMEDY}")


def require_possible(impossible: int, left_out: int, name: str) -> None:
    """Raise if more rows than were left out have a value that no group they fit has."""
    if impossible > left_out:
        raise DataError(
            f"{impossible:,} rows of the true table have a value of {name!r} that no group which "
            f"they fit has: rows and values do not go together as they were published; {_REMEDY}"
        )


def _fits_somewhere(release: Guessed, name: str, values: pa.Array) -> bool:
    persons = Persons.of_arrays({name: values}, len(values))
    return any(len(part.cells) for part in cells_of(release, [name]).match(persons))


def _misspelled(release: Guessed, column: PublishedColumn, value: Any) -> ParameterError:
    shown = _shown_values(release, column)
    hint = did_you_mean(str(value), shown) or f"it shows {few(shown)}"
    return ParameterError(
        f"{column.name} = {value!r} occurs nowhere in the release; {hint}", parameter=column.name
    )


def _shown_values(release: Guessed, column: PublishedColumn) -> list[str]:
    """All values that a column names, in their order; none for ranges and labels."""
    if column.form not in ("value", "set", "cell"):
        return []
    return sorted(set(_texts(release.tables[0].column(column.columns[0]))))


def _texts(column: pa.ChunkedArray) -> Iterator[str]:
    flat = pc.list_flatten(column) if pa.types.is_list(column.type) else column
    for value in flat.unique().drop_null().to_pylist():
        yield str(value)
