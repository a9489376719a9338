"""What may be promised in which form, and a last look before anything leaves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import pyarrow as pa

from sfumato.algorithms.anatomize import require_discrete
from sfumato.core.histograms import Histograms
from sfumato.core.microdata import Microdata
from sfumato.core.partition import Partition
from sfumato.errors import ParameterError, PromiseBroken
from sfumato.models.base import BuiltIn
from sfumato.models.diversity import LDiversity
from sfumato.models.requirements import Requirement
from sfumato.releases.anatomized import AnatomizedTables
from sfumato.releases.columns import require_labels
from sfumato.releases.compact import number_lines
from sfumato.releases.generalized import GeneralizedTable
from sfumato.releases.manifest import PublishedColumn

Form: TypeAlias = Literal["generalized", "anatomized", "permuted"]


def require_form(shape: str, labels: str, table: Microdata, needs: tuple[Requirement, ...]) -> None:
    """Raise unless such a release can be made, and promises something."""
    require_labels(labels)
    if shape not in get_args(Form):
        known = " or ".join(get_args(Form))
        raise ParameterError(f"form must be {known}, not {shape!r}", parameter="form")
    if shape == AnatomizedTables.kind:
        for attribute in table.sensitive:
            require_discrete(attribute)
    if shape != GeneralizedTable.kind:
        _require_apart(shape, table, needs)


def _require_apart(shape: str, table: Microdata, needs: tuple[Requirement, ...]) -> None:
    """Where quasi-identifiers are shown exactly, only the sensitive values' company protects."""
    for need in needs:
        if isinstance(need.model, LDiversity) and need.model.l <= 1:
            raise ParameterError(
                f"l = {need.model.l:g} would publish each person's own value; use 2 or more",
                parameter="l",
            )
    if table.sensitive and all(need.attribute is None for need in needs):
        raise ParameterError(
            f"the {shape} form shows quasi-identifiers exactly, so k-anonymity alone "
            "promises nothing; add a model of the sensitive values, such as l-diversity",
            parameter="model",
        )


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


def stated_promises(
    needs: tuple[Requirement, ...], qids: Sequence[Sequence[str]]
) -> tuple[dict[str, Any], ...]:
    """Requirements as release.json states them, once for each set of columns if there are any."""
    promises = [_stated(need) for need in needs]
    if not qids:
        return tuple(promises)
    return tuple({**promise, "within": list(qid)} for qid in qids for promise in promises)


def _stated(need: Requirement) -> dict[str, Any]:
    if not isinstance(need.model, BuiltIn):
        return {"model": "custom", "class": type(need.model).__name__, "on": need.attribute}
    stated = need.model.to_dict()
    return stated if need.attribute is None else {**stated, "on": need.attribute}
