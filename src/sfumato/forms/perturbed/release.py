"""The perturbed release: every row exactly, except that sensitive values are kept by chance only.

Xiao, Tao: "Dynamic anonymization", SIGMOD 2008, section 8, after Agrawal, Srikant, Thomas: "Privacy
preserving OLAP", SIGMOD 2005. A row keeps its sensitive value with probability p, the *retention*;
otherwise it shows a uniformly random value of the domain A, its own included. So

    Pr(shown = true value) = p + (1 - p)/|A|,     Pr(shown = another given value) = (1 - p)/|A|.

If all values are equally likely beforehand, every value is shown with probability 1/|A|, and by
Bayes the shown value is the true one with probability p + (1 - p)/|A| (Lemma 9). Equating that
with 1/m gives the largest retention that keeps a guess at 1/m (Formula 10):

    p = (|A| - m) / (m (|A| - 1))

This is a promise about chances, and under that prior. Who knows that some values are frequent (the
release itself lets anyone estimate how frequent) guesses those better, and two perturbations of one
table tell more than one. Several sensitive attributes are perturbed independently, and each is
protected by itself.

The domain is published in a table of its own, in its own order: whoever corrects for the noise has
to know it, and the noise shows all of it anyhow as soon as there are many rows. Rows are in random
order. A missing value is a value of the domain.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from sfumato.core.arrays import Ints
from sfumato.core.attribute import Attribute
from sfumato.core.microdata import Microdata
from sfumato.core.randomness import Randomness
from sfumato.core.schema import Role
from sfumato.errors import Infeasible, ParameterError, SchemaError
from sfumato.forms.columns import insensitive_columns
from sfumato.forms.figures import rounded
from sfumato.forms.files import Files
from sfumato.forms.manifest import Manifest, PublishedColumn, describe_column
from sfumato.forms.published import Published

MODEL = "perturbation"
_WORDS = 2.0**64  # different random words


@dataclass(frozen=True, slots=True)
class Retention:
    """A value of a domain of ``size`` values is kept with probability ``p``."""

    p: float
    size: int

    @classmethod
    def keeping(cls, attribute: Attribute, p: float | None, m: float | None) -> Retention:
        """The given p, or the largest that keeps a guess of the attribute's values at 1/m."""
        if attribute.size < 2:
            raise Infeasible(
                f"{attribute.name!r} has one value, which no noise hides", model=MODEL, largest=1
            )
        if m is not None and p is None:
            return cls(_largest_p(attribute, m), attribute.size)
        if p is None or m is not None:
            raise ParameterError("give either p or m", parameter="p")
        if not 0 < p < 1:
            raise ParameterError(f"p must lie between 0 and 1, not {p}", parameter="p")
        return cls(float(p), attribute.size)

    @property
    def noise(self) -> float:
        """The chance that a row shows a given value by replacement."""
        return (1 - self.p) / self.size

    @property
    def m(self) -> float:
        """A guess of the shown value is right with chance 1/m, by Lemma 9."""
        return 1 / (self.p + self.noise)


@dataclass(frozen=True, slots=True, eq=False, repr=False, weakref_slot=True)
class PerturbedTable(Published):
    """The rows, the domain of every perturbed attribute, and the manifest that explains them.

    ``files`` are the names that the domains' files have, if they are not the usual ones.
    """

    kind: ClassVar[str] = "perturbed"
    stem: ClassVar[str] = "perturbed"
    column_stem: ClassVar[str] = "domain"
    table: pa.Table
    domains: Mapping[str, pa.Table]
    manifest: Manifest
    files: tuple[str, ...] = field(default=(), repr=False)

    @property
    def _by_column(self) -> Mapping[str, pa.Table]:
        """The domains."""
        return self.domains

    @property
    def tables(self) -> tuple[pa.Table, ...]:
        """The rows, and the domains."""
        return (self.table, *self.domains.values())

    def retention(self, name: str) -> Retention:
        """How often a perturbed attribute's values were kept, as release.json states it."""
        for stated in self.manifest.promise:
            if stated.get("model") == MODEL and stated.get("on") == name:
                return Retention(float(stated["p"]), self.domains[name].num_rows)
        raise SchemaError(f"release.json does not say how {name!r} is perturbed", column=name)

    @classmethod
    def read(cls, files: Files) -> PerturbedTable:
        """Read the tables of a release folder."""
        manifest = files.manifest
        names = [column.name for column in manifest.of_role(Role.SENSITIVE)]
        domains, stems = files.by_column(cls.column_stem, names)
        return cls(files.whole(cls.stem), domains, manifest, stems)

    def __repr__(self) -> str:
        """Size and promise."""
        kept = ", ".join(
            f"{name} kept with p = {self.retention(name).p:.3g}" for name in self.domains
        )
        return f"PerturbedTable({self.manifest.rows:,} rows, {kept})"


def perturbed_tables(
    table: Microdata, kept: Mapping[str, Retention], randomness: Randomness
) -> tuple[pa.Table, dict[str, pa.Table], tuple[PublishedColumn, ...]]:
    """The rows, the domains, and the description of the columns; other sensitive ones stay out."""
    rows = randomness.permutation(table.n_rows)
    shown: dict[str, pa.Array] = {
        attribute.name: attribute.decode(table.codes[attribute.name][rows])
        for attribute in table.quasi
    }
    domains = {}
    for name, retention in kept.items():
        attribute = table.attributes[name]
        noisy = _perturbed(table.codes[name][rows], retention, randomness)
        shown[name] = attribute.decode(noisy)
        domains[name] = pa.table({name: attribute.decode(np.arange(attribute.size))})
    shown.update(insensitive_columns(table, rows))
    return pa.table(shown), domains, _described(table, kept)


def perturbed_figures(kept: Mapping[str, Retention]) -> dict[str, Any]:
    """The figures of release.json: how many rows show another value, on average."""
    return rounded(
        {"expected_changed": {name: 1 - one.p - one.noise for name, one in kept.items()}}
    )


def _largest_p(attribute: Attribute, m: float) -> float:
    """Formula 10."""
    size = attribute.size
    if not m > 1:
        raise ParameterError(f"m must be above 1, not {m}", parameter="m")
    if m >= size:
        raise Infeasible(
            f"{attribute.name!r} has {size} values, so a blind guess is right with chance 1/{size}"
            f" and nothing could be kept for m = {m:g}; the largest feasible m is {size - 1}",
            model=MODEL,
            largest=size - 1,
        )
    return (size - m) / (m * (size - 1))


def _perturbed(codes: Ints, retention: Retention, randomness: Randomness) -> Ints:
    """Toss a coin for every row, and draw a value for it whether it is needed or not."""
    keep = randomness.words(len(codes)) < np.uint64(retention.p * _WORDS)
    # no value is likelier than another by more than a factor of 1 + |A| / 2**64
    drawn = randomness.words(len(codes)) % np.uint64(retention.size)
    return np.where(keep, codes, drawn.astype(np.int64))


def _described(table: Microdata, kept: Mapping[str, Retention]) -> tuple[PublishedColumn, ...]:
    return (
        *(describe_column(attribute, Role.QUASI, "value") for attribute in table.quasi),
        *(describe_column(table.attributes[name], Role.SENSITIVE, "perturbed") for name in kept),
        *(
            PublishedColumn(name, Role.INSENSITIVE, "value", (name,))
            for name in table.schema.insensitive
        ),
    )
