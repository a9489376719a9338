"""Audits of every form: verdicts from memory and from the folder alike, and controls that hold."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.forms.registry import FORMS
from tests.support.attacks import planted
from tests.support.seeds import long_seed

pytestmark = pytest.mark.filterwarnings("ignore::sfumato.errors.SfumatoWarning")
PEOPLE = planted(600, 0.5, seed=1)
MODEL = sf.LDiversity(3)
SEED = long_seed(1)
QIDS = [["age"], ["place", "job"]]


def listed() -> tuple[sf.Microdata, pa.Table]:
    columns = {name: PEOPLE.attributes[name].decode(codes) for name, codes in PEOPLE.codes.items()}
    everybody = pa.table({"person": np.arange(PEOPLE.n_rows), **columns})
    schema = sf.Schema(
        identifiers=["person"], quasi=PEOPLE.schema.quasi, sensitive="illness",
        kinds={"illness": "categorical"},
    )  # fmt: skip
    return sf.read(everybody.slice(0, 300), schema, id="person"), everybody


def published(algorithm: Any, model: Any = MODEL, **options: Any) -> Callable[[], Any]:
    return lambda: sf.publish(PEOPLE, algorithm, model, seed=SEED, **options)


RELEASES: dict[str, Callable[[], Any]] = {
    "generalized": published(sf.Mondrian()),
    "generalized, k": published(sf.Mondrian(), sf.KAnonymity(5)),
    "generalized, means": published(sf.Mondrian(), means=True),
    "generalized, sets": published(sf.Mondrian(), labels="sets"),
    "generalized, suppressed": published(sf.FullDomain(suppress=0.2), sf.KAnonymity(5)),
    "generalized, refined": published(sf.Mondrian(refine=1)),
    "generalized, target": published(sf.Mondrian(target="illness")),
    "generalized, QIDs": published(sf.SeveralQIDs(sf.Mondrian(), QIDS)),
    "anatomized": published(sf.Anatomize()),
    "permuted": published(sf.Anatomize(), form="permuted"),
    "perturbed": lambda: sf.perturb(PEOPLE, m=3, seed=SEED),
    "masked, microaggregate": lambda: sf.mask(PEOPLE, sf.Microaggregate(5), seed=SEED),
    "masked, noise": lambda: sf.mask(PEOPLE, sf.Noise(0.3), seed=SEED),
    "masked, swap": lambda: sf.mask(PEOPLE, sf.Swap(0.05), seed=SEED),
    "masked, synthesize": lambda: sf.mask(PEOPLE, sf.Synthesize(), seed=SEED),
    "joined": lambda: sf.publish_join(
        *listed(), sf.Refinement(sf.Mondrian()), sf.KJoinAnonymity(5), seed=SEED
    ),
}
QUICK = {
    "reader", "deFinetti", "learner", "nearest", "order", "lines", "numbers", "linkage",
    "seed search", "nearest rows", "order backwards", "places", "files",
}  # fmt: skip


@pytest.fixture(autouse=True)
def few_seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a search finds is tested elsewhere, and takes seconds."""
    monkeypatch.setattr(import_module("sfumato.audits.audit.probes"), "_SEEDS", 2**8)


def verdicts(release: Any, kind: str) -> dict[str, str]:
    people = listed()[0] if kind == "joined" else PEOPLE
    tried = sf.audit(release, people, control=False, time_limit=0.0, seed=1)
    chosen = sorted(QUICK & tried.not_run.keys())
    found = sf.audit(release, people, attacks=chosen, known=0.0, seed=1)
    assert found.valid, found.findings
    assert found.findings
    for one in found.findings:
        assert 0 <= one.outcome.attacker.right <= 1
        assert "of 100" in one.sentence or one.fails is not None
        assert "None" not in one.sentence
    assert "of 100" in found.summary
    assert "None" not in found.summary
    assert found.to_dict()["findings"]
    return {one.name: one.verdict for one in found.findings}


def test_every_form_is_here() -> None:
    assert {name.partition(",")[0] for name in RELEASES} == FORMS.keys()


@pytest.mark.parametrize("name", RELEASES)
def test_every_form_has_verdicts_that_its_files_have_too(name: str, tmp_path: Path) -> None:
    release, kind = RELEASES[name](), name.partition(",")[0]
    here, there = verdicts(release, kind), verdicts(release.write(tmp_path / "out"), kind)
    assert there.pop("files") == "held"
    if kind != "masked":
        assert here == there
        return
    assert here["nearest rows"] == there["nearest rows"] == "not promised"
    assert there.get("linkage", "held") == "held"
    assert ("linkage" in there) == ("microaggregate" in name)
