"""Sets of leaves as "Professional except Lawyer", and back."""

from itertools import combinations
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.core.boxes import ValueSets
from sfumato.errors import QueryRefused, SchemaError
from sfumato.forms.except_texts import except_texts, has_exceptions, read_exceptions

TREE = sf.Taxonomy.from_nested(
    {
        "Any": {
            "Professional": ["Engineer", "Lawyer", "Doctor"],
            "Artist": ["Writer", "Dancer"],
            "a, b": ['say "except"', "x except y"],
        }
    }
)
LEAVES = len(TREE.leaves)


def table() -> sf.Microdata:
    jobs = {"Engineer": 2, "Doctor": 2, "Lawyer": 9, "Writer": 1, "Dancer": 9}
    rows = [job for job, count in jobs.items() for _ in range(count)]
    jobs_and = {"job": [*rows, None, None, None], "d": ["x", "y"] * 13}
    schema = sf.Schema(quasi=["job"], sensitive="d", taxonomies={"job": TREE})
    return sf.read(pa.table(jobs_and), schema)


def sets(lists: list[list[int]]) -> ValueSets:
    attribute = table().attributes["job"]
    starts = np.append(0, np.cumsum([len(one) for one in lists])).astype(np.int64)
    return ValueSets(attribute, starts, np.array([code for one in lists for code in one], np.int32))


@pytest.mark.parametrize(
    ("codes", "text"),
    [
        ([0, 2], "Professional except Lawyer"),
        ([0, 1, 2], "Professional"),
        ([1], "Lawyer"),
        ([0, 1, 2, 5, 6], "Any except Artist"),
        ([0, 2, 5, 6], "Any except Lawyer, Artist"),
        ([1, 4], "{Lawyer, Dancer}"),
        ([5, 6], '"a, b"'),
        ([0, 1, 2, 3, 4], 'Any except "a, b"'),
        ([0, 2, LEAVES], "Professional except Lawyer or missing"),
        ([LEAVES], None),
        ([6], '"x except y"'),
    ],
)
def test_a_set_reads_as_its_label_and_what_it_lacks(codes: list[int], text: str | None) -> None:
    assert except_texts(sets([codes]), TREE).to_pylist() == [text]


def test_every_set_has_a_text_of_its_own_and_comes_back() -> None:
    every = [
        list(chosen)
        for size in range(1, LEAVES + 2)
        for chosen in combinations(range(LEAVES + 1), size)
    ]
    texts = except_texts(sets(every), TREE)
    assert len(set(texts.to_pylist())) == len(every) == 2 ** (LEAVES + 1) - 1
    back = read_exceptions("job", TREE, texts)
    assert [
        back.codes[low:high].tolist()
        for low, high in zip(back.starts[:-1], back.starts[1:], strict=True)
    ] == every


def test_quoted_words_are_no_exceptions() -> None:
    assert not has_exceptions(pa.array(['"x except y"', "Artist", None]))
    assert has_exceptions(pa.array(["Artist except Dancer"]))


@pytest.mark.parametrize("cell", ["Moon except Lawyer", "Any except ", "{Moon}", "Any except a, b"])
def test_what_no_taxonomy_says_is_refused(cell: str) -> None:
    with pytest.raises(SchemaError, match="cannot be read"):
        read_exceptions("job", TREE, pa.array([cell]))


def test_a_sibling_release_can_be_read(tmp_path: Path) -> None:
    sets = sf.publish(table(), sf.Sibling(), sf.KAnonymity(3))
    texts = sf.publish(table(), sf.Sibling(), sf.KAnonymity(3), labels="text")
    assert "Professional except Lawyer" in texts.table["job"].to_pylist()
    texts.write(tmp_path / "out", format="csv")
    assert sf.verify(tmp_path / "out").require().ok
    assert texts.metrics["reconstruction_error"] == sets.metrics["reconstruction_error"]
    with pytest.raises(QueryRefused, match="made for reading"):
        texts.count("job = 'Engineer'")
