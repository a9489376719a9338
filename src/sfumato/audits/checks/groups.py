"""What release.json says of how groups were made, held against the groups that there are.

Groups of neighbours have at least the rows that their size asks for, and less than twice as many
where nothing had to be merged (algorithms/frontier). The paper's groups of l rows have l different
values. Whoever states another size, or another kind of groups, says something of how hard it is to
sort the members of a group that is not true.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sfumato.algorithms.anatomize import TIMES, Anatomize
from sfumato.algorithms.anatomize.blocks import BLOCKS
from sfumato.algorithms.frontier import Aims, Frontier
from sfumato.core.histograms import Histograms
from sfumato.errors import SfumatoError
from sfumato.forms.evidence import Evidence
from sfumato.forms.registry import Release, form_of
from sfumato.models.diversity import LDiversity
from sfumato.models.registry import model_from_dict
from sfumato.models.requirements import Requirement

Seen = list[tuple[Requirement, Histograms]]


def other_groups(release: Release, evidence: Evidence) -> Iterator[str]:
    """Groups that the stated algorithm does not make."""
    stated = release.manifest.algorithm
    name, blocks, sizes = stated.get("name"), stated.get(BLOCKS), evidence.sizes
    if type(blocks) is int and (stated.get("near") or blocks > len(sizes)):
        yield f"groups are said to be of {blocks:,} blocks, which they cannot be"
    if name not in (Anatomize.name, Frontier.name):
        return
    seen = _promised(release, evidence)
    # in boxes groups that look alike are one; for models of one's own groups are merged
    as_made = not form_of(release).boxes and len(seen) == len(release.manifest.promise)
    if name == Anatomize.name and not stated.get("near"):
        if as_made:
            yield from _not_the_papers(seen)
        return
    if stated.get("refine"):  # groups may have lost rows since, but for a size that was asked for
        least, most = stated.get("size") or 1, None
    else:
        aims = _aims(stated, seen, evidence.rows)
        as_made &= aims.l > 1 and all(aims.meet(need) for need, _ in seen)
        least, most = aims.size, 2 * aims.size - 1 if as_made else None
    if sizes.min() < least:
        yield f"groups are said to have {least:,} rows or more, the smallest has {sizes.min():,}"
    if most is not None and sizes.max() > most:
        yield f"groups are said to have {most:,} rows or fewer, the largest has {sizes.max():,}"


def _promised(release: Release, evidence: Evidence) -> Seen:
    """The promises, each with what it sees of the groups; of models of one's own nothing."""
    seen = []
    for stated in release.manifest.promise:
        on = stated.get("on")
        try:
            model = model_from_dict(stated)
        except SfumatoError:
            continue
        found = Histograms.of_sizes(evidence.sizes) if on is None else evidence.histograms(on)
        seen.append((Requirement(model, on), found))
    return seen


def _aims(stated: Mapping[str, Any], seen: Seen, n_rows: int) -> Aims:
    """What the algorithm aims at if it is what it is said to be."""
    times = TIMES if stated["name"] == Anatomize.name else 1
    needs = [(need, found.merged()) for need, found in seen]
    return Aims.seen(needs, n_rows, stated.get("size"), times, frontier=False, cuts="median")


def _not_the_papers(seen: Seen) -> Iterator[str]:
    """Groups for one promise of l-diversity have l to 2l - 1 rows, of different values."""
    if len(seen) != 1 or not isinstance(seen[0][0].model, LDiversity):
        return
    model, found = seen[0][0].model, seen[0][1]
    l = model.rule(found).least
    if int(found.whole.sum()) // int(found.whole.max()) < l:
        return  # groups of uneven size
    if found.largest.max() > 1 or found.sizes.max() >= 2 * l:
        yield (
            f"groups are said to be the paper's, {l} to {2 * l - 1} rows of different values; the "
            f"largest has {found.sizes.max():,}, and a value is there {found.largest.max():,} times"
        )
