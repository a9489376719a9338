"""Numbers of rows that come get the classes that they would have had from the beginning."""

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.statdb.updates.rows import alike

NUMBERS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False, width=64).filter(
        lambda x: x == 0 or 1e-300 < abs(x) < 1e300
    ),
    st.floats(-100, 100),
    st.integers(-(10**6), 10**6).map(float),
)


@given(st.lists(st.none() | NUMBERS, min_size=1, max_size=60), st.integers(2, 12))
def test_limits_are_read_off_the_classes(numbers: list[float | None], bins: int) -> None:
    table = pa.table({"x": pa.array(numbers, pa.float64()), "s": ["a"] * len(numbers)})
    schema = sf.Schema(quasi=["x"], sensitive="s", bins={"x": bins})
    own = sf.Microdata.from_arrow(table, schema)
    plain = sf.Microdata.from_arrow(table, sf.Schema(quasi=["x"], sensitive="s"))
    found = alike(schema, own.attributes, plain)
    assert found.attributes["x"].decode(found.codes["x"]) == (
        own.attributes["x"].decode(own.codes["x"])
    )
