"""Masks: a table becomes a table of other values, row by row, without a partition.

The slides' fourth family, perturbation: microaggregation, additive noise, swapping, synthetic rows.
A mask says what it did to every column in so many words that whoever reads the release can undo the
known part of it (forms/masked). None of this hides a person as groups do, microaggregation apart.
"""

from sfumato.algorithms.masking.mask import Mask, Masked

__all__ = ["Mask", "Masked"]
