"""Order: where somebody's line stands in a file, and what stands at the same place of a group.

Tables are often sorted by something that everybody can find out: a number, a date, a name. If rows
of a group, or its values, are published in the order of the table, the first of them in the table
is the first in the file. Releases are put in a secret order for that reason; these attackers see
whether they are. Three of them, who know more or less:

- *lines* knows no order: of a release that shows quasi-identifiers exactly, the how-manieth line of
  its group a person has is seen in the file, and the value at that place of the group is guessed;
- *order* knows the order of the owner's table, and takes it for the order inside groups;
- *numbers* knows it, too, and takes the numbers of groups for its consequence: of all groups that
  a person may be in, it believes in the one whose number is where the person is in the table.

Sizes and numbers of groups say no more than that. Whatever they tell of a group, they tell of all
of its members, so that it is the same for every way to hand out its values, and cancels; only who
may be in several groups can be looked for by them, and larger ones are likelier already.

As a control, the order that the attacker believes in is a random one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from sfumato.audits.attacks.frame import Candidates, KnownPeople
from sfumato.audits.attacks.matching import Guesses
from sfumato.audits.breach.everybody import translated
from sfumato.audits.breach.matching import cells_of
from sfumato.audits.breach.persons import Persons
from sfumato.audits.breach.view import View
from sfumato.core.arrays import Codes, Counts, Ints
from sfumato.forms.anatomized.release import COUNT, GROUP
from sfumato.forms.evidence import codes_of, sensitive_column
from sfumato.forms.registry import Release, form_of

_NONE = np.zeros(0, np.int64)
_UNSURE = 0.5  # nobody can say which of the guesses are right


@dataclass(frozen=True, slots=True, eq=False)
class Positions:
    """Values of published lines, group after group, each in its published order.

    ``order`` are the people's numbers in the owner's table, or in a file, or what is taken for
    these. Where their ``groups`` are not known, people take the rows of theirs in order.
    """

    starts: Counts
    values: Codes
    order: Counts
    groups: Codes | None = None

    def guess(self, candidates: Candidates, known: Ints | None = None) -> Guesses:
        """The value at everybody's place in the group."""
        del known  # of no use here
        groups = _groups(candidates, self.order) if self.groups is None else self.groups
        place = ranks(groups, self.order)
        found = (groups >= 0) & (place < np.diff(self.starts)[groups])
        values = np.full(len(groups), -1, np.int32)
        values[found] = self.values[self.starts[groups[found]] + place[found]]
        return Guesses(values, np.full(len(groups), _UNSURE))


@dataclass(frozen=True, slots=True, eq=False)
class Numbers:
    """The group among those of a person whose number is where the person is in the ``order``."""

    order: Counts

    def guess(self, candidates: Candidates, known: Ints | None = None) -> Guesses:
        """The commonest value of that group."""
        del known
        values, n_people = candidates.values, len(self.order)
        best = np.full(values.n_groups, -1, np.int32)
        ascending = np.argsort(values.counts, kind="stable")
        best[values.groups[ascending]] = values.values[ascending]  # what is put there last stays
        claims, groups = candidates.claims, candidates.groups
        found = np.full(n_people, -1, np.int32)
        for person, subject in enumerate(candidates.subjects.tolist()):
            if claims.starts[subject] == claims.starts[subject + 1]:
                continue  # not published
            claim = claims.items[claims.starts[subject]]
            own = groups.items[groups.starts[claim] : groups.starts[claim + 1]]
            there = self.order[person] / n_people * values.n_groups - 0.5
            near = np.abs(own - there).argmin()
            found[person] = best[own[near]]
        return Guesses(found, np.full(n_people, _UNSURE))


def positions_of(release: Release, view: View, order: Counts) -> Positions | None:
    """What the lines of the files show, in their order; None if lines do not show their group."""
    lines = _lines(release, view)
    if lines is None:
        return None
    attribute, codes = codes_of(sensitive_column(release.manifest, view.name), lines.values)
    values, groups = translated(attribute, view.attribute)[codes], lines.groups
    if lines.times is not None:
        values, groups = np.repeat(values, lines.times), np.repeat(groups, lines.times)
    sizes = np.bincount(groups, minlength=view.groups.n_groups)
    starts = np.append(0, np.cumsum(sizes))
    return Positions(starts, values[np.argsort(groups, kind="stable")], order)


def lines_of(release: Release, view: View, people: KnownPeople) -> Positions | None:
    """The same for somebody who sees everybody's line; None if lines do not show who they are.

    People who are alike have lines that are, and take them in turn.
    """
    form, own = form_of(view.release), view.release
    if form.boxes or not form.grouped or (shown := positions_of(release, view, _NONE)) is None:
        return None
    persons, table = Persons.true(own, people), own.tables[0]
    listed = Persons.listed(own, table, persons.names)
    cells = cells_of(own, persons.names)
    of_line, of_person = (np.full(one.n_rows, -1, np.int64) for one in (listed, persons))
    for found, who in ((of_line, listed), (of_person, persons)):
        for part in cells.match(who):
            found[part.vectors] = part.cells
    order = in_turn(of_person, of_line)
    groups = np.where(order < 0, -1, (table[GROUP].to_numpy() - 1)[order]).astype(np.int32)
    return replace(shown, order=order, groups=groups)


def in_turn(wanted: Ints, offered: Ints) -> Counts:
    """A place at which what is wanted is offered, each place once; -1 for those who get none."""
    places = np.argsort(offered, kind="stable")
    first = np.searchsorted(offered[places], wanted) + ranks(wanted, np.arange(len(wanted)))
    inside = np.minimum(first, len(places) - 1)
    is_there = (first < len(places)) & (offered[places[inside]] == wanted) & (wanted >= 0)
    return np.where(is_there, places[inside], -1)


def ranks(owners: Codes, order: Counts) -> Counts:
    """The how-manieth of its owner everybody is."""
    sequence = np.lexsort((order, owners))
    sorted_owners = owners[sequence]
    begins = np.searchsorted(sorted_owners, sorted_owners)
    found = np.empty(len(owners), np.int64)
    found[sequence] = np.arange(len(owners)) - begins
    return found


class _Lines(NamedTuple):
    """The group of every line, its value, and how many people it is about, if not one."""

    groups: Codes
    values: Any
    times: Counts | None


def _lines(release: Any, view: View) -> _Lines | None:
    form = form_of(release)
    if form.external:
        return None
    if form.boxes:
        return _Lines(release.group_of_row, release.rows[view.name], None)
    for table in release.tables:
        if {GROUP, view.name} <= {*table.column_names}:
            times = table[COUNT].to_numpy() if form.count_column else None
            return _Lines(table[GROUP].to_numpy() - 1, table[view.name], times)
    return None


def _groups(candidates: Candidates, order: Counts) -> Codes:
    """A group for everybody, -1 for those who are in none: people take the rows of theirs in order.

    People who cannot be told apart may have rows in several groups.
    """
    claims, totals = candidates.claims, candidates.totals
    first = candidates.groups.items[candidates.groups.starts[:-1]]
    rows = np.repeat(first[claims.items], totals[claims.items])
    ends = np.append(0, np.cumsum(totals[claims.items]))[claims.starts]
    place = ends[candidates.subjects] + ranks(candidates.subjects, order)
    found = place < ends[candidates.subjects + 1]
    groups = np.full(len(place), -1, np.int32)
    groups[found] = rows[place[found]]
    return groups
