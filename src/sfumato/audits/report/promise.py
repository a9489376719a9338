"""The section about the promise."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.audits.report.text import part, safe, table
from sfumato.forms.evidence import Check

if TYPE_CHECKING:
    from sfumato.audits.evaluation import Evaluation


def section(seen: Evaluation) -> str:
    """Every check, and what none of them covers."""
    limits = "".join(f"<li>{safe(limit, 500)}</li>" for limit in seen.limits)
    alarm = "" if seen.verification.ok else _ALARM
    return part(
        "The promise",
        "Every statement of release.json was computed again from the published files alone.",
        f"{alarm}{table(('', 'statement', ''), map(_line, seen.verification.checks), left=3)}"
        f"{_attacked(seen)}<h3>What it does not cover</h3><ul>{limits}</ul>",
    )


def _attacked(seen: Evaluation) -> str:
    """What somebody reaches who thinks, in a line."""
    if seen.attacked is None:
        return ""
    said = seen.attacked.summary
    return (
        f"<h3>What an attacker makes of it</h3><p>{safe(said[:1].upper() + said[1:], 500)}. This "
        "is the quickest of the attacks; <code>sfumato audit</code> makes all of them, with "
        "controls.</p>"
    )


_ALARM = (
    '<p class="alarm">The promise is BROKEN. Do not publish this release; take it back if it is '
    "already out.</p>"
)


def _line(check: Check) -> tuple[str, str, str]:
    verdict = '<span class="kept">kept</span>'
    if not check.kept:
        verdict = '<span class="broken">BROKEN</span>'
    return verdict, safe(check.statement), safe(check.detail, 300)
