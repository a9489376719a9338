"""What release.json states of a join: the algorithm, and where the external rows are from."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from sfumato.core.schema import Role
from sfumato.forms.joined.release import COUNT, DIRECT, EMPTY_LIST, REFINEMENT, JoinRelease
from sfumato.forms.manifest import MANY

_SHA256 = re.compile(r"[0-9a-f]{64}")


def other_statements(release: JoinRelease) -> Iterator[str]:
    """What is stated otherwise than a join release does."""
    yield from _other_algorithm(release.manifest.algorithm)
    stated = release.manifest.external
    if stated is not None and not _is_provenance(release, stated):
        yield "the external table is described otherwise than a join release does"


def inner_algorithm(stated: Mapping[str, Any]) -> Any:
    """The partitioner below the join, as far as one is stated."""
    return stated.get("algorithm")


def _other_algorithm(stated: Mapping[str, Any]) -> Iterator[str]:
    known = stated.get("name") in (DIRECT, REFINEMENT)
    shaped = list(stated) == ["name", "algorithm", "trim"] and isinstance(stated["algorithm"], dict)
    if not shaped or not known:
        yield "the algorithm of a join is direct or refinement, over another one"
    elif not isinstance(stated["trim"], bool):
        yield "the algorithm of a join trims or does not"


def _is_provenance(release: JoinRelease, stated: Mapping[str, Any]) -> bool:
    """A word of the owner's, a count, a checksum."""
    rows, source, named = stated.get("rows"), stated.get("source"), stated.get("columns")
    again: dict[str, Any] = {"source": source, "rows": rows}
    if "sha256" in stated:
        again["sha256"] = stated["sha256"]
    again["columns"] = named
    if rows == 0:
        again["note"] = EMPTY_LIST
    quasi = [column.name for column in release.manifest.of_role(Role.QUASI)]
    return (
        list(stated.items()) == list(again.items())
        and type(rows) is int
        and _external_rows(release) <= rows <= MANY
        and (source is None or isinstance(source, str))
        and _SHA256.fullmatch(str(stated.get("sha256", "0" * 64))) is not None
        and isinstance(named, dict)
        and list(named) == quasi
        and all(isinstance(name, str) for name in named.values())
    )


def _external_rows(release: JoinRelease) -> int:
    """How many external rows the JAT has at least: lines that no row of the microdata can be."""
    if not release.sis:
        return 0
    inside = release.sis[next(iter(release.sis))][COUNT].to_numpy().sum()
    return max(0, len(release.group_of_row) - int(inside))
