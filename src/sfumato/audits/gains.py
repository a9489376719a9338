"""What a release adds to what somebody believed before: prior and posterior, person by person.

The slides' probabilistic attack. Beforehand a person has each value with some chance:

    marginals   as often as it is published, whoever the person is
    declared    the same, but for people under a condition some values have other chances ("men do
                not get this"); the rest of the values share what is left in proportion
    learner     what naive Bayes says of somebody with these quasi-identifiers, learnt from other
                people or from half of the table, and judged by the other half

Afterwards it has the share that all ways to hand out the published values give it, each counted as
likely as the prior makes it (attacks/matching.py). The *gain* is how much larger the chance of the
person's real value has become; it may be less than 0, as most of what is believed may be wrong.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np

from sfumato.answers.packing import Domain
from sfumato.audits.attacks.frame import Candidates
from sfumato.audits.attacks.matching import posterior, scored
from sfumato.audits.attacks.naive_bayes import NaiveBayes
from sfumato.audits.attacks.outside import normalized
from sfumato.audits.attacks.releases import candidates_of
from sfumato.audits.attacks.results import true_values
from sfumato.audits.audit.study import Study
from sfumato.audits.breach.view import View
from sfumato.core.arrays import Codes, Flags, Floats
from sfumato.core.microdata import Microdata, require_microdata
from sfumato.errors import ParameterError
from sfumato.forms.load import load
from sfumato.forms.registry import Release, form_of
from sfumato.queries.asked import condition_of
from sfumato.queries.binding import bind
from sfumato.queries.columns import Catalog

Declared: TypeAlias = Mapping[str, Mapping[Any, float]]
Prior: TypeAlias = Literal["marginals", "learner"] | Declared
_QUANTILES = (0.5, 0.9, 0.99)
_LEAST = 1e-12  # a chance of 0 leaves nothing to compare


@dataclass(frozen=True, slots=True)
class Gains:
    """Of ``people``: the mean chance of their real value before and after; the gain of the one who
    loses most, and on average; how many had a gain above 0; and the largest chance after.

    ``quantiles`` of gains are by their share: half, nine of ten and 99 of 100 people gain no more.
    """

    people: int
    sensitive: str
    known: str
    before: float
    after: float
    largest: float
    mean: float
    gaining: int
    surest: float
    quantiles: Mapping[float, float]

    def to_dict(self) -> dict[str, Any]:
        """All figures."""
        return {**asdict(self), "quantiles": {str(at): one for at, one in self.quantiles.items()}}

    def __str__(self) -> str:
        """A sentence."""
        return (
            f"{self.known}: the real {self.sensitive} of {self.people:,} people has a chance of "
            f"{self.before:.3f} before and {self.after:.3f} after, on average; the largest gain is "
            f"{self.largest:.3f}, and {self.gaining:,} people gain"
        )


def gains(
    release: Release | str | Path,
    table: Microdata,
    *,
    prior: Prior = "marginals",
    sensitive: str | None = None,
    others: Microdata | None = None,
    seed: int = 0,
) -> Gains:
    """How much a release adds to what is believed of each person of its table.

    ``prior`` is "marginals", "learner" (which studies ``others``, or half of the table), or what is
    declared: for a condition on quasi-identifiers the chances of some values.

    >>> patients = sf.read("patients.csv", sf.read_schema("patients.toml"))
    >>> release = sf.publish(patients, sf.Anatomize(), sf.LDiversity(4), seed=sf.new_seed())
    >>> found = sf.gains(release, patients, prior={"age < 30": {"asthma": 0.5}})
    >>> -1 <= found.mean <= found.largest <= 1
    True
    """
    require_microdata(table)
    published = load(release) if isinstance(release, str | Path) else release
    _require_groups(published)
    view = View.of(published, sensitive)
    shown = candidates_of(published, table, sensitive=view.name)
    truth = true_values(shown, table)
    known, judged, words = _before(prior, shown, truth, table, view, others, seed)
    before = known[shown.person_points, np.maximum(truth, 0)]
    after = _after(shown, known, truth)
    among = (truth >= 0) & judged & ~np.isnan(after)
    if not among.any():
        raise ParameterError("nobody is left whose value could be guessed", parameter="table")
    return _summed(before[among], after[among], view.name, words)


def _summed(before: Floats, after: Floats, sensitive: str, known: str) -> Gains:
    more = after - before
    return Gains(
        people=len(more),
        sensitive=sensitive,
        known=known,
        before=float(before.mean()),
        after=float(after.mean()),
        largest=float(more.max()),
        mean=float(more.mean()),
        gaining=int((more > _LEAST).sum()),
        surest=float(after.max()),
        quantiles={at: float(np.quantile(more, at)) for at in _QUANTILES},
    )


def _before(
    prior: Prior,
    shown: Candidates,
    truth: Codes,
    table: Microdata,
    view: View,
    others: Microdata | None,
    seed: int,
) -> tuple[Floats, Flags, str]:
    """Chances of values by point, whose are judged, and what is known in words."""
    everybody = np.ones(len(truth), np.bool_)
    if prior == "learner":
        study = (
            Study.of_half(shown, truth, seed)
            if others is None
            else Study.of_others(shown, truth, others)
        )
        learnt = NaiveBayes().learn(shown.quasi, *study.known, shown.n_values)
        judged = everybody if study.judged is None else study.judged
        return normalized(learnt.log_chances(shown.points)), judged, f"having studied {study.words}"
    whole = shown.values.whole.astype(np.float64)
    chances = np.tile(whole / whole.sum(), (len(shown.points), 1))
    if prior == "marginals":
        return chances, everybody, "knowing how frequent values are"
    if not isinstance(prior, Mapping):
        raise ParameterError(
            f"prior is 'marginals', 'learner' or chances by condition, not {prior!r}",
            parameter="prior",
        )
    for condition, stated in prior.items():
        _declare(chances, _under(condition, shown, table), stated, view)
    return chances, everybody, "knowing what is declared"


def _under(condition: str, shown: Candidates, table: Microdata) -> Flags:
    """The points that satisfy a condition."""
    names = [one.name for one in shown.quasi]
    found = np.ones(len(shown.points), np.bool_)
    for name, wanted in bind(condition_of(condition), Catalog.of_table(table)).where.items():
        if name not in names:
            raise ParameterError(
                f"a prior is about people by their quasi-identifiers ({', '.join(names)}), not by "
                f"{name!r}",
                parameter="prior",
            )
        place = names.index(name)
        marks = Domain(shown.quasi[place]).marks(wanted).astype(np.bool_)
        found &= marks[shown.points[:, place]]
    return found


def _declare(chances: Floats, under: Flags, stated: Mapping[Any, float], view: View) -> None:
    """Give some values these chances, and let the others share what is left."""
    codes = {value: code for code, value in enumerate(view.attribute.values.to_pylist())}
    for value, chance in stated.items():
        if value not in codes:
            raise ParameterError(f"nobody has the value {value!r}", parameter="prior")
        if not 0 <= chance <= 1:
            raise ParameterError(f"{chance} is no chance of {value!r}", parameter="prior")
    named = np.array([codes[value] for value in stated], np.int64)
    total = sum(stated.values())
    others = np.setdiff1d(np.arange(chances.shape[1]), named)
    rest = chances[np.ix_(under, others)]
    shares = rest.sum(axis=1, keepdims=True)
    if total > 1 + 1e-9 or (total < 1 - 1e-9 and len(shares) and (shares <= 0).any()):
        raise ParameterError(
            f"the chances of {', '.join(map(repr, stated))} add up to {total:g}", parameter="prior"
        )
    chances[np.ix_(under, others)] = rest * (1 - total) / np.maximum(shares, _LEAST)
    chances[np.ix_(under, named)] = list(stated.values())


def _after(shown: Candidates, known: Floats, truth: Codes) -> Floats:
    """The chance of everybody's real value, given all that is published; NaN of whom it is not."""
    cells = shown.cells()
    mass = posterior(shown, scored(shown, _InParts(np.log(np.maximum(known, _LEAST)))))
    subjects = np.empty(shown.n_claims, np.int64)
    subjects[shown.claims.items] = shown.claims.owners
    of_cell = np.repeat(subjects, np.diff(cells.starts))
    n_subjects, width = len(shown.claims.starts) - 1, shown.n_values + 1
    total = np.bincount(of_cell, mass, n_subjects)
    keys, places = np.unique(
        of_cell * width + shown.values.values[cells.slots], return_inverse=True
    )
    sums = np.bincount(places, mass)
    wanted = shown.subjects * np.int64(width) + truth
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    taken = np.where(keys[at] == wanted, sums[at], 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        found: Floats = taken / total[shown.subjects]
    return found


@dataclass(slots=True, eq=False)
class _InParts:
    """Logarithms of chances for points that are asked for one part after the other."""

    logarithms: Floats
    at: int = 0

    def log_chances(self, points: Codes) -> Floats:
        """Of the next points."""
        first, self.at = self.at, self.at + len(points)
        return self.logarithms[first : self.at]


def _require_groups(published: Release) -> None:
    form = form_of(published)
    if form.external or not form.grouped:
        raise ParameterError(
            f"gains are those of releases with groups: {form.unguessable}", parameter="release"
        )
