"""How long attacks take: seconds that owners wait before they know.

Expectation maximization over 20,000 groups of ten; who shares a value with whom in a bucket of
10,000 rows, by questions alone; and everything that ``sfumato audit`` does by default, controls
included, to a release of 200,000 rows. Limits are seconds of processor time: more than that, and
nobody audits before publishing. An audit works in one thread nearly all the time, so it takes as
long by the clock of a machine on which nothing else runs; here it goes on after its time limit,
which counts seconds of the clock.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa

import sfumato as sf
from benchmarks.attackers import PERSON, Setting, settings
from benchmarks.measure import Line, seconds
from sfumato.algorithms.base import Partitioner
from sfumato.audits.attacks.definetti import DeFinetti
from sfumato.audits.attacks.equality import Upper, closed, upper_ends
from sfumato.audits.attacks.frame import known_people
from sfumato.audits.attacks.releases import candidates_of

L, BUCKET = 10, 10_000
COHORTS = (8, None)
EM_LIMIT, CLOSURE_LIMIT, AUDIT_LIMIT = 20, 60, 180  # seconds


def run(folder: Path | None) -> Iterator[Line]:
    """Three attacks, and the audit of every method's default."""
    *_, setting = settings(folder)
    _warm(setting)
    yield _learning(setting)
    for cohort in COHORTS:
        yield _closing(cohort)
    yield from _audits(setting)


def _learning(setting: Setting) -> Line:
    release = sf.publish(setting.people, sf.Anatomize(near=False), sf.LDiversity(L), seed=0)
    shown = candidates_of(release, setting.people)
    spent = seconds(lambda: DeFinetti().guess(shown), time.process_time)
    stated = release.manifest
    name = f"deFinetti on {setting.name}, {stated.rows:,} rows, {stated.groups:,} groups"
    return Line(name, spent, EM_LIMIT, "s", "processor time")


def _closing(cohort: int | None) -> Line:
    """Ten values, so all rows are in one bucket."""
    values = np.random.default_rng(0).permutation(np.arange(BUCKET) % L)
    rows = pa.table({PERSON: np.arange(BUCKET), "value": values})
    people = sf.read(rows, sf.Schema(quasi=[PERSON], sensitive="value"))
    with tempfile.TemporaryDirectory() as place:
        db = sf.StatDB.create(
            Path(place) / "db",
            people,
            m=L,
            first="signatures",
            cohort=cohort,
            seed=0,
            experiment=True,
        )
        asked = Counter[str]()
        upper = _counted(upper_ends(db, known_people(people), PERSON, people.sensitive[0]), asked)
        start = time.process_time()
        found = closed(upper, BUCKET, L)
        spent = time.process_time() - start
    right = all(len(set(values[one].tolist())) == 1 for of in found for one in of.classes)
    detail = f"processor time; {asked['questions']:,} questions, {len(found):,} cohorts found, "
    detail += "classes are right" if right else "CLASSES ARE WRONG"
    return Line(
        f"closure of a bucket of {BUCKET:,} rows, cohort {cohort}",
        spent,
        CLOSURE_LIMIT,
        "s",
        detail,
    )


def _counted(upper: Upper, asked: Counter[str]) -> Upper:
    def counting(persons: Sequence[int], value: int) -> int:
        asked["questions"] += 1
        return upper(persons, value)

    return counting


def _audits(setting: Setting) -> Iterator[Line]:
    ways: dict[str, Partitioner] = {
        "Anatomize": sf.Anatomize(),
        "Anatomize, paper's groups": sf.Anatomize(near=False),
        "Mondrian": sf.Mondrian(),
        "Frontier": sf.Frontier(),
    }
    for name, way in ways.items():
        release = sf.publish(setting.people, way, sf.LDiversity(L), seed=0)
        yield _audit(
            f"{name}, {setting.name}, {release.manifest.rows:,} rows",
            partial(
                sf.audit, release, setting.people, others=setting.others, time_limit=None, seed=0
            ),
        )
    with tempfile.TemporaryDirectory() as place:
        db = sf.StatDB.create(Path(place) / "db", setting.people, m=L, seed=0, experiment=True)
        name = f"StatDB, {setting.name}, {setting.people.n_rows:,} rows"
        yield _audit(name, lambda: db.audit(others=setting.others, time_limit=None, seed=0))


def _audit(name: str, audit: Callable[[], sf.Audit]) -> Line:
    begun, spent = time.perf_counter(), time.process_time()
    found = audit()
    slowest = max(found.findings, key=lambda one: one.seconds)
    detail = (
        f"processor time; {len(found.findings)} attacks with controls, {len(found.not_run)} not "
        f"run, the slowest {slowest.name}; {time.perf_counter() - begun:.0f} s by the clock, load "
        f"{os.getloadavg()[0]:.0f}"
    )
    return Line(f"audit: {name}", time.process_time() - spent, AUDIT_LIMIT, "s", detail)


def _warm(setting: Setting) -> None:
    """Kernels are compiled before anything is measured."""
    few, others = (one.take(np.arange(2_000)) for one in (setting.people, setting.others))
    release = sf.publish(few, sf.Anatomize(), sf.LDiversity(2), seed=0)
    sf.audit(release, few, others=others, seed=0)
