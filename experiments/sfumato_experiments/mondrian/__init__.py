"""LeFevre, DeWitt, Ramakrishnan: "Multidimensional k-anonymity", TR 1521, 2005: section 6."""

from __future__ import annotations

from sfumato_experiments.mondrian import (
    figure_10,
    figure_11,
    figure_12,
    figure_13,
    figure_14,
    figure_15,
    figure_16,
    figure_17,
)
from sfumato_experiments.paper import Paper

PAPER = Paper(
    name="mondrian",
    title="Multidimensional k-anonymity (LeFevre, DeWitt, Ramakrishnan 2005)",
    figures={
        "10": figure_10.run,
        "11": figure_11.run,
        "12": figure_12.run,
        "13": figure_13.run,
        "14": figure_14.run,
        "15": figure_15.run,
        "16": figure_16.run,
        "17": figure_17.run,
    },
)
