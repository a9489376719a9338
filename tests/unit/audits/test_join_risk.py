"""Risks of join releases: what is certain, what is likely, and that no claim is wrong."""

from __future__ import annotations

import json
import warnings
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.audits.breach import individual_breach
from sfumato.audits.evidence import evidence_of
from sfumato.audits.join_risk import edge_attack, join_risk
from sfumato.errors import DataError, ParameterError, SchemaError
from sfumato.forms.columns import Labels
from sfumato.forms.files import FileFormat

Method = sf.Direct | sf.Refinement
SCHEMA = sf.Schema(identifiers=["who"], quasi=["x", "y", "z"], sensitive="v")
TIGHT: list[Labels] = ["ranges", "sets"]


def released(
    people: pa.Table, inside: np.ndarray[Any, Any], method: Method, k: int, **options: Any
) -> tuple[sf.JoinRelease, sf.Microdata]:
    """People of whom those inside are the microdata, and all are the external table."""
    rows = people.take(pa.array(np.flatnonzero(inside)))
    values = pa.array([f"v{i % 3}" for i in range(rows.num_rows)])
    table = sf.Microdata.from_arrow(rows.append_column("v", values), SCHEMA, id="who")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return sf.publish_join(table, people, method, sf.KJoinAnonymity(k), **options), table


def crowd(n: int = 400, seed: int = 0) -> pa.Table:
    generator = np.random.default_rng(seed)
    return pa.table(
        {
            "who": np.arange(n),
            "x": generator.integers(0, 60, n),
            "y": generator.normal(0, 10, n).round(2),
            "z": generator.choice(list("abcdefgh"), n),
        }
    )


def some(n: int = 400, share: float = 0.2, seed: int = 1) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).random(n) < share


METHODS: list[Method] = [
    sf.Direct(sf.Mondrian()),
    sf.Direct(sf.Mondrian(), trim=False),
    sf.Refinement(sf.Mondrian()),
    sf.Refinement(sf.Mondrian(), trim=False),
    sf.Refinement(sf.Mondrian(relaxed=True)),
    sf.Direct(sf.Mondrian(relaxed=True)),
]


@st.composite
def crowds(draw: st.DrawFn) -> tuple[pa.Table, np.ndarray[Any, Any]]:
    """Few values, so that people share them."""
    n = draw(st.integers(6, 30))

    def column(values: st.SearchStrategy[Any]) -> list[Any]:
        return draw(st.lists(values, min_size=n, max_size=n))

    most = draw(st.sampled_from([2, 5, 30]))
    people = pa.table(
        {
            "who": np.arange(n),
            "x": pa.array(column(st.integers(0, most)), pa.int64()),
            "y": pa.array(column(st.sampled_from([0.0, 0.5, 1.0, 1e-300, 1e300]))),
            "z": column(st.sampled_from("abcd")),
        }
    )
    inside = np.array(column(st.booleans()))
    inside[: draw(st.integers(3, 6))] = True
    return people, inside


@pytest.mark.slow
@given(crowds(), st.sampled_from(METHODS), st.integers(2, 3), st.sampled_from(TIGHT), st.data())
@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
def test_everybody_whom_edges_name_is_in_the_microdata(
    crowd: tuple[pa.Table, np.ndarray[Any, Any]],
    method: Method,
    k: int,
    labels: Labels,
    data: st.DataObject,
) -> None:
    people, inside = crowd
    release, _ = released(people, inside, method, k, labels=labels)
    assume(next(evidence_of(release).flaws(), None) is None)  # such a release is not published
    named = edge_attack(release, people)
    assert inside[named].all()
    if isinstance(method, sf.Direct) and not method.trim:
        assert not len(named)
    # a list of more people, in another order, names nobody wrongly either
    order = data.draw(st.permutations(range(people.num_rows)))
    more = pa.concat_tables([people.take(pa.array(order)), people.slice(0, 3)])
    assert inside[more["who"].to_numpy()[edge_attack(release, more)]].all()


@pytest.mark.parametrize("labels", TIGHT)
@pytest.mark.parametrize(
    ("method", "least"),
    [
        (sf.Direct(sf.Mondrian()), 1),
        (sf.Refinement(sf.Mondrian()), 20),
        (sf.Refinement(sf.Mondrian(), trim=False), 20),
        (sf.Direct(sf.Mondrian(), trim=False), 0),
    ],
    ids=["direct", "refinement", "untrimmed refinement", "untrimmed direct"],
)
def test_edges_give_many_people_away(method: Method, least: int, labels: Labels) -> None:
    people, inside = crowd(), some()
    release, _ = released(people, inside, method, 5, labels=labels)
    named = edge_attack(release, people)
    assert inside[named].all()
    assert len(named) >= least
    if not least:
        assert not len(named)


def test_a_loaded_release_is_attacked_alike(tmp_path: Any) -> None:
    people, inside = crowd(), some()
    release, _ = released(people, inside, sf.Refinement(sf.Mondrian()), 5)
    forms: tuple[FileFormat, ...] = ("parquet", "csv")
    for form in forms:
        loaded = sf.load(release.write(tmp_path / form, format=form))
        assert isinstance(loaded, sf.JoinRelease)
        if form == "parquet":
            assert edge_attack(loaded, people).tolist() == edge_attack(release, people).tolist()
        else:  # a CSV file shows sets as texts, so fewer faces are seen
            assert set(edge_attack(loaded, people)) <= set(edge_attack(release, people))


def test_a_naive_reading_of_edges_would_claim_too_much() -> None:
    # control: that every face of a box is a microdata row's is wrong where only k lines are left
    people, inside = crowd(), some()
    release, _ = released(people, inside, sf.Direct(sf.Mondrian()), 5)
    promise = ({"model": "k-join-anonymity", "k": 1},)
    told = {field: getattr(release.manifest, field) for field in release.manifest.__slots__}
    naive = sf.JoinRelease(
        release.groups,
        release.group_of_row,
        release.sis,
        type(release.manifest)(**{**told, "promise": promise}),
    )
    assert not inside[edge_attack(naive, people)].all()


def test_people_who_are_not_listed_silence_the_attack() -> None:
    people, inside = crowd(), some()
    release, table = released(people, inside, sf.Refinement(sf.Mondrian()), 5)
    few = people.slice(0, 40)
    found = join_risk(release, table, few)
    assert found.lacking is not None
    assert found.lacking > 0
    assert found.exposed is not None
    assert len(found.exposed) < 10


@pytest.mark.parametrize("method", [METHODS[0], METHODS[2]], ids=["direct", "refinement"])
def test_lists_may_lack_values(method: Method) -> None:
    people, inside = crowd(), some()
    release, table = released(people, inside, method, 5)
    nothing = people.set_column(3, "z", pa.nulls(people.num_rows, pa.string()))
    holes = people.set_column(1, "x", pa.array([None] * 200 + people["x"].to_pylist()[200:]))
    with pytest.raises(DataError, match="no rows"):
        edge_attack(release, people.slice(0, 0))
    assert not len(edge_attack(release, nothing))
    assert join_risk(release, table, nothing).lacking == release.manifest.groups
    assert inside[edge_attack(release, holes)].all()


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_theorem_2_holds(method: Method) -> None:
    people, inside = crowd(), some()
    release, table = released(people, inside, method, 5)
    found = join_risk(release, table)
    assert found.kept
    assert found.bound == 0.2
    assert len(found.reidentification) == table.n_rows
    assert found.reidentification.max() <= 0.2
    assert found.listed_presence is None
    assert found.exposed is None


def covering(release: sf.JoinRelease, row: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        line
        for line in release.joined.to_pylist()
        if line["x_min"] <= row["x"] <= line["x_max"]
        and line["y_min"] <= row["y"] <= line["y_max"]
        and row["z"] in line["z"]
    ]


@pytest.mark.parametrize("refined", [True, False])
def test_chances_are_those_of_the_formulas(refined: bool) -> None:
    people, inside = crowd(), some()
    method = (sf.Refinement if refined else sf.Direct)(sf.Mondrian())
    release, table = released(people, inside, method, 5)
    more = pa.concat_tables([people, crowd(300, seed=9)])
    found = join_risk(release, table, more)
    assert found.listed_presence is not None
    assert found.known is refined
    lines = release.joined.to_pylist()
    everybody = more.to_pylist()
    for place in range(0, table.n_rows, 9):
        row = people.take(pa.array(np.flatnonzero(inside))).slice(place, 1).to_pylist()[0]
        covered = covering(release, row)
        assert found.reidentification[place] == pytest.approx(1 / len(covered))
        boxes = {str(line): line for line in covered}
        rows, listed = 0.0, 0.0
        for key, line in boxes.items():
            expected = _expected(release, lines, line, key) if refined else 1.0
            rows += expected
            inside_box = sum(1 for one in everybody if line in covering_of(line, one))
            listed += expected / inside_box
        assert found.presence[place] == pytest.approx(rows / len(covered))
        assert found.listed_presence[place] == pytest.approx(min(1, listed))


def covering_of(line: dict[str, Any], row: dict[str, Any]) -> list[dict[str, Any]]:
    fits = (
        line["x_min"] <= row["x"] <= line["x_max"]
        and line["y_min"] <= row["y"] <= line["y_max"]
        and row["z"] in line["z"]
    )
    return [line] if fits else []


def _expected(
    release: sf.JoinRelease, lines: list[dict[str, Any]], line: dict[str, Any], key: str
) -> float:
    group = line["sensitive_group"]
    here = [str(one) for one in lines if one["sensitive_group"] == group]
    rows = sum(
        record["count"]
        for record in release.sensitive_groups.to_pylist()
        if record["sensitive_group"] == group
    )
    n, boxes = len(here), len(set(here))
    return float(1 + (rows - boxes) * (here.count(key) - 1) / max(n - boxes, 1))


def test_a_larger_list_makes_presence_less_likely() -> None:
    people, inside = crowd(), some()
    release, table = released(people, inside, sf.Refinement(sf.Mondrian()), 5)
    same = join_risk(release, table, people)
    larger = join_risk(release, table, pa.concat_tables([people, crowd(4000, seed=7)]))
    assert same.listed_presence is not None
    assert larger.listed_presence is not None
    assert larger.listed_presence.mean() < same.listed_presence.mean()
    assert larger.exposed is not None
    assert same.exposed is not None
    assert len(larger.exposed) < len(same.exposed)


def test_columns_of_the_list_may_have_other_names() -> None:
    people, inside = crowd(), some()
    release, table = released(people, inside, sf.Refinement(sf.Mondrian()), 5)
    other = people.rename_columns(["id", "alter", "y", "z"])
    names = {"x": "alter", "who": "id"}
    assert edge_attack(release, other, names).tolist() == edge_attack(release, people).tolist()
    found = join_risk(release, table, other, columns=names)
    assert found.exposed is not None
    with pytest.raises(SchemaError, match="'x'"):
        edge_attack(release, other)


def test_results_are_readable_by_people_and_machines() -> None:
    people, inside = crowd(), some()
    release, table = released(people, inside, sf.Direct(sf.Mondrian()), 5)
    found = join_risk(release, table, people)
    stated = json.loads(json.dumps(found.to_dict()))
    assert stated["exposed"] > 0
    assert stated["presence_known"] is False
    assert stated["reidentification"]["largest"] <= 0.2
    assert "at least" in str(found)
    assert "edges of boxes" in str(found)


def test_what_is_asked_wrongly_is_refused() -> None:
    people, inside = crowd(), some()
    release, table = released(people, inside, sf.Refinement(sf.Mondrian()), 5)
    with pytest.raises(ParameterError, match="join_risk"):
        individual_breach(release, table)
    plain = sf.publish(table, sf.Mondrian(), sf.KAnonymity(5))
    with pytest.raises(ParameterError, match="individual_breach"):
        join_risk(plain, table)
    other, _ = released(people, ~inside, sf.Refinement(sf.Mondrian()), 5)
    with pytest.raises(DataError, match="rows"):
        join_risk(other, table)


def test_the_report_says_that_somebody_is_surely_in_the_table() -> None:
    columns = {"id": list(range(20)), "x": [1, 2, 3, 4] * 5}
    schema = sf.Schema(identifiers=["id"], quasi=["x"])
    table = sf.Microdata.from_arrow(pa.table(columns), schema, id="id")
    far = pa.table({"id": list(range(100, 140)), "x": [9] * 40})  # nobody near the microdata
    with pytest.warns(sf.errors.SfumatoWarning, match="nobody"):
        release = sf.publish_join(table, far, sf.Refinement(sf.Mondrian()), sf.KJoinAnonymity(5))
    seen = sf.evaluate(release, table, queries=5, seed=1)
    assert seen.presence == 1.0
    assert any("known to be in the table" in one.figure for one in seen.advice)
    many = pa.table({"id": list(range(2_000)), "x": [1, 2, 3, 4] * 500})
    hidden = sf.publish_join(table, many, sf.Refinement(sf.Mondrian()), sf.KJoinAnonymity(5))
    seen = sf.evaluate(hidden, table, queries=5, seed=1)
    assert seen.presence is not None
    assert seen.presence < 0.2
    assert not any("known to be in the table" in one.figure for one in seen.advice)


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_whoever_is_in_no_box_is_certainly_absent(method: Method) -> None:
    """Counted once more, box by box; and nobody of the microdata is among them."""
    people, inside = crowd(), some()
    release, table = released(people, inside, method, 5)
    found = join_risk(release, table, people)
    boxes = release.groups.to_pylist()
    outside = [
        not any(
            box["x_min"] <= one["x"] <= box["x_max"]
            and box["y_min"] <= one["y"] <= box["y_max"]
            and one["z"] in box["z"]
            for box in boxes
        )
        for one in people.to_pylist()
    ]
    assert found.absent == sum(outside) > 0
    assert not (np.array(outside) & inside).any()
    assert f"not in the microdata: {found.absent}" in str(found)
    assert found.to_dict()["absent"] == found.absent


def test_an_audit_with_a_list_says_who_is_in_and_who_is_not() -> None:
    people, inside = crowd(), some(share=0.3)
    release, table = released(people, inside, sf.Refinement(sf.Mondrian()), 5)
    risk = join_risk(release, table, people)
    assert risk.mistaken == 0
    found = sf.audit(release, table, listed=people, seed=1)
    outcomes = {one.name: one for one in found.findings}
    assert list(outcomes) == ["linkage", "presence", "absence"]
    assert outcomes["linkage"].verdict == "held"
    named, absent = outcomes["presence"], outcomes["absence"]
    assert risk.exposed is not None
    assert named.outcome.attacker.right == len(risk.exposed) / table.n_rows > 0
    assert absent.outcome.attacker.right == risk.absent / (400 - table.n_rows)  # type: ignore[operator]
    assert named.verdict == absent.verdict == "not promised"
    assert not found.fails()
    without = sf.audit(release, table, seed=1)
    assert [one.name for one in without.findings] == ["linkage"]
    assert "--list" in without.not_run["presence"]


def test_untrimmed_boxes_name_nobody_and_prove_absence() -> None:
    people, inside = crowd(), some(share=0.3)
    release, table = released(people, inside, sf.Direct(sf.Mondrian(), trim=False), 5)
    found = {one.name: one for one in sf.audit(release, table, listed=people).findings}
    assert found["presence"].verdict == "held"
    assert found["absence"].verdict == "not promised"


def test_claims_that_the_table_contradicts_prove_nothing() -> None:
    """The list names others, who seem to hold up edges alone."""
    people, inside = crowd(), some(share=0.3)
    release, table = released(people, inside, sf.Refinement(sf.Mondrian()), 5)
    strangers = crowd(4_000, seed=9)
    risk = join_risk(release, table, strangers)
    assert risk.mistaken is not None
    assert risk.mistaken > 0
    found = {one.name: one for one in sf.audit(release, table, listed=strangers).findings}
    assert found["presence"].verdict == "invalid"


def test_a_list_is_for_joins_only() -> None:
    table = released(crowd(), some(), sf.Refinement(sf.Mondrian()), 5)[1]
    plain = sf.publish(table, sf.Mondrian(), sf.KAnonymity(5))
    with pytest.raises(ParameterError, match="leave it out"):
        sf.audit(plain, table, listed=crowd())
