"""The statistical database against DuckDB, which counts exactly, and its intervals.

600,000 rows, seven quasi-identifiers, 50 salary classes, m = 10; questions of section 9 of "Dynamic
anonymization" with lambda = 2 and ql = 6 %. Times are processor time, one thread, both warm,
medians per question in turns; DuckDB reads an in-memory table of the same rows.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import sfumato as sf
from benchmarks.data import skewed
from benchmarks.measure import Line, seconds
from sfumato.queries.binding import bind
from sfumato.statdb.baselines import (
    random_perturbation,
    result_intervals,
    static_anatomy,
    static_generalization,
)
from sfumato.statdb.layout.making import First
from sfumato.statdb.responder import Responder

QUASI = (
    "age",
    "sex",
    "marital_status",
    "birthplace",
    "education",
    "occupation_group",
    "relationship",
)
SIZES = (88, 2, 5, 57, 19, 52, 10)
SALARY = "salary_class"
ROWS, MANY, SMALLER = 600_000, 10_000_000, 200_000
M, QUERIES, FEW = 10, 2_000, 200
TURN = 100
COHORTS = (1, 8, 64, None)
DISTINCT = (20_000, 40_000, 80_000, 500_000, 1_000_000)
CHANGED, FEW_ROWS = 5_000_000, 10
_NEAR_AND_FAR: tuple[First, ...] = ("neighbours", "regions", "signatures")
AGGREGATES: tuple[str, ...] = ("sum", "avg", "min", "max")


def run(folder: Path | None) -> Iterator[Line]:
    """Times over DuckDB's, lengths of intervals, creation, memory, and growth."""
    rows, source = salaries(folder, ROWS)
    table = _microdata(rows)
    queries = sf.dynamic_workload(table, queries=QUERIES, seed=0)
    said = f"{table.n_rows:,} rows of {source}, {len(queries):,} queries"
    near = Responder.create(table, m=M, seed=0)
    near_boxes = Responder.create(table, m=M, framework="generalization", seed=0)
    regrouped = partial(Responder.create, table, m=M, first="signatures", seed=0)
    responders = {cohort: regrouped(cohort=cohort) for cohort in COHORTS}
    boxes = {cohort: regrouped(cohort=cohort, framework="generalization") for cohort in (8, None)}
    regions = Responder.create(table, m=M, cohort=8, seed=0)
    boxed_regions = Responder.create(table, m=M, cohort=8, framework="generalization", seed=0)
    yield from _times(table, rows, queries, [near, near_boxes, regions], responders, boxes, said)
    yield from _creation(table, near, said)
    yield from _store(table, said)
    yield from different_values()
    yield from few_rows_of_many()
    yield from _panel(folder)
    yield from _near(table, queries, near, responders[8], said)
    yield from _near(table, queries, near_boxes, boxes[8], said, "boxes of neighbours")
    yield from _near_smaller(folder)
    yield from _near(table, queries, regions, responders[8], said, "regions, cohort = 8,")
    yield from _near(table, queries, boxed_regions, boxes[8], said, "boxes of regions, cohort = 8,")
    yield from _lengths(table, queries, responders, boxes, said)
    del near, near_boxes, regions, boxed_regions, responders, boxes
    yield from _growth(folder)


def salaries(folder: Path | None, rows: int) -> tuple[pa.Table, str]:
    """SAL as data/README.md builds it from EPH, or columns of the same sizes."""
    path = folder / "eph_2004_2015.parquet" if folder else None
    generator = np.random.default_rng(0)
    if path is None or not path.is_file():
        return _generated(generator, rows), "generated stand-in"
    table = pq.read_table(path, columns=[*QUASI, SALARY]).drop_null()
    births, times = np.unique(table["birthplace"].to_numpy(), return_counts=True)
    frequent = births[np.argsort(-times)[:56]]
    place = table["birthplace"].to_numpy()
    kept = np.where(np.isin(place, frequent), place, 9_999)
    table = table.set_column(QUASI.index("birthplace"), "birthplace", pa.array(kept))
    # beyond the 912,013 rows there are, rows are drawn again
    order = generator.permutation(len(table))
    chosen = order[:rows] if rows <= len(table) else generator.integers(0, len(table), rows)
    return table.take(pa.array(chosen)).combine_chunks(), "eph_2004_2015"


def _generated(generator: np.random.Generator, rows: int) -> pa.Table:
    """Skewed columns; salaries depend on age and education, as they should."""
    columns = {name: skewed(generator, size, rows) for name, size in zip(QUASI, SIZES, strict=True)}
    pull = columns["age"] / SIZES[0] + columns["education"] / SIZES[4]
    score = pull + generator.normal(0, 0.3, rows)
    ranks = np.argsort(np.argsort(score))
    return pa.table({**columns, SALARY: (50 * ranks // rows).astype(np.int16)})


def _microdata(rows: pa.Table) -> sf.Microdata:
    return sf.read(rows, sf.Schema(quasi=QUASI, sensitive=SALARY))


def _texts(table: sf.Microdata, queries: Sequence[sf.Query]) -> list[str]:
    engine_words = []
    catalog = Responder.create(table, m=2, seed=0).catalog
    for query in queries:
        where = bind(query, catalog).where
        ends = [
            (name, part.low, part.high) for name, one in where.items() for part in one.all_ranges()
        ]
        engine_words.append(" AND ".join(f"{n} BETWEEN {low} AND {high}" for n, low, high in ends))
    return engine_words


def _times(
    table: sf.Microdata,
    rows: pa.Table,  # noqa: ARG001 (DuckDB finds it by its name)
    queries: Sequence[sf.Query],
    near: Sequence[Responder],
    responders: dict[int | None, Responder],
    boxes: dict[int | None, Responder],
    said: str,
) -> Iterator[Line]:
    texts = _texts(table, queries)
    whole = responders[None]
    with duckdb.connect() as connection:
        connection.execute("SET threads = 1")
        connection.execute("CREATE TABLE t AS FROM rows")

        def exact(place: int) -> None:
            connection.execute(f"SELECT COUNT(*) FROM t WHERE {texts[place]}").fetchone()

        ways: list[tuple[str, float, Callable[[int], object]]] = [
            ("neighbours, parsed query", 1 / 40, lambda i: near[0].count(queries[i])),
            ("neighbours, SQL text", 1 / 20, lambda i: near[0].count(texts[i])),
            ("boxes of neighbours", 1 / 4, lambda i: near[1].count(queries[i])),
            ("A-Count, parsed query", 1 / 20, lambda i: whole.count(queries[i])),
            ("A-Count, SQL text", 1 / 4, lambda i: whole.count(texts[i])),
            ("A-Count, cohort = 8", 1 / 5, lambda i: responders[8].count(queries[i])),
            ("A-Count, regions, cohort = 8", 1 / 5, lambda i: near[2].count(queries[i])),
            ("G-Count, parsed query", 1 / 4, lambda i: boxes[None].count(queries[i])),
        ]
        mine, theirs = _medians([work for _, _, work in ways], exact, len(queries))
    for (name, limit, _), each in zip(ways, mine, strict=True):
        detail = f"{1e6 * each:.0f} µs against {1e6 * theirs:.0f} µs; {said}"
        yield Line(f"{name}, over DuckDB's exact COUNT", each / theirs, limit, "x", detail)
    for one in (near[0], responders[8], responders[None]):
        yield from _aggregates(one, queries, said)


def _aggregates(responder: Responder, queries: Sequence[sf.Query], said: str) -> Iterator[Line]:
    """The time of other aggregates over that of a COUNT with the same conditions."""

    def asking(function: str) -> Callable[[int], object]:
        asked = [sf.Query(one.where, [sf.Aggregate(function, SALARY)]) for one in queries]
        return lambda i: responder.query(asked[i])

    works = [asking(function) for function in AGGREGATES]
    mine, count = _medians(works, lambda i: responder.count(queries[i]), len(queries))
    for function, each in zip(AGGREGATES, mine, strict=True):
        detail = f"{1e6 * each:.0f} µs against {1e6 * count:.0f} µs of COUNT; {said}"
        if responder.size is not None:
            yield Line(f"{function.upper()}, neighbours", 1e3 * each, 0.3, "ms", detail)
        else:
            name = f"{function.upper()} over COUNT, cohort = {responder.cohort}"
            yield Line(name, each / count, 20.0, "x", detail)


def _medians(
    works: Sequence[Callable[[int], object]], peer: Callable[[int], object], queries: int
) -> tuple[list[float], float]:
    taken: list[list[float]] = [[] for _ in (*works, peer)]
    for work in (*works, peer):
        work(0)
    # in turns of many questions: a single one would find the caches full of another's data
    for first in range(0, queries, TURN):
        for times, work in zip(taken, (*works, peer), strict=True):
            for place in range(first, min(first + TURN, queries)):
                start = time.process_time_ns()
                work(place)
                times.append((time.process_time_ns() - start) / 1e9)
    *mine, theirs = map(statistics.median, taken)
    return mine, theirs


def _creation(table: sf.Microdata, responder: Responder, said: str) -> Iterator[Line]:
    spent = seconds(lambda: Responder.create(table, m=M), time.process_time)
    yield Line("create, neighbours, processor time", spent, 2.0, "s", said)
    coded = sum(codes.nbytes for codes in table.codes.values())
    named = responder.stored.named()
    index = named["index.bitmaps"].nbytes + named["signatures.bitmaps"].nbytes
    detail = f"coded table {coded / 2**20:.1f} MiB"
    yield Line("index over the coded table", index / coded, 3.0, "x", detail)
    yield Line("memory of a database over it", responder.stored.nbytes / coded, 4.0, "x", detail)


def _near(
    table: sf.Microdata,
    queries: Sequence[sf.Query],
    near: Responder,
    regrouped: Responder,
    said: str,
    kind: str = "neighbours",
) -> Iterator[Line]:
    """Intervals and estimates over those of groups regrouped in cohorts of 8 in the whole table."""
    truth = table.counts(queries).lo
    found, other = near.counts(queries), regrouped.counts(queries)
    missed = int(((truth < found.lo) | (truth > found.hi)).sum())
    lengths = [float((one.hi - one.lo).mean()) for one in (found, other)]
    errors = [float(abs(one.estimate - truth).sum() / truth.sum()) for one in (found, other)]
    detail = f"{lengths[0]:,.1f} against {lengths[1]:,.1f}, {missed} missed; {said}"
    name = f"interval length, {kind} over cohort = 8"
    yield Line(name, lengths[0] / lengths[1], 0.45, "x", detail)
    detail = f"{errors[0]:.3f} against {errors[1]:.3f} of the truth"
    yield Line("error of estimates, the same", errors[0] / errors[1], 0.4, "x", detail)


def _near_smaller(folder: Path | None) -> Iterator[Line]:
    """The same where fewer people are as near."""
    table, source = _salaried(folder, SMALLER)
    queries = sf.dynamic_workload(table, queries=QUERIES, seed=0)
    near, regions, regrouped = (
        Responder.create(table, m=M, first=first, seed=0) for first in _NEAR_AND_FAR
    )
    said = f"{SMALLER:,} rows of {source}"
    yield from _near(table, queries, near, regrouped, said)
    yield from _near(table, queries, regions, regrouped, said, "regions, cohort = 8,")


def _store(table: sf.Microdata, said: str) -> Iterator[Line]:
    """A database on disk: made, opened, and its answers afterwards."""
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "sal.statdb"
        start = time.perf_counter()
        sf.StatDB.create(path, table, m=M, seed=0, experiment=True)
        yield Line("create on disk, by the clock", time.perf_counter() - start, 3.0, "s", said)
        size = sum(entry.stat().st_size for entry in path.rglob("*") if entry.is_file())
        opened = seconds(lambda: sf.StatDB.open(path))
        detail = f"{size / 2**20:.1f} MiB, checksums included"
        yield Line("open, by the clock", opened, 0.2, "s", detail)


def different_values() -> Iterator[Line]:
    """Creation where no two rows have the same sensitive value: as many signatures as rows / m."""
    spent = {}
    for n in DISTINCT:
        generator = np.random.default_rng(0)
        columns = {"age": generator.integers(0, 90, n), "zip": generator.integers(0, 1_000, n)}
        schema = sf.Schema(quasi=list(columns), sensitive="s", kinds={"s": "categorical"})
        table = sf.read(pa.table({**columns, "s": np.arange(n)}), schema)
        spent[n] = seconds(partial(Responder.create, table, m=M), time.process_time)
    *_, before, last = DISTINCT
    small = ", ".join(f"{n:,} {spent[n]:.2f} s" for n in DISTINCT[:-1])
    name = f"create, {last:,} different values in as many rows, processor time"
    yield Line(name, spent[last], 20.0, "s", small)
    yield Line("the same, from half as many on", spent[last] / spent[before], 2.5, "x")


def few_rows_of_many() -> Iterator[Line]:
    """Ten rows that come or go, or both, in a table of five million; opening not included."""
    rows = _generated(np.random.default_rng(0), CHANGED)
    schema = sf.Schema(quasi=QUASI, sensitive=SALARY)
    new = rows.slice(0, FEW_ROWS).set_column(
        len(QUASI), SALARY, pa.array(np.arange(FEW_ROWS, dtype=np.int16) * 5)
    )
    grown = new.set_column(3, "birthplace", pa.array([10_000 + i for i in range(FEW_ROWS)]))
    gone = [rows.slice(FEW_ROWS * part, FEW_ROWS) for part in range(2)]
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "many.statdb"
        sf.StatDB.create(path, sf.read(rows, schema), m=M, cohort=8)  # neighbours write all anew
        for name, inserted, deleted in (
            ("inserted", new, None),
            ("deleted", None, gone[0]),
            ("inserted and deleted", new, gone[1]),
            ("inserted, with new values of a quasi-identifier", grown, None),
        ):
            came, went = (
                None if one is None else sf.read(one, schema) for one in (inserted, deleted)
            )
            before = {entry: entry.stat().st_ino for entry in path.rglob("*.npy")}
            db = sf.StatDB.open(path)
            spent = seconds(partial(db.apply, came, went), time.process_time)
            written = sum(
                entry.stat().st_size for entry in path.rglob("*.npy") if entry not in before
            )
            detail = f"{CHANGED:,} rows, {written / 2**20:.2f} MiB written"
            title = f"apply {FEW_ROWS} rows {name}, processor time"
            yield Line(title, spent, 1.0, "s", detail)


def _panel(folder: Path | None) -> Iterator[Line]:
    """Quarters of the panel as insertions and deletions; without it, a table with some turnover."""
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "panel.statdb"
        quarters, source = _quarters(folder)
        # classes that come later only are declared, as the sensitive domain never grows
        known = sorted({one for part in quarters for one in part[SALARY].unique().to_pylist()})
        schema = sf.Schema(quasi=QUASI, sensitive=SALARY, orders={SALARY: known})
        sf.StatDB.create(path, sf.read(quarters[0], schema), m=M, seed=0, experiment=True)
        for number, (before, after) in enumerate(pairwise(quarters), 2):
            came, went = _difference(after, before), _difference(before, after)
            start = time.process_time()
            done = sf.StatDB.open(path).apply(
                _microdata(came),
                _microdata(went),
                twins="member",
                accept_returns=True,
                seed=0,
                experiment=True,
            )
            spent = time.process_time() - start
            db, truth = sf.StatDB.open(path), _microdata(after.select([*QUASI, SALARY]))
            queries = sf.dynamic_workload(truth, queries=FEW, seed=number)
            found, exact = db.counts(queries), truth.counts(queries).lo
            missed = int(((exact < found.lo) | (exact > found.hi)).sum())
            detail = (
                f"{source}: {done.deleted:,} rows deleted, {done.inserted:,} inserted, "
                f"{done.waiting:,} waiting, {done.counterfeits:,} counterfeits in {done.rows:,} "
                f"rows; intervals {(found.hi - found.lo).mean():,.1f}, truth {exact.mean():,.1f}, "
                f"{missed} missed"
            )
            yield Line(f"apply quarter {number}, processor time", spent, float("inf"), "s", detail)


def _quarters(folder: Path | None) -> tuple[list[pa.Table], str]:
    """The rows of four quarters in a row, with who they are about."""
    path = folder / "eph_2004_2015.parquet" if folder else None
    if path is None or not path.is_file():
        rows, source = salaries(None, 20_000)
        people = rows.append_column("person", pa.array(np.arange(len(rows))))
        return [people.slice(2_000 * part, 12_000) for part in range(4)], source
    names = ", ".join([*QUASI, SALARY])
    complete = " AND ".join(f"{name} IS NOT NULL" for name in (*QUASI, SALARY))
    with duckdb.connect() as connection:
        listed = connection.execute(
            f"SELECT DISTINCT quarter FROM '{path}' ORDER BY quarter LIMIT 4"
        ).fetchall()
        return [
            connection.sql(
                f"SELECT {names}, household_id || '-' || person_no AS person FROM '{path}' "
                f"WHERE quarter = ? AND {complete}",
                params=[quarter],
            ).to_arrow_table()
            for (quarter,) in listed
        ], "eph_2004_2015"


def _difference(rows: pa.Table, others: pa.Table) -> pa.Table:  # noqa: ARG001 (found by name)
    """Rows that are not, with the same person and values, among the others."""
    names = ", ".join([*QUASI, SALARY])
    with duckdb.connect() as connection:
        return connection.sql(
            f"SELECT {names} FROM (FROM rows EXCEPT ALL FROM others)"
        ).to_arrow_table()


def _lengths(
    table: sf.Microdata,
    queries: Sequence[sf.Query],
    responders: dict[int | None, Responder],
    boxes: dict[int | None, Responder],
    said: str,
) -> Iterator[Line]:
    truth = table.counts(queries).lo

    def line(name: str, source: object, base: float = 0.0, limit: float = float("inf")) -> Line:
        found = result_intervals(source, queries)  # type: ignore[arg-type]
        missed = int(((truth < found.lo) | (truth > found.hi)).sum())
        length = float(found.lengths.mean())
        figure = length / base if base else length
        detail = (
            f"average [{found.lo.mean():,.1f}, {found.hi.mean():,.1f}], truth {truth.mean():,.1f}, "
            f"deviation {found.lengths.std():,.1f}, {missed} missed; {said}"
        )
        return Line(name, figure, limit, "x" if base else "rows", detail)

    taken = Responder.create(table, m=M, cohort=None, first="anatomize", seed=0)
    base = float(result_intervals(taken, queries).lengths.mean())
    yield line("interval length, signatures over Anatomize's groups", responders[None], base, 0.75)
    # the line above owes most to random ties, which leave hardly two groups alike; two controls
    for name, order in (
        ("ties fixed, values mixed", np.random.default_rng(0).permutation(50)),
        ("ties by the order of values", np.arange(50)),
    ):
        first = _fixed_ties(table, order)
        fixed = Responder.create(table, m=M, cohort=None, first=first, seed=0)
        base = float(result_intervals(fixed, queries).lengths.mean())
        yield line(f"the same, {name}", responders[None], base, 0.75)
    for cohort, responder in responders.items():
        yield line(f"interval length, dyn-ana, cohort = {cohort}", responder)
    yield line("interval length, sta-ana", static_anatomy(table, M, seed=0))
    yield line("interval length, ran-pert (80 %)", random_perturbation(table, M, seed=0))
    for cohort, responder in boxes.items():
        yield line(f"interval length, dyn-gen, cohort = {cohort}", responder)
    yield line("interval length, sta-gen", static_generalization(table, M, seed=0))
    unique = static_generalization(table, M, seed=0, unique=True)
    yield line("interval length, sta-gen, m-unique", unique)


def _fixed_ties(table: sf.Microdata, order: np.ndarray[Any, Any]) -> sf.Partition:
    """Anatomize's groups with ties between values broken by a fixed order of them."""
    codes = table.codes[SALARY]
    left = np.bincount(codes, minlength=len(order))
    shuffled = np.random.default_rng(0).permutation(len(codes))
    rows = [shuffled[codes[shuffled] == value].tolist() for value in range(len(order))]
    groups = np.full(len(codes), -1, np.int32)
    n_groups = 0
    while np.count_nonzero(left) >= M:
        chosen = order[np.argsort(-left[order], kind="stable")[:M]]
        left[chosen] -= 1
        groups[[rows[value].pop() for value in chosen]] = n_groups
        n_groups += 1
    assert not left.any(), "these tables leave no residue"
    return sf.Partition.of(groups)


def _growth(folder: Path | None) -> Iterator[Line]:
    """Time per question at 10 million rows over 16.7 times that at 600,000."""
    each: dict[int, float] = {}
    for n in (ROWS, MANY):
        table, source = _salaried(folder, n)
        start = time.process_time()
        responder = Responder.create(table, m=M, seed=0)
        spent = time.process_time() - start
        each[n] = _one_by_one(responder, sf.dynamic_workload(table, queries=FEW, seed=1))
        if n == MANY:
            detail = f"{n:,} rows of {source}; a question takes {1e6 * each[n]:,.0f} µs"
            yield Line("create 10,000,000 rows, processor time", spent, 60.0, "s", detail)
    growth = each[MANY] / each[ROWS] / (MANY / ROWS)
    yield Line("time per question, growth over that of rows", growth, 2.0, "x", f"{FEW} queries")


def _salaried(folder: Path | None, n: int) -> tuple[sf.Microdata, str]:
    rows, source = salaries(folder, n)
    return _microdata(rows), source


def _one_by_one(responder: Responder, queries: Sequence[sf.Query]) -> float:
    (mine,), _ = _medians([lambda i: responder.count(queries[i])], lambda _: None, len(queries))
    return mine
