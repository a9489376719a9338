"""What the commands say about a release that was made: what it cost, and what to do next."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.audits.report.text import percent, plural
from sfumato.audits.risk import Risk, assess
from sfumato.audits.risk.wording import MOST_IMPORTANT, listed
from sfumato.cli import show
from sfumato.cli.stated import stated_lines
from sfumato.core.microdata import Microdata
from sfumato.core.schema import Role
from sfumato.errors import SfumatoError
from sfumato.forms.joined.release import OwnFigures
from sfumato.forms.likeness import differences
from sfumato.forms.manifest import Manifest
from sfumato.forms.masked.release import MaskedTable
from sfumato.forms.registry import FORMS

if TYPE_CHECKING:
    from sfumato.statdb.database import StatDB

_FEW = 20  # lines of one kind
_MADE_OF = {
    ("anatomize", True): "of neighbours, ", ("anatomize", False): "of anybody, as in the paper, ",
    ("frontier", None): "of neighbours, ",
}  # fmt: skip

_ABOUT_GROUPS = (
    "C_DM and RCE grow with groups, not with what readers lose: quasi-identifiers stay exact. What "
    "answers lose depends on how alike two of a group are, and on how large groups are; "
    "sfumato evaluate measures it."
)


def summarize(manifest: Manifest, path: Path) -> None:
    """What was published, what it cost, what to do next."""
    page = show.console()
    grouped = f" in {plural(manifest.groups, 'group')}" if FORMS[manifest.kind].grouped else ""
    rows = show.bold(f"{manifest.rows:,}")
    show.say(page, "Published ", rows, f" rows{grouped}: {path}", wrap=False)
    if manifest.suppressed:
        show.say(page, f"  left out: {manifest.suppressed:,} rows")
    show.say(page, f"  method: {_method(manifest)}")
    for told in stated_lines(manifest):
        show.say(page, f"  {told}")
    if bare := _unpromised(manifest):
        show.say(page, f"  nothing is promised of {listed(bare)} (--l, --t)")
    if manifest.seed is not None:
        show.say(page, f"  seed: {manifest.seed}; whoever has the files can undo the shuffles")
    lost = [*_lost(manifest), *_alike(differences(path, manifest))]
    if lost:
        page.print(show.table("What was lost", ("figure", "value"), lost))
    if lost and not FORMS[manifest.kind].boxes and manifest.metrics.get("reconstruction_error"):
        show.say(page, _ABOUT_GROUPS)
    if manifest.search:
        facts = [(_named(name), _fact(value)) for name, value in manifest.search.items()]
        page.print(show.table("The search, for you only, in no file", ("fact", "value"), facts))
    command = shlex.join(["sfumato", "verify", str(path)])
    show.say(page, f"Check it as a receiver would: {command}", wrap=False)


def tell_exposed(made: Path | StatDB, known: Risk | None = None) -> None:
    """The three most important lines about the risk that is left, if it is not ``known``."""
    try:
        told = (known or assess(made)).sentences[:MOST_IMPORTANT]
    except SfumatoError:
        return  # boxes made for reading, or more than fits into memory
    for sentence in told:
        show.say(show.console(), f"- {sentence}")


def tell_owner(own: OwnFigures | None, exposed: int | None) -> None:
    """What the owner may know and no file says; None stands for what is not known."""
    if own is None:
        return
    page, matching = show.console(), own.matching
    facts: list[tuple[str, object]] = [
        ("rows of the microdata", matching.microdata),
        ("external rows", matching.external),
        ("people in both", matching.shared),
        *((f"  with another {name}", n) for name, n in matching.disagreements.items()),
        ("NCP of the microdata's rows", own.ncp),
        ("C_DM of the microdata's rows", own.discernibility),
        ("people whom edges of boxes give away", "not measured" if exposed is None else exposed),
    ]
    if matching.incomplete:
        facts.insert(3, ("  without a value in the list", matching.incomplete))
    if matching.skipped:
        facts.insert(3, ("external rows without a value", matching.skipped))
    page.print(show.table("For you only, in no file", ("figure", "value"), facts))
    if exposed:
        show.say(
            page,
            "Anybody who has the same list can be sure that these people are in the table: "
            "--no-trim lowers their number, --no-trim --join direct makes it 0 if the list "
            "names everybody, and proves of whoever is in no box that they are not in the table. "
            "sfumato audit --list counts both.",
        )
    show.say(
        page,
        "External rows must be real people: whoever put invented ones there can tell who is in "
        "the table.",
    )


def tell_found(release: MaskedTable, table: Microdata) -> None:
    """How often people are found in a masked release; whose a row is stands in no file."""
    from sfumato.audits.masking import masking_risk  # which knows every method

    if release.origin is None and not release.drawn:
        return
    risk = masking_risk(release, table)
    linked, beside = risk.words
    facts: list[tuple[str, object]] = [
        (linked, f"{percent(risk.linked)} ({beside} {percent(risk.linked_blindly)})"),
        *(
            (
                f"{name} within {risk.width:.0%} of all ranks",
                f"{percent(share)} ({beside} {percent(risk.near_blindly[name])})",
            )
            for name, share in risk.near.items()
        ),
    ]
    show.console().print(show.table("For you only, in no file", ("attack", "right"), facts))


def _unpromised(manifest: Manifest) -> tuple[str, ...]:
    """Sensitive columns that a group may give away, however many rows it has."""
    form = FORMS[manifest.kind]
    if form.masks or not form.grouped:
        return ()
    promised = {promise.get("on") for promise in manifest.promise}
    names = (column.name for column in manifest.of_role(Role.SENSITIVE))
    return tuple(name for name in names if name not in promised)


def _method(manifest: Manifest) -> str:
    """How groups were made, and how many rows they have at least."""
    stated = manifest.algorithm
    name, inner = str(stated.get("name")), stated.get("algorithm")
    if isinstance(inner, Mapping):
        return f"{name} over {inner.get('name')}"
    if "group_sizes" not in manifest.metrics:
        return name
    least = f"at least {plural(manifest.metrics['group_sizes']['smallest'], 'row')}"
    return f"{name}, groups {_MADE_OF.get((name, stated.get('near')), '')}of {least}"


def _alike(differences: Mapping[str, float]) -> Iterator[tuple[str, object]]:
    """What neighbours are good for: exact values lose nothing, unless anybody meets anybody."""
    if differences:
        mean = sum(differences.values()) / len(differences)
        yield "two of a group differ by (0 alike, 1 as any two)", mean
        yield from _by_attribute(differences)


def _named(fact: str) -> str:
    # what else may have ended a search is no matter of time
    return "cut short by the time limit" if fact == "cut_short" else fact.replace("_", " ")


def _fact(value: object) -> object:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        told = ", ".join(f"{name} {part}" for name, part in list(value.items())[:_FEW])
        return told if len(value) <= _FEW else f"{told}, and {len(value) - _FEW:,} more"
    return value


def _lost(manifest: Manifest) -> list[tuple[str, object]]:
    figures = manifest.metrics
    if "expected_changed" in figures:
        changed = figures["expected_changed"].items()
        return [(f"rows with another {name}", f"about {share:.1%}") for name, share in changed]
    if "group_sizes" not in figures:
        return []
    sizes, error = figures["group_sizes"], figures.get("reconstruction_error")
    lost: list[tuple[str, object]] = [
        ("group size", f"{sizes['smallest']:,} to {sizes['largest']:,}, mean {sizes['mean']:,.1f}"),
        ("C_DM (sum of squared sizes)", figures["discernibility"]),
    ]
    if "average_group_size" in figures:
        lost.append(("C_AVG (mean size / k)", figures["average_group_size"]))
    scale = f"(0 exact, below {manifest.rows:,})"  # a row's share of the sum is below 1
    if isinstance(error, Mapping):
        return [*lost, *((f"RCE of {name} {scale}", value) for name, value in error.items())]
    if error is None:
        return lost
    return [
        *lost,
        (f"RCE {scale}", error),
        ("NCP (0 exact, 1 nothing left)", figures["ncp"]),
        *_by_attribute(figures["ncp_by_attribute"]),
    ]


def _by_attribute(lost: Mapping[str, float]) -> Iterator[tuple[str, object]]:
    """What each attribute lost; of many, those that lost most."""
    most = sorted(lost, key=lambda name: -lost[name])[:_FEW]
    yield from ((f"  {name}", lost[name]) for name in lost if len(lost) <= _FEW or name in most)
    if len(lost) > _FEW:
        yield f"  {len(lost) - _FEW:,} more attributes", "less each"
