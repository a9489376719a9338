"""perturb: sensitive values with noise of a known kind."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence

from sfumato.core.fingerprint import digest
from sfumato.core.foreign import our_errors
from sfumato.core.microdata import Microdata, require_microdata
from sfumato.core.randomness import Randomness
from sfumato.core.schema import Schema
from sfumato.core.seeds import Seed
from sfumato.errors import SchemaError, SfumatoWarning
from sfumato.forms.exposure import NEARLY
from sfumato.forms.identifying import different_in
from sfumato.forms.manifest import Manifest
from sfumato.forms.perturbed.release import (
    MODEL,
    PerturbedTable,
    Retention,
    perturbed_figures,
    perturbed_tables,
)
from sfumato.forms.remembering import made_from
from sfumato.verbs.checks import require_spelling, warn_of_identifying


@our_errors("publishing")
def perturb(
    table: Microdata,
    *,
    p: float | None = None,
    m: float | None = None,
    sensitive: str | Sequence[str] | None = None,
    seed: Seed | None = None,
) -> PerturbedTable:
    """Publish every row exactly, except that its sensitive value is kept with probability ``p``.

    Otherwise it shows a random value of the domain. ``m`` asks for the largest p with which a guess
    of the shown value is right with chance 1/m, if all values are equally likely beforehand;
    forms/perturbed/release.py derives it. The domain is what the column holds, or the order or
    taxonomy that the schema declares, and is published. ``sensitive`` names the columns to perturb,
    all sensitive ones by default; those that are not named are left out. A ``seed`` makes the run
    repeatable, and whoever knows or finds it can undo the noise; see ``publish``.

    >>> patients = sf.read("patients.csv", sf.read_schema("patients.toml"))
    >>> noisy = sf.perturb(patients, m=4)
    >>> noisy.manifest.rows
    1000
    """
    require_microdata(table)
    names = _named(table.schema, sensitive)
    kept = {name: Retention.keeping(table.attributes[name], p, m) for name in names}
    require_spelling(table)
    _warn_of_kept(table.n_rows, kept)
    warn_of_identifying(different_in(table.insensitive), table.n_rows, stacklevel=4)
    randomness = Randomness(seed)
    randomness.bind({name: one.p for name, one in kept.items()}, lambda: digest(table))
    shown, domains, columns = perturbed_tables(table, kept, randomness)
    manifest = Manifest(
        kind=PerturbedTable.kind,
        promise=tuple(
            {"model": MODEL, "on": name, "p": one.p, "m": m or one.m, "domain_size": one.size}
            for name, one in kept.items()
        ),
        algorithm={"name": "perturb"},
        rows=table.n_rows,
        groups=table.n_rows,
        metrics=perturbed_figures(kept),
        seed=randomness.stated_seed,
    ).of_tables(columns, shown)
    release = PerturbedTable(shown, domains, manifest)
    made_from(release, table)
    return release


def _warn_of_kept(n_rows: int, kept: Mapping[str, Retention]) -> None:
    """Noise that changes next to nothing hides next to nobody."""
    for name, one in kept.items():
        right = one.p + one.noise
        if right > NEARLY:
            warnings.warn(
                f"{name!r} shows their own value for about {right * n_rows:,.0f} of {n_rows:,} "
                f"people: a guess of the shown value is right in {right:.1%} of the cases; use a "
                "smaller p, or a larger m",
                SfumatoWarning,
                stacklevel=4,
            )


def _named(schema: Schema, sensitive: str | Sequence[str] | None) -> tuple[str, ...]:
    """The sensitive columns that are asked for."""
    if not schema.sensitive:
        raise SchemaError("there is nothing to perturb: the schema names no sensitive column")
    if sensitive is None:
        return schema.sensitive
    names = (sensitive,) if isinstance(sensitive, str) else tuple(sensitive)
    for name in names:
        if name not in schema.sensitive:
            raise SchemaError(
                f"no sensitive column {name!r}; there are {', '.join(schema.sensitive)}",
                column=name,
            )
    return names
