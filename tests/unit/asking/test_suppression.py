"""Suppressed cells may be anything, and so may rows that were left out."""

import pytest

import sfumato as sf
from sfumato.core.microdata import Microdata
from sfumato.core.partition import LEFT_OUT
from sfumato.errors import QueryRefused
from tests.support.releases import Fixed, generalized
from tests.support.tables import microdata

ROWS = {"x": [1, 1, 2, 3, None, None], "s": list("aabbcc")}
GROUPS = [0, 0, 1, 1, 2, 2]


def table() -> Microdata:
    return microdata(ROWS, sensitive=["s"])


@pytest.mark.parametrize(
    ("where", "lo", "hi"),
    [
        ("x = 1", 2, 4),  # two show it, two are suppressed
        ("x = 2", 0, 2),
        ("x = 99", 0, 2),
        ("x IS NULL", 2, 4),
        ("x IS NOT NULL", 2, 4),
        ("x = 1 AND s = 'b'", 0, 2),
        ("x = 1 AND s = 'c'", 0, 0),
        ("x IS NULL OR x IS NOT NULL", 6, 6),
    ],
)
def test_a_suppressed_cell_may_be_anything(where: str, lo: int, hi: int) -> None:
    release = generalized(table(), GROUPS, "suppression")
    found = release.count(where)
    assert (found.lo, found.hi) == (lo, hi)
    assert found.lo <= found.estimate <= found.hi
    assert table().count(where).lo in found


def test_what_is_suppressed_cannot_be_listed_or_computed_with() -> None:
    release = generalized(table(), GROUPS, "suppression")
    for text in ("SELECT x, COUNT(*) FROM t GROUP BY x", "SELECT SUM(x) FROM t"):
        with pytest.raises(QueryRefused, match="suppressed and may be anything"):
            release.query(text)
    whole = generalized(microdata({"x": [1, 1, 2, 2], "s": list("abab")}, sensitive=["s"]),
                        [0, 0, 1, 1], "suppression")  # fmt: skip
    assert whole.query("SELECT x, COUNT(*) FROM t GROUP BY x").keys == ((1,), (2,))
    assert whole.query("SELECT SUM(x) FROM t").answer == sf.Answer(6.0, 6, 6)


FIRST_LEFT_OUT = Fixed((LEFT_OUT, LEFT_OUT, 0, 0, 0, 0))


@pytest.mark.parametrize("form", ["generalized", "anatomized"])
def test_rows_that_were_left_out_may_satisfy_any_condition(form: str) -> None:
    model = sf.DistinctLDiversity(2)
    release = sf.publish(table(), FIRST_LEFT_OUT, model, form=form)  # type: ignore[call-overload]
    assert (release.manifest.rows, release.manifest.suppressed) == (4, 2)
    found = release.count("s = 'b'")
    assert (found.estimate, found.lo, found.hi) == (2.0, 2, 4)
    assert release.count("s = 'a'").hi == 2
    by_value = release.query("SELECT s, COUNT(*) FROM t GROUP BY s")
    assert [answer.hi for (answer,) in by_value.answers] == [4, 4]
    with pytest.raises(QueryRefused, match="2 rows were left out"):
        release.query("SELECT MIN(x) FROM t")
    compared = sf.compare(release, table(), ["SELECT s, COUNT(*) FROM t GROUP BY s"])
    assert (len(compared), compared.coverage) == (3, 1.0)


def test_a_person_may_be_behind_every_suppressed_cell(tmp_path: object) -> None:
    release = generalized(table(), GROUPS, "suppression")
    assert sf.belief(release, {"x": 1}).rows == 4
    assert sf.belief(release, {"x": 99}).rows == 2
    assert sf.belief(release, {"x": None}).rows == 4


def test_a_missing_value_of_a_row_that_is_left_out_is_not_told() -> None:
    rows = {"x": [None, 1, 2, 2], "s": list("abab")}
    release = sf.publish(
        microdata(rows, sensitive=["s"]), Fixed((LEFT_OUT, 0, 0, 0)), sf.KAnonymity(2)
    )
    assert release.table.column_names == ["x_min", "x_max", "s"]
