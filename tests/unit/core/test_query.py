import pytest

import sfumato as sf
from sfumato.core.predicates import OneOf
from sfumato.core.query import COUNT, Aggregate, Query
from sfumato.errors import ParameterError


def test_a_list_with_none_wants_missing_values_too() -> None:
    assert Query({"a": [1, None]}).where["a"] == sf.one_of([1]) | sf.Missing()
    assert Query({"a": [None]}).where["a"] == sf.Missing()
    assert Query({"a": []}).where["a"] == OneOf(())


def test_equal_queries_are_equal_whatever_their_place_in_a_text() -> None:
    one = Query({"a": sf.Compare("=", 3, at=7)}, places={"a": 5})
    other = Query({"a": sf.Compare("=", 3)})
    assert one == other
    assert hash(one) == hash(other)
    assert one != Query({"a": sf.Compare("=", 4)})


def test_aggregates_are_called_like_themselves() -> None:
    assert (COUNT.name, Aggregate("avg", "age").name) == ("count", "avg_age")
    assert Aggregate("sum", "x", "total").name == "total"


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Query({"a": "flu"}), "a list of values"),
        (lambda: Query(select=[]), "at least one aggregate"),
        (lambda: Query(select=[COUNT, COUNT]), "two columns 'count'"),
        (lambda: Query(by=["count_lo"]), "two columns 'count_lo'"),
        (lambda: Query(by=["a", "a"]), "two columns 'a'"),
        (lambda: Aggregate("median", "a"), "one of count, sum"),
        (lambda: Aggregate("sum"), "sum of what"),
        (lambda: sf.Compare("~", 3), "one of =, <>"),  # type: ignore[arg-type]
        (lambda: sf.Compare("=", None), "use Missing"),
        (lambda: OneOf([None]), "use Missing"),
    ],
)
def test_nonsense_is_refused(make: object, said: str) -> None:
    assert callable(make)
    with pytest.raises(ParameterError, match=said):
        make()


def test_answers_say_what_is_sure() -> None:
    answer = sf.Answer(2.5, 2, 4)
    assert 3 in answer
    assert 5 not in answer
    assert (answer.width, answer.exact) == (2, False)
    assert str(answer) == "about 2.5, surely from 2 to 4"
    assert str(sf.Answer(3.0, 3, 3)) == "3 exactly"
    nothing = sf.Answer(None, None, None, nullable=True)
    assert str(nothing) == "no row qualifies"
    assert (nothing.width, 0 in nothing) == (None, False)
