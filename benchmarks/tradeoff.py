"""Groups of neighbours of several sizes: what answers lose by size, and what attackers do.

Tables and attackers are those of attackers.py (rows are known, which tells most), questions those
of neighbours.py. The default of Anatomize is the smallest size at which all attackers stay in their
limits on all three tables.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import sfumato as sf
from benchmarks.attackers import Setting, known_rows, quick_learners, settings
from benchmarks.measure import Line
from benchmarks.neighbours import measured, questions_to
from sfumato.audits.attacks.results import Trial

SIZES = (1, 2, 3, 5, 10)  # times l


def run(folder: Path | None) -> Iterator[Line]:
    """Both sides on every table, the paper's groups first."""
    for setting in settings(folder):
        yield from _weighed(setting, "the paper's groups", sf.Anatomize(near=False))
        for times in SIZES:
            way = sf.Anatomize(size=times * setting.l)
            yield from _weighed(setting, f"groups of {times} l", way)


def _weighed(setting: Setting, form: str, way: sf.Anatomize) -> Iterator[Line]:
    release = sf.publish(setting.people, way, sf.LDiversity(setting.l), seed=0)
    for asked, workload in questions_to(setting.people).items():
        found = measured(release, setting.people, workload)
        yield Line(
            f"{setting.name}, {form}: error, {asked}",
            found.error,
            math.inf,
            "",
            f"bounds {found.width:.2f} times as wide as the truth",
        )
    trial = Trial.of(setting.people, partial(known_rows, way=way, l=setting.l))
    yield from quick_learners(setting, trial, form)
