"""How often attackers guess right, beside the promise and what they would know without a release.

People of a table are parted in two: one half is published, the other half is what somebody outside
has studied. Limits are 1.2 times the promise, or 1.2 times what the learner guesses without the
release where that is more. ``known rows``: an attacker who knows which published row is whose;
elsewhere people are known by their quasi-identifiers alone. The control is the whole attack on a
table whose sensitive column is shuffled.

Databases of all kinds are asked. Groups that are regrouped in the whole table are asked who shares
a value with whom (``closure``; cohort 8 was the default); of those in regions all that can be found
out that way is given to attackers. Answers from neighbours are functions of the groups and their
signatures (layout/neighbourhoods.py), so nobody can know more than these, and attackers are given
them; ``sizes`` are those of groups over m, 5 being the default.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import sfumato as sf
from benchmarks.data import CENSUS_QUASI, skewed
from benchmarks.measure import Line
from sfumato.algorithms.base import Partitioner
from sfumato.audits.attacks.boosting import Boosting
from sfumato.audits.attacks.definetti import DeFinetti
from sfumato.audits.attacks.equality import candidates_of_cohorts, closed, upper_ends
from sfumato.audits.attacks.frame import Candidates, known_people
from sfumato.audits.attacks.matching import Knowledge
from sfumato.audits.attacks.naive_bayes import NaiveBayes
from sfumato.audits.attacks.outside import Outside, studied, without_release
from sfumato.audits.attacks.releases import candidates_of
from sfumato.audits.attacks.results import (
    Accuracy,
    Attack,
    Outcome,
    Scene,
    Trial,
    shuffled,
)
from sfumato.core.arrays import Flags
from sfumato.core.histograms import Histograms
from sfumato.core.randomness import Randomness
from sfumato.models.requirements import requirements
from sfumato.statdb.audit import told
from sfumato.statdb.layout.neighbourhoods import grouped
from sfumato.statdb.responder import Responder
from sfumato_experiments.statdb.tables import SALARY, survey

ROWS = 200_000
ASKED = 3_000  # people of a database, of whom it is found out who shares a value with whom
COHORTS = (1, 8)
SIZES = (2, 3, 5)  # times m
KNOWN = 50  # one person in so many
TIMES = 1.2
SECONDS_EACH = 0.006  # of processor time: 60 for 10,000 people
PERSON = "person"
WORKERS = (
    "age",
    "sex",
    "education",
    "marital_status",
    "race",
    "class_of_worker",
    "country_birth_self",
)

Show = Callable[[sf.Microdata], Candidates]


@dataclass(frozen=True, slots=True)
class Setting:
    """People who are published, others who are studied, and the promise."""

    name: str
    people: sf.Microdata
    others: sf.Microdata
    l: int

    @property
    def sensitive(self) -> str:
        return self.people.schema.sensitive[0]

    def learnt(self, candidates: Candidates, learner: NaiveBayes | Boosting) -> Knowledge:
        known = studied(candidates, self.others, self.sensitive)
        return learner.learn(candidates.quasi, *known, candidates.n_values)


def run(folder: Path | None) -> Iterator[Line]:
    """Every attacker on releases and databases of every table."""
    for setting in settings(folder):
        yield from on_releases(setting)
        yield from on_neighbours(setting)
        yield from on_regions(setting)
        for cohort in COHORTS:
            yield from _asked(setting, cohort)


def on_releases(setting: Setting) -> Iterator[Line]:
    """Every attacker on releases of one table."""
    for form, show in _shown(setting).items():
        yield from _attacked(setting, form, show)


def on_neighbours(setting: Setting) -> Iterator[Line]:
    """Every attacker on databases of neighbours of one table."""
    for times in SIZES:
        trial = Trial.of(setting.people, partial(_settled, m=setting.l, size=times * setting.l))
        form = f"database, size {times} m"
        bayes = yield from learners(setting, trial, form)
        if times == SIZES[-1]:
            yield from _with_known(setting, trial, bayes, form)


def on_regions(setting: Setting) -> Iterator[Line]:
    """Every attacker on a database that regroups inside regions of one table."""

    def scene(people: sf.Microdata) -> Scene:
        made = Responder.create(people, m=setting.l, first="regions", seed=0)
        table = made.table()  # in the order of its places
        return Scene.of(told(made, table), table)

    trial = Trial(scene(setting.people), scene(shuffled(setting.people, 0)))
    bayes = yield from learners(setting, trial, "regions, cohort 8")
    yield from _with_known(setting, trial, bayes, "regions, cohort 8")


def _with_known(setting: Setting, trial: Trial, bayes: Knowledge, form: str) -> Iterator[Line]:
    """Attackers who are told the values of some people."""
    known = np.random.default_rng(0).permutation(setting.people.n_rows) % KNOWN == 0
    name = f"{form}: 1 in {KNOWN} known"
    yield _line(setting, trial, bayes, name, Outside(), known)
    yield _line(setting, trial, bayes, f"{name}, learner", Outside(bayes), known)
    yield _line(setting, trial, bayes, f"{name}, deFinetti", DeFinetti(), known)


def settings(folder: Path | None) -> Iterator[Setting]:
    """Occupations with l = 4 and 5, salaries with l = 10; one generated table without a folder."""
    if folder is None:
        yield _parted("generated, l=4", _generated(2 * ROWS), "value", 4)
        return
    yield _parted("occupation (KDD), l=4", _workers(folder), "major_occupation", 4)
    columns = [*CENSUS_QUASI, "occupation_major"]
    census = pq.read_table(folder / "acs2018_workers.parquet", columns=columns)
    yield _parted("occupation (ACS), l=5", census.slice(0, 2 * ROWS), "occupation_major", 5)
    yield _parted("salary (EPH), l=10", survey(folder, 2 * ROWS).rows, SALARY, 10)


def _shown(setting: Setting) -> dict[str, Show]:
    model = sf.LDiversity(setting.l)

    def released(people: sf.Microdata, way: Partitioner) -> Candidates:
        return candidates_of(sf.publish(people, way, model, seed=0), people)

    apart = {
        "paper": sf.Anatomize(near=False),
        "neighbours, size l": sf.Anatomize(size=setting.l),
        "neighbours": sf.Anatomize(),
    }
    every: dict[str, Partitioner] = {
        **apart, "Mondrian boxes": sf.Mondrian(), "Frontier boxes": sf.Frontier(),
    }  # fmt: skip
    known = {
        f"{name}, known rows": partial(known_rows, way=way, l=setting.l)
        for name, way in apart.items()
    }
    shown: dict[str, Show] = {name: partial(released, way=way) for name, way in every.items()}
    return {**known, **shown}


def known_rows(people: sf.Microdata, way: sf.Anatomize, l: int) -> Candidates:
    """What an attacker has to go by who knows which published row is whose."""
    model = sf.LDiversity(l)
    found = way.partition(people, requirements(model, people.schema), Randomness(0))
    attribute = people.sensitive[0]
    codes = people.codes[attribute.name]
    values = Histograms.of_groups(attribute, codes, found.groups, found.n_groups)
    return Candidates.of_groups(people, found.groups, values)


def _attacked(setting: Setting, form: str, show: Show) -> Iterator[Line]:
    yield from learners(setting, Trial.of(setting.people, show), form)


def learners(setting: Setting, trial: Trial, form: str) -> Generator[Line, None, Knowledge]:
    """Those who learn from the groups, or from others; what naive Bayes has learnt."""
    bayes = yield from quick_learners(setting, trial, form)
    if find_spec("sklearn"):
        boosted = setting.learnt(trial.shown.candidates, Boosting())
        yield _line(setting, trial, boosted, f"{form}: outside boosting", Outside(boosted))
    return bayes


def quick_learners(setting: Setting, trial: Trial, form: str) -> Generator[Line, None, Knowledge]:
    """The same without boosting, which takes a minute."""
    bayes = setting.learnt(trial.shown.candidates, NaiveBayes())
    yield _line(setting, trial, bayes, f"{form}: deFinetti", DeFinetti())
    by_regression = DeFinetti.by_regression()
    yield _line(setting, trial, bayes, f"{form}: logistic deFinetti", by_regression)
    yield _line(setting, trial, bayes, f"{form}: outside learner", Outside(bayes))
    return bayes


def _settled(people: sf.Microdata, m: int, size: int) -> Candidates:
    """All that a database of neighbours can tell: who is in which group, and its signature."""
    rows, base = grouped(people, m, size, Randomness(0))
    groups = np.empty(people.n_rows, np.int32)
    groups[rows] = np.repeat(np.arange(len(base) - 1), np.diff(base))
    attribute = people.sensitive[0]
    codes = people.codes[attribute.name]
    values = Histograms.of_groups(attribute, codes, groups, len(base) - 1)
    return Candidates.of_groups(people, groups, values)


def _asked(setting: Setting, cohort: int) -> Iterator[Line]:
    """The same where questions have told who shares a value with whom."""
    people = setting.people.take(np.arange(ASKED))
    start = time.process_time()
    trial = Trial.of(people, lambda one: _closed(one, setting.l, cohort))
    yield Line(
        f"{setting.name}, cohort {cohort}: closure of {ASKED:,} people, twice",
        time.process_time() - start,
        2 * ASKED * SECONDS_EACH,
        "s",
    )
    bayes = setting.learnt(trial.shown.candidates, NaiveBayes())
    known = np.random.default_rng(0).permutation(ASKED) < ASKED // KNOWN
    attacks: dict[str, Attack] = {
        "closure, learner": Outside(bayes),
        "closure, deFinetti": DeFinetti(),
    }
    for name, attack in attacks.items():
        yield _line(setting, trial, bayes, f"cohort {cohort}: {name}", attack)
    told = f"cohort {cohort}: closure, 1 in {KNOWN} known"
    yield _line(setting, trial, bayes, told, Outside(), known)
    yield _line(setting, trial, bayes, f"{told}, deFinetti", DeFinetti(), known)


def _closed(people: sf.Microdata, m: int, cohort: int) -> Candidates:
    """What a database tells that is asked about everybody."""
    sensitive, table = people.sensitive[0], numbered(people)
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "statdb"
        db = sf.StatDB.create(
            path, table, m=m, first="signatures", cohort=cohort, seed=0, experiment=True
        )
        cohorts = closed(
            upper_ends(db, known_people(table), PERSON, sensitive), people.n_rows, sensitive.size
        )
    return candidates_of_cohorts(cohorts, people, sensitive)


def numbered(people: sf.Microdata) -> sf.Microdata:
    """A number for everybody stands for all that singles a person out."""
    numbers = sf.read(pa.table({PERSON: np.arange(people.n_rows)}), sf.Schema(quasi=[PERSON]))
    return replace(
        people,
        schema=sf.Schema(quasi=[PERSON, *people.schema.quasi], sensitive=people.schema.sensitive),
        attributes={**numbers.attributes, **people.attributes},
        codes={**numbers.codes, **people.codes},
    )


def _line(
    setting: Setting,
    trial: Trial,
    knowledge: Knowledge,
    name: str,
    attack: Attack,
    known: Flags | None = None,
) -> Line:
    start = time.process_time()
    baseline = Accuracy.of(
        without_release(trial.shown.candidates, knowledge), trial.shown.truth
    ).right
    found = trial.outcome(attack, baseline=baseline, bound=1 / setting.l, known=known)
    return _stated(f"{setting.name}, {name}", found, time.process_time() - start)


def _stated(name: str, found: Outcome, spent: float) -> Line:
    one, control = found.attacker, found.control
    assert control is not None
    detail = (
        f"bound {found.bound:.2f}, baseline {found.baseline:.3f}, control "
        f"{control.right:.3f}{'' if found.valid else ' (INVALID)'}; surest 5%: "
        f"{one.surest:.3f}, claimed {one.claimed:.0%}; {one.n:,} people, {spent:.1f} s"
    )
    return Line(name, one.right, TIMES * max(found.bound, found.baseline), "", detail)


def _parted(name: str, rows: pa.Table, sensitive: str, l: int) -> Setting:
    """One half is published, the other studied."""
    rows = rows.drop_null().replace_schema_metadata(None)
    quasi = [column for column in rows.column_names if column != sensitive]
    schema = sf.Schema(quasi=quasi, sensitive=sensitive, kinds={sensitive: "categorical"})
    order = np.random.default_rng(0).permutation(rows.num_rows)
    everybody, half = sf.read(rows, schema), rows.num_rows // 2
    return Setting(name, everybody.take(order[:half]), everybody.take(order[half:]), l)


def _workers(folder: Path) -> pa.Table:
    columns = [*WORKERS, "occupation_code", "major_occupation"]
    rows = pq.read_table(folder / "kdd_census_income.parquet", columns=columns)
    rows = rows.filter(pc.not_equal(rows["occupation_code"], 0))
    return rows.select([*WORKERS, "major_occupation"])


def _generated(n: int) -> pa.Table:
    """Two columns show a value out of 20 in every third row; a third one tells nothing."""
    random = np.random.default_rng(0)
    value = random.integers(0, 20, n)

    def showing() -> pa.Array:
        seen = np.where(random.random(n) < 1 / 3, value, random.integers(0, 20, n))
        return pa.array([f"q{code:02}" for code in seen])

    return pa.table({"q1": showing(), "q2": showing(), "q3": skewed(random, 80, n), "value": value})
