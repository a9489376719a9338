"""One file per sensitive column, also where two names are one to the system."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.forms import published
from sfumato.forms.file_names import stems_found, stems_of
from sfumato.forms.registry import Release
from sfumato.models.base import AllOf
from sfumato.verbs import perturb

N = 40
NAMES = ["A", "a", "caf\u00e9", "cafe\u0301", "stra\u00dfe", "STRASSE", "a~2", "con", "a:b?", "x."]
ILLEGAL = set('/\\<>:"|?*\0\n')


def as_systems_see(stem: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFKD", stem).casefold())


def test_names_stay_as_they_were_where_they_can() -> None:
    assert stems_of("st", ["disease"]) == ("st",)
    assert stems_of("st", ["disease", "Income"]) == ("st_disease", "st_Income")
    assert stems_of("st", ["a/b", "50%"]) == ("st_a%2Fb", "st_50%25")


def test_names_that_are_one_to_a_system_are_numbered() -> None:
    assert stems_of("st", ["A", "a", "a~2"]) == ("st_A", "st_a~2", "st_a~2~2")


@given(st.lists(st.text(min_size=1, max_size=300), min_size=2, max_size=12, unique=True))
def test_no_two_files_are_one_and_every_name_is_legal(names: list[str]) -> None:
    clean = [name.encode("utf-8", "ignore").decode() or "x" for name in names]
    stems = stems_of("st", clean)
    assert len({as_systems_see(stem) for stem in stems}) == len(names)
    for stem in stems:
        assert not ILLEGAL & set(stem)
        assert len(f"{stem}.parquet".encode()) < 255


def releases() -> list[Release]:
    table = pa.table(
        {
            "q": [i % 8 for i in range(N)],
            **{name: [f"v{i % (3 + k % 2)}" for i in range(N)] for k, name in enumerate(NAMES)},
        }
    )
    microdata = sf.read(table, sf.Schema(quasi=["q"], sensitive=NAMES))
    model = AllOf(tuple(sf.DistinctLDiversity(2, on=name) for name in NAMES))
    people = table.append_column("id", pa.array(range(N)))
    own = sf.read(people, sf.Schema(identifiers=["id"], quasi=["q"], sensitive=NAMES), id="id")
    method = sf.Refinement(sf.Mondrian())
    return [
        sf.publish(microdata, sf.Mondrian(), model, form="anatomized"),
        perturb(microdata, p=0.4),
        sf.publish_join(own, people.select(["id", "q"]), method, sf.KJoinAnonymity(4)),
    ]


@pytest.mark.parametrize("place", range(3))
def test_a_release_has_a_file_for_each(place: int, tmp_path: Path) -> None:
    made = releases()[place]
    folder = made.write(tmp_path / "out")
    found = [as_systems_see(path.name) for path in folder.iterdir()]
    assert len(set(found)) == len(NAMES) + 2
    sf.verify(folder).require()
    for here, there in zip(made.tables[1:], sf.load(folder).tables[1:], strict=True):
        assert here.equals(there)


@pytest.mark.parametrize("place", range(3))
def test_a_release_of_before_is_read(
    place: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its files are called like their columns, whatever a system takes them for."""

    def before(prefix: str, names: list[str]) -> tuple[str, ...]:
        return tuple(f"{prefix}_{name}" for name in names)

    made = releases()[place]
    with monkeypatch.context() as patched:
        patched.setattr(published, "stems_of", before)
        folder = made.write(tmp_path / "out")
        assert any(path.name.endswith("_a.parquet") for path in folder.iterdir())
    sf.verify(folder).require()
    loaded = sf.load(folder)
    for here, there in zip(made.tables[1:], loaded.tables[1:], strict=True):
        assert here.equals(there)
    again = loaded.write(tmp_path / "again")
    assert sorted(path.name for path in again.iterdir()) == sorted(
        ["release.json", *(f"{stem}.parquet" for stem in made.stems)]
    )


def test_files_of_neither_kind_are_missed() -> None:
    assert stems_found("st", ["A", "a"], lambda stem: stem == "st_A") == ("st_A", "st_a~2")
    assert stems_found("st", ["A", "a"], lambda stem: stem in ("st_A", "st_a")) == ("st_A", "st_a")
