"""What the page shows of columns and of their risk: plain values, ready for JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from sfumato.asking.ask import answerer_about, counts_of
from sfumato.audits.bins import bins_of, shown
from sfumato.audits.inspection import repeated_identifiers
from sfumato.audits.risk import Risk, UniqueSets, assess
from sfumato.core.attribute import Attribute
from sfumato.core.binning import stated_bins
from sfumato.core.microdata import Microdata
from sfumato.core.query import Query
from sfumato.core.schema import Role
from sfumato.engines.parts import TableParts
from sfumato.errors import SfumatoError
from sfumato.exploring.grid import KNOWN, METHODS, PERTURB, USUAL, promised
from sfumato.forms.registry import FORMS
from sfumato.studio.draft import Draft
from sfumato.studio.opened import Opened

_BARS = 16
_LISTED = 200  # values of a column that are listed to be put in order
_LETTERS = 20_000  # in all values that are listed: nobody puts pages of text in order
_SETS = 12  # combinations that are shown
_LONGEST = 60  # letters of a value


def columns(table: Opened, draft: Draft) -> list[dict[str, Any]]:
    """Every column."""
    return [column(table, draft, one.name) for one in table.profiles]


def column(table: Opened, draft: Draft, name: str) -> dict[str, Any]:
    """One column: what it holds, how it is read, and the role it plays."""
    seen = next(one for one in table.profiles if one.name == name)
    told: dict[str, Any] = {
        "name": name,
        "type": seen.type,
        "distinct": seen.distinct,
        "missing": seen.missing,
        "role": draft.roles[name],
        "guess": seen.role,
        "reason": seen.reason,
        "hint": seen.hint,
        "usable": table.can_play(name),
        "how": draft.how(name),
    }
    if not told["usable"]:
        return told
    try:
        attribute, _ = table.coded(draft, name)
    except SfumatoError as error:
        return {**told, "trouble": str(error)}
    return {
        **told,
        "kind": attribute.kind,
        "ordered": attribute.ordered,
        **({} if draft.roles[name] is Role.IDENTIFIER else _bars(table, draft, name)),
        "values": _listed(attribute, draft, name),
        "ends": _ends(attribute),
        "bins": stated_bins(draft.bins.get(name)),
        "tree": _tree(draft, name),
    }


def methods() -> list[dict[str, Any]]:
    """What can be tried and published, and the promises that each can make."""
    return [
        {
            "name": name,
            "usual": name in USUAL,
            "boxes": name != PERTURB and FORMS[METHODS[name]().form].boxes,
            "promises": promised(name),
        }
        for name in KNOWN
    ]


def risk(table: Microdata) -> dict[str, Any]:
    """Who is exposed in it, without the combinations, which take longer."""
    return _told(assess(table, sets=0))


def combinations(table: Microdata) -> dict[str, Any]:
    """Which columns single people out together, and what they do alone."""
    found = assess(table)
    told = None if found.sets is None else _sets(found.sets)
    return {"sets": told, "sentences": list(found.sentences)}


def repeats(table: Opened, draft: Draft) -> list[str]:
    """Warnings about people who have several rows."""
    named = draft.of_role(Role.IDENTIFIER)
    return [str(one) for one in repeated_identifiers(table.profiles, named, table.rows.num_rows)]


def released(found: Risk) -> dict[str, Any]:
    """The same figures of a release."""
    return _told(found)


def _told(found: Risk) -> dict[str, Any]:
    return {**found.to_dict(), "sets": None}


def _sets(found: UniqueSets) -> dict[str, Any]:
    told = found.to_dict()
    return {**told, "more": max(0, len(found.sets) - _SETS), "sets": told["sets"][:_SETS]}


def _bars(table: Opened, draft: Draft, name: str) -> dict[str, Any]:
    """Rows of each class; those of the less frequent values, where there are more, apart."""
    attribute, codes = table.coded(draft, name)
    alone = Microdata(
        draft.alone(name), len(codes), {name: attribute}, {name: codes}, table.rows.select([])
    )
    parts = TableParts.of(alone)
    bins = bins_of(attribute, parts.value_counts[name], _BARS)
    counted = counts_of(answerer_about(parts, {name}), [Query({name: b.predicate}) for b in bins])
    found = [
        {"label": _cut(one.label), "rows": int(rows)}
        for one, rows in zip(bins, np.rint(counted.estimate), strict=True)
    ]
    many = not attribute.ordered and len(attribute.values) > _BARS - attribute.has_missing
    rest = found.pop(_BARS - 1 - attribute.has_missing) if many else None
    return {"bars": found, "rest": rest}


def _listed(attribute: Attribute, draft: Draft, name: str) -> list[str] | None:
    """The values in their order, where somebody could put them into another one."""
    if name in draft.bins or len(attribute.values) > _LISTED:
        return None
    found = [str(value) for value in attribute.values.to_pylist()]
    return found if sum(map(len, found)) <= _LETTERS else None


def _ends(attribute: Attribute) -> list[str] | None:
    values = attribute.values
    return [_cut(shown(values[at].as_py())) for at in (0, -1)] if len(values) else None


def _tree(draft: Draft, name: str) -> dict[str, Any] | None:
    tree = draft.trees.get(name)
    if tree is None:
        return None
    return {"words": tree.words, "levels": list(_levels(draft, name))}


def _levels(draft: Draft, name: str) -> Iterator[str]:
    """The root and what is right below it, so that the owner sees what was understood."""
    for label, below in draft.trees[name].taxonomy.to_nested().items():
        inside = list(below)[:_SETS]
        more = "" if len(below) <= _SETS else f" and {len(below) - _SETS} more"
        yield f"{_cut(str(label))}: {', '.join(_cut(str(one)) for one in inside)}{more}"


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
