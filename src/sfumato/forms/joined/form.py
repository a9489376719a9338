"""The joined form, as the registry lists it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sfumato.core.arrays import Words
from sfumato.forms.evidence import Evidence
from sfumato.forms.figures import published_figures
from sfumato.forms.form import Form, Hashes
from sfumato.forms.joined.answers import Joined
from sfumato.forms.joined.evidence import JoinedLines, SensitiveGroups
from sfumato.forms.joined.release import COUNT, REFINEMENT, SENSITIVE_GROUP, JoinRelease
from sfumato.forms.joined.statements import inner_algorithm, other_statements
from sfumato.forms.manifest import Manifest
from sfumato.models.anonymity import KAnonymity, KJoinAnonymity

_EDGES = (
    "Boxes are drawn around rows of the microdata: who has a list of everybody finds people at "
    "their edges who are in the table for certain (join_risk counts them)."
)
_UNTRIMMED = (
    "Every box holds somebody of the microdata: who has a list of everybody knows where people of "
    "the table are, though not who."
)
_PRESENCE = (
    "The sensitive groups tell how many lines are of the microdata: where that is nearly all of "
    "them, everybody with such values is in the table."
)
_NO_VALUES = "Nothing is said of sensitive values, nor of how many lines are of the microdata."


def _bears(model: str, on: object) -> bool:
    return (model, on) in ((KJoinAnonymity.name, None), (KAnonymity.name, SENSITIVE_GROUP))


def _content(release: JoinRelease, hashes: Hashes) -> Iterator[Words]:
    yield hashes(release.groups)[release.group_of_row]
    yield from map(hashes, release.sis.values())


def _parts(release: JoinRelease) -> list[int]:
    return release.parts


def _figures(release: JoinRelease, evidence: Evidence) -> dict[str, Any]:
    return published_figures(release.manifest, release.groups, evidence.sizes)


def _counted(release: JoinRelease) -> bool:
    return bool(release.sis)


def _limits(manifest: Manifest) -> Iterator[str]:
    refined = manifest.algorithm.get("name") == REFINEMENT
    yield _EDGES if refined or manifest.algorithm.get("trim") else _UNTRIMMED
    yield _PRESENCE if refined else _NO_VALUES


JOINED = Form(
    release=JoinRelease,
    answerer=Joined.of_release,
    evidence=JoinedLines,
    figures=_figures,
    boxes=True,
    external=True,
    bears=_bears,
    evidence_on=SensitiveGroups,
    sizes_on=SENSITIVE_GROUP,
    content=_content,
    parts=_parts,
    count_column=COUNT,
    partitioner=inner_algorithm,
    statements=other_statements,
    unguessable="lines of a join release are not all of the microdata, and their sensitive values "
    "stand apart; join_risk(release, table) (breach --truth) tells what somebody outside can find "
    "out",
    counted=_counted,
    limits=_limits,
)
