"""Several QIDs: the model is kept on each set of columns alone, and verify can see it."""

import json
from pathlib import Path

import numpy as np
import pytest

import sfumato as sf
from sfumato.errors import ParameterError, ReleaseError
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
