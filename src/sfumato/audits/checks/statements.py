"""release.json, put together again from what it describes.

Every field is a name of a closed list, a number, or a word that the owner had to state: the names
of columns, declared orders and taxonomies, where an external table is from. Anything else is
refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from sfumato.algorithms.anatomize import Anatomize
from sfumato.algorithms.base import Partitioner, describe
from sfumato.algorithms.branches import BranchMondrian
from sfumato.algorithms.full_domain import FullDomain
from sfumato.algorithms.join.methods import Direct, Refinement
from sfumato.algorithms.local_recoding import LocalRecoding
from sfumato.algorithms.mondrian import Mondrian
from sfumato.algorithms.single_dimensional import SingleDimensional
from sfumato.algorithms.subtree import Sibling, Subtree
from sfumato.algorithms.topdown import TopDown
from sfumato.audits.checks.files import strangers
from sfumato.core.attribute import Kind
from sfumato.core.schema import Role
from sfumato.errors import SfumatoError
from sfumato.releases.generalized import GeneralizedTable
from sfumato.releases.joined import EMPTY_LIST, JoinRelease
from sfumato.releases.load import Release
from sfumato.releases.manifest import Manifest, PublishedColumn, column_types
from sfumato.releases.perturbed import PerturbedTable

_ALGORITHMS: Mapping[str, type[Any]] = {
    algorithm.name: algorithm
    for algorithm in (
        Mondrian, TopDown, LocalRecoding, BranchMondrian, FullDomain, Subtree, Sibling,
        SingleDimensional, Anatomize,
    )
}  # fmt: skip
_JOINS = {Direct.name, Refinement.name}
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,39}")  # of somebody's own algorithm, and its options
_SHA256 = re.compile(r"[0-9a-f]{64}")
_ROLES = (Role.QUASI, Role.SENSITIVE, Role.INSENSITIVE)
_BOXES = ("range", "set", "label", "cell", "text")


def other_statements(folder: Path, release: Release) -> Iterator[str]:
    """What the folder holds and release.json states otherwise than a release does."""
    manifest = release.manifest
    yield from strangers(folder, release.stems)
    if not manifest.promise:
        yield "release.json promises nothing"
    if not manifest.of_role(Role.QUASI):
        yield "release.json names no quasi-identifier, so nobody could tell what is hidden"
    for column in manifest.columns:
        yield from _other_column(manifest.kind, column)
    if list(manifest.columns) != sorted(manifest.columns, key=partial(_place, manifest)):
        yield "columns are described in another order than they are published"
    shown = release.tables[:1] if isinstance(release, PerturbedTable) else release.tables
    if manifest.types != column_types(table.schema for table in shown):
        yield "the types that release.json states are not those of the tables"
    yield from _other_algorithm(manifest)
    yield from _other_provenance(manifest)


def _place(manifest: Manifest, column: PublishedColumn) -> tuple[int, int]:
    """Where a column is described: by role, then as it stands in the tables."""
    names = [name for name, _ in manifest.types]
    first = column.columns[0] if column.columns else ""
    return _ROLES.index(Role(column.role)), names.index(first) if first in names else -1


def _other_column(kind: str, column: PublishedColumn) -> Iterator[str]:
    forms = {
        Role.QUASI: _BOXES if kind in (GeneralizedTable.kind, JoinRelease.kind) else ("value",),
        Role.SENSITIVE: ("perturbed",) if kind == PerturbedTable.kind else ("value",),
        Role.INSENSITIVE: ("value",),
    }[Role(column.role)]
    if column.form not in forms:
        yield f"column {column.name!r} is {column.role} and published as {column.form}"
    if column.columns not in _possible_columns(kind, column):
        yield f"column {column.name!r} is shown under other names than its form has"
    described = (column.kind, column.order, column.taxonomy)
    if column.role == Role.INSENSITIVE and any(part is not None for part in described):
        yield f"column {column.name!r} is insensitive, and described as if it were compared"
    if column.role != Role.INSENSITIVE and column.kind is None:
        yield f"column {column.name!r} is said to be neither numerical nor categorical"
    if column.order is not None and column.kind != Kind.CATEGORICAL:
        yield f"column {column.name!r} has an order beside that of its numbers"
    if column.tight and (kind != GeneralizedTable.kind or column.form != "range"):
        yield f"column {column.name!r} is said to be tight, and has no ranges"


def _possible_columns(kind: str, column: PublishedColumn) -> list[tuple[str, ...]]:
    name = column.name
    first: tuple[str, ...] = (name,)
    if column.form == "range":
        first = (f"{name}_min", f"{name}_max")
    elif column.form == "cell":
        first = (name, f"{name}_suppressed")
    shown = [first]
    if column.form in ("range", "label"):
        shown += [(*one, f"{name}_missing") for one in shown]
    has_mean = column.role == Role.QUASI and column.kind == Kind.NUMERICAL
    if kind == GeneralizedTable.kind and has_mean:
        shown += [(*one, f"{name}_mean") for one in shown]
    return shown


def _other_algorithm(manifest: Manifest) -> Iterator[str]:
    stated: Mapping[str, Any] = manifest.algorithm
    if manifest.kind == PerturbedTable.kind:
        if stated != {"name": "perturb"}:
            yield "the algorithm of a perturbed table is called perturb, and has no options"
        return
    if manifest.kind == JoinRelease.kind:
        inner = stated.get("algorithm")
        known = stated.get("name") in _JOINS and isinstance(stated.get("trim"), bool)
        if not known or not isinstance(inner, dict) or len(stated) > 3:
            yield "the algorithm of a join is direct or refinement, over another one"
            return
        stated = inner
    yield from _other_options(stated)
    leaves_out = stated.get("suppress")
    if stated.get("name") in _ALGORITHMS and manifest.suppressed:
        limit = leaves_out if isinstance(leaves_out, float | int) else 0
        if manifest.suppressed > limit * (manifest.rows + manifest.suppressed) + 1e-6:
            yield f"{manifest.suppressed:,} rows are left out, more than the algorithm leaves out"


def _other_options(stated: Mapping[str, Any]) -> Iterator[str]:
    """An algorithm that ships is described as it describes itself, another in plain words."""
    options = {**stated}
    name = str(options.pop("name", ""))
    if name not in _ALGORITHMS:
        if not _is_plain(name) or not all(
            _NAME.fullmatch(key) and _is_plain(value) for key, value in options.items()
        ):
            yield "the algorithm is not described by a name and plain options"
        return
    queries = options.pop("workload", None)
    try:
        again = describe(_made(name, options))
    except (SfumatoError, TypeError, ValueError) as error:
        yield f"the algorithm {name} cannot be what it is said to be: {error}"
        return
    if queries is not None:
        again["workload"] = queries
    asked = queries is None or (name == Mondrian.name and type(queries) is int and queries > 0)
    if not asked or json.dumps(again) != json.dumps(stated):
        yield f"the algorithm {name} is described otherwise than it describes itself"


def _made(name: str, options: Mapping[str, Any]) -> Partitioner:
    for value in options.values():
        if not _is_plain(value) and not isinstance(value, list):
            raise ValueError(f"an option is {value!r}")
    made: Partitioner = _ALGORITHMS[name](**options)
    return made


def _is_plain(value: Any) -> bool:
    if isinstance(value, list):
        return all(_is_plain(one) for one in value)
    if isinstance(value, str):
        return _NAME.fullmatch(value) is not None
    return value is None or isinstance(value, bool | int | float)


def _other_provenance(manifest: Manifest) -> Iterator[str]:
    """Where the external rows are from: a word of the owner's, a count, a checksum."""
    stated = manifest.external
    if (stated is not None) != (manifest.kind == JoinRelease.kind):
        yield "an external table is named by join releases, and by no others"
        return
    if stated is None:
        return
    rows, source, named = stated.get("rows"), stated.get("source"), stated.get("columns")
    again: dict[str, Any] = {"source": source, "rows": rows}
    if "sha256" in stated:
        again["sha256"] = stated["sha256"]
    again["columns"] = named
    if rows == 0:
        again["note"] = EMPTY_LIST
    quasi = [column.name for column in manifest.of_role(Role.QUASI)]
    if (
        list(stated.items()) != list(again.items())
        or type(rows) is not int
        or rows < 0
        or not (source is None or isinstance(source, str))
        or not _SHA256.fullmatch(str(stated.get("sha256", "0" * 64)))
        or not isinstance(named, dict)
        or list(named) != quasi
        or not all(isinstance(name, str) for name in named.values())
    ):
        yield "the external table is described otherwise than a join release does"
