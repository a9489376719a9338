"""What should I publish? Many releases of one table side by side, and the one to take.

    found = explore(table)
    found.recommended, found.reasons, found.command
    found.write_html("explore.html")

The table is encoded once, and the questions that releases are held to are asked of it once; points
are computed side by side on all cores. Nothing is written, and no release is kept.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from numbers import Real
from statistics import fmean
from typing import Any

import numpy as np

from sfumato.algorithms.base import Stages, silent
from sfumato.audits.audit import Audit
from sfumato.audits.audit.quick import quick
from sfumato.audits.defaults import QUICK_ROWS
from sfumato.audits.evidence import evidence_of
from sfumato.audits.risk import assess
from sfumato.audits.usefulness import Asked
from sfumato.core.address_space import address_limit
from sfumato.core.foreign import our_errors
from sfumato.core.microdata import Microdata, require_microdata
from sfumato.core.schema import Role
from sfumato.core.seeds import stated_seed
from sfumato.engines.parts import TableParts
from sfumato.errors import Infeasible, ParameterError, SfumatoError, SfumatoWarning
from sfumato.exploring.grid import METHODS, PERTURB, USUAL, Setting, settings_of
from sfumato.exploring.results import Exploration, Point
from sfumato.forms.registry import Release, form_of
from sfumato.verbs.checks import lost_wholly
from sfumato.verbs.noise import perturb
from sfumato.verbs.publishing import publish

__all__ = ["Exploration", "Point", "Setting", "explore"]

_A_MOMENT = 0.2  # seconds between two looks at the clock


@our_errors("exploring")
def explore(
    table: Microdata,
    *,
    methods: str | Sequence[str] = (),
    k: int | Sequence[int] = (),
    l: float | Sequence[float] = (),
    t: float | Sequence[float] = (),
    m: float | Sequence[float] = (),
    seed: int | None = None,
    time_limit: float | None = None,
    progress: Stages | None = None,
) -> Exploration:
    """Try methods under promises, and say what each costs and is good for.

    Without promises the usual ones are tried, eight of each method; with them every combination
    that a method can make: boxes take k, l and t, anatomy l and t, perturb m. After ``time_limit``
    seconds, and with Ctrl-C, what is done is kept. A ``seed`` makes the points repeatable.

    >>> patients = sf.read("patients.csv", sf.read_schema("patients.toml"))
    >>> found = sf.explore(patients, methods=["mondrian"], k=[5, 20], seed=1)
    >>> [point.setting.words for point in found.points]
    ['k = 5', 'k = 20']
    >>> found.recommended in found.frontier
    True
    """
    limit: Any = time_limit  # somebody may have written a text
    if limit is not None and not (isinstance(limit, int | float) and limit > 0):
        raise ParameterError(
            f"time_limit is a number of seconds above 0, not {time_limit!r}",
            parameter="time_limit",
        )
    require_microdata(table)
    stated_seed(seed)  # or every point would be refused for it
    given = {name: _listed(name, one) for name, one in {"k": k, "l": l, "t": t, "m": m}.items()}
    named = _listed("methods", methods)
    tell = progress or silent
    tell("looking", 0.0)
    before = assess(table, sets=0)
    asked = Asked.of(TableParts.of(table)) if table.schema.sensitive else None
    wanted = settings_of(before, named or USUAL, given)
    run = _Run(table, asked, wanted, seed, time_limit, tell)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SfumatoWarning)  # the figures say who is exposed
        points, left = run.points()
    _require_some(points)
    return Exploration(before, points, left, seed=seed)


@dataclass(frozen=True, slots=True, eq=False)
class _Run:
    """Settings side by side, until all are done or time is up."""

    table: Microdata
    asked: Asked | None
    wanted: tuple[Setting, ...]
    seed: int | None
    limit: float | None
    tell: Stages
    begun: float = field(default_factory=time.monotonic)

    def points(self) -> tuple[tuple[Point, ...], tuple[Setting, ...]]:
        """What was done, in the order of the grid, and what was not."""
        done: dict[int, Point] = {}
        cores = 1 if address_limit() is not None else os.cpu_count() or 1
        pool = ThreadPoolExecutor(max_workers=cores)
        try:
            self._fill(pool, cores, done)
        except KeyboardInterrupt:
            if not done:
                raise
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
        left = [one for place, one in enumerate(self.wanted) if place not in done]
        return tuple(done[place] for place in sorted(done)), tuple(left)

    def _fill(self, pool: ThreadPoolExecutor, cores: int, done: dict[int, Point]) -> None:
        """As many at a time as there are cores, so that what waits can be left."""
        waiting, running = list(enumerate(self.wanted)), dict[Future[Point], int]()
        while running or waiting:
            while waiting and len(running) < cores and not (self._over() and done):
                place, setting = waiting.pop(0)
                running[pool.submit(self._point, setting)] = place
            if not running:
                return
            ended, _ = wait(running, timeout=_A_MOMENT, return_when=FIRST_COMPLETED)
            for one in ended:
                done[running.pop(one)] = one.result()
            self.tell("exploring", len(done) / len(self.wanted))

    def _over(self) -> bool:
        return self.limit is not None and time.monotonic() - self.begun > self.limit

    def _point(self, setting: Setting) -> Point:
        start = time.thread_time()
        try:
            found = self._measured(setting)
        except SfumatoError as error:
            found = Point(setting, str(error), getattr(error, "largest", None))
        return replace(found, seconds=time.thread_time() - start)

    def _measured(self, setting: Setting) -> Point:
        release, asked = self._released(setting), self.asked
        risk = assess(release)
        return Point(
            setting,
            risk=risk,
            useful=None if asked is None else asked.usefulness(release, best=False),
            guess=_guess(release, setting, risk.marketer),
            attacked=self._attacked(release),
            loss=release.manifest.metrics.get("ncp"),
            groups=release.manifest.groups,
            left_out=release.manifest.suppressed,
            gone=self._gone(setting, release),
        )

    def _gone(self, setting: Setting, release: Release) -> tuple[str, ...]:
        made = METHODS.get(setting.method)
        figures = release.manifest.metrics
        return () if made is None else lost_wholly(made(), self.table.attributes, figures)

    def _attacked(self, release: Release) -> Audit | None:
        """What somebody guesses who thinks; None where that takes long, or people are few."""
        if self.table.n_rows > QUICK_ROWS:
            return None
        try:
            return quick(release, self.table, seed=self.seed)
        except SfumatoError:
            return None

    def _released(self, setting: Setting) -> Release:
        if setting.method == PERTURB:
            return perturb(self.table, m=setting.m, seed=self.seed)
        made: Any = publish
        release: Release = made(
            self.table, METHODS[setting.method](), setting.model, seed=self.seed
        )
        return release


def _listed(name: str, given: Any) -> Sequence[Any]:
    """One stands for a list of one, and None for an empty one; NumPy's numbers are plain ones."""
    if given is None:
        return ()
    try:
        several = (given,) if isinstance(given, str | Real) else tuple(given)
    except TypeError:
        raise ParameterError(
            f"{name} is one value or a list of them, not a value of type {type(given).__name__}",
            parameter=name,
        ) from None
    return tuple(one.item() if isinstance(one, np.generic) else one for one in several)


def _guess(release: Release, setting: Setting, found: float) -> float:
    """The chance of the best guess of a value, on average over people and sensitive columns."""
    if setting.m is not None:
        return 1 / setting.m
    names = [column.name for column in release.manifest.of_role(Role.SENSITIVE)]
    if not names or form_of(release).unguessable:
        return found
    seen = [evidence_of(release).histograms(name) for name in names]
    return fmean(float(one.largest.sum() / one.counts.sum()) for one in seen)


def _require_some(points: tuple[Point, ...]) -> None:
    """Raise unless something is feasible: with the promise that is not, and the largest that is."""
    if any(one.refused is None for one in points):
        return
    first = points[0]
    raise Infeasible(
        f"nothing in this grid is feasible; {first.refused}",
        model=first.setting.words,
        largest=first.largest,
    )
