"""A release of tables that share their groups, asked with estimates that learn from all groups."""

from __future__ import annotations

from dataclasses import dataclass, field

from sfumato.answers.grouped import GroupedTables
from sfumato.asking.ask import answerer, prepare
from sfumato.core.askable import Askable
from sfumato.core.foreign import our_errors
from sfumato.core.schema import Role
from sfumato.errors import ParameterError
from sfumato.forms.registry import Release, form_of
from sfumato.learning.within_groups import learnt


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Sharpened(Askable):
    """A release with other estimates, and the same bounds; ``sharpen`` makes it.

    >>> patients = sf.read("patients.csv", sf.read_schema("patients.toml"))
    >>> release = sf.publish(patients, sf.Anatomize(), sf.LDiversity(4))
    >>> isinstance(sf.sharpen(release), sf.Sharpened)
    True
    """

    release: Release = field(repr=False)

    def __repr__(self) -> str:
        return f"Sharpened({self.release!r})"


@our_errors("learning")
def sharpen(release: Release) -> Sharpened:
    """Learn from a release what goes with what inside its groups, for estimates nearer the truth.

    Whoever has the files can do the same, so nothing is given away; only COUNT's estimates change.

    >>> patients = sf.read("patients.csv", sf.read_schema("patients.toml"))
    >>> release = sf.publish(patients, sf.Anatomize(), sf.LDiversity(4), seed=7)
    >>> learnt, question = sf.sharpen(release), "age >= 60 AND disease = 'flu'"
    >>> learnt.count(question).hi == release.count(question).hi
    True
    """
    form = form_of(release)
    tables = answerer(release)
    if not isinstance(tables, GroupedTables):
        raise ParameterError(
            f"a {form.name} release has no groups of exact rows to learn inside of; anatomized and "
            "permuted ones have",
            parameter="release",
        )
    found = Sharpened(release)
    quasi = [one.name for one in release.manifest.of_role(Role.QUASI)]
    prepare(found, learnt(tables, [name for name in quasi if name in tables.tables[0].names]))
    return found
