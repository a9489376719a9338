"""Sacharidis, Mouratidis, Papadias: "k-Anonymity in the Presence of External Databases": section 5.

Every figure of the paper has three parts, (a) to (c); here each part is a figure of its own.
"""

from __future__ import annotations

from sfumato_experiments.kja import accuracy, information_loss, running_time
from sfumato_experiments.paper import Paper

PAPER = Paper(
    name="kja",
    title=(
        "k-Anonymity in the Presence of External Databases (Sacharidis, Mouratidis, Papadias 2010)"
    ),
    figures={
        **information_loss.CENSUS_FIGURES,  # 10 to 13
        **accuracy.FIGURES,  # 14 and 15
        **information_loss.UNIFORM_FIGURES,  # 16 and 17
        **running_time.FIGURES,  # 18 and 19
    },
)
