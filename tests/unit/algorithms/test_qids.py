"""Several QIDs: the model is kept on each set of columns alone, and verify can see it."""

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import sfumato as sf
from sfumato.algorithms.base import Partitioner
from sfumato.audits.audit.control import control_of
from sfumato.errors import ParameterError, ReleaseError, SchemaError, SfumatoError
from sfumato.models.base import Model
from sfumato.models.requirements import requirements
from tests.support.sealing import reseal
from tests.support.tables import microdata

QIDS = [["a", "b"], ["c"]]


def table() -> sf.Microdata:
    random = np.random.default_rng(5)
    rows = {name: random.integers(0, 5, 60) for name in "abc"}
    return microdata({**rows, "s": random.choice(list("xyz"), 60)}, sensitive=["s"])


def test_each_qid_is_safe_and_the_whole_need_not_be(tmp_path: Path) -> None:
    release = sf.publish(table(), sf.FullDomain(qids=QIDS), sf.KAnonymity(4))
    shown = release.table
    for names in (["a", "a_suppressed", "b", "b_suppressed"], ["c", "c_suppressed"]):
        counts = shown.group_by(names).aggregate([([], "count_all")])["count_all"].to_pylist()
        assert min(counts) >= 4
    assert release.metrics["group_sizes"]["smallest"] < 4
    release.write(tmp_path / "out")
    found = sf.verify(tmp_path / "out").require()
    assert [check.statement for check in found.checks[-2:]] == [
        "k-anonymity (k = 4) within a, b",
        "k-anonymity (k = 4) within c",
    ]


def test_a_broken_qid_is_told(tmp_path: Path) -> None:
    sf.publish(table(), sf.FullDomain(qids=QIDS), sf.KAnonymity(4)).write(tmp_path / "out")
    path = tmp_path / "out" / "release.json"
    stated = json.loads(path.read_text())
    stated["promise"][0]["within"] = ["a", "b", "c"]
    path.write_text(json.dumps(stated))
    reseal(path.parent)
    found = sf.verify(tmp_path / "out")
    assert not found.ok
    stated["promise"][0]["within"] = ["a", "moon"]
    path.write_text(json.dumps(stated))
    reseal(path.parent)
    assert not sf.verify(tmp_path / "out").ok


def test_a_quasi_identifier_in_no_qid_is_refused() -> None:
    with pytest.raises(ParameterError, match="'c' is in none of the QIDs"):
        sf.publish(table(), sf.FullDomain(qids=[["a", "b"]]), sf.KAnonymity(4))


def test_only_boxes_can_promise_it() -> None:
    with pytest.raises(ParameterError, match="generalized"):
        sf.publish(table(), sf.FullDomain(qids=QIDS), sf.LDiversity(2), form="anatomized")


@pytest.mark.parametrize("within", [3, "a", [1], {"a": 1}, []])
def test_a_promise_about_no_columns_is_broken(tmp_path: Path, within: object) -> None:
    sf.publish(table(), sf.FullDomain(qids=QIDS), sf.KAnonymity(4)).write(tmp_path / "out")
    path = tmp_path / "out" / "release.json"
    stated = json.loads(path.read_text())
    stated["promise"][0]["within"] = within
    path.write_text(json.dumps(stated))
    reseal(path.parent)
    assert not sf.verify(tmp_path / "out").ok


@pytest.mark.parametrize("rows", [-1, "many", None])
def test_a_number_of_left_out_rows_that_is_none_is_damage(tmp_path: Path, rows: object) -> None:
    sf.publish(table(), sf.Mondrian(), sf.KAnonymity(4)).write(tmp_path / "out")
    path = tmp_path / "out" / "release.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "suppressed": rows}))
    with pytest.raises(ReleaseError, match="damaged"):
        sf.load(tmp_path / "out")


METHODS = [
    sf.Mondrian(), sf.Mondrian(relaxed=True), sf.Mondrian(refine=1), sf.TopDown(), sf.Frontier(),
    sf.LocalRecoding(), sf.BranchMondrian(), sf.FullDomain(), sf.Subtree(), sf.Sibling(),
    sf.SingleDimensional(), sf.Anatomize(),
]  # fmt: skip
OVERLAPPING = [["a", "b"], ["b", "c"]]


def alike(release: sf.GeneralizedTable, names: list[str]) -> Counter[str]:
    """Rows that look alike on some columns, counted one by one."""
    columns = [c for one in release.manifest.columns if one.name in names for c in one.columns]
    return Counter(str(row) for row in release.table.select(columns).to_pylist())


@pytest.mark.parametrize("qids", [QIDS, OVERLAPPING, [["a"], ["b"], ["c"]], [["a", "b", "c"]]])
@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_every_method_keeps_the_model_of_each_qid(
    tmp_path: Path, method: Partitioner, qids: list[list[str]]
) -> None:
    models: list[Model] = [sf.KAnonymity(4), *(sf.KAnonymity(9) for _ in qids[1:])]
    if isinstance(method, sf.Anatomize):
        models = [sf.LDiversity(2)] * len(qids)
    pairs = list(zip(qids, models, strict=True))
    release = sf.publish(table(), sf.SeveralQIDs(method, pairs), models[0])
    for qid, model in pairs:
        if isinstance(model, sf.KAnonymity):
            assert min(alike(release, qid).values()) >= model.k
    release.write(tmp_path / "out")
    found = sf.verify(tmp_path / "out").require()
    assert f"within {', '.join(qids[-1])}" in found.checks[-1].statement
    shown = sorted(row["s"] for row in release.table.to_pylist())
    assert shown == sorted(table().attributes["s"].decode(table().codes["s"]).to_pylist())


def test_boxes_are_those_of_each_qid_alone() -> None:
    """By brute force: every QID divided by itself gives the same rows of the same boxes."""
    whole = sf.publish(table(), sf.SeveralQIDs(sf.Mondrian(), QIDS), sf.KAnonymity(4))
    for qid in QIDS:
        single = sf.publish(table().of_quasi(qid), sf.Mondrian(), sf.KAnonymity(4))
        assert alike(whole, qid) == alike(single, qid)
    assert whole.count("a <= 2 AND c = 1").lo <= table().count("a <= 2 AND c = 1").lo


def test_less_is_lost_than_with_all_columns_together() -> None:
    one = sf.publish(table(), sf.Mondrian(), sf.KAnonymity(4)).metrics["ncp"]
    several = sf.publish(table(), sf.SeveralQIDs(sf.Mondrian(), QIDS), sf.KAnonymity(4))
    assert several.metrics["ncp"] < one


def test_a_qid_may_promise_something_of_sensitive_values() -> None:
    qids = [(["a", "b"], sf.DistinctLDiversity(2)), (["c"], sf.KAnonymity(6))]
    release = sf.publish(table(), sf.SeveralQIDs(sf.Mondrian(), qids), sf.KAnonymity(6))
    assert [(p["model"], p["within"]) for p in release.manifest.promise] == [
        ("distinct-l-diversity", ["a", "b"]),
        ("k-anonymity", ["c"]),
    ]
    rows = release.table.to_pylist()
    boxes: dict[object, set[str]] = {}
    for row in rows:
        key = (row["a_min"], row["a_max"], row["b_min"], row["b_max"])
        boxes.setdefault(key, set()).add(row["s"])
    assert min(map(len, boxes.values())) >= 2


def test_an_audit_makes_its_control_in_the_same_way() -> None:
    qids = [(["a", "b"], sf.KAnonymity(4)), (["c"], sf.KAnonymity(9))]
    release = sf.publish(table(), sf.SeveralQIDs(sf.Mondrian(), qids), sf.KAnonymity(4))
    made = control_of(release.manifest, table(), 1)
    assert made is not None
    assert made[0].manifest.promise == release.manifest.promise


@pytest.mark.parametrize(
    ("qids", "error", "said"),
    [
        ([], ParameterError, "at least one QID"),
        ([["a", "b", "c"], []], ParameterError, "at least one column"),
        (["abc"], ParameterError, "at least one column"),
        ([["a", "a", "b", "c"]], ParameterError, "twice"),
        ([["a", "b", "c", "s"]], SchemaError, "'s', which is sensitive"),
        ([["a", "b", "c", "moon"]], SchemaError, "'moon', which is no quasi-identifier"),
        ([["a", "b"]], ParameterError, "'c' is in none of the QIDs"),
        ([(["a", "b", "c"], sf.KAnonymity(3))], ParameterError, "promised nowhere"),
    ],
)
def test_qids_that_mean_nothing_are_refused(
    qids: list[list[str]], error: type[SfumatoError], said: str
) -> None:
    with pytest.raises(error, match=said):
        sf.publish(table(), sf.SeveralQIDs(sf.Mondrian(), qids), sf.KAnonymity(4))


def test_full_domain_refuses_a_sensitive_column_too() -> None:
    with pytest.raises(SchemaError, match="'s', which is sensitive"):
        sf.publish(table(), sf.FullDomain(qids=[["a", "b", "c"], ["s"]]), sf.KAnonymity(4))


def test_what_cannot_be_kept_by_each_is_refused() -> None:
    with pytest.raises(ParameterError, match="left out"):
        sf.SeveralQIDs(sf.Subtree(suppress=0.1), QIDS)
    with pytest.raises(ParameterError, match="workload"):
        sf.SeveralQIDs(sf.Mondrian(workload=sf.range_workload(table(), queries=3, seed=1)), QIDS)
    with pytest.raises(ParameterError, match="of its own"):
        sf.SeveralQIDs(sf.FullDomain(qids=QIDS), QIDS)
    several = sf.SeveralQIDs(sf.Mondrian(), QIDS)
    with pytest.raises(ParameterError, match="no means"):
        sf.publish(table(), several, sf.KAnonymity(4), means=True)
    with pytest.raises(ParameterError, match="strictest"):
        sf.publish(table(), several, sf.LDiversity(2), form="anatomized")


def test_a_partition_by_all_columns_would_break_nothing_but_one_by_few_does() -> None:
    """The control: rows divided by a and b alone, shown by all columns, are not alike on c."""
    needs = requirements(sf.KAnonymity(4), table().schema)
    parted = sf.Mondrian().partition(table().of_quasi(["a", "b"]), needs, sf.Randomness(1))
    shown = table().codes["c"][parted.groups == 0]
    assert len(set(shown.tolist())) > 1


@pytest.mark.parametrize("change", ["method", "qids", "inner"])
def test_an_algorithm_that_is_told_otherwise_is_refused(tmp_path: Path, change: str) -> None:
    several = sf.SeveralQIDs(sf.Mondrian(), QIDS)
    sf.publish(table(), several, sf.KAnonymity(4)).write(tmp_path / "out")
    path = tmp_path / "out" / "release.json"
    stated = json.loads(path.read_text())
    told = stated["algorithm"]
    if change == "method":
        told["method"] = {"name": "a secret"}
    elif change == "inner":
        told["method"]["message"] = 7
    else:
        told["qids"] = [["a", "b", "c"]]
    path.write_text(json.dumps(stated))
    reseal(path.parent)
    assert not sf.verify(tmp_path / "out").ok
