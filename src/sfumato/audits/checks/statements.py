"""release.json, put together again from what it describes.

Every field is a name of a closed list, a number, or a word that the owner had to state: the names
of columns, declared orders and taxonomies, where an external table is from. Anything else is
refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from sfumato.algorithms.anatomize import Anatomize
from sfumato.algorithms.base import OWN, Partitioner, describe
from sfumato.algorithms.intervals import SingleDimensional
from sfumato.algorithms.join.methods import Direct, Refinement
from sfumato.algorithms.mondrian import Mondrian
from sfumato.algorithms.mondrian.branches import BranchMondrian
from sfumato.algorithms.recoding.full_domain import FullDomain
from sfumato.algorithms.recoding.local import LocalRecoding
from sfumato.algorithms.recoding.subtree import Sibling, Subtree
from sfumato.algorithms.topdown import TopDown
from sfumato.core.attribute import Kind
from sfumato.core.schema import Role
from sfumato.errors import SfumatoError
from sfumato.forms.anatomized.release import AnatomizedTables
from sfumato.forms.generalized.release import GeneralizedTable
from sfumato.forms.joined.release import COUNT, EMPTY_LIST, JoinRelease
from sfumato.forms.load import Release
from sfumato.forms.manifest import Manifest, PublishedColumn, column_types
from sfumato.forms.permuted.release import PermutedTable
from sfumato.forms.perturbed.release import PerturbedTable

_ALGORITHMS: Mapping[str, type[Any]] = {
    algorithm.name: algorithm
    for algorithm in (
        Mondrian, TopDown, LocalRecoding, BranchMondrian, FullDomain, Subtree, Sibling,
        SingleDimensional, Anatomize,
    )
}  # fmt: skip
_MAY_BE_NONE = ("time_limit", "node_limit")
# releases of earlier versions do not state this option of these algorithms
_SINCE = {each.name: "time_limit" for each in (LocalRecoding, FullDomain, Subtree, Sibling)}
_MANY = 10**12  # more than can be counted here is a message, not a number
_EXACT = (AnatomizedTables.kind, PermutedTable.kind)
_SHA256 = re.compile(r"[0-9a-f]{64}")
_ROLES = (Role.QUASI, Role.SENSITIVE, Role.INSENSITIVE)
_BOXES = ("range", "set", "label", "cell", "text")


def other_statements(release: Release) -> Iterator[str]:
    """What release.json states otherwise than a release does."""
    manifest = release.manifest
    if not manifest.promise:
        yield "release.json promises nothing"
    if not manifest.of_role(Role.QUASI):
        yield "release.json names no quasi-identifier, so nobody could tell what is hidden"
    for column in manifest.columns:
        yield from _other_column(manifest.kind, column)
    if list(manifest.columns) != _in_order(manifest):
        yield "columns are described in another order than they are published"
    yield from _other_types(release)
    yield from _other_promises(manifest)
    yield from _other_algorithm(manifest)
    yield from _other_provenance(release)


def _other_types(release: Release) -> Iterator[str]:
    shown = release.tables[:1] if isinstance(release, PerturbedTable) else release.tables
    found, stated = column_types(table.schema for table in shown), release.manifest.types
    types = dict(stated)
    for name, kind in found:
        if types.get(name) != kind:
            yield f"release.json states another type of {name!r} than the tables have ({kind})"
    if found != stated:
        yield "release.json states types of other columns, or in another order"


def _other_promises(manifest: Manifest) -> Iterator[str]:
    """Promises that stand there twice, or that leave out columns of which something is shown."""
    texts = [json.dumps(one, sort_keys=True) for one in manifest.promise]
    if len(set(texts)) < len(texts):
        yield "a promise is stated twice"
    withins = list(
        {json.dumps(one.get("within")): one.get("within") for one in manifest.promise}.values()
    )
    if withins == [None]:
        withins = []
    quasi = [column.name for column in manifest.of_role(Role.QUASI)]
    stated = manifest.algorithm.get("qids", [])
    if manifest.algorithm.get("name") in _ALGORITHMS and list(stated) != withins:
        yield "promises are made within other columns than the algorithm's"
    lists = [one for one in withins if isinstance(one, list)]
    named = [name for one in lists for name in one]
    if withins and (len(lists) < len(withins) or not set(quasi) <= set(map(str, named))):
        yield "a quasi-identifier is in none of the sets of columns that promises are made within"
    if any(len(set(map(str, one))) < len(one) for one in lists):
        yield "a promise names a column twice"
    promised = {one.get("on") for one in manifest.promise if isinstance(one.get("on"), str)}
    if manifest.kind == PerturbedTable.kind and len(promised) < len(manifest.promise):
        yield "noise is stated of a column more than once"
    for column in manifest.of_role(Role.SENSITIVE) if manifest.kind in _EXACT else ():
        if column.name not in promised:
            yield f"nothing is promised of {column.name!r}, which stands beside exact values"


def _in_order(manifest: Manifest) -> list[PublishedColumn]:
    """Columns as they are described: by role, then as they stand in the tables."""
    places = {name: place for place, (name, _) in enumerate(manifest.types)}

    def place(column: PublishedColumn) -> tuple[int, int]:
        first = column.columns[0] if column.columns else ""
        return _ROLES.index(Role(column.role)), places.get(first, -1)

    return sorted(manifest.columns, key=place)


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
    if (column.type is not None) != (column.form == "text"):
        yield f"column {column.name!r} has readable cells or states their type, and not both"
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
    elif manifest.kind == JoinRelease.kind:
        inner = stated.get("algorithm")
        known = stated.get("name") in (Direct.name, Refinement.name)
        if (
            list(stated) != ["name", "algorithm", "trim"]
            or not known
            or not isinstance(inner, dict)
        ):
            yield "the algorithm of a join is direct or refinement, over another one"
        elif not isinstance(stated["trim"], bool):
            yield "the algorithm of a join trims or does not"
        else:
            yield from _other_options(inner)
    else:
        yield from _other_options(stated)
    yield from _too_many_left_out(manifest)


def _too_many_left_out(manifest: Manifest) -> Iterator[str]:
    """Rows may be left out by an algorithm that may, up to its share; by one's own up to all."""
    limit = manifest.algorithm.get("suppress", 0)
    if manifest.algorithm == OWN and manifest.kind in (GeneralizedTable.kind, *_EXACT):
        limit = 1
    share = limit if isinstance(limit, float | int) else 0
    most = share * (manifest.rows + manifest.suppressed)
    if manifest.suppressed > most + 1e-6 or manifest.suppressed > _MANY:
        yield f"{manifest.suppressed:,} rows are left out, more than the algorithm leaves out"


def _other_options(stated: Mapping[str, Any]) -> Iterator[str]:
    """An algorithm that ships is described as it describes itself; of one's own nothing is said."""
    options = {**stated}
    name, queries = options.pop("name", None), options.pop("workload", 1)
    if stated == OWN:
        return
    if not isinstance(name, str) or name not in _ALGORITHMS:
        yield "the algorithm is none that ships, and not called own"
        return
    try:
        again = describe(_made(_ALGORITHMS[name], options))
    except (SfumatoError, TypeError, ValueError) as error:
        yield f"the algorithm {name} cannot be what it is said to be: {error}"
        return
    if "workload" in stated:
        again["workload"] = queries
    if name in _SINCE and _SINCE[name] not in stated:
        del again[_SINCE[name]]
    asked = name == Mondrian.name or "workload" not in stated
    counted = type(queries) is int and 0 < queries <= _MANY
    if not asked or not counted or json.dumps(again) != json.dumps(stated):
        yield f"the algorithm {name} is described otherwise than it describes itself"


def _made(kind: type[Any], options: Mapping[str, Any]) -> Partitioner:
    """The algorithm with these options, each of the type that it has by default."""
    default = kind()
    for name, value in options.items():
        usual = getattr(default, name, None)
        known = (int, float) if isinstance(usual, float) or usual is None else (type(usual),)
        if isinstance(usual, tuple):
            known = (list,)  # QIDs, which are compared with the promises
        if value is not None and (type(value) not in known or _is_long(value)):
            raise ValueError(f"{name} is {str(value)[:20]!r}")
        if value is None and usual is not None and name not in _MAY_BE_NONE:
            raise ValueError(f"{name} is nothing")
    made: Partitioner = kind(**options)
    return made


def _is_long(value: Any) -> bool:
    return isinstance(value, int | float) and abs(value) > _MANY


def _other_provenance(release: Release) -> Iterator[str]:
    """Where the external rows are from: a word of the owner's, a count, a checksum."""
    manifest = release.manifest
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
        or not _external_rows(release) <= rows <= _MANY
        or not (source is None or isinstance(source, str))
        or not _SHA256.fullmatch(str(stated.get("sha256", "0" * 64)))
        or not isinstance(named, dict)
        or list(named) != quasi
        or not all(isinstance(name, str) for name in named.values())
    ):
        yield "the external table is described otherwise than a join release does"


def _external_rows(release: Release) -> int:
    """How many external rows the JAT has at least: lines that no row of the microdata can be."""
    if not isinstance(release, JoinRelease) or not release.sis:
        return 0
    inside = release.sis[next(iter(release.sis))][COUNT].to_numpy().sum()
    return max(0, len(release.group_of_row) - int(inside))
