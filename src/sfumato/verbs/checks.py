"""What may be promised in which form, and a last look before anything leaves."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np

from sfumato.algorithms.anatomize import require_discrete
from sfumato.algorithms.base import Partitioner, Planner
from sfumato.algorithms.qids import Within
from sfumato.core.arrays import Counts
from sfumato.core.attribute import Attribute
from sfumato.core.histograms import Histograms
from sfumato.core.microdata import Microdata
from sfumato.core.moments import comparable
from sfumato.core.partition import Partition
from sfumato.core.spelling import require_one_spelling
from sfumato.errors import ParameterError, PromiseBroken, SfumatoWarning
from sfumato.forms.anatomized.release import require_names
from sfumato.forms.bearing import unbearable
from sfumato.forms.columns import require_labels
from sfumato.forms.compact import number_lines
from sfumato.forms.exposure import NEARLY, exposed
from sfumato.forms.form import Shown
from sfumato.forms.identifying import identifying
from sfumato.forms.manifest import CUSTOM
from sfumato.forms.registry import FORMS, published_forms
from sfumato.models.base import BuiltIn
from sfumato.models.requirements import Requirement

_WHOLE = 1 - 1e-9  # of a column, up to rounding
_LISTED = 6  # names in a sentence

Form: TypeAlias = Literal["generalized", "anatomized", "permuted"]


def require_form(
    shape: str,
    labels: str,
    table: Microdata,
    needs: tuple[Requirement, ...],
    qids: Sequence[Within] = (),
    means: Sequence[str] = (),
) -> None:
    """Raise unless such a release can be made, and bears what is asked of it."""
    require_labels(labels)
    if shape not in published_forms():
        known = " or ".join(published_forms())
        raise ParameterError(f"form must be {known}, not {shape!r}", parameter="form")
    form = FORMS[shape]
    if qids and not form.own_boxes:
        raise ParameterError(
            f"several QIDs are promised by generalized releases; the {shape} form keeps a promise "
            "for all quasi-identifiers together, and so for every QID: ask for the strictest one",
            parameter="form",
        )
    if qids and means:
        raise ParameterError(
            "with several QIDs there are no means: those of a group would tell the rows of a QID "
            "apart",
            parameter="means",
        )
    if form.count_column is not None:
        require_names(table.schema)
        for attribute in table.sensitive:
            require_discrete(attribute)
    for need in (*needs, *(need for _, asked in qids for need in asked)):
        if why := unbearable(shape, stated_promise(need)):
            raise ParameterError(
                f"{why}; leave it out, and promise something of the sensitive values, such as "
                "l-diversity",
                parameter="model",
            )
    if not form.boxes:
        _require_all_promised(shape, table, needs)
    require_spelling(table)


def _require_all_promised(shape: str, table: Microdata, needs: tuple[Requirement, ...]) -> None:
    """Beside exact quasi-identifiers nothing but a promise protects a sensitive column."""
    promised = {need.attribute for need in needs}
    for name in table.schema.sensitive:
        if name not in promised:
            raise ParameterError(
                f"nothing is promised of {name!r}, and the {shape} form shows the "
                "quasi-identifiers beside its groups exactly; promise something of every "
                "sensitive column, or take the column out of the schema",
                parameter="model",
            )


def require_spelling(table: Microdata) -> None:
    """Raise if a sensitive value has two spellings: it would count as two."""
    for attribute in table.sensitive:
        declared = attribute.ordered or attribute.taxonomy is not None
        if not declared:
            require_one_spelling(attribute.name, comparable(attribute.values))


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


def judged_groups(
    needs: tuple[Requirement, ...],
    seen: Shown,
    groups: Mapping[str, Histograms],
    qids: Sequence[Within],
) -> Iterator[tuple[tuple[Requirement, ...], Mapping[str, Histograms], Partition]]:
    """What is required of which groups, their sensitive values counted.

    With QIDs these are the rows that look alike on each of them.
    """
    if not qids:
        yield needs, groups, seen.partition
    for names, asked in qids:
        shown = [name for one in seen.columns if one.name in names for name in one.columns]
        numbers, _ = number_lines(seen.lines.select(shown))
        alike = Partition.of(numbers[seen.partition.groups])
        codes = seen.table.codes
        yield (
            asked,
            {
                one.name: Histograms.of_groups(one, codes[one.name], alike.groups, alike.n_groups)
                for one in seen.table.sensitive
            },
            alike,
        )


def warn_of_exposed(
    needs: tuple[Requirement, ...], largest: Mapping[str, Counts], sizes: Counts
) -> None:
    """Say how many people are exposed though every promise is kept, or as nothing is promised.

    ``largest`` are the counts of the most frequent value of each sensitive attribute in each group.
    """
    for name, counts in largest.items():
        certain, nearly = exposed(counts, sizes)
        if nearly:
            kept = [str(need) for need in needs if need.attribute == name]
            said = f"{' & '.join(kept)} is kept, and yet" if kept else "whatever is promised,"
            warnings.warn(
                f"{said} {nearly:,} of {int(sizes.sum()):,} people are in groups where one "
                f"value of {name!r} has more than {NEARLY:.0%} of the rows ({certain:,} where it "
                "has all): whoever finds their group knows it; ask for more of the sensitive "
                "values (--l, --t)",
                SfumatoWarning,
                stacklevel=4,
            )


def warn_of_identifying(different: Mapping[str, int], rows: int, stacklevel: int = 4) -> None:
    """Say which columns single people out that are published as they are; see ``different_in``."""
    for name, distinct in different.items():
        if said := identifying(name, distinct, rows):
            warnings.warn(said, SfumatoWarning, stacklevel=stacklevel)


def lost_wholly(
    algorithm: Partitioner | Planner,
    attributes: Mapping[str, Attribute],
    metrics: Mapping[str, Any],
) -> tuple[str, ...]:
    """Quasi-identifiers of which nothing is left, and of which a taxonomy could keep a part."""
    if not getattr(algorithm, "by_levels", False):
        return ()
    lost: Mapping[str, float] = metrics.get("ncp_by_attribute", {})
    return tuple(
        name for name, share in lost.items() if share > _WHOLE and attributes[name].taxonomy is None
    )


def warn_of_lost(
    algorithm: Partitioner | Planner,
    attributes: Mapping[str, Attribute],
    metrics: Mapping[str, Any],
) -> None:
    """Say which columns are gone that need not be."""
    if names := lost_wholly(algorithm, attributes, metrics):
        method = getattr(algorithm, "name", type(algorithm).__name__)
        warnings.warn(
            f"nothing is left of {_named(names)}: {method} shows a column that has no "
            "taxonomy as it is or not at all; with one (docs/taxonomies.md: intervals, prefixes, "
            "dates or a file) it can show a part",
            SfumatoWarning,
            stacklevel=4,
        )


def _named(names: Sequence[str]) -> str:
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return ", ".join(map(repr, names[:_LISTED])) + more


def stated_promises(
    needs: tuple[Requirement, ...], qids: Sequence[Within] = ()
) -> tuple[dict[str, Any], ...]:
    """Requirements as release.json states them, once for each set of columns if there are any.

    What is asked for twice is promised once.
    """
    every = [stated_promise(need) for need in needs]
    if qids:
        every = [
            {**stated_promise(need), "within": list(qid)} for qid, asked in qids for need in asked
        ]
    return tuple(promise for i, promise in enumerate(every) if promise not in every[:i])


def stated_promise(need: Requirement) -> dict[str, Any]:
    """One requirement as release.json states it."""
    if not isinstance(need.model, BuiltIn):
        return {"model": CUSTOM, "class": type(need.model).__name__, "on": need.attribute}
    stated = need.model.to_dict()
    return stated if need.attribute is None else {**stated, "on": need.attribute}
