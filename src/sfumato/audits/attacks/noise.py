"""Noise: what a perturbed table shows of a person's line, and what is known of the noise.

Lines show quasi-identifiers exactly, so whoever knows them finds the line. It shows the true value
with a chance that release.json states, and else any value. How frequent values are can be worked
out from all lines together; by Bayes, the value is guessed that is frequent and explains what is
shown best. Perturbation promises 1/m if all values are equally frequent (forms/perturbed). Whoever
has studied other people knows more than frequencies: how likely each value is for such a person.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.audits.attacks.frame import KnownPeople
from sfumato.audits.attacks.matching import AT_ONCE, Guesses, Knowledge
from sfumato.audits.attacks.outside import normalized
from sfumato.audits.attacks.positions import in_turn
from sfumato.audits.breach.persons import Persons
from sfumato.core.arrays import Codes, Floats, Ints
from sfumato.core.attribute import Attribute
from sfumato.forms.evidence import codes_of, sensitive_column


def read_through(
    release: Any, people: KnownPeople, sensitive: str, knowledge: Knowledge | None = None
) -> Guesses:
    """The likeliest value of everybody, from the line that has their quasi-identifiers.

    Without ``knowledge`` all values are as likely as they are frequent.
    """
    attribute, shown = shown_values(release, sensitive)
    kept, lines = release.retention(sensitive), _lines(release.table, people)
    frequent = unperturbed(np.bincount(shown, minlength=attribute.size), kept.p, kept.noise)
    points = people.quasi_codes()
    values, chances = np.full(len(lines), -1, np.int32), np.zeros(len(lines))
    for low in range(0, len(lines), AT_ONCE):
        some = low + np.flatnonzero(lines[low : low + AT_ONCE] >= 0)
        before = np.tile(frequent, (len(some), 1))
        if knowledge is not None:
            before = normalized(knowledge.log_chances(points[some]))
        joint, everybody = kept.noise * before, np.arange(len(some))
        seen = shown[lines[some]]
        joint[everybody, seen] += kept.p * before[everybody, seen]
        values[some] = joint.argmax(axis=1)
        chances[some] = joint.max(axis=1) / np.maximum(joint.sum(axis=1), _LEAST)
    return Guesses(values, chances)


_LEAST = 1e-12


def shown_values(release: Any, sensitive: str) -> tuple[Attribute, Codes]:
    """What lines show, in codes."""
    return codes_of(sensitive_column(release.manifest, sensitive), release.table[sensitive])


def unperturbed(counts: Ints, p: float, noise: float) -> Floats:
    """How frequent values are without the noise, as far as counts tell."""
    shares = np.maximum(counts / max(1, counts.sum()) - noise, 0) / p
    found: Floats = shares / shares.sum() if shares.sum() else np.full(len(shares), 1 / len(shares))
    return found


def alike(table: pa.Table, people: KnownPeople) -> tuple[Codes, Codes]:
    """Numbers of the quasi-identifiers of everybody, and of every line; equal where these are."""
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
    return numbers[: people.n_rows], numbers[people.n_rows :]


def _lines(table: pa.Table, people: KnownPeople) -> Codes:
    """A line with everybody's quasi-identifiers, each once."""
    return in_turn(*alike(table, people)).astype(np.int32)
