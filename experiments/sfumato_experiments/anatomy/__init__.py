"""Xiao, Tao: "Anatomy: simple and effective privacy preservation", VLDB 2006: section 6."""

from __future__ import annotations

from sfumato_experiments.anatomy import (
    figure_4,
    figure_5,
    figure_6,
    figure_7,
    figure_8,
    figure_9,
)
from sfumato_experiments.paper import Paper

PAPER = Paper(
    name="anatomy",
    title="Anatomy: simple and effective privacy preservation (Xiao, Tao 2006)",
    figures={
        "4": figure_4.run,
        "5": figure_5.run,
        "6": figure_6.run,
        "7": figure_7.run,
        "8": figure_8.run,
        "9": figure_9.run,
    },
)
