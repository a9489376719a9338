"""StatDB: a responder with a store, so that a restart or a second server answers the same."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from sfumato.algorithms.base import Stages
from sfumato.audits.defaults import KNOWN, TIME_LIMIT
from sfumato.core.answer import Answer, CountAnswers, Result
from sfumato.core.fingerprint import digest, fingerprint
from sfumato.core.foreign import our_errors
from sfumato.core.microdata import Microdata, require_microdata
from sfumato.core.partition import Partition
from sfumato.core.query import Query
from sfumato.core.randomness import Randomness
from sfumato.core.schema import Schema
from sfumato.core.seeds import Seed, require_written, stated_seed
from sfumato.errors import SfumatoWarning, StoreError
from sfumato.forms.remembering import DATABASE, noting_rows
from sfumato.statdb.access.generations import require_latest
from sfumato.statdb.access.places import Place
from sfumato.statdb.accuracy import ErrorBand, measured_errors
from sfumato.statdb.layout.layout import Layout
from sfumato.statdb.layout.making import Cohort, First, Framework
from sfumato.statdb.layout.neighbourhoods import Neighbourhoods
from sfumato.statdb.responder import Responder
from sfumato.statdb.store import (
    Changes,
    Contents,
    change_state,
    changing,
    create_store,
    open_store,
    replace_state,
    replace_waiting,
    require_absent,
)
from sfumato.statdb.store.domains import (
    is_declared,
    restored_attributes,
    restored_schema,
    stated_schema,
)
from sfumato.statdb.store.header import is_near
from sfumato.statdb.updates import Change, Update, updated
from sfumato.statdb.updates.equal_rows import Twins
from sfumato.statdb.updates.rows import no_rows
from sfumato.verbs.checks import require_spelling

if TYPE_CHECKING:
    from sfumato.audits.audit import Audit
    from sfumato.audits.risk import Risk
    from sfumato.forms.registry import Release


@dataclass(frozen=True, slots=True, eq=False)
class StatDB:
    """A statistical database: any number of questions, each answered by an interval.

    The interval contains the truth. It is that of a version of the table, and all versions together
    are m-invariant. ``generation`` counts how often rows were changed, and
    ``counterfeits`` the values of groups that belong to nobody since. ``waiting`` has the inserted
    rows that are held back, see ``apply``; as much as the rows themselves, it is for the owner.
    ``errors`` are those of estimates when the database was made (accuracy.py), for the owner, too.
    ``seed`` is None, or says that the seed was short: answers are then no secret to whoever tries
    seeds.

    >>> patients = sf.read("patients.csv", sf.read_schema("patients.toml"))
    >>> db = sf.StatDB.create("patients.statdb", patients, m=5)
    >>> answer = db.count("age BETWEEN 30 AND 50 AND disease = 'flu'")
    >>> patients.count("age BETWEEN 30 AND 50 AND disease = 'flu'").lo in answer
    True
    """

    path: Path
    responder: Responder
    generation: int
    counterfeits: int
    waiting: pa.Table
    seed: str | None = None
    errors: tuple[ErrorBand, ...] = ()
    _seal: str = ""

    @classmethod
    @our_errors("making a database")
    def create(
        cls,
        path: str | Path,
        table: Microdata,
        *,
        m: int = 10,
        first: First | Partition | None = None,
        size: int | None = None,
        cohort: Cohort = "default",
        framework: Framework = "anatomy",
        seed: Seed | None = None,
        experiment: bool = False,
    ) -> StatDB:
        """Make a database of a table with one sensitive column, and store it in a new folder.

        Every row hides among ``m`` sensitive values. By default (``first`` "neighbours") it stands
        for ever in one group of at least ``size`` neighbours, five times m if not given, in which
        no value has more than 1/m of the rows. If a ``cohort`` is given, groups have every value
        once, and rows are regrouped for every question inside so many groups: fewer keep more to
        themselves, more make shorter intervals, None is the paper's whole bucket. These groups are
        those of regions of neighbours (``first`` "regions", with 8 to a cohort if not given), or of
        the whole table, as in the paper ("signatures", "anatomize").

        ``framework`` "anatomy" assumes that everybody's quasi-identifiers are known anyway;
        "generalization" does not show them, and has longer intervals. A ``seed`` makes the database
        repeatable, and whoever knows it and the table knows everything. A short one needs
        ``experiment``, and the database says so for ever.
        """
        require_microdata(table)
        require_absent(path)
        stated = stated_seed(seed)
        require_written(stated, experiment=experiment)
        require_spelling(table)
        responder = Responder.create(
            table, m=m, first=first, size=size, cohort=cohort, framework=framework, seed=seed
        )
        randomness = Randomness(seed)
        randomness.bind((m, framework, "errors"), lambda: digest(table))
        errors = measured_errors(responder, table, randomness)
        _warn_of_shown_domains(responder)
        with noting_rows(
            path, DATABASE, lambda state: [fingerprint(table, state.key())], stacklevel=7
        ):
            create_store(path, _contents(responder, 0, None, _for_ever(stated, errors)))
        try:
            return cls.open(path)
        except BaseException:
            # memory ran out: nobody has asked it yet, so that it can go and be made again
            shutil.rmtree(path, ignore_errors=True)
            raise

    @classmethod
    @our_errors("opening a database")
    def open(cls, path: str | Path) -> StatDB:
        """Open the folder of a database."""
        contents, generation, seal = open_store(path)
        try:
            responder = _responder(contents)
            waiting = no_rows(responder.schema, responder.attributes)
            if contents.waiting is not None:
                waiting = contents.waiting.select(waiting.column_names)
            facts = contents.facts
            counterfeits = int(facts["counterfeits"])
            seed = facts.get("seed")
            errors = tuple(ErrorBand(*band) for band in facts.get("errors", ()))
            return cls(Path(path), responder, generation, counterfeits, waiting, seed, errors, seal)
        except (KeyError, TypeError, ValueError) as error:
            raise StoreError(f"{path} is damaged: {error!r}", path=Path(path)) from error

    @our_errors("answering")
    def count(self, where: str | Query = "") -> Answer:
        """How many rows satisfy a condition."""
        return self.responder.count(where)

    @our_errors("answering")
    def query(self, query: str | Query) -> Result:
        """Answer ``SELECT ... FROM t [WHERE ...] [GROUP BY ...]``; empty groups are included."""
        return self.responder.query(query)

    @our_errors("answering")
    def counts(self, queries: Iterable[str | Query]) -> CountAnswers:
        """How many rows satisfy each query of a workload, as arrays."""
        return self.responder.counts(queries)

    def version(self, where: str | Query = "") -> Partition:
        """The version behind an answer, for the owner: a partition of the rows of ``table()``."""
        return self.responder.version(where)

    def table(self) -> Microdata:
        """The rows as they are stored, for the owner."""
        return self.responder.table()

    @our_errors("assessing the risk")
    def assess(self) -> Risk:
        """How exposed people are to whoever knows all quasi-identifiers and asks everything.

        Counts show who is there, if the framework is "anatomy", and values hide in groups, those of
        counterfeits among them. Whoever compares answers from groups that are regrouped learns
        more, see ``audit``. ``sf.assess(db)`` is the same.
        """
        from sfumato.audits.risk.classes import guessed
        from sfumato.audits.risk.released import found_exactly, of_groups

        table, sizes = self.table(), self.version().sizes
        codes = table.codes[self.responder.sensitive]
        usual = float(np.bincount(codes).max() / table.n_rows)
        value = guessed(self.responder.sensitive, self.responder.stored.best_guesses(), usual)
        risk = replace(of_groups(table.schema.quasi, sizes, {}), attributes=(value,))
        if self.responder.framework == "generalization":
            return risk
        return found_exactly(replace(table, schema=Schema(quasi=table.schema.quasi)), risk)

    @our_errors("auditing")
    def audit(
        self,
        *,
        others: Microdata | None = None,
        releases: Sequence[Release | str | Path] = (),
        known: float | Sequence[float] = KNOWN,
        attacks: Collection[str] | None = None,
        control: bool = True,
        time_limit: float | None = TIME_LIMIT,
        seed: int | None = None,
        progress: Stages | None = None,
    ) -> Audit:
        """Attack the database with all that its answers can tell; see ``sfumato.audit``.

        ``releases`` are releases of the same table, or folders of other databases of it.

        >>> patients = sf.read("patients.csv", sf.read_schema("patients.toml"))
        >>> db = sf.StatDB.create("patients.statdb", patients, m=5)
        >>> db.audit(attacks=["learner"]).fails(above=1.5)
        False
        """
        from sfumato.audits.audit.judging import Wish
        from sfumato.statdb.audit import audited  # attackers come when they are called

        wish = Wish(known, attacks, control, time_limit, seed, progress)
        return audited(self.responder, self.path.resolve().name, others, releases, wish)

    @our_errors("changing a database")
    def apply(
        self,
        inserted: Microdata | None = None,
        deleted: Microdata | None = None,
        *,
        accept_exposure: bool = False,
        accept_returns: bool = False,
        twins: Twins | None = None,
        seed: Seed | None = None,
        experiment: bool = False,
        ledger: str | None = None,
    ) -> Update:
        """Insert and delete rows; the rows that stay keep their signatures.

        Inserted rows wait until no sensitive value has more than 1/m of all that wait and, in a
        database of neighbours, until they are as many as a group has at least (``size``): then all
        of them come in, and hide among each other. Until then they are stored, and answered as if
        they were not there. With ``accept_exposure`` all come in now, each among m - 1 counterfeits
        with values as frequent as in the database: 1/m then holds against those who know these
        frequencies, and not against those who know better what newcomers have.

        The database has no identifiers, so a row is deleted by its values: for each row of
        ``deleted`` one that is equal on all columns. If one in the database and one that waits, or
        is among ``inserted``, are both equal to it, ``twins`` says which of them goes: the "member"
        or the "newcomer"; who guesses wrong tells that two people have the same value, so without
        ``twins`` such a change is refused. Where a group loses a value, a counterfeit takes its
        place. The database on disk changes at once or not at all; this object goes on showing what
        it was opened with: open it again.

        A sensitive value that the public domain lacks is refused; domains of quasi-identifiers
        that were not declared grow when a row comes in, so a value that only a newcomer has becomes
        public. Do not delete somebody to insert the same person again: two signatures tell more
        than one. In one change that is refused, of people whose quasi-identifiers nobody else has,
        unless you ``accept_returns``. Before anything is written, newcomers are attacked by the
        frequencies of values (``Update.guessed``). A short ``seed`` needs ``experiment``, as in
        ``create``. Where several servers share a ledger, ``ledger`` is its URL: they answer from
        the new rows from then on.
        """
        randomness = Randomness(seed)
        require_written(randomness.stated_seed, experiment=experiment)
        place = Place.of(self.path, ledger)
        with (
            changing(self.path) as seal,
            place.ledger_if_any() as book,
            nullcontext() if book is None else book.changing(),
        ):
            # what is opened was checked; only what somebody else has written since is read again
            now = self if seal == self._seal else StatDB.open(self.path)
            if book is not None:
                require_latest(book, now.generation, self.path)
            purpose = (now.generation, now.waiting.num_rows, accept_exposure, twins)
            randomness.bind(purpose, lambda: _digest(now.table(), inserted, deleted))
            change = updated(
                now.responder,
                now.waiting,
                inserted,
                deleted,
                randomness,
                accept_exposure=accept_exposure,
                accept_returns=accept_returns,
                twins=twins,
            )
            if change.made is not None:
                stated = now.seed or randomness.stated_seed
                _store(self.path, change, _for_ever(stated, now.errors))
                if book is not None:
                    book.announce(now.generation + 1)
            elif change.waiting != now.waiting:
                replace_waiting(self.path, change.waiting)
        _warn_of_exposure(change.update, now.responder.m)
        return change.update

    def compact(self) -> None:
        """Write the database anew, without what is left of deleted rows in its files.

        ``apply`` marks places as empty and writes no more than what changes, so the codes of a
        deleted row stay in a file, unused, until all files are written again. That happens by
        itself when enough has changed, and here. All answers stay what they are, and the
        generation, too; as after ``apply``, this object shows what it was opened with.
        """
        with changing(self.path) as seal:
            now = self if seal == self._seal else StatDB.open(self.path)
            kept = _for_ever(now.seed, now.errors)
            contents = _contents(now.responder, now.counterfeits, now.waiting, kept)
            replace_state(self.path, contents, seen=False)

    def info(self) -> dict[str, Any]:
        """What everybody may know: sizes, parameters, public domains by size."""
        responder = self.responder
        stated = {} if self.seed is None else {"seed": self.seed}
        return stated | {
            "rows": responder.n_rows,
            "m": responder.m,
            **_made(responder),
            "framework": responder.framework,
            "generation": self.generation,
            "quasi": {name: responder.attributes[name].size for name in responder.schema.quasi},
            "sensitive": {responder.sensitive: responder.attributes[responder.sensitive].size},
        }

    def __repr__(self) -> str:
        """Path and sizes."""
        return f"StatDB({str(self.path)!r}, {self.responder.n_rows:,} rows, m={self.responder.m})"


def _warn_of_shown_domains(responder: Responder) -> None:
    """Say which domains boxes were meant to hide and are public all the same."""
    names = [name for name in responder.schema.quasi if not is_declared(responder.schema, name)]
    if responder.framework == "generalization" and names:
        warnings.warn(
            f"the schema does not declare the domain of {', '.join(map(repr, names))}: it is that "
            "of the rows, and public, so GROUP BY lists exactly the values that occur, although "
            "'generalization' is to hide them; declare it (order, taxonomy or bins)",
            SfumatoWarning,
            stacklevel=4,
        )


def _warn_of_exposure(update: Update, m: int) -> None:
    """Say what hides those who did not wait, and whom it does not hide."""
    if not update.alone:
        return
    given_away = (
        f"; {update.guessed:.0%} of these are guessed right by nothing but the frequencies in the "
        "database, so they have other values than the rows that were there"
    )
    warnings.warn(
        f"{update.alone:,} rows came in at once, each hidden among {m - 1} counterfeits and "
        "nobody else: their values are guessed right with a chance of 1/m by those who know "
        "the frequencies in the database, and with a higher one by those who know better what "
        f"newcomers have; rows that wait hide among each other{given_away * update.exposing}",
        SfumatoWarning,
        stacklevel=4,
    )


def _digest(*tables: Microdata | None) -> bytes:
    """A checksum of several tables, of which some may be missing."""
    return b"".join(bytes(32) if one is None else digest(one) for one in tables)


def _for_ever(seed: str | None, errors: tuple[ErrorBand, ...]) -> dict[str, Any]:
    """Facts that do not change with the rows; those that there are none of are left out."""
    facts = {"seed": seed, "errors": [list(band) for band in errors]}
    return {name: fact for name, fact in facts.items() if fact}


def _store(path: Path, change: Change, kept: Mapping[str, Any]) -> None:
    """Write what changed, or all of it."""
    before, update = change.before, change.update

    def whole() -> Contents:
        return _contents(change.responder, update.counterfeits, change.waiting, kept)

    arrays = change.arrays()
    if arrays is None:
        replace_state(path, whole())
        return
    after = change.attributes
    domains = {n: one.values for n, one in after.items() if one is not before.attributes[n]}
    facts = _facts(replace(before, attributes=after), update.counterfeits, kept)
    change_state(path, Changes(facts, arrays, domains, change.waiting), whole)


def _contents(
    responder: Responder, counterfeits: int, waiting: pa.Table | None, kept: Mapping[str, Any]
) -> Contents:
    domains = {name: one.values for name, one in responder.attributes.items()}
    return Contents(
        _facts(responder, counterfeits, kept), responder.stored.named(), domains, waiting
    )


def _facts(responder: Responder, counterfeits: int, kept: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "m": responder.m,
        **_made(responder),
        "framework": responder.framework,
        "counterfeits": counterfeits,
        "schema": stated_schema(responder.schema, responder.attributes),
        **kept,
    }


def _made(responder: Responder) -> dict[str, int | None]:
    """The size of what rows hide in: neighbourhoods, or cohorts, perhaps in regions."""
    if responder.size is not None:
        return {"size": responder.size}
    if responder.region is not None:
        return {"cohort": responder.cohort, "region": responder.region}
    return {"cohort": responder.cohort}


def _responder(contents: Contents) -> Responder:
    facts, near = contents.facts, is_near(contents.facts)
    attributes = restored_attributes(facts["schema"], contents.domains)
    return Responder(
        schema=restored_schema(facts["schema"], attributes),
        attributes=attributes,
        m=int(facts["m"]),
        cohort=None if near else facts["cohort"],
        framework=facts["framework"],
        stored=(Neighbourhoods if near else Layout).of_named(contents.arrays),
        size=int(facts["size"]) if near else None,
        region=int(facts["region"]) if "region" in facts else None,
    )
