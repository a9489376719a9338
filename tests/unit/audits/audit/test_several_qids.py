"""A promise to a set of columns is held against who knows that set, and no other."""

from __future__ import annotations

import pytest

import sfumato as sf
from sfumato.audits.audit.qids import qids_of
from tests.support.attacks import planted

PEOPLE = planted(1_500, 0.5, seed=1)
QIDS = [["age"], ["place", "job"]]
MODEL = sf.LDiversity(3) & sf.KAnonymity(5)


@pytest.fixture(scope="module")
def found() -> sf.Audit:
    way = sf.SeveralQIDs(sf.Mondrian(), QIDS)
    release = sf.publish(PEOPLE, way, MODEL, seed=1)
    assert qids_of(release.manifest) == QIDS
    attacks = [
        "reader", "learner", "linkage", *(f"linkage ({', '.join(names)})" for names in QIDS),
    ]  # fmt: skip
    return sf.audit(release, PEOPLE, attacks=attacks, seed=1)


def test_every_qid_has_a_verdict_of_its_own(found: sf.Audit) -> None:
    assert found.valid
    seen = {one.name: one for one in found.findings}
    for names in QIDS:
        by = ", ".join(names)
        reader, learner = seen[f"reader ({by})"].outcome, seen[f"learner ({by})"].outcome
        assert reader.bound == learner.bound == pytest.approx(1 / 3)
        assert reader.attacker.right <= 1 / 3 + 4 * reader.attacker.noise
        assert learner.gain < 1.2
        assert seen[f"reader ({by})"].who.startswith(f"knows {by} alone")
        assert seen[f"linkage ({by})"].outcome.bound == 0.2
        assert seen[f"linkage ({by})"].verdict == "held"
    age, both = (seen[f"learner ({by})"].outcome.baseline for by in ("age", "place, job"))
    assert age < both - 0.2, "who knows the age alone knows less without the release, too"


def test_nothing_is_promised_to_who_knows_all_columns(found: sf.Audit) -> None:
    seen = {one.name: one for one in found.findings}
    assert not found.promised
    assert seen["reader"].outcome.attacker.right > 1 / 3 + 0.1
    assert "guessed by a plain reader" in seen["reader"].sentence
    assert "several QIDs" in found.not_run["linkage"]


def test_one_qid_of_all_columns_is_no_qid() -> None:
    way = sf.SeveralQIDs(sf.Mondrian(), [["age", "place", "job"]])
    release = sf.publish(PEOPLE, way, MODEL, seed=1)
    assert qids_of(release.manifest) == []
    seen = sf.audit(release, PEOPLE, attacks=["reader", "linkage"], seed=1)
    assert seen.promised
    assert [one.name for one in seen.findings] == ["reader", "linkage"]
