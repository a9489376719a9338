"""One sensitive attribute of a release, as its tables show it to somebody who guesses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.audits.breach.known_values import require_alike, unseen_numbers
from sfumato.audits.breach.matching import ShownCells, cells_of
from sfumato.audits.breach.persons import Persons
from sfumato.audits.breach.results import Belief
from sfumato.audits.evidence import evidence_of
from sfumato.core.arrays import Codes, Counts, Floats
from sfumato.core.attribute import Attribute
from sfumato.core.histograms import Histograms
from sfumato.core.moments import python_values
from sfumato.core.schema import Role
from sfumato.errors import ParameterError, SchemaError
from sfumato.forms.evidence import require_sound
from sfumato.forms.files import Files
from sfumato.forms.form import Form
from sfumato.forms.load import form_in, load_with, read_release, require_loadable
from sfumato.forms.manifest import Manifest
from sfumato.forms.registry import Guessed, Release, form_of
from sfumato.io.hints import did_you_mean
from sfumato.models.diversity import LDiversity


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """One sensitive attribute of a release, as its tables show it."""

    release: Guessed
    name: str
    attribute: Attribute
    groups: Histograms

    @classmethod
    def of(cls, release: Release, sensitive: str | None) -> View:
        """A release in memory."""
        form = form_of(release)
        name = _attacked(release.manifest, form, sensitive)
        evidence = evidence_of(release)
        require_sound(evidence.flaws())
        groups = evidence.histograms(name)
        assert groups.attribute is not None
        return cls(form.guessed(release), name, groups.attribute, groups)

    @classmethod
    def read(cls, path: str | Path, sensitive: str | None, memory: int) -> View:
        """A release folder, of which no more is kept than is needed."""
        return load_with(path, lambda files: cls._of_files(files, sensitive, memory))

    @classmethod
    def _of_files(cls, files: Files, sensitive: str | None, memory: int) -> View:
        form = form_in(files)
        name = _attacked(files.manifest, form, sensitive)
        if form.fold is None:
            require_loadable(files.manifest, memory, "guessing values")
            return cls.of(read_release(files), sensitive)
        counted = form.fold(files, name, memory)
        return cls(counted, name, counted.values.attribute, counted.values)

    def belief(self, person: Persons, external: pa.Table | None) -> Belief:
        """What an adversary makes of one person."""
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
        return ranked(dict(zip(values, (sums[codes] / rows.sum()).tolist(), strict=True)))

    def bound(self, within: Sequence[str] | None = None) -> float | None:
        """1/l of the strongest l-diversity that is promised for the attribute.

        It is promised to somebody who knows all quasi-identifiers, or to who knows those of a QID.
        """
        ls = [
            float(stated["l"])
            for stated in self.release.manifest.promise
            if stated.get("model") == LDiversity.name
            and stated.get("on") == self.name
            and is_promised_to(self.release.manifest, stated, within)
        ]
        return 1 / max(ls) if ls else None


def _attacked(manifest: Manifest, form: Form, sensitive: str | None) -> str:
    if form.unguessable is not None:
        raise ParameterError(form.unguessable, parameter="release")
    return chosen_column([one.name for one in manifest.of_role(Role.SENSITIVE)], sensitive)


def is_promised_to(
    manifest: Manifest, stated: Mapping[str, Any], within: Sequence[str] | None
) -> bool:
    """Whether a promise is made to who knows these columns, or, without any, all of them."""
    names = stated.get("within")
    every = {column.name for column in manifest.of_role(Role.QUASI)}
    return names is None or names == within or set(names) == every


def chosen_column(known: Sequence[str], sensitive: str | None) -> str:
    """The sensitive column that is meant."""
    if not known:
        raise SchemaError("no column is sensitive, so there is no value to name")
    if sensitive is None:
        if len(known) > 1:
            raise ParameterError(
                f"several columns are sensitive; name one of {', '.join(known)} (--sensitive, "
                "sensitive=...)",
                parameter="sensitive",
            )
        return known[0]
    if sensitive not in known:
        hint = did_you_mean(sensitive, known) or f"sensitive are {', '.join(known)}"
        raise SchemaError(f"no sensitive column {sensitive!r}; {hint}", column=sensitive)
    return sensitive


def ranked(chances: Mapping[Any, float]) -> Mapping[Any, float]:
    """The likeliest first; equals stay in the order of their values."""
    ranked = sorted(chances.items(), key=lambda item: -round(item[1], 12))
    return dict(ranked)


def _listed(
    cells: ShownCells, release: Guessed, external: pa.Table, names: Sequence[str], fitting: Codes
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


def row_chances(
    cells: ShownCells, release: Guessed, external: pa.Table | None, names: Sequence[str]
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


def listed_chances(
    release: Guessed, external: pa.Table, names: Sequence[str]
) -> tuple[Counts, Counts]:
    """Per cell, its published rows and the persons of the list who fit it."""
    cells = cells_of(release, names)
    by_cell, _ = _listed(cells, release, external, names, np.empty(0, np.int32))
    return _cell_rows(cells), by_cell
