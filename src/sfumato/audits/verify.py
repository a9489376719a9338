"""Verify a release from its published files alone, as anyone who receives it could.

Rows that are alike on every published quasi-identifying column form a group; every promised model
is computed again on these groups. Nothing of the owner's is needed or used.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.core._kernels import number_rows
from sfumato.core.arrays import Codes, Ints
from sfumato.core.attribute import Attribute, Kind, encode
from sfumato.core.histograms import Histograms
from sfumato.core.partition import Partition
from sfumato.core.schema import Role
from sfumato.core.taxonomy import Taxonomy
from sfumato.errors import ParameterError, PromiseBroken, SchemaError, SfumatoError
from sfumato.models.base import Model
from sfumato.models.registry import model_from_dict
from sfumato.releases.generalized import GeneralizedTable
from sfumato.releases.load import load
from sfumato.releases.manifest import PublishedColumn


@dataclass(frozen=True, slots=True)
class Check:
    """One statement of release.json and whether the files bear it out."""

    statement: str
    kept: bool
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Verification:
    """All checks of a release."""

    path: Path
    rows: int
    groups: int
    checks: tuple[Check, ...]

    @property
    def ok(self) -> bool:
        """Whether every statement is kept."""
        return all(check.kept for check in self.checks)

    def require(self) -> Verification:
        """Raise PromiseBroken unless every statement is kept."""
        broken = [check for check in self.checks if not check.kept]
        if broken:
            raise PromiseBroken(
                f"{self.path} breaks its promise: "
                + "; ".join(f"{check.statement}: {check.detail}" for check in broken),
                failures=broken,
            )
        return self

    def to_dict(self) -> dict[str, Any]:
        """For machines."""
        return {
            "path": str(self.path),
            "ok": self.ok,
            "rows": self.rows,
            "groups": self.groups,
            "checks": [
                {"statement": check.statement, "kept": check.kept, "detail": check.detail}
                for check in self.checks
            ],
        }


def verify(path: str | Path, *, models: Sequence[Model] = ()) -> Verification:
    """Compute every promise of a release folder again from its files.

    ``models`` are a user's own models that the release was made with, recognized by class name.
    """
    release = load(path)
    broken = _structure(release)
    if broken is not None:
        return Verification(Path(path), release.table.num_rows, 0, (broken,))
    groups = _groups(release)
    own = {type(model).__name__: model for model in models}
    checks = [
        Check("rows and columns as stated", True),
        *(_check(release, groups, stated, own) for stated in release.manifest.promise),
    ]
    return Verification(Path(path), release.table.num_rows, groups.n_groups, tuple(checks))


def _structure(release: GeneralizedTable) -> Check | None:
    """The first way in which the table is not what release.json says, if any."""
    stated = [name for column in release.manifest.columns for name in column.columns]
    found = release.table.column_names
    statement = "rows and columns as stated"
    for name in found:
        if name not in stated:
            return Check(statement, False, f"column {name!r} is published but not declared")
    for name in stated:
        if name not in found:
            return Check(statement, False, f"column {name!r} is declared but not published")
    if release.table.num_rows != release.manifest.rows or not release.table.num_rows:
        return Check(
            statement,
            False,
            f"{release.manifest.rows:,} rows are stated, {release.table.num_rows:,} published",
        )
    return None


def _groups(release: GeneralizedTable) -> Partition:
    """Rows alike on every quasi-identifying column."""
    names = [name for column in release.manifest.of_role(Role.QUASI) for name in column.columns]
    codes = [_plain_codes(release.table.column(name)) for name in names]
    sizes = np.array([column.max() + 1 for column in codes], np.int64)
    groups, _, _ = number_rows(np.stack(codes, axis=1), sizes)
    return Partition.of(groups)


def _plain_codes(column: pa.ChunkedArray) -> Codes:
    """A number per different cell, lists and nulls included."""
    array = column.combine_chunks()
    if pa.types.is_list(array.type):
        items = array.flatten().dictionary_encode(null_encoding="encode").indices.to_numpy()
        lengths = array.value_lengths().fill_null(0).to_numpy()
        return _number_lists(items.astype(np.int32), lengths.astype(np.int64))
    encoded = array.dictionary_encode(null_encoding="encode")
    return np.asarray(encoded.indices, np.int32)


def _number_lists(items: Codes, lengths: np.ndarray[Any, np.dtype[np.int64]]) -> Codes:
    """A number per different list, by numbering prefixes until the longest list is read."""
    starts = np.cumsum(lengths) - lengths
    numbers = np.zeros(len(lengths), np.int32)
    for place in range(int(lengths.max(initial=0))):
        longer = np.flatnonzero(lengths > place)
        following = np.full(len(lengths), -1, np.int32)
        following[longer] = items[starts[longer] + place]
        pairs = np.stack([numbers, following + np.int32(1)], axis=1)
        numbers, _, _ = number_rows(pairs, pairs.max(axis=0).astype(np.int64) + 1)
    return numbers


def _check(
    release: GeneralizedTable, groups: Partition, stated: dict[str, Any], own: dict[str, Model]
) -> Check:
    """Compute one promise again."""
    try:
        model = _model(stated, own)
        failing = np.flatnonzero(~model.passes(_histograms(release, groups, stated.get("on"))))
    except SfumatoError as error:
        return Check(str(stated.get("class", stated.get("model"))), False, str(error))
    if not len(failing):
        return Check(str(model), True)
    return Check(str(model), False, _name_group(release, groups, int(failing[0]), len(failing)))


def _model(stated: dict[str, Any], own: dict[str, Model]) -> Model:
    if stated.get("model") != "custom":
        return model_from_dict(stated)
    if stated.get("class") not in own:
        raise ParameterError(
            "a model of the publisher's own cannot be checked without it: verify(path, models=...)",
            parameter="models",
        )
    return own[stated["class"]]


def _histograms(release: GeneralizedTable, groups: Partition, on: str | None) -> Histograms:
    if on is None:
        return Histograms.of_sizes(groups.sizes)
    for column in release.manifest.of_role(Role.SENSITIVE):
        if column.name == on:
            attribute, codes = _encode(column, release.table.column(on))
            return Histograms.of_groups(attribute, codes, groups.groups, groups.n_groups)
    raise SchemaError(f"it is about {on!r}, which is not published as sensitive", column=on)


def _encode(column: PublishedColumn, published: pa.ChunkedArray) -> tuple[Attribute, Ints]:
    taxonomy = Taxonomy.from_nested(column.taxonomy) if column.taxonomy else None
    return encode(
        column.name,
        published,
        kind=Kind(column.kind) if column.kind else None,
        order=column.order,
        taxonomy=taxonomy,
    )


def _name_group(release: GeneralizedTable, groups: Partition, group: int, n_failing: int) -> str:
    """Describe a failing group by what its rows publish."""
    row = int(np.argmax(groups.groups == group))
    names = [name for column in release.manifest.of_role(Role.QUASI) for name in column.columns]
    cells = ", ".join(f"{name}={release.table.column(name)[row].as_py()}" for name in names)
    rows = int(groups.sizes[group])
    others = f", and {n_failing - 1:,} other groups" if n_failing > 1 else ""
    return f"the {rows} row{'s' if rows != 1 else ''} with {cells}{others}"
