"""release.json, put together again from what it describes.

Every field is a name of a closed list, a number, or a word that the owner had to state: the names
of columns, declared orders and taxonomies, where an external table is from. Anything else is
refused.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from sfumato.algorithms.anatomize import Anatomize
from sfumato.algorithms.base import OWN, describe
from sfumato.algorithms.frontier import Frontier
from sfumato.algorithms.mondrian import Mondrian
from sfumato.algorithms.recoding.full_domain import FullDomain
from sfumato.algorithms.recoding.local import LocalRecoding
from sfumato.algorithms.recoding.subtree import Sibling, Subtree
from sfumato.algorithms.topdown import TopDown
from sfumato.audits.stated_algorithms import ALGORITHMS, BESIDE, made
from sfumato.core.attribute import Kind
from sfumato.core.schema import Role
from sfumato.errors import SfumatoError
from sfumato.forms.form import Form
from sfumato.forms.manifest import MANY, Manifest, PublishedColumn, column_types
from sfumato.forms.registry import Release, form_of

# releases of earlier versions do not state these options of these algorithms
_LIMITED = (LocalRecoding, FullDomain, Subtree, Sibling)
_REFINED = (Mondrian, TopDown, Frontier)
_SINCE = (
    {each.name: ("time_limit",) for each in _LIMITED}
    | {each.name: ("refine", "time_limit") for each in _REFINED}
    | {Anatomize.name: ("near", "size")}
)
_ROLES = (Role.QUASI, Role.SENSITIVE, Role.INSENSITIVE)
_BOXES = ("range", "set", "label", "cell", "text")


def other_statements(release: Release) -> Iterator[str]:
    """What release.json states otherwise than a release does."""
    manifest = release.manifest
    if not manifest.promise:
        yield "release.json promises nothing"
    if not manifest.of_role(Role.QUASI):
        yield "release.json names no quasi-identifier, so nobody could tell what is hidden"
    form = form_of(release)
    for column in manifest.columns:
        yield from _other_column(form, column)
    if list(manifest.columns) != _in_order(manifest):
        yield "columns are described in another order than they are published"
    yield from _other_types(release)
    yield from _other_promises(manifest, form)
    yield from form.statements(release)
    inner = form.partitioner(manifest.algorithm)
    if inner is not None:
        yield from _other_options(inner)
    yield from _too_many_left_out(manifest)
    if (manifest.external is not None) != form.external:
        yield "an external table is named by join releases, and by no others"


def _other_types(release: Release) -> Iterator[str]:
    shown = form_of(release).typed(release)
    found, stated = column_types(table.schema for table in shown), release.manifest.types
    types = dict(stated)
    for name, kind in found:
        if types.get(name) != kind:
            yield f"release.json states another type of {name!r} than the tables have ({kind})"
    if found != stated:
        yield "release.json states types of other columns, or in another order"


def _other_promises(manifest: Manifest, form: Form) -> Iterator[str]:
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
    if manifest.algorithm.get("name") in ALGORITHMS and list(stated) != withins:
        yield "promises are made within other columns than the algorithm's"
    lists = [one for one in withins if isinstance(one, list)]
    named = [name for one in lists for name in one]
    if withins and (len(lists) < len(withins) or not set(quasi) <= set(map(str, named))):
        yield "a quasi-identifier is in none of the sets of columns that promises are made within"
    if any(len(set(map(str, one))) < len(one) for one in lists):
        yield "a promise names a column twice"
    promised = {one.get("on") for one in manifest.promise if isinstance(one.get("on"), str)}
    exact = form.grouped and not form.boxes
    for column in manifest.of_role(Role.SENSITIVE) if exact else ():
        if column.name not in promised:
            yield f"nothing is promised of {column.name!r}, which stands beside exact values"


def _in_order(manifest: Manifest) -> list[PublishedColumn]:
    """Columns as they are described: by role, then as they stand in the tables."""
    places = {name: place for place, (name, _) in enumerate(manifest.types)}

    def place(column: PublishedColumn) -> tuple[int, int]:
        first = column.columns[0] if column.columns else ""
        return _ROLES.index(Role(column.role)), places.get(first, -1)

    return sorted(manifest.columns, key=place)


def _other_column(form: Form, column: PublishedColumn) -> Iterator[str]:
    forms = {
        Role.QUASI: _BOXES if form.boxes else form.quasi_as,
        Role.SENSITIVE: form.sensitive_as,
        Role.INSENSITIVE: ("value",),
    }[Role(column.role)]
    if column.form not in forms:
        yield f"column {column.name!r} is {column.role} and published as {column.form}"
    if column.columns not in _possible_columns(form, column):
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
    if column.tight and not (form.own_boxes and column.form == "range"):
        yield f"column {column.name!r} is said to be tight, and has no ranges"


def _possible_columns(form: Form, column: PublishedColumn) -> list[tuple[str, ...]]:
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
    if form.own_boxes and has_mean:
        shown += [(*one, f"{name}_mean") for one in shown]
    return shown


def _too_many_left_out(manifest: Manifest) -> Iterator[str]:
    """Rows may be left out by an algorithm that may, up to its share; by one's own up to all."""
    limit = manifest.algorithm.get("suppress", 0)
    if manifest.algorithm == OWN:
        limit = 1
    share = limit if isinstance(limit, float | int) else 0
    most = share * (manifest.rows + manifest.suppressed)
    if manifest.suppressed > most + 1e-6 or manifest.suppressed > MANY:
        yield f"{manifest.suppressed:,} rows are left out, more than the algorithm leaves out"


def _other_options(stated: Mapping[str, Any]) -> Iterator[str]:
    """An algorithm that ships is described as it describes itself; of one's own nothing is said."""
    options = {**stated}
    name = options.pop("name", None)
    if stated == OWN:
        return
    if not isinstance(name, str) or name not in ALGORITHMS:
        yield "the algorithm is none that ships, and not called own"
        return
    known = BESIDE.get(name, {})
    beside = {key: options.pop(key) for key in known if key in options}
    try:
        again = describe(made(ALGORITHMS[name], options)) | beside
    except (SfumatoError, TypeError, ValueError) as error:
        yield f"the algorithm {name} cannot be what it is said to be: {error}"
        return
    later = _SINCE.get(name, ())
    if not any(option in stated for option in later):
        again = {key: value for key, value in again.items() if key not in later}
    counted = all(type(n) is int and known[key] <= n <= MANY for key, n in beside.items())
    if not counted or json.dumps(again) != json.dumps(stated):
        yield f"the algorithm {name} is described otherwise than it describes itself"
