"""Xiao, Tao: "Dynamic anonymization", SIGMOD 2008: section 9.

Every figure of the paper has four parts, (a) to (d); here each part is a figure of its own. The
time of an answer, which section 1.4 tells without a figure, is here called "time".
"""

from __future__ import annotations

from sfumato_experiments.paper import Paper
from sfumato_experiments.statdb import answer_time, deviations, intervals
from sfumato_experiments.statdb.comparison import CONCEALING, REVEALING

PAPER = Paper(
    name="statdb",
    title="Dynamic anonymization (Xiao, Tao 2008)",
    figures={
        **intervals.figures("7", REVEALING),
        **deviations.figures("8", REVEALING),
        **intervals.figures("9", CONCEALING),
        **deviations.figures("10", CONCEALING),
        "time": answer_time.run,
    },
)
