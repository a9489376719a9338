"""The owner's words: from the schema file into the store, and back into a file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import sfumato as sf
from sfumato.errors import SchemaError

TEXT = """
title = "Wages \\"2024\\""
description = "A survey."
source = "Statistics Office"
quasi = ["age", "edu"]
sensitive = "wage"

[attributes.edu]
kind = "categorical"
label = "education"
names = { "1" = "school", "21" = "university" }

[attributes.wage]
unit = "euros a month"
"""


def test_words_go_round(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(TEXT)
    schema = sf.read_schema(tmp_path / "a.toml")
    words = schema.words
    assert (words.title, words.source) == ('Wages "2024"', "Statistics Office")
    assert words.label("edu") == "education"
    assert words.label("age") == "age"
    assert words.measured("wage") == "wage in euros a month"
    assert (words.name("edu", 21), words.name("edu", 3), words.name("age", 1)) == (
        "university",
        None,
        None,
    )
    sf.write_schema(tmp_path / "b.toml", schema)
    assert sf.read_schema(tmp_path / "b.toml") == schema
    rows = "age,edu,wage\n" + "".join(
        f"{20 + i % 9},{(1, 21)[i % 2]},{100 * (i % 5)}\n" for i in range(60)
    )
    (tmp_path / "rows.csv").write_text(rows)
    table = sf.read(tmp_path / "rows.csv", schema)
    made = sf.StatDB.create(tmp_path / "a.statdb", table, m=2)
    made.apply(deleted=table.take(np.arange(3)))
    assert sf.StatDB.open(made.path).responder.schema.words == words


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("title = 3", "the title is a text"),
        ("[attributes.age]\nlabel = []", "the label of 'age' is a text"),
        ("[attributes.age]\nunit = 1", "the unit of 'age' is a text"),
        ("[attributes.age]\nnames = 'x'", "names"),
        ('[attributes.age]\nnames = { "1" = 2 }', "the name of '1' in 'age' is a text"),
        ("[attributes.who]\nlabel = 'x'", "'who' has words of its own but no role"),
        ("[attributes.age]\nlabels = 'x'", "labels"),
    ],
)
def test_words_that_are_none(tmp_path: Path, line: str, message: str) -> None:
    top, _, rest = line.partition("[")
    text = f"{top}\nquasi = ['age']\nsensitive = 'wage'\n" + (f"[{rest}" if rest else "")
    (tmp_path / "a.toml").write_text(text)
    with pytest.raises(SchemaError, match=message):
        sf.read_schema(tmp_path / "a.toml")
