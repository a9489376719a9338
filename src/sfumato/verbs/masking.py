"""mask: a table of other values, replaced in a stated way."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np

from sfumato.algorithms.base import describe
from sfumato.algorithms.masking import Mask, Masked
from sfumato.core.expected import given
from sfumato.core.fingerprint import digest
from sfumato.core.foreign import our_errors
from sfumato.core.microdata import Microdata, require_microdata
from sfumato.core.randomness import Randomness
from sfumato.core.schema import Role
from sfumato.core.seeds import Seed
from sfumato.errors import ParameterError, PromiseBroken, SfumatoWarning
from sfumato.forms.identifying import different_in
from sfumato.forms.manifest import Manifest
from sfumato.forms.masked.answers import Masked as Answers
from sfumato.forms.masked.calibration import stretches
from sfumato.forms.masked.distortion import intervals_stated
from sfumato.forms.masked.evidence import Masked as Evidence
from sfumato.forms.masked.form import masked_figures
from sfumato.forms.masked.release import MaskedTable, masked_table
from sfumato.forms.remembering import made_from
from sfumato.models.anonymity import KAnonymity
from sfumato.verbs.checks import require_spelling, warn_of_exposed, warn_of_identifying


@our_errors("publishing")
def mask(table: Microdata, method: Mask, *, seed: Seed | None = None) -> MaskedTable:
    """Publish the rows with other values, as a ``method`` makes them.

    ``Microaggregate`` shows averages of k rows, and promises k-anonymity. All methods state in
    release.json what they did, so that answers, means, variances and correlations can be corrected
    for it. Rows are in random order. A ``seed`` makes the run repeatable, and whoever knows or
    finds it can undo the order and the noise; see ``publish``.

    >>> patients = sf.read("patients.csv", sf.read_schema("patients.toml"))
    >>> release = sf.mask(patients, sf.Microaggregate(k=10))
    >>> abs(release.count("age <= 40").estimate - patients.count("age <= 40").estimate) < 50
    True
    """
    require_microdata(table)
    if isinstance(method, type) or not callable(getattr(method, "masked", None)):
        raise ParameterError(
            f"method must be a mask such as sf.Microaggregate(k=5), not {given(method)}",
            parameter="method",
        )
    require_spelling(table)
    randomness = Randomness(seed)
    stated = describe(method)  # type: ignore[arg-type]  # it has a name and options, as others do
    randomness.bind(stated, lambda: digest(table))
    found = method.masked(table, randomness)
    release = _calibrated(_release(table, found, stated, randomness), table)
    _require_kept(release)
    _warn_of_exact(release)
    if release.origin is not None:  # else columns that are not masked are left out
        warn_of_identifying(different_in(table.insensitive), table.n_rows, stacklevel=4)
    made_from(release, table)
    return release


def _release(
    table: Microdata, found: Masked, stated: dict[str, object], randomness: Randomness
) -> MaskedTable:
    order = randomness.permutation(len(next(iter(found.columns.values()))))
    shown, columns = masked_table(table, dict(found.columns), found.origin, order)
    places = {column.name: place for place, column in enumerate(columns)}
    promise = sorted(found.stated, key=lambda one: places.get(str(one.get("on")), -1))
    manifest = Manifest(
        kind=MaskedTable.kind,
        promise=tuple(promise),
        algorithm=stated,
        rows=shown.num_rows,
        seed=randomness.stated_seed,
    ).of_tables(columns, shown)
    origin = None if found.origin is None else found.origin[order]
    release = MaskedTable(shown, manifest, origin)
    evidence = Evidence(release)
    figures = masked_figures(manifest.promise, evidence, hides=release.hides)
    counted = replace(manifest, groups=len(evidence.sizes), metrics=figures)
    return replace(release, manifest=counted)


def _calibrated(release: MaskedTable, table: Microdata) -> MaskedTable:
    """The same, which states how far its counts are off."""
    line = intervals_stated(stretches(Answers.of_release(release), table))
    manifest = replace(release.manifest, promise=(*release.manifest.promise, line))
    return replace(release, manifest=manifest)


def _require_kept(release: MaskedTable) -> None:
    """A method's word is not enough: count the rows that are alike before they leave."""
    if not release.hides:
        return
    evidence = Evidence(release)
    sizes = evidence.sizes
    k = max(one["k"] for one in release.manifest.promise if one["model"] == KAnonymity.name)
    if sizes.min() < k:
        raise PromiseBroken(
            f"{int((sizes < k).sum())} groups have fewer than {k} rows; nothing is published (this "
            "is a bug in the method)",
            failures=np.flatnonzero(sizes < k).tolist(),
        )
    sensitive = [one for one in release.manifest.of_role(Role.SENSITIVE) if one.form == "value"]
    largest = {one.name: evidence.histograms(one.name).largest for one in sensitive}
    warn_of_exposed((), largest, sizes)


def _warn_of_exact(release: MaskedTable) -> None:
    """A quasi-identifier that stays as it is still singles people out."""
    exact = [
        one.name
        for one in release.manifest.of_role(Role.QUASI)
        if one.name not in release.distortions
    ]
    if exact:
        warnings.warn(
            f"{', '.join(exact)}: published as they are, so people may be found by them; name "
            "them among the columns to mask if the method takes them, or leave them out",
            SfumatoWarning,
            stacklevel=3,
        )
