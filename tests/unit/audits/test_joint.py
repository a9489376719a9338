"""The divergence of joint distributions, against its definition."""

from typing import Any

import numpy as np
import pytest

import sfumato as sf
from sfumato.audits.evaluation import joint
from sfumato.audits.evaluation.joint import Joint, joints_of
from sfumato.engines.parts import TableParts
from tests.support.releases import anatomized, generalized
from tests.support.tables import microdata

ROWS = {
    "a": [1, 2, 3, 4, 5, 6, 7, 8],
    "b": [*"xyxyxyxx"],
    "s": [*"uvwuvwuu"],
}


def table() -> sf.Microdata:
    return microdata(ROWS, sensitive=["s"])


def found(release: Any, data: sf.Microdata) -> Joint:
    (one,) = joints_of(release, TableParts.of(data), {})
    return one


@pytest.mark.parametrize("make", [anatomized, generalized])
def test_it_is_what_the_definition_says(make: Any) -> None:
    groups = [0, 0, 0, 1, 1, 1, 2, 2] if make is generalized else [0, 0, 0, 1, 1, 1, 0, 1]
    release = make(table(), groups)
    rows = [*zip(*ROWS.values(), strict=True)]
    bits = alone = 0.0
    for a, b, s in rows:
        condition = f"a = {a} AND b = '{b}' AND s = '{s}'"
        bits += np.log2(1 / release.count(condition).estimate)
        marginals = [sum(row[j] == value for row in rows) / 8 for j, value in enumerate((a, b, s))]
        alone += np.log2(1 / 8 / np.prod(marginals))
    one = found(release, table())
    assert one.divergence == pytest.approx(bits / 8)
    assert one.marginals == pytest.approx(alone / 8)


def test_what_is_published_exactly_is_not_off() -> None:
    assert found(generalized(table(), range(8)), table()).divergence == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_it_is_never_negative(seed: int) -> None:
    groups = np.unique(np.random.default_rng(seed).integers(0, 4, 8), return_inverse=True)[1]
    for make in (anatomized, generalized):
        assert found(make(table(), groups.tolist()), table()).divergence >= -1e-9


def test_a_sample_of_people_comes_close(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(1)
    rows = {name: generator.integers(0, 12, 3000).tolist() for name in "abs"}
    data = microdata(rows, sensitive=["s"])
    release = sf.publish(data, sf.Mondrian(), sf.KAnonymity(20))
    whole = found(release, data)
    monkeypatch.setattr(joint, "_PEOPLE", 500)
    some = found(release, data)
    assert some.divergence != whole.divergence
    assert some.divergence == pytest.approx(whole.divergence, abs=0.15)


def test_rows_that_are_left_out_may_be_anything() -> None:
    data = microdata({"a": [*"xy" * 20, "z"], "s": [*"uv" * 20, "w"]}, sensitive=["s"])
    release = sf.publish(data, sf.FullDomain(suppress=0.1), sf.KAnonymity(2))
    assert release.manifest.suppressed == 1
    assert 0 < found(release, data).divergence < 1


def test_perturbed_releases_have_none() -> None:
    assert joints_of(sf.perturb(table(), p=0.5), TableParts.of(table()), {}) == ()
