"""Hypothesis strategies: taxonomies, count vectors and whole tables."""

from typing import Any

from hypothesis import strategies as st

from sfumato.core.attribute import Attribute
from sfumato.core.microdata import Microdata
from sfumato.core.predicates import Compare, Missing, Not, Predicate, between, one_of
from sfumato.core.query import Query
from sfumato.core.taxonomy import Taxonomy
from tests.support.tables import microdata

# A declared order far larger than any drawn table: codes lie far apart.
SPARSE = tuple(range(0, 4000, 3))
WORDS = ("ash", "birch", "cedar", "elm", "fir", "oak")
RANKS = ("low", "middle", "high", "highest")


@st.composite
def nested_trees(draw: st.DrawFn, *, n_leaves: int | None = None) -> dict[str, Any]:
    """A nested taxonomy with leaves v0, v1, ... from left to right, of any shape."""
    wanted = draw(st.integers(1, 9)) if n_leaves is None else n_leaves
    numbers = iter(range(10_000))

    def below(first: int, last: int) -> Any:
        leaves = [f"v{leaf}" for leaf in range(first, last)]
        if len(leaves) == 1 or draw(st.booleans()):
            return leaves
        cut = draw(st.integers(first + 1, last - 1))
        return {f"n{next(numbers)}": below(*run) for run in ((first, cut), (cut, last))}

    return {"any": below(0, wanted)}


def taxonomies(n_leaves: int | None = None) -> st.SearchStrategy[Taxonomy]:
    return nested_trees(n_leaves=n_leaves).map(Taxonomy.from_nested)


@st.composite
def count_matrices(
    draw: st.DrawFn, *, max_groups: int = 4, max_width: int = 6, max_count: int = 9
) -> list[list[int]]:
    """Non-empty groups as lines of counts over the same values."""
    width = draw(st.integers(1, max_width))
    line = st.lists(st.integers(0, max_count), min_size=width, max_size=width).filter(any)
    return draw(st.lists(line, min_size=1, max_size=max_groups))


def _columns(n: int) -> dict[str, st.SearchStrategy[list[Any]]]:
    def rows(values: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
        return st.lists(values, min_size=n, max_size=n)

    return {
        "number": rows(st.integers(0, 6)),
        "gappy": rows(st.none() | st.sampled_from([-3.5, 0.0, 0.25, 100.0])),
        "sparse": rows(st.sampled_from(SPARSE)),
        "word": rows(st.sampled_from(WORDS)),
        "holed": rows(st.none() | st.sampled_from(WORDS)),
        "rank": rows(st.sampled_from(RANKS)),
    }


@st.composite
def tables(draw: st.DrawFn, *, max_rows: int = 30, ordered_only: bool = False) -> Microdata:
    """Up to three quasi-identifiers of any sort and two sensitive columns, d (text) and e."""
    n = draw(st.integers(1, max_rows))
    columns = _columns(n)
    names = [name for name in columns if not (ordered_only and name in ("word", "holed"))]
    quasi = draw(st.lists(st.sampled_from(names), min_size=1, max_size=3, unique=True))
    data: dict[str, Any] = {name: draw(columns[name]) for name in quasi}
    data["d"] = draw(st.lists(st.none() | st.sampled_from("abcde"), min_size=n, max_size=n))
    data["e"] = draw(st.lists(st.integers(1, 4), min_size=n, max_size=n))
    orders = {"sparse": SPARSE, "rank": RANKS}
    return microdata(
        data,
        sensitive=["d", "e"],
        orders={name: order for name, order in orders.items() if name in data},
    )


def _conditions(attribute: Attribute) -> st.SearchStrategy[Predicate]:
    """Any sort of predicate about values that occur, and some that do not."""
    domain: list[Any] = attribute.values.to_pylist()
    if not domain:
        return st.just(Missing())
    values = st.sampled_from(domain)
    simple = st.one_of(
        st.builds(one_of, st.lists(st.none() | values, max_size=4)),
        st.builds(Compare, st.sampled_from(["=", "<>", "<", "<=", ">", ">="]), values),
        st.builds(between, values, values),
        st.just(Missing()),
    )
    return simple | st.builds(Not, simple) | st.builds(Predicate.__or__, simple, simple)


@st.composite
def workloads(draw: st.DrawFn, table: Microdata, *, max_size: int = 6) -> list[Query]:
    """Queries about some of a table's columns."""
    columns = {name: _conditions(attribute) for name, attribute in table.attributes.items()}
    some = st.lists(st.sampled_from(sorted(columns)), max_size=3, unique=True)
    names = draw(st.lists(some, min_size=1, max_size=max_size))
    return [Query({name: draw(columns[name]) for name in asked}) for asked in names]
