"""Candidates of each form of release, against what breach says of the same release."""

from __future__ import annotations

import numpy as np
import pytest

import sfumato as sf
from sfumato.audits.attacks.definetti import DeFinetti
from sfumato.audits.attacks.frame import known_people
from sfumato.audits.attacks.matching import posterior
from sfumato.audits.attacks.outside import Outside
from sfumato.audits.attacks.releases import candidates_of
from sfumato.audits.attacks.results import Accuracy, Trial, shuffled, true_values
from sfumato.errors import ParameterError
from sfumato.forms.registry import Release
from tests.support.attacks import planted
from tests.support.tables import microdata

PEOPLE = planted(1_500, 0.5, seed=4)


def published(people: sf.Microdata, form: str, seed: int = 1) -> Release:
    algorithm = sf.Mondrian() if form == "generalized" else sf.Anatomize()
    return sf.publish(people, algorithm, sf.LDiversity(3), form=form, seed=seed)  # type: ignore[call-overload,no-any-return]


@pytest.mark.parametrize("form", ["anatomized", "permuted", "generalized"])
def test_without_knowledge_guesses_are_as_sure_as_beliefs(form: str) -> None:
    """All published values of all rows that fit a person, each as often as it occurs (Theorem 1).

    So a guess is held for as likely as breach says, and is right as often.
    """
    release = published(PEOPLE, form)
    candidates = candidates_of(release, PEOPLE)
    found = Outside().guess(candidates)
    columns = {a.name: a.decode(PEOPLE.codes[a.name]).to_pylist() for a in PEOPLE.quasi}
    attribute = candidates.values.attribute
    assert attribute is not None
    for person in range(0, 1_500, 50):
        known = {name: values[person] for name, values in columns.items()}
        believed = sf.belief(release, known)
        assert np.isclose(found.confidence[person], believed.largest, atol=1e-3)
        value = attribute.values[int(found.values[person])].as_py()
        assert np.isclose(believed.probabilities[value], believed.largest, atol=1e-3)


@pytest.mark.parametrize("form", ["anatomized", "permuted", "generalized"])
def test_claims_take_all_that_is_published_and_no_more(form: str) -> None:
    candidates = candidates_of(published(PEOPLE, form), PEOPLE)
    assert candidates.totals.sum() == 1_500 == candidates.values.counts.sum()
    assert candidates.weights().sum() == 1_500
    cells = candidates.cells()
    mass = posterior(candidates, np.zeros(len(cells.slots)))
    given = np.bincount(cells.slots, mass, len(candidates.values.counts))
    assert np.allclose(given, candidates.values.counts, rtol=0.05, atol=0.05)
    truth = true_values(candidates, PEOPLE)
    assert (truth >= 0).all()


def test_permuted_rows_say_what_qit_and_st_say() -> None:
    found = {
        form: Accuracy.of(
            DeFinetti().guess(candidates := candidates_of(published(PEOPLE, form), PEOPLE)),
            true_values(candidates, PEOPLE),
        ).right
        for form in ("anatomized", "permuted")
    }
    assert found["anatomized"] > 0.45
    assert abs(found["anatomized"] - found["permuted"]) < 0.06


@pytest.mark.parametrize("form", ["anatomized", "generalized"])
def test_the_control_keeps_the_promise(form: str) -> None:
    trial = Trial.of(PEOPLE, lambda people: candidates_of(published(people, form), people))
    found = trial.outcome(DeFinetti(), baseline=1 / 8, bound=1 / 3)
    assert found.valid
    assert found.control is not None
    assert found.attacker.right > found.control.right + 0.1


def test_who_lies_in_several_boxes_may_be_in_any_of_them() -> None:
    """Relaxed cuts part equal rows, so that boxes touch."""
    table = microdata(
        {"age": [1, 2, 2, 2, 2, 3], "x": ["a", "b", "c", "d", "e", "f"]},
        quasi=["age"],
        sensitive=["x"],
    )
    release = sf.publish(table, sf.Mondrian(relaxed=True), sf.KAnonymity(3), seed=1)
    candidates = candidates_of(release, table)
    assert not candidates.apart
    assert np.diff(candidates.groups.starts).tolist() == [1, 2, 1]
    assert candidates.totals.tolist() == [1, 4, 1]
    found = Outside().guess(candidates)
    assert np.allclose(found.confidence[[0, 5]], 1 / 3, atol=0.01)
    assert np.allclose(found.confidence[1:5], 1 / 6, atol=0.01)


def test_the_truth_is_not_looked_at() -> None:
    """The same release with other values in the table of people: the same guesses."""
    release = published(PEOPLE, "anatomized")
    first = DeFinetti().guess(candidates_of(release, PEOPLE))
    second = DeFinetti().guess(candidates_of(release, shuffled(PEOPLE, 9)))
    assert (first.values == second.values).all()


def test_a_release_without_groups_is_refused() -> None:
    release = sf.perturb(PEOPLE, m=4, seed=1)
    with pytest.raises(ParameterError, match="groups"):
        candidates_of(release, PEOPLE)


def test_known_people_have_nothing_but_their_quasi_identifiers() -> None:
    known = known_people(PEOPLE)
    assert [*known.codes] == [*known.attributes] == [*PEOPLE.schema.quasi]
    assert known.schema.sensitive == ()
    assert known.insensitive.num_columns == 0
    assert known.ids is None
    assert (known.quasi_codes() == PEOPLE.quasi_codes()).all()
