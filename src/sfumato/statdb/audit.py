"""Attack a database: with all that its answers can tell, whoever asks them.

Answers from neighbours are functions of the groups and their signatures (layout/neighbourhoods.py),
so nobody can know more than these. Where rows are regrouped, questions tell who shares a cohort,
and in it who shares a value with whom, but not which value (audits/attacks/equality.py asks them
one by one). Attackers are given either at once, by the quasi-identifiers of everybody.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from sfumato.audits.attacks.composition import Composed
from sfumato.audits.attacks.equality import Cohort, candidates_of_cohorts
from sfumato.audits.attacks.frame import Candidates, known_people
from sfumato.audits.attacks.matching import Guesses
from sfumato.audits.attacks.outside import Outside, without_release
from sfumato.audits.attacks.pairs import around, asked_pairs, cohorts_of
from sfumato.audits.attacks.reconstruction import Reconstruction
from sfumato.audits.attacks.results import Accuracy, Outcome, Scene, shuffled
from sfumato.audits.audit import composed
from sfumato.audits.audit.attackers import Attacker, NotApplicable, Probe, learnt
from sfumato.audits.audit.findings import GUESSES, Audit
from sfumato.audits.audit.judging import Case, Wish, judged
from sfumato.audits.audit.study import Study
from sfumato.core.attribute import Attribute
from sfumato.core.histograms import Histograms
from sfumato.core.microdata import Microdata
from sfumato.errors import DataError
from sfumato.forms.registry import Release
from sfumato.statdb.layout.layout import Layout
from sfumato.statdb.layout.making import First
from sfumato.statdb.layout.neighbourhoods import Neighbourhoods
from sfumato.statdb.responder import Responder
from sfumato.statdb.store import HEADER
from sfumato.statdb.worlds import compared, crossed, exchanged

_QUESTIONS, _WORLDS = 400, 5
_SECONDS = 20.0  # for a reconstruction
_AROUND, _FEWEST = 500, 20  # people who are asked about, every two of them


def audited(
    responder: Responder,
    name: str,
    others: Microdata | None,
    releases: Sequence[Release | str | Path],
    wish: Wish,
) -> Audit:
    """Every attack that is asked for, on a database and on one of the table shuffled."""
    table = responder.table()
    (sensitive,) = table.sensitive
    wish.tell("collecting what answers tell", 0.0)
    case = Case(
        name,
        responder.sensitive,
        Scene.of(told(responder, table), table),
        lambda seed: _scene(_again(responder, table, seed)),
        1 / responder.m,
        more=[_beside(one, table, sensitive, number) for number, one in enumerate(releases, 2)],
        probes=(
            _worlds(responder),
            _equality(responder, table, others, control=wish.control),
            _reconstruction(responder, table, control=wish.control),
        ),
    )
    return judged(case, others, wish)


def told(responder: Responder, table: Microdata) -> Candidates:
    """All that answers can tell of the people of a database, whose ``table`` it is."""
    stored = responder.stored
    if isinstance(stored, Neighbourhoods):
        return _of_neighbours(stored, table)
    return _of_cohorts(stored, table)


def _of_neighbours(stored: Neighbourhoods, table: Microdata) -> Candidates:
    """Everybody's group, and what its places have, counterfeits' included."""
    groups, (sensitive,) = stored.group_of(), table.sensitive
    occupied = stored.occupied()
    values = Histograms.of_groups(
        sensitive, stored.values.astype(np.int32), groups, stored.groups.n_groups
    )
    empty = np.setdiff1d(np.arange(len(groups)), occupied)
    return Candidates.of_groups(table, groups[occupied], values, nobody=groups[empty])


def _of_cohorts(stored: Layout, table: Microdata) -> Candidates:
    """Everybody's cohort, and in it all who share a value."""
    (sensitive,) = table.sensitive
    buckets, (bucket, cohort) = stored.buckets, stored.homes()
    keys = cohort * np.int64(sensitive.size) + table.codes[sensitive.name]
    order = np.argsort(keys, kind="stable")
    found, starts = np.unique(keys[order], return_index=True)
    classes = [one.tolist() for one in np.split(order, starts[1:])]
    ends = np.append(np.flatnonzero(np.diff(found // sensitive.size)) + 1, len(found))
    cohorts, begin = [], 0
    for end in ends.tolist():
        own = classes[begin:end]
        cohorts.append(Cohort(buckets.signature(int(bucket[own[0][0]])), own))
        begin = end
    return candidates_of_cohorts(cohorts, table, sensitive)


def _scene(responder: Responder) -> Scene:
    people = responder.table()  # in the order of its places
    return Scene.of(told(responder, people), people)


def _again(responder: Responder, table: Microdata, seed: int) -> Responder:
    """A database of the same kind, of the table shuffled."""
    mixed, m, framework = shuffled(table, seed), responder.m, responder.framework
    if responder.size:
        return Responder.create(mixed, m=m, size=responder.size, framework=framework)
    first: First = "regions" if responder.region else "signatures"
    return Responder.create(mixed, m=m, first=first, cohort=responder.cohort, framework=framework)


def _beside(
    other: Release | str | Path, table: Microdata, sensitive: Attribute, number: int
) -> Attacker:
    """An attacker who has a release of the same people, too, or another database of them."""
    if not isinstance(other, str | Path) or not (Path(other) / HEADER).exists():
        return composed(other, table, sensitive, number)
    from sfumato.statdb.database import StatDB  # which lets attackers loose itself

    made = StatDB.open(other).responder
    theirs = made.table()
    if _counted(theirs) != _counted(table):
        raise DataError(f"{other} is a database of other rows; give one of the same table")

    def attack() -> Outside:
        return Outside(Composed.of(told(made, theirs), sensitive))

    def on_control() -> Outside:
        # shuffled with chance of its own, so that the two have nothing in common
        again = _again(made, theirs, -number)
        return Outside(Composed.of(told(again, again.table()), sensitive))

    who = f"asks the database {Path(other).resolve().name}, too"
    return Attacker(f"composition {number}", who, attack, on_control=on_control)


def _counted(table: Microdata) -> tuple[object, ...]:
    """Who is in a table, in any order."""
    codes = table.quasi_codes()
    domains = [one.values.to_pylist() for one in table.quasi]
    return table.schema.quasi, domains, codes[np.lexsort(codes.T)].tolist()


def _worlds(responder: Responder) -> Probe:
    """No answer may tell who of a group has which value."""

    def made(seed: int, _left: float) -> Outcome:
        random = np.random.default_rng(seed)
        told = compared(responder, exchanged(responder, random), _QUESTIONS, seed)
        unseen = sum(
            not compared(responder, crossed(responder, random), _QUESTIONS // 4, seed + i).differ
            for i in range(_WORLDS)
        )
        control = Accuracy.of_certain(unseen, _WORLDS)
        return Outcome(Accuracy.of_certain(told.differ, told.questions), control, 0.0, 0.0, 0.5)

    who = "has two tables in mind that differ in who of a group has which value"
    return Probe("two worlds", who, "tells the two apart by {} answers", made)


def _equality(
    responder: Responder, table: Microdata, others: Microdata | None, *, control: bool
) -> Probe:
    """Who shares a value with whom, by questions alone, and then what others have taught."""

    def attacked(database: Responder, people: Microdata, seed: int) -> tuple[Accuracy, float]:
        (sensitive,), known = people.sensitive, known_people(people)
        some = around(known, _AROUND, np.random.default_rng(seed))
        if len(some) < _FEWEST:
            raise NotApplicable("hardly anybody has quasi-identifiers that nobody else has")
        cohorts = cohorts_of(asked_pairs(database, known, some, sensitive), some)
        shown = candidates_of_cohorts(cohorts, people, sensitive)
        chosen = np.isin(np.arange(people.n_rows), some)
        truth = people.codes[sensitive.name].astype(np.int32)
        study = Study.of_rest(shown, truth, ~chosen, others)
        bayes = learnt(shown, study)
        alone = Accuracy.of(without_release(shown, bayes), truth, chosen).right
        guesses = Outside(bayes).guess(shown)
        return Accuracy.of(guesses, truth, chosen, subjects=shown.subjects), alone

    def made(seed: int, _left: float) -> Outcome:
        if isinstance(responder.stored, Neighbourhoods):
            raise NotApplicable("one version answers all questions; two worlds shows that it does")
        (found, alone), mixed = attacked(responder, table, seed), None
        if control:
            again = _again(responder, table, seed)
            mixed, _ = attacked(again, again.table(), seed)
        bound = 1 / responder.m
        return Outcome(found, mixed, alone, bound, bound)

    who = f"asks who of {_AROUND} people shares a value with whom, and has studied others"
    return Probe("equality", who, GUESSES, made)


def _reconstruction(responder: Responder, table: Microdata, *, control: bool) -> Probe:
    """Whatever follows from many answers at once."""

    def attacked(database: Responder, people: Microdata, seconds: float, seed: int) -> Accuracy:
        (sensitive,) = people.sensitive
        who, values, sure = Reconstruction().attack(
            database, known_people(people), sensitive, seconds, seed
        )
        truth = people.codes[sensitive.name][who].astype(np.int32)
        return Accuracy.of(Guesses(values, sure), truth)

    def made(seed: int, left: float) -> Outcome:
        if not find_spec("scipy"):
            raise NotApplicable("it needs SciPy: pip install 'sfumato[audit]'")
        seconds = min(_SECONDS, left / 4)
        found, mixed = attacked(responder, table, seconds, seed), None
        if control:
            again = _again(responder, table, seed)
            mixed = attacked(again, again.table(), seconds, seed)
        commonest = np.bincount(table.codes[responder.sensitive]).max() / table.n_rows
        bound = 1 / responder.m
        return Outcome(found, mixed, float(commonest), bound, max(bound, float(commonest)))

    who = "asks about boxes, and looks for tables that agree with all answers"
    return Probe("reconstruction", who, GUESSES, made)
