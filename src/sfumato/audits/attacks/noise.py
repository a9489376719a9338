"""Noise: what a perturbed table shows of a person's line, and what is known of the noise.

Lines show quasi-identifiers exactly, so whoever knows them finds the line. It shows the true value
with a chance that release.json states, and else any value. How frequent values are can be worked
out from all lines together; by Bayes, the value is guessed that is frequent and explains what is
shown best. Perturbation promises 1/m if all values are equally frequent (forms/perturbed).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.audits.attacks.frame import KnownPeople
from sfumato.audits.attacks.matching import Guesses
from sfumato.audits.attacks.positions import in_turn
from sfumato.audits.breach.persons import Persons
from sfumato.core.arrays import Codes, Floats, Ints
from sfumato.core.attribute import Attribute
from sfumato.forms.evidence import codes_of, sensitive_column


def read_through(release: Any, people: KnownPeople, sensitive: str) -> tuple[Attribute, Guesses]:
    """The likeliest value of everybody, from the line that has their quasi-identifiers."""
    column = sensitive_column(release.manifest, sensitive)
    attribute, shown = codes_of(column, release.table[sensitive])
    kept = release.retention(sensitive)
    frequent = unperturbed(np.bincount(shown, minlength=attribute.size), kept.p, kept.noise)
    # lines show values, columns true ones
    joint = kept.noise * frequent[None, :] + kept.p * np.diag(frequent)
    posterior = joint / np.maximum(joint.sum(axis=1, keepdims=True), 1e-12)
    lines = _lines(release.table, people)
    values = np.where(lines < 0, -1, posterior.argmax(axis=1)[shown[lines]]).astype(np.int32)
    return attribute, Guesses(values, posterior.max(axis=1)[shown[lines]])


def unperturbed(counts: Ints, p: float, noise: float) -> Floats:
    """How frequent values are without the noise, as far as counts tell."""
    shares = np.maximum(counts / max(1, counts.sum()) - noise, 0) / p
    found: Floats = shares / shares.sum() if shares.sum() else np.full(len(shares), 1 / len(shares))
    return found


def _lines(table: pa.Table, people: KnownPeople) -> Codes:
    """A line with everybody's quasi-identifiers, each once."""
    both = {
        one.name: pa.concat_arrays(
            [
                one.decode(people.codes[one.name]).cast(table.schema.field(one.name).type),
                table[one.name].combine_chunks(),
            ]
        )
        for one in people.quasi
    }
    _, numbers, _ = Persons.of_arrays(both, people.n_rows + table.num_rows).distinct()
    return in_turn(numbers[: people.n_rows], numbers[people.n_rows :]).astype(np.int32)
