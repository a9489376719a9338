"""Audits find what is planted, hold their controls against it, and refuse what proves nothing."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.audits.attacks.frame import Candidates
from sfumato.audits.attacks.matching import Guesses
from sfumato.audits.attacks.outside import Outside, Studied, studied
from sfumato.audits.attacks.releases import candidates_of
from sfumato.audits.attacks.results import Accuracy, Outcome, Scene, Trial, shuffled
from sfumato.audits.audit.control import control_of, remade
from sfumato.audits.audit.findings import READ, Audit, Finding
from sfumato.audits.audit.study import shared
from sfumato.core.arrays import Ints
from sfumato.errors import DataError, OutputExists, ParameterError, SchemaError, SfumatoWarning
from tests.support.attacks import SCHEMA, planted
from tests.support.seeds import long_seed

PEOPLE, OTHERS = planted(3_000, 0.5, seed=1), planted(3_000, 0.5, seed=2)
MODEL = sf.LDiversity(4)
FAR = sf.publish(PEOPLE, sf.Anatomize(near=False), MODEL, seed=1)
NEAR = sf.publish(PEOPLE, sf.Anatomize(), MODEL, seed=1)


def found(release: sf.AnatomizedTables, *attacks: str, **more: object) -> Audit:
    return sf.audit(release, PEOPLE, attacks=attacks, seed=3, **more)  # type: ignore[arg-type]


def finding(release: sf.AnatomizedTables, attack: str, **more: object) -> Finding:
    (one,) = found(release, attack, **more).findings
    return one


@pytest.mark.parametrize(
    "attack", ["deFinetti", "logistic deFinetti", "studied deFinetti", "learner", "boosting"]
)
def test_who_learns_beats_the_promise_of_groups_of_anybody(attack: str) -> None:
    if attack == "boosting":
        pytest.importorskip("sklearn")
    one = finding(FAR, attack, others=OTHERS)
    assert one.outcome.attacker.right > 0.45 > 0.25 == one.outcome.bound
    assert one.outcome.valid
    assert one.outcome.control is not None
    assert one.outcome.control.right < 0.27


def test_groups_of_neighbours_tell_less() -> None:
    attacks = ("deFinetti", "learner", "studied deFinetti")
    near, far = found(NEAR, *attacks, others=OTHERS), found(FAR, *attacks, others=OTHERS)
    assert near.baseline == far.baseline
    for here, there in zip(near.findings, far.findings, strict=True):
        assert here.outcome.attacker.right < there.outcome.attacker.right - 0.05
    assert near.worst is not None
    assert near.worst.outcome.gain < 1.2
    assert not near.fails()


def test_half_of_the_table_is_studied_where_there_are_no_others() -> None:
    whole, half = finding(FAR, "learner", others=OTHERS), finding(FAR, "learner")
    assert half.outcome.attacker.n == 1_500
    assert whole.outcome.attacker.n == 3_000
    assert abs(half.outcome.attacker.right - whole.outcome.attacker.right) < 0.06


def test_whoever_knows_some_values_knows_more_of_the_others() -> None:
    plain, told = finding(FAR, "reader"), finding(FAR, "corruption", known=0.3)
    assert told.outcome.attacker.right > plain.outcome.attacker.right + 0.03
    assert told.outcome.valid
    assert told.outcome.chance > told.outcome.bound


def test_attackers_may_know_several_shares_of_the_values() -> None:
    seen = sf.audit(FAR, PEOPLE, others=OTHERS, known=[0.02, 0.3], control=False, time_limit=0.0)
    told = [one for one in seen.not_run if one.startswith("corruption")]
    assert told == [
        f"corruption {share}%{more}"
        for share in (2, 30)
        for more in ("", ", deFinetti", ", learner")
    ]
    few, many = found(
        FAR, "corruption 2%, deFinetti", "corruption 30%, deFinetti", known=[0.02, 0.3]
    ).findings
    assert many.outcome.attacker.right > few.outcome.attacker.right + 0.03
    assert few.outcome.attacker.n > many.outcome.attacker.n
    assert few.outcome.valid
    assert many.outcome.valid
    with pytest.raises(ParameterError, match="share of people"):
        sf.audit(FAR, PEOPLE, known=[0.1, -0.1])


def test_two_releases_of_the_same_people_tell_more_than_one() -> None:
    again = sf.publish(PEOPLE, sf.Anatomize(near=False), MODEL, seed=2)
    one = finding(FAR, "composition 2", releases=[again])
    plain = finding(FAR, "reader")
    assert one.outcome.attacker.right > plain.outcome.attacker.right + 0.15
    assert one.outcome.valid
    assert one.outcome.control is not None
    assert one.outcome.control.right < 0.27


class _Cheat:
    """Looks at the truth of whatever it attacks."""

    def __init__(self, *scenes: Scene) -> None:
        self.scenes = scenes

    def guess(self, candidates: Candidates, known: Ints | None = None) -> Guesses:
        truth = next(one.truth for one in self.scenes if one.candidates is candidates)
        return Guesses(truth, np.ones(len(truth)))


def test_an_attack_that_sees_the_truth_is_found_out_by_its_control() -> None:
    control = control_of(FAR.manifest, PEOPLE, 0)
    assert control is not None
    shown = Scene.of(candidates_of(FAR, PEOPLE), PEOPLE)
    mixed = Scene.of(candidates_of(control[0], control[1]), control[1])
    trial = Trial(shown, mixed)
    seen = trial.outcome(_Cheat(shown, mixed), baseline=0.1, bound=0.25)
    assert Finding("cheat", "", seen, 0).verdict == "invalid"
    assert trial.outcome(Outside(), baseline=0.1, bound=0.25).valid


@pytest.mark.parametrize(
    ("algorithm", "model", "form"),
    [
        (sf.Anatomize(size=40), sf.LDiversity(4), "anatomized"),
        (sf.Anatomize(near=False), sf.LDiversity(4), "permuted"),
        (sf.Mondrian(relaxed=True), sf.KAnonymity(5) & sf.DistinctLDiversity(3), "generalized"),
        (sf.Mondrian(target="illness"), sf.LDiversity(3), "generalized"),
        (sf.Mondrian(refine=2), sf.LDiversity(3), "generalized"),
        (sf.TopDown(), sf.LDiversity(2), "generalized"),
        (sf.Frontier(), sf.LDiversity(3), "generalized"),
    ],
    ids=["size", "permuted", "boxes", "target", "refined", "topdown", "frontier"],
)
def test_the_control_is_made_like_the_release(
    algorithm: sf.Mondrian, model: sf.LDiversity, form: str
) -> None:
    people = planted(400, 0.5, seed=5)
    release = sf.publish(people, algorithm, model, form=form, seed=1)  # type: ignore[call-overload]
    again = control_of(release.manifest, people, 7)
    assert again is not None
    control, mixed = again
    assert control.manifest.promise == release.manifest.promise
    assert control.manifest.algorithm == release.manifest.algorithm
    assert control.manifest.kind == form
    assert sorted(mixed.codes["illness"]) == sorted(people.codes["illness"])
    assert (mixed.codes["illness"] != people.codes["illness"]).mean() > 0.5
    assert (mixed.codes["place"] == people.codes["place"]).all()


def test_what_cannot_be_made_again_has_no_control() -> None:
    assert remade({"name": "own"}) is None
    assert remade({"name": "mondrian", "relaxed": "perhaps"}) is None
    workload = sf.Mondrian(workload=[sf.Query({"age": sf.at_most(40)})])
    release = sf.publish(PEOPLE, workload, sf.LDiversity(2))
    assert remade(release.manifest.algorithm) == sf.Mondrian()


def test_others_who_are_in_the_table_are_left_out() -> None:
    half = PEOPLE.take(np.arange(1_500))
    with (
        pytest.warns(SfumatoWarning, match=r"1,500 of 1,500 others seem to be people"),
        pytest.raises(DataError, match="nobody is left to study"),
    ):
        sf.audit(FAR, PEOPLE, others=half, seed=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # strangers who look alike are no reason to warn
        sf.audit(FAR, PEOPLE, others=OTHERS, attacks=["reader"], seed=1)


@pytest.mark.parametrize("many", [600, 1_500, 2_900])
def test_others_of_whom_some_are_in_the_table_are_left_out_as_many_as_they_are(many: int) -> None:
    """Strangers who look alike, and have the same value, stay."""
    some = np.arange(many), np.arange(3_000 - many)
    both = [one.take(rows) for one, rows in zip((PEOPLE, OTHERS), some, strict=True)]
    columns = {
        name: pa.concat_arrays([one.attributes[name].decode(one.codes[name]) for one in both])
        for name in PEOPLE.codes
    }
    mixed = sf.Microdata.from_arrow(pa.table(columns), SCHEMA)
    with pytest.warns(SfumatoWarning, match="of 3,000 others seem to be people") as caught:
        sf.audit(FAR, PEOPLE, others=mixed, attacks=["reader"], seed=1)
    said = str(caught[0].message).partition(" of ")[0].replace(",", "")
    assert abs(int(said) - many) < 150


@pytest.mark.parametrize("seed", range(10, 20))
def test_strangers_of_the_same_population_are_nobody_else(seed: int) -> None:
    shown = candidates_of(FAR, PEOPLE)
    people = Studied(shown.points[shown.person_points], Scene.of(shown, PEOPLE).truth)
    others = studied(shown, planted(3_000, 0.5, seed), "illness")
    assert not shared(others, people, shown).any()


def test_without_a_promise_about_guesses_the_plain_reader_is_the_measure() -> None:
    release = sf.publish(PEOPLE, sf.Mondrian(), sf.KAnonymity(5), seed=1)
    seen = sf.audit(release, PEOPLE, attacks=["reader"], seed=1)
    assert not seen.promised
    assert seen.bound == seen.findings[0].outcome.attacker.right
    assert "for a plain reader it is" in seen.summary
    assert "are guessed by a plain reader" in seen.findings[0].sentence
    assert "promised" not in seen.findings[0].sentence
    assert seen.findings[0].verdict == "not promised"
    assert not seen.findings[0].to_dict()["promised"]


@pytest.mark.parametrize(("right", "worse"), [(0.2, True), (0.3, False)])
def test_a_learner_who_does_worse_than_a_plain_reader_is_told_to(right: float, worse: bool) -> None:
    reached = Accuracy(400, right, 0.4, 0.1, 0.02)
    one = Finding("learner", "thinks", Outcome(reached, None, 0.1, 0.3, 0.3), 0, bound_is=READ)
    seen = Audit("it", "ill", 400, 0.3, False, 0.1, "nobody", (one,), {}, 1)
    told = "a plain reader does better and reaches 30 of 100"
    assert (told in seen.summary) == worse
    assert ("for a plain reader it is 30 of 100" in seen.summary) == (not worse)
    assert "people (give or take 4)" in seen.summary


def test_who_learns_more_than_a_plain_reader_is_told_whatever_is_promised() -> None:
    release = sf.publish(PEOPLE, sf.Anatomize(near=False), sf.DistinctLDiversity(4), seed=1)
    seen = sf.audit(release, PEOPLE, others=OTHERS, attacks=["learner"], seed=1)
    assert not seen.promised
    assert seen.findings[0].verdict == "beaten"


def test_what_is_stated_can_be_read_by_machines_and_written_once(tmp_path: Path) -> None:
    seen = found(FAR, "reader", "learner")
    page, figures = tmp_path / "audit.html", tmp_path / "audit.json"
    seen.write_html(page)
    seen.write_json(figures)
    assert json.loads(figures.read_text()) == json.loads(json.dumps(seen.to_dict()))
    text = page.read_text()
    assert all(one.name in text and one.verdict in text for one in seen.findings)
    for write in (seen.write_html, seen.write_json):
        with pytest.raises(OutputExists):
            write(page if write == seen.write_html else figures)
    seen.write_html(page, force=True)
    seen.write_json(figures, force=True)
    assert seen.summary in repr(seen)


def test_an_audit_can_be_repeated() -> None:
    first, second = (found(NEAR, "learner", "corruption").to_dict() for _ in range(2))
    for one in (*first["findings"], *second["findings"]):
        del one["seconds"]
    # the control is published anew, with chance of its own
    for one in (*first["findings"], *second["findings"]):
        del one["control"], one["chance_of_control"]
    assert first == second


def test_after_the_time_limit_no_attack_begins() -> None:
    seen = sf.audit(FAR, PEOPLE, time_limit=0.0, seed=1)
    assert not seen.findings
    assert "reader" in seen.not_run
    assert "nothing is proved" in seen.summary


def test_a_table_in_which_people_have_exchanged_their_values_is_refused() -> None:
    """Every count is right, and people have values that their groups have not."""
    mixed = shuffled(PEOPLE, 5)
    with pytest.raises(DataError, match="do not go together as they were published"):
        sf.audit(FAR, mixed, seed=1)


def test_others_need_the_columns_of_the_table() -> None:
    for gone in ("job", "illness"):
        kept = [name for name in ("age", "place", "job") if name != gone]
        columns = {name: [1] * 30 for name in {*kept, "illness"} - {gone}}
        schema = sf.Schema(quasi=kept, sensitive=[] if gone == "illness" else "illness")
        with pytest.raises(SchemaError, match=f"no column '{gone}' to study"):
            sf.audit(FAR, PEOPLE, others=sf.read(pa.table(columns), schema), seed=1)


def test_one_value_alone_is_known_to_everybody() -> None:
    rows = {"age": np.arange(300) % 30, "place": np.arange(300) % 7, "illness": ["flu"] * 300}
    people = sf.read(pa.table(rows), sf.Schema(quasi=["age", "place"], sensitive="illness"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SfumatoWarning)
        release = sf.publish(people, sf.Mondrian(), sf.KAnonymity(5), seed=long_seed(1))
    seen = sf.audit(release, people, seed=1)
    assert seen.valid
    assert seen.baseline == 1
    assert {one.outcome.attacker.right for one in seen.findings if one.guesses} == {1.0}
    assert not seen.fails()


def test_bad_input_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"no attack 'definetti'; did you mean 'deFinetti'"):
        found(FAR, "definetti")
    with pytest.raises(ParameterError, match="share of people"):
        sf.audit(FAR, PEOPLE, known=1.0)
    with pytest.raises(DataError, match="made of 3,000 rows and the table has 2,999"):
        sf.audit(FAR, PEOPLE.take(np.arange(2_999)))
    few = PEOPLE.take(np.arange(60))
    with pytest.raises(DataError, match="too few to say"):
        sf.audit(sf.publish(few, sf.Anatomize(), sf.LDiversity(2)), few)
    with pytest.raises(SchemaError, match="no sensitive column 'age'"):
        sf.audit(FAR, PEOPLE, sensitive="age")
