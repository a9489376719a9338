"""Every method beside its attackers: who guesses how often right, on three real tables.

Half of the people of each table are published, the other half is what learners have studied. Two
tables have an occupation as sensitive column, which goes with what is known of people; the third
has salaries, which are numbers:

- occupations of the Current Population Survey 1994/95 (kdd_census_income.parquet), l = 4;
- occupations of American workers of 2018 (acs2018_workers.parquet), l = 5;
- salary classes of Argentine employees 2004-2015 (eph_2004_2015.parquet), l = 10.

``measured`` lets ``sf.audit`` loose on a release or database of every method. An attacker is beyond
the limit who is right more than 1.2 times as often as promised, or as a learner without the release
if that is more.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import sfumato as sf
from sfumato.errors import Infeasible, ParameterError, SfumatoWarning
from sfumato_experiments.statdb.tables import SALARY, survey

TIMES = 1.2
KNOWN = (0.02, 0.2)  # shares of people whose values are told
ATTACKS = (
    "deFinetti", "logistic deFinetti", "learner", "studied deFinetti",
    *(f"corruption {100 * share:g}%, deFinetti" for share in KNOWN),
)  # fmt: skip
_WORKERS = (
    "age", "sex", "education", "marital_status", "race", "class_of_worker",
    "country_birth_self", "occupation_code", "major_occupation",
)  # fmt: skip
_CENSUS = ("age", "gender", "education", "relationship", "race", "work_class", "country")

LISTED, OWN = 60_000, 5_000
_LISTED = ("age", "income_total", "household_size", "years_education", "household_income", "sex")

Attacked = Callable[["Table", Path], sf.Audit]


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """People who are published, others who are studied, and l (or m)."""

    name: str
    people: sf.Microdata
    others: sf.Microdata
    l: int


@dataclass(frozen=True, slots=True)
class Line:
    """A method and what was found; ``audit`` is None where it cannot keep the promise."""

    method: str
    audit: sf.Audit | None


def tables(data: Path, rows: int) -> Iterator[Table]:
    """So many people of each table, half of whom are published."""
    workers = pq.read_table(data / "kdd_census_income.parquet", columns=[*_WORKERS])
    workers = workers.filter(pc.not_equal(workers["occupation_code"], 0))
    yield _parted(
        "occupations (KDD)", workers.drop_columns("occupation_code"), _WORKERS[-1], 4, rows
    )
    columns = [*_CENSUS, "occupation_major"]
    census = pq.read_table(data / "acs2018_workers.parquet", columns=columns)
    yield _parted("occupations (ACS)", census, columns[-1], 5, rows)
    yield _parted("salaries (EPH)", survey(data, 2 * rows).rows, SALARY, 10, rows)


def releases() -> Mapping[str, Attacked]:
    """Every method that makes releases without taxonomies."""
    boxes: dict[str, Any] = {
        "Mondrian": sf.Mondrian(),
        "TopDown": sf.TopDown(),
        "Frontier": sf.Frontier(),
        "LocalRecoding": sf.LocalRecoding(),
        "SingleDimensional": sf.SingleDimensional(time_limit=5),
        "FullDomain": sf.FullDomain(time_limit=5),
        "Subtree": sf.Subtree(time_limit=5),
        "Sibling": sf.Sibling(time_limit=5),
        "Mondrian, relaxed": sf.Mondrian(relaxed=True),
        "Mondrian, refined": sf.Mondrian(refine=2),
    }
    masks: dict[str, Any] = {
        "Microaggregate": sf.Microaggregate(5), "Noise": sf.Noise(0.3), "Swap": sf.Swap(0.05),
        "Synthesize": sf.Synthesize(),
    }  # fmt: skip
    diverse = {f"{name} (boxes)": _published(way) for name, way in boxes.items()}
    return {
        "Anatomize": _published(sf.Anatomize()),
        "Anatomize, groups of l": _published(sf.Anatomize, sized=True),
        "Anatomize, the paper's groups": _published(sf.Anatomize(near=False)),
        **diverse,
        "Mondrian, k-anonymity alone (boxes)": _anonymous,
        "Mondrian, cuts for the sensitive column (boxes)": _targeted,
        "noise (perturb)": _perturbed,
        **{f"{name} (mask)": _masked(way) for name, way in masks.items()},
    }


def databases() -> Mapping[str, Attacked]:
    """The default, and groups that are regrouped."""
    kinds: dict[str, dict[str, Any]] = {
        "neighbours": {}, "cohort = 1": {"cohort": 1}, "cohort = 8": {"cohort": 8},
        "cohort = None": {"first": "signatures", "cohort": None},
    }  # fmt: skip
    return {name: _database(options) for name, options in kinds.items()}


def measured(table: Table, methods: Mapping[str, Attacked]) -> Iterator[Line]:
    """What attackers reach, method by method."""
    for name, attacked in methods.items():
        with tempfile.TemporaryDirectory() as place, warnings.catch_warnings():
            warnings.simplefilter("ignore", SfumatoWarning)
            try:
                yield Line(name, attacked(table, Path(place)))
            except (Infeasible, ParameterError):
                yield Line(name, None)


def joined(data: Path) -> str:
    """A table of who is certainly in a join, and who is certainly not, method by method."""
    columns = ["household_id", "person_no", *_LISTED]
    rows = pq.read_table(data / "eph_2004_2015.parquet", columns=columns).drop_null()
    frame = rows.to_pandas().drop_duplicates(["household_id", "person_no"])
    chosen = frame.sample(LISTED, random_state=0).reset_index(names="id")[["id", *_LISTED]]
    everybody = pa.Table.from_pandas(chosen.assign(id=range(LISTED)), preserve_index=False)
    schema = sf.Schema(identifiers=["id"], quasi=[*_LISTED])
    own = sf.read(everybody.slice(0, OWN), schema, id="id")
    said = ["| method | certainly in the table | certainly not |", "|---|---:|---:|"]
    for method in (sf.Refinement, sf.Direct):
        for trim in (True, False):
            way = method(sf.Mondrian(), trim=trim)
            release = sf.publish_join(own, everybody, way, sf.KJoinAnonymity(10), seed=1)
            found = sf.join_risk(release, own, everybody)
            name = f"`{method.__name__}`" + ("" if trim else " without trimming")
            assert found.exposed is not None
            said.append(f"| {name} | {len(found.exposed):,} | {found.absent:,} |")
    return "\n".join(said)


def markdown(table: Table, lines: list[Line]) -> str:
    """A table of the documentation; what is beyond its limit is bold."""
    first = next(one.audit for one in lines if one.audit is not None)
    attacks = [*ATTACKS, "surest 5 %"]
    head = (
        f"{table.name}, l = {table.l}: **{_share(1 / table.l)}** promised, "
        f"**{_share(first.baseline)}** right without the release"
    )
    rows = [f"| {head} | {' | '.join(attacks)} |", f"|---|{'---:|' * len(attacks)}"]
    return "\n".join([*rows, *(f"| {one.method} | {' | '.join(_cells(one))} |" for one in lines)])


def _cells(line: Line) -> Iterator[str]:
    seen = line.audit
    if seen is None:
        yield from ["–"] * (len(ATTACKS) + 1)
        return
    found = {one.name: one.outcome for one in seen.findings}
    guesses = [one for one in seen.findings if one.guesses or one.name == "nearest rows"]
    for name in ATTACKS:
        one = found.get(name, found.get("nearest rows") if name == "learner" else None)
        if one is None:
            yield "–"
            continue
        beyond = one.attacker.right > TIMES * max(one.bound, one.baseline)
        said = _share(one.attacker.right) + ("" if one.valid else "?")
        yield f"**{said}**" if beyond else said
    yield _share(max(one.outcome.attacker.surest for one in guesses))


def _share(share: float) -> str:
    return f"{share:.2f}".lstrip("0") if share < 1 else "1"


def _published(way: Any, *, sized: bool = False) -> Attacked:
    def attacked(table: Table, _place: Path) -> sf.Audit:
        method = way(size=table.l) if sized else way
        release = sf.publish(table.people, method, sf.LDiversity(table.l), seed=1)
        return _audited(release, table)

    return attacked


def _anonymous(table: Table, _place: Path) -> sf.Audit:
    return _audited(sf.publish(table.people, sf.Mondrian(), sf.KAnonymity(table.l), seed=1), table)


def _targeted(table: Table, _place: Path) -> sf.Audit:
    way = sf.Mondrian(target=table.people.schema.sensitive[0])
    release = sf.publish(table.people, way, sf.LDiversity(table.l), seed=1)
    return _audited(release, table)


def _perturbed(table: Table, _place: Path) -> sf.Audit:
    release = sf.perturb(table.people, m=table.l, seed=1)
    return sf.audit(release, table.people, others=table.others, seed=1)


def _masked(way: Any) -> Attacked:
    def attacked(table: Table, _place: Path) -> sf.Audit:
        release = sf.mask(table.people, way, seed=1)
        return sf.audit(release, table.people, attacks=["nearest rows"], seed=1)

    return attacked


def _database(options: Mapping[str, Any]) -> Attacked:
    def attacked(table: Table, place: Path) -> sf.Audit:
        made = {"m": table.l, "seed": 1, "experiment": True, **options}
        db = sf.StatDB.create(place / "db", table.people, **made)
        return db.audit(others=table.others, attacks=ATTACKS, known=KNOWN, seed=1)

    return attacked


def _audited(release: Any, table: Table) -> sf.Audit:
    return sf.audit(
        release, table.people, others=table.others, attacks=ATTACKS, known=KNOWN, seed=1
    )


def _parted(name: str, rows: pa.Table, sensitive: str, l: int, n: int) -> Table:
    rows = rows.drop_null().replace_schema_metadata(None)
    quasi = [column for column in rows.column_names if column != sensitive]
    schema = sf.Schema(quasi=quasi, sensitive=sensitive, kinds={sensitive: "categorical"})
    everybody = sf.read(rows, schema)
    order = np.random.default_rng(0).permutation(rows.num_rows)[: 2 * (n // 2)]
    return Table(name, everybody.take(order[: n // 2]), everybody.take(order[n // 2 :]), l)
