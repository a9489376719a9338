"""Several QIDs: a promise to a set of columns is held against somebody who knows no others.

Nothing is promised to who knows columns of several sets. So a release with QIDs is attacked several
times: by attackers who know everything, whom no promise measures, and, set by set, by those who are
promised something.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sfumato.audits.attacks.releases import candidates_of
from sfumato.audits.attacks.results import Scene
from sfumato.audits.audit.file_attackers import Control
from sfumato.audits.audit.findings import Audit
from sfumato.audits.audit.judging import Case, Wish, judged
from sfumato.audits.breach.view import View, is_promised_to
from sfumato.core.microdata import Microdata
from sfumato.forms.manifest import Manifest
from sfumato.forms.registry import Release

_ATTACKS = ("reader", "deFinetti", "learner", "studied deFinetti")


def qids_of(manifest: Manifest) -> list[list[str]]:
    """Every set of columns to which something is promised, if it is not all of them."""
    some = [one for one in manifest.promise if not is_promised_to(manifest, one, None)]
    found = [list(one["within"]) for one in some]
    return [names for place, names in enumerate(found) if names not in found[:place]]


def with_qids(
    found: Audit,
    release: Release,
    truth: Microdata,
    view: View,
    others: Microdata | None,
    wish: Wish,
) -> Audit:
    """What attackers make of the release who know one QID, beside those who know all columns."""
    asked = [one for one in _ATTACKS if wish.attacks is None or one in wish.attacks]
    for names in qids_of(release.manifest) if asked else ():
        shown = candidates_of(release, truth, sensitive=view.name, knowing=names)
        control = Control(release, truth, view.name, names)
        case = Case(
            found.name, view.name, Scene.of(shown, truth), control, view.bound(within=names)
        )
        own = judged(case, others, replace(wish, attacks=asked, seed=found.seed))
        found = _together(found, own, names)
    return found


def _together(found: Audit, own: Audit, names: Sequence[str]) -> Audit:
    by = ", ".join(names)
    more = [
        replace(one, name=f"{one.name} ({by})", who=f"knows {by} alone, and {one.who}")
        for one in own.findings
    ]
    gone = {f"{name} ({by})": why for name, why in own.not_run.items()}
    return replace(found, findings=(*found.findings, *more), not_run={**found.not_run, **gone})
