"""Reconstruction error: how far the published tables leave each row from where it was.

Xiao, Tao: "Anatomy", VLDB 2006, section 4. A row is a point; a release turns it into a probability
over points; the error of a row is the squared distance of the two (Equation 12), and RCE the sum
over all rows (Equation 13). Written out, the sums are short:

- anatomized: a group of n rows with value shares p costs n (1 - sum p^2);
- generalized: a row whose box covers V points costs 1 - 1/V (the sensitive value is exact).
"""

from __future__ import annotations

import numpy as np

from sfumato.core.arrays import Counts
from sfumato.core.boxes import Boxes
from sfumato.core.histograms import Histograms


def reconstruction_error(groups: Histograms) -> float:
    """RCE of an anatomized release of these groups.

    >>> import numpy as np
    >>> patients = sf.read("patients.csv", sf.read_schema("patients.toml"))
    >>> disease, codes = patients.attributes["disease"], patients.codes["disease"]
    >>> everyone = sf.Histograms.of_groups(disease, codes, np.zeros(1000, np.int32), 1)
    >>> round(sf.reconstruction_error(everyone))
    904
    """
    sizes = groups.sizes
    return float(sizes.sum() - (groups.total(np.square(groups.counts)) / sizes).sum())


def generalized_reconstruction_error(boxes: Boxes, sizes: Counts) -> float:
    """RCE of a generalized release with these boxes.

    >>> from sfumato.core.boxes import Ranges
    >>> patients = sf.read("patients.csv", sf.read_schema("patients.toml"))
    >>> halves = sf.Partition.of((patients.codes["age"] > 30).astype("int32"))
    >>> ages = Ranges.around(patients.attributes["age"], patients.codes["age"], halves)
    >>> round(sf.generalized_reconstruction_error(sf.Boxes((ages,)), halves.sizes))
    975
    """
    points = np.prod([side.n_values() for side in boxes], axis=0)
    return float(np.sum(sizes * (1 - 1 / points)))


def least_reconstruction_error(rows: int, l: float) -> float:
    """Theorem 2: no l-diverse anatomized release has less.

    >>> sf.least_reconstruction_error(rows=1000, l=4)
    750.0
    """
    return rows * (1 - 1 / l)
