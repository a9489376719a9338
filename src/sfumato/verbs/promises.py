"""What may be promised in which form, and a last look before anything leaves."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import pyarrow as pa

from sfumato.algorithms.anatomize import require_discrete
from sfumato.core.histograms import Histograms
from sfumato.core.microdata import Microdata
from sfumato.core.partition import Partition
from sfumato.core.spelling import require_one_spelling
from sfumato.errors import ParameterError, PromiseBroken, SfumatoWarning
from sfumato.models.base import BuiltIn
from sfumato.models.requirements import Requirement
from sfumato.releases.anatomized import AnatomizedTables
from sfumato.releases.bearing import CUSTOM, unbearable
from sfumato.releases.columns import require_labels
from sfumato.releases.compact import number_lines
from sfumato.releases.generalized import GeneralizedTable
from sfumato.releases.manifest import PublishedColumn

Form: TypeAlias = Literal["generalized", "anatomized", "permuted"]
_NEARLY = 0.9


def require_form(
    shape: str,
    labels: str,
    table: Microdata,
    needs: tuple[Requirement, ...],
    qids: Sequence[Sequence[str]] = (),
) -> None:
    """Raise unless such a release can be made, and bears what is asked of it."""
    require_labels(labels)
    if shape not in get_args(Form):
        known = " or ".join(get_args(Form))
        raise ParameterError(f"form must be {known}, not {shape!r}", parameter="form")
    if qids and shape != GeneralizedTable.kind:
        raise ParameterError("several QIDs are promised by generalized releases", parameter="form")
    if shape == AnatomizedTables.kind:
        for attribute in table.sensitive:
            require_discrete(attribute)
    for need in needs:
        if why := unbearable(shape, stated_promise(need)):
            raise ParameterError(
                f"{why}; ask for a model of the sensitive values, such as l-diversity",
                parameter="model",
            )
    require_spelling(table)


def require_spelling(table: Microdata) -> None:
    """Raise if a sensitive value has two spellings: it would count as two."""
    for attribute in table.sensitive:
        declared = attribute.ordered or attribute.taxonomy is not None
        if not declared:
            require_one_spelling(attribute.name, attribute.values.to_pylist())


def require_kept(
    needs: tuple[Requirement, ...], groups: Mapping[str, Histograms], partition: Partition
) -> None:
    """An algorithm's word is not enough: look at every group once more before it leaves."""
    verdict = np.ones(partition.n_groups, np.bool_)
    for need in needs:
        sizes_only = need.attribute is None
        seen = Histograms.of_sizes(partition.sizes) if sizes_only else groups[str(need.attribute)]
        verdict &= need.model.passes(seen)
    failing = np.flatnonzero(~verdict)
    if len(failing):
        raise PromiseBroken(
            f"{len(failing)} of {partition.n_groups} groups break "
            f"{' & '.join(map(str, needs))}; nothing is published (this is a bug in the algorithm)",
            failures=failing.tolist(),
        )


def require_kept_by_each(
    needs: tuple[Requirement, ...],
    table: Microdata,
    partition: Partition,
    lines: pa.Table,
    columns: Sequence[PublishedColumn],
    qids: Sequence[Sequence[str]],
) -> None:
    """The same for rows that are alike on each of several sets of columns, as they are shown."""
    for qid in qids:
        shown = [name for column in columns if column.name in qid for name in column.columns]
        numbers, _ = number_lines(lines.select(shown))
        alike = Partition.of(numbers[partition.groups])
        groups = {need.attribute: need.histograms(table, alike) for need in needs if need.attribute}
        require_kept(needs, groups, alike)


def warn_of_exposed(needs: tuple[Requirement, ...], groups: Mapping[str, Histograms]) -> None:
    """Say how many people a promise about values leaves exposed, though every group keeps it."""
    for need in needs:
        if need.attribute is None:
            continue
        seen = groups[need.attribute]
        certain, nearly = exposed(seen)
        if nearly:
            warnings.warn(
                f"{need} is kept, and yet {nearly:,} of {int(seen.sizes.sum()):,} people are in "
                f"groups where one value of {need.attribute!r} has more than {_NEARLY:.0%} of the "
                f"rows ({certain:,} where it has all): whoever finds their group knows it; ask for "
                "more, such as l-diversity",
                SfumatoWarning,
                stacklevel=3,
            )


def exposed(groups: Histograms) -> tuple[int, int]:
    """People in groups of one value alone, and in groups that one value nearly fills."""
    share = groups.largest / groups.sizes
    return int(groups.sizes[share == 1].sum()), int(groups.sizes[share > _NEARLY].sum())


def stated_promises(
    needs: tuple[Requirement, ...], qids: Sequence[Sequence[str]] = ()
) -> tuple[dict[str, Any], ...]:
    """Requirements as release.json states them, once for each set of columns if there are any."""
    promises = [stated_promise(need) for need in needs]
    if not qids:
        return tuple(promises)
    return tuple({**promise, "within": list(qid)} for qid in qids for promise in promises)


def stated_promise(need: Requirement) -> dict[str, Any]:
    """One requirement as release.json states it."""
    if not isinstance(need.model, BuiltIn):
        return {"model": CUSTOM, "class": type(need.model).__name__, "on": need.attribute}
    stated = need.model.to_dict()
    return stated if need.attribute is None else {**stated, "on": need.attribute}
