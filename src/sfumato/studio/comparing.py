"""Two releases side by side: the same questions to both, beside the table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sfumato.asking.ask import unaskable
from sfumato.audits.evaluation.distributions import Distribution, distribution
from sfumato.audits.usefulness import Conditional
from sfumato.engines.parts import TableParts
from sfumato.errors import SfumatoError
from sfumato.exploring.page import asked_of, question, released
from sfumato.studio.releases import Made, summary

_LONGEST = 60


def side_by_side(first: Made, second: Made) -> dict[str, Any]:
    """Both summaries, what goes with what, and the distribution of each column."""
    return {
        "sides": [summary(first), summary(second)],
        "conditionals": list(_conditionals(first, second)),
        "distributions": list(_distributions(first, second)),
    }


def _conditionals(first: Made, second: Made) -> Iterator[dict[str, Any]]:
    theirs = {_key(one): one for one in asked_of(second.useful)}
    for mine in asked_of(first.useful):
        other = theirs.get(_key(mine))
        if other is not None:
            yield {**question(mine), "series": [released(mine), released(other)]}


def _key(asked: Conditional) -> tuple[object, ...]:
    return asked.columns, asked.sensitive, asked.categories, asked.classes


def _distributions(first: Made, second: Made) -> Iterator[dict[str, Any]]:
    truth = TableParts.of(first.table)
    refused = {*unaskable(first.release), *unaskable(second.release)}
    common = [name for name in first.table.schema.quasi if name in second.table.schema.quasi]
    for name in common:
        if name in refused:
            continue
        try:
            both = [distribution(one.release, truth, name, None) for one in (first, second)]
        except SfumatoError:
            continue  # the releases do not read the column in the same way
        yield _drawn(*both)


def _drawn(mine: Distribution, theirs: Distribution) -> dict[str, Any]:
    return {
        "title": mine.attribute[:_LONGEST],
        "labels": [label[:_LONGEST] for label in mine.labels],
        "truth": _shares(mine.truth),
        "series": [_shares(mine.estimate), _shares(theirs.estimate)],
        "off": [mine.distance, theirs.distance],
    }


def _shares(counts: tuple[float, ...]) -> list[float]:
    whole = sum(counts) or 1.0
    return [round(count / whole, 4) for count in counts]
