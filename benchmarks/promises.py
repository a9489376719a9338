"""What a statistical database of neighbours promises, over and over: nothing may be missed.

Containment: a million random questions to databases of ten random tables and three real ones, half
of them in each framework, some with counterfeits; the truth is counted from the codes of the rows.

m-invariance: two hundred random lives of databases on disk. Everybody has a number, and whoever
stays has to keep the signature over all changes; no value may ever have more than 1/m of one; and
what is stored has to pass the checks of ``sfumato statdb log check``.
"""

from __future__ import annotations

import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import sfumato as sf
from benchmarks.attackers import settings
from benchmarks.measure import Line
from sfumato.core.query import Query
from sfumato.core.randomness import Randomness
from sfumato.statdb.access.version_checks import ground_of, version_flaw
from sfumato.statdb.layout.making import Framework
from sfumato.statdb.layout.neighbourhoods import Neighbourhoods
from sfumato.statdb.responder import Responder
from sfumato.statdb.updates import updated
from sfumato.statdb.updates.rows import no_rows

QUESTIONS, RANDOM, REAL_ROWS = 1_000_000, 10, 30_000
LIVES, CHANGES = 200, 8
FRAMEWORKS: tuple[Framework, ...] = ("anatomy", "generalization")


def run(folder: Path | None) -> Iterator[Line]:
    """Misses, and violations; both have to be none."""
    people = [random_people(np.random.default_rng(seed)) for seed in range(RANDOM)]
    people += [(one.people.take(np.arange(REAL_ROWS)), one.l) for one in settings(folder)]
    start, missed, asked, exact = time.process_time(), 0, 0, 0
    for number, (table, m) in enumerate(people):
        for framework in FRAMEWORKS:
            random = np.random.default_rng(number)
            responder = changed_once(table, m, framework, random)
            questions = -(-QUESTIONS // (len(people) * len(FRAMEWORKS)))
            found = contained(responder, questions, random)
            missed, asked, exact = missed + found["missed"], asked + questions, exact + found["0"]
    detail = (
        f"{len(people)} tables in two frameworks, {asked:,} questions, {exact:,} of them with an "
        f"interval of length 0; {time.process_time() - start:,.0f} s"
    )
    yield Line("intervals that miss the truth", missed, 0, "", detail)
    start, told = time.process_time(), Counter[str]()
    for seed in range(LIVES):
        told += lived(np.random.default_rng(seed))
    shown = ", ".join(f"{times:,} {what}" for what, times in told.items() if what != "violations")
    detail = f"{LIVES} lives: {shown}; {time.process_time() - start:,.0f} s"
    yield Line("violations of m-invariance", told["violations"], 0, "", detail)


def random_people(random: np.random.Generator) -> tuple[sf.Microdata, int]:
    """Numbers and words, some of which go with the value; and an m that the table allows."""
    n, values = int(random.integers(2_000, 20_000)), int(random.integers(8, 60))
    value = random.integers(0, values, n)
    columns: dict[str, Any] = {"s": value}
    for q in range(int(random.integers(1, 6))):
        size = int(random.choice([2, 5, 30, 300]))
        shown = (value * size) // values
        codes = np.where(random.random(n) < 0.4, shown, random.integers(0, size, n))
        columns[f"q{q}"] = codes if q % 2 == 0 else [f"w{code:03}" for code in codes]
    quasi = [name for name in columns if name != "s"]
    most = np.bincount(value).max()
    table = sf.read(pa.table(columns), sf.Schema(quasi=quasi, sensitive="s"))
    return table, int(random.integers(2, min(12, n // most) + 1))


def changed_once(
    table: sf.Microdata, m: int, framework: Framework, random: np.random.Generator
) -> Responder:
    """A database of nine tenths of the rows; some of them go, and the others come."""
    order = random.permutation(table.n_rows)
    first, rest = np.split(order, [9 * table.n_rows // 10])
    try:
        made = Responder.create(table.take(first), m=m, framework=framework, seed=0)
    except sf.errors.Infeasible:
        return Responder.create(table, m=m, framework=framework, seed=0)
    waiting = no_rows(made.schema, made.attributes)
    gone = table.take(first[: table.n_rows // 20])
    change = updated(
        made, waiting, table.take(rest), gone, Randomness(0), accept_returns=True, twins="member"
    )
    return change.responder


def contained(
    responder: Responder, questions: int, random: np.random.Generator
) -> Mapping[str, int]:
    """How often the truth is missed, and how often it is told exactly."""
    rows, found = responder.table(), Counter[str]()
    axes, sensitive = responder.axes, responder.sensitive
    for _ in range(questions):
        n = int(random.integers(0, min(4, len(axes))))
        names = [*random.permutation(responder.schema.quasi)[:n].tolist(), sensitive]
        where, hit = {}, np.ones(rows.n_rows, np.bool_)
        for name in names:
            size = len(axes[name].shown)
            first = int(random.integers(0, size))
            last = min(size - 1, first + int(random.integers(0, 1 + size // 3)))
            where[name] = sf.one_of(axes[name].shown[first : last + 1])
            hit &= (rows.codes[name] >= first) & (rows.codes[name] <= last)
        truth, answer = int(hit.sum()), responder.count(Query(where))
        found["missed"] += truth not in answer
        found["0"] += answer.exact
    return found


def lived(random: np.random.Generator) -> Counter[str]:
    """One life: what happened, and what was violated."""
    found = Counter[str]()
    m, n_values = int(random.integers(2, 5)), int(random.integers(9, 20))
    framework = FRAMEWORKS[int(random.integers(2))]
    values = list(range(n_values))
    schema = sf.Schema(quasi=["person", "x"], sensitive="s", orders={"s": values})
    number = iter(range(10**6))

    def some(n: int) -> pa.Table:
        x = random.integers(0, 40, n)
        s = (x // 4 + random.integers(0, n_values, n)) % n_values
        return pa.table({"person": [next(number) for _ in range(n)], "x": x, "s": s})

    with tempfile.TemporaryDirectory() as place, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what is accepted here on purpose
        path, here = Path(place) / "db", some(int(random.integers(150, 500)))
        sf.StatDB.create(path, sf.read(here, schema), m=m, framework=framework)
        before: dict[int, Counter[int]] = {}
        for change in range(CHANGES):
            db = sf.StatDB.open(path)
            after = signature_of(db)
            stay = before.keys() & after.keys()
            found["violations"] += sum(before[person] != after[person] for person in stay)
            found["violations"] += sum(
                m * max(one.values()) > one.total() for one in after.values()
            )
            found["violations"] += version_flaw(ground_of(db), db.version()) != ""
            found["signatures followed"] += len(stay)
            before = after
            people = columns_of(db)
            gone = random.permutation(len(people))[: int(random.integers(0, 60))]
            update = db.apply(
                sf.read(some(int(random.integers(1, 60))), schema),
                sf.read(people.take(pa.array(gone)), schema) if len(gone) else None,
                accept_exposure=change % 4 == 3,
                twins="member",
            )
            found["came"] += update.inserted
            found["went"] += update.deleted
    return found


def signature_of(db: sf.StatDB) -> dict[int, Counter[int]]:
    """Everybody's signature, by number."""
    stored = db.responder.stored
    assert isinstance(stored, Neighbourhoods)
    parts = [Counter(one.tolist()) for one in np.split(stored.values, stored.groups.base[1:-1])]
    groups = stored.group_of()[stored.occupied()].tolist()
    people = columns_of(db)["person"].to_pylist()
    return {person: parts[group] for person, group in zip(people, groups, strict=True)}


def columns_of(db: sf.StatDB) -> pa.Table:
    """The rows that are stored."""
    table = db.table()
    return pa.table({name: table.attributes[name].decode(one) for name, one in table.codes.items()})
