"""The section about usefulness: what goes with what, beside what the marginals alone tell."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sfumato.audits.report.text import figure, meter, part, percent, safe, table
from sfumato.audits.usefulness.results import Conditional, Usefulness

if TYPE_CHECKING:
    from sfumato.audits.evaluation import Evaluation


def section(seen: Evaluation) -> str:
    """The verdict, every question, and what is left of relations; nothing if nothing was asked."""
    found = seen.usefulness
    if found is None:
        return ""
    said = "".join(f"<li>{safe(sentence, 500)}</li>" for sentence in found.sentences)
    drawn = "".join(filter(None, _figures(found)))
    return part(
        "What goes with what",
        "How sensitive columns are distributed by category of the others, as readers would ask. "
        "Beside every figure stands that of the marginals: of somebody who knows each column alone "
        "and takes them for independent.",
        f'<ul>{said}</ul>{_questions(found)}<div class="figures">{drawn}</div>{_formulas()}',
    )


def _questions(found: Usefulness) -> str:
    best = any(one.best is not None for one in found.conditionals)
    head = ("", "", "kept", "off by", "marginals", *(["best of these groups"] if best else []))
    order = sorted(found.conditionals, key=lambda one: -one.marginals)
    return table(head, [_question(one, best=best) for one in order], left=2)


def _question(one: Conditional, *, best: bool) -> tuple[str, ...]:
    name = f"{safe(one.sensitive, 40)} by {safe(' and '.join(one.columns), 60)}"
    kept = _kept(one.kept) if one.associated else "nothing to keep"
    bar = meter(max(one.kept, 0.0)) if one.associated else ""
    more = ["–" if one.best is None else percent(one.best)] if best else []
    return (name, bar, kept, percent(one.distance), percent(one.marginals), *more)


def _figures(found: Usefulness) -> Iterator[str]:
    yield _differences(found)
    yield _associations(found)
    yield _coefficients(found)
    yield _learners(found)


def _differences(found: Usefulness) -> str:
    if not found.differences:
        return ""
    rows = [
        (
            f"{safe(one.category, 60)}: {safe(one.sensitive, 30)} {safe(one.of, 40)}",
            percent(one.share),
            percent(one.released),
            percent(one.usual),
        )
        for one in found.differences
    ]
    head = ("", "table", "release", "marginals")
    return figure(table(head, rows), "The largest differences between categories")


def _associations(found: Usefulness) -> str:
    rows = [
        (
            f"{safe(one.sensitive, 30)} with {safe(one.column, 40)}",
            f"{one.v:.2f}",
            f"{one.v_released:.2f}",
            "" if one.rank is None else f"{one.rank:.2f}",
            "" if one.rank_released is None else f"{one.rank_released:.2f}",
        )
        for one in found.associations
    ]
    head = ("", "V, table", "V, release", "rank, table", "rank, release")
    return figure(
        table(head, rows), "Cramér&#39;s V and Spearman&#39;s rank correlation",
        "The marginals alone have 0 for both.",
    )  # fmt: skip


def _coefficients(found: Usefulness) -> str:
    if not found.coefficients:
        return ""
    rows = [
        (
            f"{safe(one.sensitive, 30)} over {safe(one.column, 40)}",
            f"{one.slope:.3f}",
            f"{one.lo:.3f} to {one.hi:.3f}",
            f"{one.released:.3f}",
        )
        for one in found.coefficients
    ]
    return figure(
        table(("", "table", "95% interval", "release"), rows), "Slopes of regression lines",
        "In standard deviations; the marginals alone have 0.",
    )  # fmt: skip


def _learners(found: Usefulness) -> str:
    if not found.learners:
        return f"<p>{safe(found.unlearned, 200)}.</p>" if found.unlearned else ""
    rows = [
        (
            f"{safe(one.model)}: {safe(one.sensitive, 30)} {safe(one.asked, 40)}",
            f"{one.auc:.3f}",
            f"{one.auc_released:.3f}",
            f"{one.auc_marginals:.1f}",
            percent(one.off),
            percent(one.off_released),
            percent(one.off_marginals),
        )
        for one in found.learners
    ]
    head = ("", "AUC, table", "release", "marginals", "chances off, table", "release", "marginals")
    return figure(
        table(head, rows), "Trained on the release, tested on the table",
        "A third of the table was held out for the test.",
    )  # fmt: skip


def _kept(share: float) -> str:
    return percent(share) if share >= 0 else "none: worse than the marginals"


def _formulas() -> str:
    lines = [
        ("off by", "½ Σ |share in the release − share in the table|, averaged over rows"),
        ("marginals", "the same of n(category) × n(value) / n"),
        ("best of these groups", "the same of the groups&#39; shares, everybody&#39;s group known"),
        ("kept", "1 − off by / marginals"),
    ]
    return f"<details><summary>Formulas</summary>{table(('figure', 'is'), lines, left=2)}</details>"
