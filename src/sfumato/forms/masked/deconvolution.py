"""From what is shown back to what is true, where chance led from one to the other in a known way.

Numbers are dealt to J cells. ``transition[j, c]`` is the chance that a value of cell j is shown as
one of cell c.

    prior    what share of values is in each cell: the most likely one, by EM (Agrawal, Aggarwal:
             "On the design and quantification of privacy preserving data mining algorithms",
             PODS 2001; the method of Agrawal, Srikant, SIGMOD 2000, with the values of a cell
             counted at once). Shares go on being improved until that is worth less than 0.01 in
             the logarithm of the likelihood: later steps follow the noise
    chances  of a shown cell, the chance that the true value is wanted, by Bayes
    weights  what a row counts for that shows a cell: among rows of whatever kind, weights should
             add up to the number of those whose values are wanted. Chances do not: where the rows
             that are asked about differ from the whole table, they lean towards the table. Weights
             f make the sum over cells of p (transition f - wanted)^2 + q f^2 / n^(3/4) least: their
             bias, squared, and their variance. With n instead no bias is left and too much noise;
             with 1 they are the chances. They may lie below 0 and above 1
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.core.arrays import Counts, Floats

_ENOUGH = 0.01
_STEPS = 2_000
_DAMP = -0.75
_LEAST = 1e-300


@dataclass(frozen=True, slots=True, eq=False)
class Channel:
    """Shares of true cells, and two ways back: by Bayes, and to what rows count for.

    Each matrix has a line for every shown cell, and in it a number for every true one.
    """

    prior: Floats
    bayes: Floats
    back: Floats

    @classmethod
    def of(cls, transition: Floats, prior: Floats, shown: Floats, rows: int) -> Channel:
        """Of ``rows`` rows, with the shares of their true and shown cells."""
        shares = prior @ transition
        bayes = ((prior[:, None] * transition) / np.maximum(shares, _LEAST)).T
        # some of where it may have come from, so that no cell near people is left to chance
        lean = (prior + shown @ _backwards(transition)) / 2
        fit = (transition.T * lean) @ transition
        full = (shares + shown) / 2 + 1 / rows
        back: Floats = np.linalg.solve(fit + np.diag(full) * rows**_DAMP, transition.T * lean)
        return cls(prior, bayes, back + (prior - shown @ back))

    @classmethod
    def of_counts(cls, transition: Floats, counts: Counts) -> Channel:
        """With the shares that make what is shown most likely."""
        rows = int(counts.sum())
        return cls.of(transition, most_likely(transition, counts), counts / rows, rows)

    def chances(self, wanted: Floats) -> Floats:
        """Of every shown cell, how likely its true value is wanted."""
        found: Floats = np.clip(self.bayes @ wanted, 0.0, 1.0)
        return found

    def weights(self, wanted: Floats) -> Floats:
        """Of every shown cell, what it counts for; the whole table adds up to what EM says."""
        found: Floats = self.back @ wanted
        return found


def most_likely(transition: Floats, counts: Counts) -> Floats:
    """Shares of true cells, under which the counts of shown ones are likeliest."""
    shares: Floats = np.full(len(transition), 1 / len(transition))
    before = -np.inf
    for _ in range(_STEPS):
        expected = np.maximum(shares @ transition, _LEAST)
        likelihood = float(counts @ np.log(expected))
        if likelihood - before < _ENOUGH:
            break
        before = likelihood
        shares = shares * (transition @ (counts / expected)) / max(1, counts.sum())
    return shares


def _backwards(transition: Floats) -> Floats:
    """Where what is shown may have come from, if all cells are as full."""
    back: Floats = transition.T / np.maximum(transition.sum(axis=0)[:, None], _LEAST)
    return back
