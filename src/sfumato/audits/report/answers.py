"""The section about answers: how far estimates are from the truth, and where."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.asking.compare import Comparison
from sfumato.audits.evaluation.query_errors import Band, Example, QueryErrors
from sfumato.audits.report import charts
from sfumato.audits.report.text import figure, number, part, percent, plural, safe, table

if TYPE_CHECKING:
    from sfumato.audits.evaluation import Evaluation

_SQL = 400  # letters of a query that are shown


def section(seen: Evaluation) -> str:
    """Errors, bounds and examples; or why there are none."""
    found = seen.errors
    if found is None:
        body = '<p class="note">No query could be asked; the section above says why.</p>'
    else:
        body = (
            f"<p>{safe(found.workload, 400)}.{_left_out(found)}</p>\n{_alarm(found.comparison)}"
            f"{_summary(found)}{_drawings(found)}{_widths(found)}{_examples(found)}"
        )
    lead = (
        "Readers will count with this release. An error of 10% means that an estimate is a tenth "
        "of the true answer away from it."
    )
    return part("How well questions are answered", lead, body)


def _left_out(found: QueryErrors) -> str:
    if not found.left_out:
        return ""
    return f" Left out, because they name columns that cannot be asked about: {found.left_out:,}."


def _alarm(seen: Comparison) -> str:
    missed = int((~seen.covered).sum())
    if not missed:
        return ""
    return (
        f'<p class="alarm">{plural(missed, "answer")} with bounds that do not hold the truth. '
        "Either this is not the table that was published, or it is a bug in sfumato: bounds must "
        "always hold.</p>"
    )


def _summary(found: QueryErrors) -> str:
    seen = found.comparison
    quantiles = seen.quantiles()
    errors: list[tuple[str, ...]] = [
        ("Average error", percent(seen.average)),
        *((f"{share:.0%} of answers are off by at most", percent(error))
          for share, error in quantiles.items()),
        ("All estimates together are off by", _signed(found.bias)),
    ]  # fmt: skip
    head: tuple[str, ...] = ("Estimates", "")
    if (alone := found.without) is not None:
        of_marginals = [alone.average, *alone.quantiles().values()]
        beside = [*map(percent, of_marginals), ""]
        errors = [(*line, other) for line, other in zip(errors, beside, strict=True)]
        head = ("Estimates", "release", "marginals alone")
    bounds = [
        ("Truth within bounds (must be 100%)", percent(seen.coverage)),
        ("Answers whose bounds leave one value", percent(seen.exact)),
        ("Mean distance between the bounds", number(seen.mean_width)),
        ("... relative to the true answer", percent(seen.relative_width)),
        ("True answer is 0 (left out of errors)", f"{seen.zero_truth:,} of {len(seen):,}"),
    ]
    tables = (table(head, errors), table(("Bounds", ""), bounds))
    return f'<div class="figures">{"".join(f"<div>{one}</div>" for one in tables)}</div>'


def _signed(share: float) -> str:
    shown = percent(share)
    return f"+{shown}" if share > 0 and shown[0].isdigit() else shown


def _drawings(found: QueryErrors) -> str:
    if not found.curve:
        return "<p>Every true answer is 0: there are no relative errors to draw.</p>"
    drawn = (
        figure(
            charts.cumulative(found.curve),
            "Share of answers with at most this error",
            "The further up and left, the better.",
        ),
        figure(
            charts.bands(found.by_size),
            "Error by the size of the true answer",
            '<span class="key published"></span>half of the answers are off by at most this, '
            '<span class="key truth"></span>95% of them by at most this.',
            _bands("true answer", found.by_size),
        ),
    )
    return f'<div class="figures">{"".join(drawn)}</div>'


def _widths(found: QueryErrors) -> str:
    if len(found.by_attributes) < 2:
        return ""
    return (
        "<h3>By how many attributes a question names</h3>"
        f"{_bands('attributes', found.by_attributes)}"
    )


def _bands(what: str, bands: tuple[Band, ...]) -> str:
    rows = [
        (safe(band.label), f"{band.figures:,}", percent(band.median), percent(band.high))
        for band in bands
    ]
    return table((what, "answers", "median error", "95% at most"), rows)


def _examples(found: QueryErrors) -> str:
    if not found.examples:
        return ""
    listed = "".join(map(_example, found.examples))
    return f'<h3>Examples: the best, the middling and the worst</h3><ul class="plain">{listed}</ul>'


def _example(one: Example) -> str:
    figures = (
        f"<b>{one.sort}</b>: truly {number(one.truth)}, estimated {number(one.estimate)}, surely "
        f"{number(one.lo)} to {number(one.hi)}, error {percent(one.error)}"
    )
    return f"<li>{figures}<br><code>{safe(one.sql, _SQL)}</code></li>"
