"""Seeds can be searched: an attacker with the files of a release tries one after the other.

The attack needs the published files, this library, and the order of the owner's table, which is
sorted by a number that everybody knows. Which groups Anatomize makes depends on the seed and on how
often each value occurs, which the files tell. So the attacker publishes an invented table with the
same values, sorted: with the right seed its groups have the values of the files' groups. In a
permuted release rows and values of a group are shuffled by words of their rows, so both shuffles
can be made again, and lead from each row to its value. In an anatomized one the seed tells of every
value of a group the how-manieth of its kind it was; rows and values in their order are a guess that
is right far more often than 1/l.

Short seeds are the control on which all of this must succeed; the release says so itself.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

import sfumato as sf
from sfumato.core.partition import Partition
from sfumato.core.randomness import Randomness
from sfumato.core.seeds import SHORT, Seed
from sfumato.forms.form import ROWS as ROW_WORDS
from tests.support.seeds import long_seed
from tests.support.tables import microdata

L, ROWS, SEARCHED = 5, 2000, 150
SMALL = 137  # a seed that the search reaches
Form = Literal["permuted", "anatomized"]
# what people do to make a small number long
OBVIOUS: dict[str, Callable[[int], Seed]] = {
    "as it is": lambda n: n,
    "digits": lambda n: f"{n:040}",
    "above 2**128": lambda n: 2**128 + n,
    "shifted": lambda n: n << 128 | 1,
    "hashed": long_seed,
}


def table() -> sf.Microdata:
    """People in the order of their numbers; diseases are not equally frequent."""
    random = np.random.default_rng(4)
    weights = np.array([16, 14, 13, 12, 10, 7, 7, 7, 7, 7]) / 100
    diseases = random.choice(list("abcdefghij"), ROWS, p=weights)
    return microdata(
        {"person": np.arange(ROWS), "disease": diseases},
        quasi=["person"],
        sensitive=["disease"],
    )


def published(of: sf.Microdata, form: Form, seed: Seed | None) -> Any:
    return sf.publish(of, sf.Anatomize(near=False), sf.LDiversity(L), form=form, seed=seed)


def groups_of(release: Any) -> list[list[str]]:
    """The values of each group, by its number."""
    apart = release.as_anatomized() if release.manifest.kind == "permuted" else release
    found: dict[int, list[str]] = {}
    for line in apart.st.to_pylist():
        found.setdefault(line["group_id"], []).extend([line["disease"]] * line["count"])
    return [sorted(found[number]) for number in sorted(found)]


def invented(release: Any) -> sf.Microdata:
    """As many rows of every value as the files show, sorted by value, with their row number."""
    values = Counter(value for group in groups_of(release) for value in group)
    diseases = [value for value in sorted(values) for _ in range(values[value])]
    return microdata(
        {"person": range(len(diseases)), "disease": diseases},
        quasi=["person"],
        sensitive=["disease"],
    )


def found_seed(release: Any, candidates: Iterable[Seed]) -> tuple[Seed, Any] | None:
    """The seed that makes the files' groups of the invented table, and its release, if one does.

    Their numbers hang on the rows, and are not compared.
    """
    seen, form = sorted(groups_of(release)), release.manifest.kind
    for seed in candidates:
        made = published(invented(release), form, seed)
        if sorted(groups_of(made)) == seen:
            return seed, made
    return None


def opened_permuted(release: Any, seed: Seed, made: Any) -> dict[int, str]:
    """Who has which value: both shuffles of every group made again, by the words of its rows."""
    people, groups = (release.table[name].to_numpy() for name in ("person", "group_id"))
    of_row = np.empty(ROWS, np.int32)
    of_row[people] = groups - 1
    partition, randomness = Partition.of(of_row), Randomness(seed)
    shown = partition.published_order(randomness.key(ROW_WORDS).half_words(np.arange(ROWS)))
    hidden = partition.published_order(randomness.half_words(ROWS))
    assert shown.tolist() == people.tolist()
    return dict(zip(hidden.tolist(), release.table["disease"].to_pylist(), strict=True))


def opened_anatomized(release: Any, seed: Seed, made: Any) -> dict[int, str]:
    """Who probably has which value: of a group, the first row with the value that came first.

    Groups are found again by their values, and by where in the table their rows should stand.
    """
    rows = made.qit["person"].to_pylist()
    diseases = [value for value, n in sorted(_sizes(made).items()) for _ in range(n)]
    share = [at / n for _, n in sorted(_sizes(made).items()) for at in range(n)]
    likely: dict[int, list[tuple[float, str]]] = {}
    for group, row in zip(made.qit["group_id"].to_pylist(), rows, strict=True):
        likely.setdefault(group, []).append((share[row], diseases[row]))
    by_values: dict[tuple[str, ...], list[list[tuple[float, str]]]] = {}
    for values in likely.values():
        by_values.setdefault(tuple(sorted(v for _, v in values)), []).append(sorted(values))
    members: dict[int, list[int]] = {}
    people = release.qit["person"].to_pylist()
    for group, person in zip(release.qit["group_id"].to_pylist(), people, strict=True):
        members.setdefault(group, []).append(person)
    told: dict[int, str] = {}
    for held, (_, own) in zip(groups_of(release), sorted(members.items()), strict=True):
        places = sorted(own)
        fitting = min(
            by_values[tuple(held)],
            key=lambda one: sum(abs(at * ROWS - row) for (at, _), row in zip(one, places)),  # noqa: B905
        )
        told |= {person: value for person, (_, value) in zip(places, fitting, strict=True)}
    return told


def _sizes(release: Any) -> Counter[str]:
    return Counter(value for group in groups_of(release) for value in group)


def share_right(told: dict[int, str]) -> float:
    """The share of people whose value is the true one."""
    owner = table()
    people = owner.attributes["person"].values.to_numpy()[owner.codes["person"]]
    values = owner.attributes["disease"].values.to_pylist()
    codes = owner.codes["disease"]
    truth = {int(one): values[code] for one, code in zip(people, codes, strict=True)}
    assert told.keys() == truth.keys()
    return float(np.mean([told[person] == truth[person] for person in truth]))


OPENED: dict[Form, Callable[[Any, Seed, Any], dict[int, str]]] = {
    "permuted": opened_permuted,
    "anatomized": opened_anatomized,
}


@pytest.mark.parametrize(("form", "least"), [("permuted", 1.0), ("anatomized", 0.8)])
def test_a_short_seed_is_found_and_the_release_opened(
    tmp_path: Path, form: Form, least: float
) -> None:
    release = sf.load(published(table(), form, SMALL).write(tmp_path / "out", experiment=True))
    assert release.manifest.seed == SHORT  # whoever gets the files is told
    found = found_seed(release, range(SEARCHED))
    assert found is not None
    assert share_right(OPENED[form](release, *found)) >= least


def test_what_a_permuted_release_shows_is_no_better_than_a_blind_guess() -> None:
    shown = published(table(), "permuted", SMALL).table
    told = dict(zip(shown["person"].to_pylist(), shown["disease"].to_pylist(), strict=True))
    assert abs(share_right(told) - 1 / L) < 4 * np.sqrt(1 / L * (1 - 1 / L) / ROWS)


@pytest.mark.parametrize("form", ["permuted", "anatomized"])
@pytest.mark.parametrize("kind", ["none", "new", "hashed", "passphrase"])
def test_a_long_seed_is_not_found_from_the_files(tmp_path: Path, form: Form, kind: str) -> None:
    seeds: dict[str, Seed | None] = {
        "none": None,
        "new": sf.new_seed(),
        "hashed": long_seed(SMALL),
        "passphrase": f"{SMALL} correct horses",
    }
    release = sf.load(published(table(), form, seeds[kind]).write(tmp_path / "out"))
    assert release.manifest.seed is None
    assert found_seed(release, range(SEARCHED)) is None


def repeated(release: Any, of: sf.Microdata, candidates: Iterable[Seed]) -> bool:
    """Whether somebody who has the very table finds a seed that makes the same release of it."""
    made = (published(of, "permuted", seed).table for seed in candidates)
    return any(release.table.equals(one) for one in made)


def test_whoever_has_the_table_finds_what_small_numbers_lead_to_and_no_new_seed() -> None:
    owner = table()
    candidates = [make(n) for make in OBVIOUS.values() for n in range(SMALL - 20, SMALL + 1)]
    for make in OBVIOUS.values():  # also a hash: length can be checked, chance cannot
        assert repeated(published(owner, "permuted", make(SMALL)), owner, candidates)
    assert not repeated(published(owner, "permuted", sf.new_seed()), owner, candidates)
    assert not repeated(published(owner, "permuted", None), owner, candidates)


@pytest.mark.parametrize("how", sorted(OBVIOUS.keys() - {"hashed"}))
def test_small_numbers_in_disguise_are_not_written(tmp_path: Path, how: str) -> None:
    release = published(table(), "permuted", OBVIOUS[how](SMALL))
    with pytest.raises(sf.errors.ParameterError, match="seed is short") as caught:
        release.write(tmp_path / "out")
    assert caught.value.parameter == "seed"
    assert not (tmp_path / "out").exists()
