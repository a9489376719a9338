"""What people's nearest rows say of their sensitive values: it need not be known whose they are."""

from __future__ import annotations

import numpy as np

from sfumato.audits.masking.distances import nearest, people_among, side_of, sides_of
from sfumato.core.arrays import Floats, Ints
from sfumato.core.microdata import Microdata
from sfumato.forms.masked.release import MaskedTable


def nearest_values(
    release: MaskedTable, table: Microdata, name: str, people: Ints, owned: Ints
) -> Floats:
    """For each of some people the share of their nearest rows with the value of an owner."""
    column = next(one for one in release.manifest.columns if one.name == name)
    side = side_of(release, table, column)
    own = dict(zip(people.tolist(), owned.tolist(), strict=True))
    found = []
    for some, near in nearest(sides_of(release, table), people):
        value = side.true[[own[person] for person in some.tolist()]]
        alike = np.abs(value[:, None] - side.shown[None, :]) <= 1e-9
        found.append((near & alike).sum(axis=1) / near.sum(axis=1))
    return np.concatenate(found)


def looked_for(rows: int, seed: int) -> Ints:
    """Some people at random."""
    found: Ints = np.random.default_rng(seed).permutation(rows)[: people_among(rows)]
    return found
