"""Candidates from a release: its published columns, and everybody's quasi-identifiers.

People with the same quasi-identifiers cannot be told apart, so they are one subject. A QIT shows
how many rows of each group have these values: a claim for each group. Of boxes it is only known
that the subject is in one of those that cover it: one claim to all of them together.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sfumato.audits.attacks.frame import Candidates, Lists
from sfumato.audits.breach.known_values import require_rows
from sfumato.audits.breach.matching import ShownCells, cells_of
from sfumato.audits.breach.persons import Persons
from sfumato.audits.breach.view import View
from sfumato.core.arrays import Codes, Counts
from sfumato.core.microdata import Microdata
from sfumato.forms.registry import Release, form_of


def candidates_of(
    release: Release,
    people: Microdata,
    *,
    sensitive: str | None = None,
    knowing: Sequence[str] | None = None,
) -> Candidates:
    """What the public can tell of these people, who must be all of the published table's.

    Only their quasi-identifiers are used, or some of these columns. A release without groups is
    refused.
    """
    view = View.of(release, sensitive)
    require_rows(view.release, people.n_rows)
    persons = Persons.true(view.release, people).knowing(knowing)
    vectors, numbers, counts = persons.distinct()
    vector, group, rows = _entries(cells_of(view.release, persons.names), vectors)
    groups = Lists.single(group)
    if form_of(view.release).boxes:
        vector, starts = np.unique(vector, return_index=True)
        groups, rows = Lists(np.append(starts, len(group)), group), counts[vector]
    return Candidates(
        quasi=tuple(people.attributes[name] for name in persons.names),
        points=np.stack([vectors.codes[n] for n in persons.names], axis=1, dtype=np.int32),
        members=Lists.single(vector.astype(np.int32)),
        totals=rows,
        groups=groups,
        values=view.groups,
        claims=Lists.of_owners(vector.astype(np.int32), vectors.n_rows),
        subjects=numbers,
        person_points=numbers,
    )


def _entries(cells: ShownCells, vectors: Persons) -> tuple[Counts, Codes, Counts]:
    """Where every vector may be: vector, group and rows, by ascending vectors."""
    found = []
    for part in cells.match(vectors):
        lengths = np.diff(cells.starts)[part.cells]
        ends = np.append(0, np.cumsum(lengths))
        within = np.arange(ends[-1]) - np.repeat(ends[:-1], lengths)
        entries = np.repeat(cells.starts[part.cells], lengths) + within
        found.append((np.repeat(part.vectors, lengths), entries))
    vector, entry = (np.concatenate(columns) for columns in zip(*found, strict=True))
    return vector, cells.groups[entry], cells.rows[entry].astype(np.int64)
