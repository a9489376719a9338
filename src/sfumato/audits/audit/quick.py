"""The attack that is made without being asked for: it takes seconds, and is worth a line.

Groups and noise are attacked by a learner, masks by who takes the nearest rows. Several sensitive
columns are attacked one by one, and the one that gives away most is told.
"""

from __future__ import annotations

from sfumato.audits.audit import Audit, audit
from sfumato.audits.defaults import QUICK
from sfumato.core.microdata import Microdata
from sfumato.core.schema import Role
from sfumato.forms.registry import Release, form_of


def quick(release: Release, truth: Microdata, *, seed: int | None = None) -> Audit | None:
    """What the quickest attack finds; None where no value can be guessed.

    Without a seed it is the same for the same release: who is studied moves the figures.
    """
    form = form_of(release)
    if form.external:
        return None
    names = [column.name for column in release.manifest.of_role(Role.SENSITIVE)]
    attack = "nearest rows" if form.masks else "learner"
    options = {**QUICK, "attacks": (attack,), **({} if seed is None else {"seed": seed})}
    found = [audit(release, truth, sensitive=name, **options) for name in names]
    return max(found, key=_gain, default=None)


def _gain(found: Audit) -> float:
    return max((one.outcome.gain for one in found.findings), default=0.0)
