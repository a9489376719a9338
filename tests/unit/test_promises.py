"""What may be promised: nothing empty, nothing that a form cannot bear, nothing without a word."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.errors import ParameterError, SfumatoWarning
from sfumato.verbs import perturb
from tests.support.sealing import reseal

EXPOSED = "ignore:.* people are in groups where one value"


def table(n: int = 60) -> sf.Microdata:
    """Everybody of an age has one illness."""
    rows = pa.table(
        {"age": [i // 6 for i in range(n)], "ill": [f"ill {i // 6 % 5}" for i in range(n)]}
    )
    return sf.Microdata.from_arrow(rows, sf.Schema(quasi=["age"], sensitive="ill"))


@pytest.mark.parametrize(
    "empty",
    [
        lambda: sf.KAnonymity(1),
        lambda: sf.KJoinAnonymity(1),
        lambda: sf.LDiversity(1),
        lambda: sf.DistinctLDiversity(1),
        lambda: sf.EntropyLDiversity(1),
        lambda: sf.RecursiveLDiversity(3.0, 1),
        lambda: sf.TCloseness(1),
        lambda: sf.TCloseness(1.5),
    ],
)
def test_what_promises_nothing_is_refused(empty: Callable[[], object]) -> None:
    with pytest.raises(ParameterError, match="promises nothing"):
        empty()


@pytest.mark.parametrize("engine", ["memory", "stream"])
@pytest.mark.parametrize("method", [sf.FullDomain(), sf.Subtree()], ids=str)
def test_what_is_lost_for_want_of_a_taxonomy_is_told(
    method: Any, engine: Any, tmp_path: Path
) -> None:
    rows = pa.table({"age": [i % 20 for i in range(60)], "ill": ["flu", "cold", "gout"] * 20})
    pq.write_table(rows, tmp_path / "t.parquet")
    schema = sf.Schema(quasi=["age"], sensitive="ill")
    tree = {"age": sf.interval_taxonomy(0, 20, widths=(10,))}
    known = sf.Schema(quasi=["age"], sensitive="ill", taxonomies=tree)

    def made(said: sf.Schema, algorithm: Any, name: str) -> None:
        sf.publish_file(
            tmp_path / "t.parquet", said, algorithm, sf.KAnonymity(6), tmp_path / name,
            engine=engine,
        )  # fmt: skip

    with pytest.warns(SfumatoWarning, match=r"nothing is left of 'age': .* taxonomy as it is"):
        made(schema, method, "without")
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        made(known, method, "with")
        made(schema, sf.Mondrian(), "boxes")
    assert not [one for one in heard if "taxonomy" in str(one.message)]


@pytest.mark.filterwarnings("error::sfumato.errors.SfumatoWarning")
def test_a_promise_that_is_empty_in_effect_is_told_with_its_people() -> None:
    with pytest.warns(SfumatoWarning, match=r"60 of 60 people .* \(60 where it has all\)"):
        sf.publish(table(), sf.Mondrian(), sf.TCloseness(0.97))
    # the control: the same people under a promise that means something
    sf.publish(table(), sf.Mondrian(), sf.LDiversity(2))


def test_noise_that_changes_nothing_is_told() -> None:
    with pytest.warns(SfumatoWarning, match="about 5[89] of 60 people"):
        perturb(table(), p=0.97)


@pytest.mark.parametrize("form", ["anatomized", "permuted"])
def test_k_is_no_promise_where_rows_are_exact(form: str, tmp_path: Path) -> None:
    both = sf.KAnonymity(5) & sf.LDiversity(2)
    for model in (sf.KAnonymity(5), both):
        with pytest.raises(ParameterError, match="not a promise of this form"):
            sf.publish(table(), sf.Mondrian(), model, form=form)  # type: ignore[call-overload]
    with pytest.raises(ParameterError, match="not a promise of this form"):
        sf.publish(table(), sf.Anatomize(), both)
    # a release that was made before says so still, and verify says that it is none
    folder = sf.publish(table(), sf.Mondrian(), sf.LDiversity(2), form=form).write(tmp_path / "out")  # type: ignore[call-overload]
    path = folder / "release.json"
    stated = json.loads(path.read_text())
    stated["promise"].insert(0, {"model": "k-anonymity", "k": 5})
    path.write_text(json.dumps(stated, indent=2, ensure_ascii=False) + "\n")
    reseal(folder)
    broken = {check.statement: check.detail for check in sf.verify(folder).checks if not check.kept}
    assert "not a promise of this form" in broken["k-anonymity"]


def test_old_and_new_promises_stand_beside_each_other() -> None:
    """A generalized release bears both, of course."""
    made = sf.publish(table(), sf.Mondrian(), sf.KAnonymity(5) & sf.LDiversity(2))
    assert [one["model"] for one in made.manifest.promise] == ["k-anonymity", "l-diversity"]


def test_every_sensitive_column_is_promised_where_rows_are_exact() -> None:
    rows = pa.table({"age": range(40), "ill": ["a", "b"] * 20, "job": ["x", "y", "z", "w"] * 10})
    people = sf.Microdata.from_arrow(rows, sf.Schema(quasi=["age"], sensitive=["ill", "job"]))
    with pytest.raises(ParameterError, match="nothing is promised of 'job'"):
        sf.publish(people, sf.Mondrian(), sf.LDiversity(2, on="ill"), form="permuted")
    sf.publish(people, sf.Mondrian(), sf.LDiversity(2), form="permuted")


@pytest.mark.filterwarnings("error::sfumato.errors.SfumatoWarning")
def test_k_alone_is_told_whom_it_leaves_exposed(tmp_path: Path) -> None:
    with pytest.warns(SfumatoWarning, match=r"whatever is promised, 60 of 60 people"):
        made = sf.publish(table(), sf.Mondrian(), sf.KAnonymity(3))
    assert sf.verify(made.write(tmp_path / "out")).ok


def test_verify_tells_it_of_promises_about_values(tmp_path: Path) -> None:
    made = sf.publish(table(), sf.Mondrian(), sf.TCloseness(0.97))
    checks = sf.verify(made.write(tmp_path / "out")).require().checks
    assert "60 of 60 people" in checks[-1].detail


def test_a_release_without_other_columns_is_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SFUMATO_STATE", str(tmp_path / "state"))
    rows = pa.table({"age": [i // 6 for i in range(60)]})
    people = sf.Microdata.from_arrow(rows, sf.Schema(quasi=["age"]))
    sf.publish(people, sf.Mondrian(), sf.KAnonymity(3)).write(tmp_path / "one")
    with pytest.warns(SfumatoWarning, match="published already"):
        sf.publish(people, sf.Mondrian(), sf.KAnonymity(7)).write(tmp_path / "two")


def test_a_state_folder_inside_of_the_release_is_not_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SFUMATO_STATE", str(tmp_path / "out" / "state"))
    with pytest.warns(SfumatoWarning, match="lies inside of the release"):
        sf.publish(table(), sf.Mondrian(), sf.KAnonymity(3)).write(tmp_path / "out")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "generalized.parquet", "release.json",
    ]  # fmt: skip
