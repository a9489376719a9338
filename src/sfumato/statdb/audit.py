"""Attack a database: with all that its answers can tell, whoever asks them.

Answers from neighbours are functions of the groups and their signatures (layout/neighbourhoods.py),
so nobody can know more than these. Where rows are regrouped, questions tell who shares a cohort,
and in it who shares a value with whom, but not which value (audits/attacks/equality.py asks them
one by one). Attackers are given either at once, by the quasi-identifiers of everybody.
"""

from __future__ import annotations

import numpy as np

from sfumato.audits.attacks.equality import Cohort, candidates_of_cohorts
from sfumato.audits.attacks.frame import Candidates
from sfumato.audits.attacks.results import Scene, shuffled
from sfumato.audits.audit.findings import Audit
from sfumato.audits.audit.judging import Case, Wish, judged
from sfumato.core.histograms import Histograms
from sfumato.core.microdata import Microdata
from sfumato.statdb.layout.layout import Layout
from sfumato.statdb.layout.neighbourhoods import Neighbourhoods
from sfumato.statdb.responder import Responder


def audited(responder: Responder, name: str, others: Microdata | None, wish: Wish) -> Audit:
    """Every attack that is asked for, on a database and on one of the table shuffled."""
    table = responder.table()
    wish.tell("collecting what answers tell", 0.0)
    case = Case(
        name,
        responder.sensitive,
        Scene.of(told(responder, table), table),
        lambda seed: _control(responder, table, seed),
        1 / responder.m,
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


def _control(responder: Responder, table: Microdata, seed: int) -> Scene:
    mixed = shuffled(table, seed)
    made = {"size": responder.size} if responder.size else {"cohort": responder.cohort}
    first = "neighbours" if responder.size else "signatures"
    again = Responder.create(mixed, m=responder.m, first=first, **made)  # type: ignore[arg-type]
    people = again.table()  # in the order of its places
    return Scene.of(told(again, people), people)
