"""Insertions and deletions: the rows that stay keep their signatures, and answers stay true."""

from __future__ import annotations

from collections import Counter
from datetime import date
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core.randomness import Randomness
from sfumato.errors import DataError, ParameterError, SchemaError
from sfumato.statdb.layout.slots import count_places, slots_of
from sfumato.statdb.responder import Responder
from sfumato.statdb.updates import Change, Update, updated
from sfumato.statdb.updates.rows import no_rows
from tests.support.statdb import buckets_of

SCHEMA = sf.Schema(quasi=["person", "x"], sensitive="s")
# values that may come later are declared
DECLARED = sf.Schema(quasi=["person", "x"], sensitive="s", orders={"s": list("abcdefgh")})
QUERIES = [
    "x <= 2",
    "x <= 2 AND s = 'a'",
    "x = 1 AND s IN ('b', 'c')",
    "s <> 'a'",
    "person < 30 AND x > 1",
]
M = 3


def rows(random: np.random.Generator, n: int, first: int, values: str = "abcdef") -> pa.Table:
    """Rows that the quasi-identifier ``person`` tells apart."""
    return pa.table(
        {
            "person": np.arange(first, first + n),
            "x": random.integers(0, 5, n),
            "s": pa.array(random.choice(list(values), n), pa.string()),
        }
    )


def microdata(table: pa.Table, schema: sf.Schema = SCHEMA) -> sf.Microdata:
    return sf.Microdata.from_arrow(table, schema)


def none(responder: Responder) -> pa.Table:
    return no_rows(responder.schema, responder.attributes)


def change(
    responder: Responder,
    inserted: pa.Table | None = None,
    deleted: pa.Table | None = None,
    waiting: pa.Table | None = None,
    *,
    seed: int = 1,
    accept: bool = False,
    returns: bool = False,
    twins: Any = None,
) -> Change:
    return updated(
        responder,
        none(responder) if waiting is None else waiting,
        None if inserted is None or not len(inserted) else microdata(inserted),
        None if deleted is None or not len(deleted) else microdata(deleted),
        Randomness(seed),
        accept_exposure=accept,
        accept_returns=returns,
        twins=twins,
    )


def changed(
    responder: Responder,
    inserted: pa.Table | None,
    deleted: pa.Table | None,
    seed: int = 1,
    twins: Any = None,
) -> tuple[Responder, Update]:
    """A change for which nobody has to wait."""
    done = change(responder, inserted, deleted, seed=seed, accept=True, twins=twins)
    return done.responder, done.update


def homes(responder: Responder) -> dict[Any, tuple[tuple[Any, ...], int]]:
    """The signature, as values, and the cohort of every person."""
    buckets = buckets_of(responder)
    slots = slots_of(buckets, responder.stored.occupied())
    table = responder.table()
    people = table.attributes["person"].decode(table.codes["person"]).to_pylist()
    domain = responder.attributes["s"].values.to_pylist()
    return {
        person: (tuple(domain[code] for code in buckets.signature(b)), int(k))
        for person, b, k in zip(people, slots.bucket, slots.cohort, strict=True)
    }


def require_sound(responder: Responder, truth: pa.Table, update: Update) -> None:
    """Every group has m values or more, each at most once, and every interval has the truth."""
    exact = microdata(truth)
    assert responder.n_rows == update.rows == truth.num_rows
    table = responder.table()
    values = table.attributes["s"].decode(table.codes["s"]).to_pylist()
    people = table.attributes["person"].decode(table.codes["person"]).to_pylist()
    home = homes(responder)
    for query in QUERIES:
        answer = responder.count(query)
        assert answer.lo <= exact.count(query).estimate <= answer.hi
    lacking = 0
    for query in ("", "x <= 2"):
        version = responder.version(query)
        lacking = 0
        for group in range(version.n_groups):
            members = np.flatnonzero(version.groups == group)
            signatures = {home[people[i]] for i in members}
            assert len(signatures) == 1  # all of one bucket and cohort
            (signature, _) = signatures.pop()
            held = [values[i] for i in members]
            assert len(signature) >= M
            assert len(set(held)) == len(held)
            assert set(held) <= set(signature)
            lacking += len(signature) - len(held)
    if responder.framework == "anatomy":
        assert lacking == update.counterfeits


@pytest.mark.slow
@pytest.mark.parametrize("framework", ["anatomy", "generalization"])
@pytest.mark.parametrize("cohort", [1, 3, 8, None])
@settings(deadline=None, max_examples=25)
@given(
    seed=st.integers(0, 2**32 - 1),
    steps=st.lists(
        st.tuples(st.integers(0, 40), st.integers(0, 40), st.booleans()), min_size=1, max_size=4
    ),
)
def test_survivors_keep_their_signatures(
    framework: Any, cohort: int | None, seed: int, steps: list[tuple[int, int, bool]]
) -> None:
    random = np.random.default_rng(seed)
    truth = rows(random, 60, 0)
    if max(Counter(truth["s"].to_pylist()).values()) > 60 // M:
        return
    responder = Responder.create(
        microdata(truth, DECLARED), m=M, cohort=cohort, framework=framework, seed=seed
    )
    born, waiting = 60, truth.slice(0, 0)
    for n_out, n_in, accept in steps:
        order = random.permutation(truth.num_rows)
        n_out = min(n_out, truth.num_rows - 1)
        gone, stay = truth.take(order[:n_out]), truth.take(order[n_out:])
        new = rows(random, n_in, born, random.choice(["abcdef", "a", "gh"]))
        born += n_in
        before = homes(responder)
        done = change(responder, new, gone, waiting, seed=seed, accept=accept)
        responder, update = done.responder, done.update
        batch = pa.concat_tables([waiting, new])
        enters = accept or most(batch) * M <= len(batch)
        assert (update.deleted, update.inserted) == (n_out, len(batch) if enters else 0)
        assert update.waiting == len(done.waiting) == (0 if enters else len(batch))
        waiting = done.waiting
        truth = pa.concat_tables([stay, batch]) if enters else stay
        after = homes(responder)
        for person in stay["person"].to_pylist():
            assert after[person][0] == before[person][0]
        require_sound(responder, truth, update)


def most(table: pa.Table) -> int:
    return max(Counter(table["s"].to_pylist()).values(), default=0)


def by_value(values: str, n: int = 20) -> pa.Table:
    """So many rows of each value, ordered by value."""
    random = np.random.default_rng(2)
    return pa.concat_tables([rows(random, n, n * i, value) for i, value in enumerate(values)])


@pytest.mark.parametrize("cohort", [1, 3, 8, None])
def test_rows_that_come_wait_until_they_can_hide_among_each_other(cohort: int | None) -> None:
    responder = Responder.create(microdata(by_value("abc")), m=3, cohort=cohort, seed=1)
    first = change(responder, rows(np.random.default_rng(3), 2, 100, "a"))
    assert first.responder is responder  # nobody can notice
    assert (first.update.inserted, first.update.waiting, first.update.lacking) == (0, 2, 4)
    second = change(
        first.responder, rows(np.random.default_rng(3), 2, 200, "b"), None, first.waiting
    )
    assert second.responder is responder
    assert (second.update.waiting, second.update.lacking) == (4, 2)
    third = change(
        second.responder, rows(np.random.default_rng(3), 2, 300, "c"), None, second.waiting
    )
    assert third.update == Update(deleted=0, inserted=6, rows=66, counterfeits=0)
    assert not third.waiting
    assert {home[0] for home in homes(third.responder).values()} == {("a", "b", "c")}


def test_waiting_rows_are_in_no_answer_and_in_no_domain() -> None:
    responder = Responder.create(microdata(by_value("abc")), m=3, cohort=8, seed=1)
    new = pa.table({"person": [500], "x": [77], "s": ["a"]})
    done = change(responder, new)
    assert done.responder is responder
    assert done.waiting.to_pylist() == new.to_pylist()
    accepted = change(responder, None, None, done.waiting, accept=True)
    assert accepted.responder.attributes["x"].values.to_pylist()[-1] == 77
    assert (accepted.update.alone, accepted.update.counterfeits) == (1, 2)


def test_a_deleted_row_that_waits_leaves_before_anybody_saw_it() -> None:
    truth = by_value("abc")
    responder = Responder.create(microdata(truth), m=3, cohort=8, seed=1)
    twin = truth.slice(0, 1)
    held = change(responder, pa.concat_tables([twin, rows(np.random.default_rng(3), 1, 100, "b")]))
    done = change(responder, None, twin, held.waiting, twins="newcomer")
    assert done.responder is responder  # of two equal rows, that one which nobody was told of
    assert (done.update.deleted, done.update.withdrawn, done.update.waiting) == (0, 1, 1)
    again = change(responder, None, pa.concat_tables([twin, twin]), held.waiting)
    assert (again.update.deleted, again.update.withdrawn, again.update.rows) == (1, 1, 59)
    with pytest.raises(DataError, match=r"1 of 3 rows .* not in the database: row [123] of"):
        change(responder, None, pa.concat_tables([twin] * 3), held.waiting)


def test_what_waits_and_returns_at_once_waits() -> None:
    responder = Responder.create(microdata(by_value("abc")), m=3, cohort=8, seed=1)
    new = rows(np.random.default_rng(3), 2, 100, "a")
    held = change(responder, new)
    done = change(responder, new, new, held.waiting)
    assert (done.update.withdrawn, done.update.waiting) == (0, 2)


def test_nobody_comes_in_because_somebody_withdrew() -> None:
    """It would tell that the one who withdrew had the value that was too frequent."""
    responder = Responder.create(microdata(by_value("abc")), m=3, cohort=8, seed=1)
    new = pa.concat_tables(
        [rows(np.random.default_rng(3), 1, 100 + i, one) for i, one in enumerate("abca")]
    )
    held = change(responder, new)
    assert held.update.waiting == 4
    done = change(responder, None, new.slice(3, 1), held.waiting)
    assert (done.update.withdrawn, done.update.inserted, done.update.waiting) == (1, 0, 3)
    assert done.update.lacking == 0
    assert done.responder is responder
    more = pa.concat_tables(
        [rows(np.random.default_rng(4), 1, 200 + i, one) for i, one in enumerate("abc")]
    )
    assert change(responder, more, None, done.waiting).update.inserted == 6


@pytest.mark.slow
@pytest.mark.parametrize("cohort", [1, 8, None])
def test_lists_of_newcomers_do_not_hang_on_who_left(cohort: int | None) -> None:
    """Counterfeits are drawn by places: whoever of a group leaves, later lists are drawn alike."""
    truth = by_value("abcdef")
    responder = Responder.create(microdata(truth), m=3, cohort=cohort, seed=1)
    homes_of = homes(responder)
    first = min(homes_of)
    together = [person for person, home in homes_of.items() if home == homes_of[first]]
    drawn, counted = set(), set()
    for person in together:
        leaver = truth.filter(pc.equal(truth["person"], person))
        after, _ = changed(responder, None, leaver)
        buckets = buckets_of(after)
        slots = slots_of(buckets, after.stored.occupied())
        drawn.add(tuple(count_places(buckets)))
        counted.add(tuple(np.bincount(slots.values(buckets), minlength=6)))
    assert len(drawn) == 1
    assert len(counted) > 1  # the control: by rows, the leaver's value shows


@pytest.mark.parametrize("cohort", [1, 8, None])
def test_nobody_takes_the_place_of_somebody_who_left(cohort: int | None) -> None:
    """A newcomer of the leaver's value would make the frequent one the likelier for both."""
    truth = by_value("abc")
    responder = Responder.create(microdata(truth), m=3, cohort=cohort, seed=1)
    responder, update = changed(responder, None, truth.slice(0, 5))
    assert update.counterfeits == 5
    done = change(responder, rows(np.random.default_rng(3), 5, 100, "a"))
    assert done.responder is responder
    batch = pa.concat_tables(
        [
            done.waiting,
            *(rows(np.random.default_rng(3), 5, 200 + i, one) for i, one in enumerate("bc")),
        ]
    )
    assert change(responder, batch).update.counterfeits == 5


@pytest.mark.parametrize("cohort", [1, 8, None])
def test_a_value_that_comes_alone_is_hidden_among_counterfeits(cohort: int | None) -> None:
    responder = Responder.create(microdata(by_value("abc"), DECLARED), m=3, cohort=cohort, seed=1)
    responder, update = changed(responder, rows(np.random.default_rng(3), 4, 100, "d"), None)
    assert (update.alone, update.counterfeits) == (4, 8)
    assert responder.count("s = 'd' AND person >= 100").lo == 0
    newcomers = [responder.query(LIST.format(person)) for person in range(100, 104)]
    for found in newcomers:
        assert sum(line[0].hi for line in found.answers) == 3
        assert dict(zip(found.keys, found.answers, strict=True))["d",][0].hi == 1


LIST = "SELECT s, COUNT(*) FROM t WHERE person = {} GROUP BY s"


@pytest.mark.parametrize("framework", ["anatomy", "generalization"])
@pytest.mark.parametrize("cohort", [1, 3, 8, None])
def test_answers_do_not_tell_which_value_lost_a_row(framework: Any, cohort: int | None) -> None:
    """With one signature for all, every value of it has the same answer to every question."""
    truth = by_value("abcd")
    responder = Responder.create(microdata(truth), m=4, cohort=cohort, framework=framework, seed=1)
    gone = pa.concat_tables([truth.slice(3, 9), truth.slice(70, 2)])  # of values a and d
    responder, update = changed(responder, rows(np.random.default_rng(3), 3, 100, "b"), gone)
    assert update.counterfeits > 0
    conditions = ["", "x <= 2 AND ", "person BETWEEN 5 AND 40 AND ", "x = 1 AND person < 60 AND "]
    conditions += [f"person = {i} AND " for i in (0, 25, 79, 101)]
    for condition in conditions:
        for wanted in (("= 'a'", "= 'b'", "= 'c'", "= 'd'"), ("<> 'a'", "<> 'b'", "<> 'd'")):
            assert len({responder.count(f"{condition}s {one}") for one in wanted}) == 1


def test_the_last_row_cannot_be_deleted() -> None:
    truth = by_value("abc", 2)
    responder = Responder.create(microdata(truth), m=3, size=3, seed=1)
    with pytest.raises(DataError, match="no row would be left"):
        change(responder, None, truth)
    assert change(responder, by_value("cab", 3), truth, returns=True).update.rows == 9


def test_one_of_equal_rows_is_deleted() -> None:
    table = pa.table({"person": [1, 1, 1, 2, 2, 2], "x": [0] * 6, "s": list("aabbcc")})
    responder = Responder.create(microdata(table), m=2, cohort=None, seed=1)
    twin = pa.table({"person": [1], "x": [0], "s": ["a"]})
    responder, update = changed(responder, None, twin)
    assert (update.deleted, update.rows) == (1, 5)
    responder, _ = changed(responder, None, twin)
    with pytest.raises(DataError, match="1 of 1 rows to delete are not in the database"):
        changed(responder, None, twin)


@pytest.mark.parametrize(
    "stranger", [{"person": [99]}, {"x": [77]}, {"s": ["z"]}], ids=["person", "x", "s"]
)
def test_rows_that_are_not_there_cannot_be_deleted(stranger: dict[str, Any]) -> None:
    random = np.random.default_rng(4)
    truth = rows(random, 40, 0)
    responder = Responder.create(microdata(truth), m=2, seed=1)
    one = {**{name: truth[name][:1] for name in truth.column_names}, **stranger}
    with pytest.raises(DataError, match="1 of 1 rows"):
        changed(responder, None, pa.table(one))


def test_domains_grow_but_do_not_shrink() -> None:
    random = np.random.default_rng(5)
    truth = rows(random, 60, 0)
    responder = Responder.create(microdata(truth), m=2, cohort=None, seed=1)
    far = truth.filter(pc.equal(truth["x"], 4))
    responder, _ = changed(responder, None, far)
    assert responder.attributes["x"].values.to_pylist() == [0, 1, 2, 3, 4]
    new = pa.table({"person": [500, 501], "x": [-3, 9], "s": ["a", "b"]})
    responder, _ = changed(responder, new, None)
    assert responder.attributes["x"].values.to_pylist() == [-3, 0, 1, 2, 3, 4, 9]
    assert responder.count("x = 9").hi >= 1
    gaps = pa.table({"person": [600], "x": pa.array([None], pa.int64()), "s": ["a"]})
    responder, _ = changed(responder, gaps, None)
    assert responder.count("x IS NULL").hi == 1


@pytest.mark.parametrize(("value", "named"), [("q", "'q'"), (None, "a missing value")])
@pytest.mark.parametrize("schema", [SCHEMA, DECLARED], ids=["rows", "declared"])
def test_the_sensitive_domain_does_not_grow(
    value: str | None, named: str, schema: sf.Schema
) -> None:
    """Domains are public: one that grew would tell the value of whoever came."""
    truth = rows(np.random.default_rng(7), 60, 0)
    responder = Responder.create(microdata(truth, schema), m=2, seed=1)
    new = pa.table({"person": [500, 501], "x": [1, 1], "s": ["a", value]})
    with pytest.raises(SchemaError, match=f"its public domain lacks {named}: .* are declared"):
        changed(responder, new, None)
    # a value that the rows' own domain has, and no row, is none of theirs
    responder, _ = changed(responder, new.slice(0, 1), None)
    assert responder.attributes["s"].size == (8 if schema is DECLARED else 6)


def test_a_row_that_leaves_and_returns_at_once_stays() -> None:
    """Another signature beside the first would leave the values that are in both."""
    truth = rows(np.random.default_rng(8), 60, 0)
    responder = Responder.create(microdata(truth), m=2, cohort=3, seed=1)
    before = homes(responder)
    returning = truth.slice(10, 20)
    new = pa.concat_tables([rows(np.random.default_rng(9), 5, 100), returning])
    for seed in range(5):
        after, update = changed(responder, new, truth.slice(5, 25), seed, "newcomer")
        assert (update.deleted, update.inserted, update.rows) == (5, 5, 60)
        found = homes(after)
        assert all(found[one][0] == before[one][0] for one in returning["person"].to_pylist())
    same, update = changed(responder, returning, returning, twins="newcomer")
    assert (update.deleted, update.inserted) == (0, 0)
    assert [same.count(query) for query in QUERIES] == [responder.count(query) for query in QUERIES]


WAYS: list[dict[str, Any]] = [{}, {"cohort": 1}, {"cohort": 8}, {"cohort": None}]


@pytest.mark.parametrize("options", WAYS, ids=str)
def test_who_takes_a_leavers_house_does_not_show_the_leavers_value(options: dict[str, Any]) -> None:
    """Somebody leaves; somebody with the same quasi-identifiers waits, or comes with that change.

    Whatever value the newcomer has, and whoever of them goes, everybody sees the same answers. The
    control guesses wrong who it is, as a rule that picks by itself must: that shows.
    """
    truth = by_value("abcdef")
    responder = Responder.create(microdata(truth), m=2, seed=1, **options)
    member = truth.slice(0, 1)
    at_home = f"person = {member['person'][0]} AND x = {member['x'][0]}"
    questions = [at_home, *(f"{at_home} AND s = '{value}'" for value in "abcdef"), *QUERIES]

    def answers(value: str, goes: str, twins: str, *, waits: bool) -> list[Any]:
        newcomer = member.set_column(2, "s", pa.array([value], pa.string()))
        held = change(responder, newcomer if waits else None)
        deleted = newcomer if goes == "newcomer" else member
        inserted = None if waits else newcomer
        done = change(responder, inserted, deleted, held.waiting, twins=twins, returns=True)
        return [done.responder.count(question) for question in questions]

    for waits in (True, False):
        seen = [answers(value, "member", "member", waits=waits) for value in "abcdef"]
        assert all(one == seen[0] for one in seen)
        fooled = [answers(value, "member", "newcomer", waits=waits) for value in "abcdef"]
        assert len({str(one) for one in fooled}) == 2
    seen = [answers(value, "newcomer", "newcomer", waits=True) for value in "abcdef"]
    assert all(one == [responder.count(question) for question in questions] for one in seen)
    fooled = [answers(value, "newcomer", "member", waits=True) for value in "abcdef"]
    assert len({str(one) for one in fooled}) == 2


def test_the_owner_is_asked_whom_a_row_is_about() -> None:
    truth = by_value("abc")
    responder = Responder.create(microdata(truth), m=3, seed=1)
    twin = truth.slice(0, 1)
    held = change(responder, twin)
    for inserted, waiting in ((twin, None), (None, held.waiting)):
        with pytest.raises(DataError, match=r"1 rows to delete are equal.*say whom"):
            change(responder, inserted, twin, waiting)
    assert change(responder, None, pa.concat_tables([twin, twin]), held.waiting).update.deleted == 1
    with pytest.raises(ParameterError, match="twins must be 'member' or 'newcomer', not 'both'"):
        change(responder, twin, twin, twins="both")


def test_equal_rows_return_one_by_one() -> None:
    table = pa.table({"person": [1, 1, 1, 2, 2, 2], "x": [0] * 6, "s": list("aabbcc")})
    responder = Responder.create(microdata(table), m=2, cohort=None, seed=1)
    twins = pa.table({"person": [1, 1], "x": [0, 0], "s": ["a", "a"]})
    _, update = changed(responder, twins.slice(0, 1), twins, twins="newcomer")
    assert (update.deleted, update.inserted, update.rows) == (1, 0, 5)
    _, update = changed(responder, pa.concat_tables([twins, twins]), twins, twins="newcomer")
    assert (update.deleted, update.inserted, update.rows) == (0, 2, 8)


def test_who_is_not_there_cannot_return() -> None:
    truth = rows(np.random.default_rng(8), 60, 0)
    responder = Responder.create(microdata(truth), m=2, seed=1)
    stranger = pa.table({"person": [900], "x": [1], "s": ["a"]})
    with pytest.raises(DataError, match="1 of 1 rows to delete are not in the database"):
        changed(responder, stranger, stranger)


@pytest.mark.parametrize("kind", [pa.int64(), pa.int32(), pa.float64(), pa.bool_()], ids=str)
def test_columns_of_another_type_are_refused(kind: pa.DataType) -> None:
    days = [date(2020, 1, day) for day in (1, 2, 3, 4)] * 4
    table = pa.table({"since": days, "s": list("abcd") * 4})
    schema = sf.Schema(quasi=["since"], sensitive="s")
    responder = Responder.create(microdata(table, schema), m=2, seed=1)
    other = microdata(pa.table({"since": pa.array([1]).cast(kind), "s": ["a"]}), schema)
    for inserted, deleted in ((other, None), (None, other)):
        with pytest.raises(SchemaError, match=r"'since' is date32.* in the database and"):
            updated(responder, none(responder), inserted, deleted, Randomness(1))


def test_a_declared_domain_does_not_grow() -> None:
    ordered = sf.Schema(quasi=["x"], sensitive="s", orders={"x": ["low", "high"]})
    table = pa.table({"x": ["low", "high"] * 4, "s": list("aabbccdd")})
    responder = Responder.create(microdata(table, ordered), m=2, seed=1)
    free = sf.Schema(quasi=["x"], sensitive="s")
    new = microdata(pa.table({"x": ["middle"], "s": ["a"]}), free)
    with pytest.raises(SchemaError, match="'middle', which its declared order"):
        updated(responder, none(responder), new, None, Randomness(1))  # before it waits


def test_other_columns_are_refused() -> None:
    random = np.random.default_rng(6)
    responder = Responder.create(microdata(rows(random, 40, 0)), m=2, seed=1)
    other = microdata(pa.table({"y": [1], "s": ["a"]}), sf.Schema(quasi=["y"], sensitive="s"))
    for inserted, deleted in ((other, None), (None, other)):
        with pytest.raises(SchemaError, match="quasi columns person, x, the rows have y"):
            updated(responder, none(responder), inserted, deleted, Randomness(1))
