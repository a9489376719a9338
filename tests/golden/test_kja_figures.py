"""The worked examples of the k-join-anonymity paper."""

from __future__ import annotations

import warnings

import pyarrow as pa
import pytest

import sfumato as sf

NAMES = list("ABCDEFG")
MT = pa.table(
    {
        "who": NAMES,
        "x": [1, 2, 1, 2, 3, 3, 5],
        "y": [1, 2, 4, 3, 1, 2, 4],
        "value": ["v1", "v2", "v1", "v2", "v1", "v2", "v3"],
    }
)
# Figure 1 prints nine of the twelve rows of PD; where U, V, X and Y lie is read off Figure 5b.
PD = pa.table(
    {
        "who": ["A", "B", "C", "E", "F", "G", "G1", "G2", "U", "V", "X", "Y"],
        "x": [1, 2, 1, 3, 3, 5, 5, 5, 1, 1, 5, 4],
        "y": [1, 2, 4, 1, 2, 4, 4, 4, 2, 3, 1, 2],
    }
)
SCHEMA = sf.Schema(identifiers=["who"], quasi=["x", "y"], sensitive="value")


def table() -> sf.Microdata:
    return sf.Microdata.from_arrow(MT, SCHEMA, id="who")


def boxes(release: sf.JoinRelease) -> set[tuple[int, int, int, int]]:
    columns = release.joined.select(["x_min", "x_max", "y_min", "y_max"]).to_pylist()
    return {tuple(line.values()) for line in columns}


def test_figure_2_has_a_perimeter_of_62() -> None:
    release = sf.publish(table(), sf.Mondrian(choose="round-robin"), sf.KAnonymity(3))
    found = {tuple(line.values()) for line in release.groups.to_pylist()}
    assert found == {(1, 2, 1, 4), (3, 5, 1, 4)}
    nobody = PD.slice(0, 0)
    with pytest.warns(sf.errors.SfumatoWarning, match="empty"):
        alone = sf.publish_join(
            table(), nobody, sf.Refinement(sf.Mondrian(choose="round-robin")), sf.KJoinAnonymity(3)
        )
    assert boxes(alone) == found
    assert alone.own is not None
    assert alone.own.perimeter == 62


@pytest.mark.parametrize("method", [sf.Direct, sf.Refinement])
def test_g_needs_no_generalization(method: type[sf.Direct] | type[sf.Refinement]) -> None:
    with warnings.catch_warnings(record=True) as said:  # Direct leaves sensitive values at home
        warnings.simplefilter("always")
        release = sf.publish_join(
            table(), PD, method(sf.Mondrian(choose="round-robin")), sf.KJoinAnonymity(3)
        )
    assert len(said) == (method is sf.Direct)
    assert (5, 5, 4, 4) in boxes(release)
    assert release.own is not None
    assert release.own.perimeter is not None
    assert release.own.perimeter < 62
    assert release.own.matching.shared == 6


def test_refinement_keeps_the_sensitive_groups_of_figure_6() -> None:
    release = sf.publish_join(
        table(), PD, sf.Refinement(sf.Mondrian(choose="round-robin")), sf.KJoinAnonymity(3)
    )
    listed: dict[int, list[str]] = {}
    for line in release.sensitive_groups.to_pylist():
        listed.setdefault(line["sensitive_group"], []).extend([line["value"]] * line["count"])
    assert sorted(listed.values()) == [["v1", "v1", "v2", "v2"], ["v1", "v2", "v3"]]


def test_z_is_dropped_from_the_group_of_l_m_y_and_z() -> None:
    """Figure 8: k = 3, and without the external row Z the box of L, M and Y is smaller."""
    people = pa.table({"who": ["L", "M"], "x": [2, 3], "y": [2, 4]})
    others = pa.table({"who": ["Y", "Z"], "x": [4, 9], "y": [3, 3]})
    schema = sf.Schema(identifiers=["who"], quasi=["x", "y"])
    small = sf.Microdata.from_arrow(people, schema, id="who")
    with pytest.warns(sf.errors.SfumatoWarning, match="nobody"):
        release = sf.publish_join(small, others, sf.Direct(sf.Mondrian()), sf.KJoinAnonymity(3))
    untrimmed = sf.Direct(sf.Mondrian(), trim=False)
    with pytest.warns(sf.errors.SfumatoWarning, match="nobody"):
        whole = sf.publish_join(small, others, untrimmed, sf.KJoinAnonymity(3))
    assert (boxes(release), release.manifest.rows) == ({(2, 4, 2, 4)}, 3)
    assert (boxes(whole), whole.manifest.rows) == ({(2, 9, 2, 4)}, 4)
