"""What a notebook shows and keeps: short HTML that fetches nothing, and shows nobody."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.core.html import card, grid, safe
from sfumato.errors import ParameterError
from tests.unit.test_reprs import HELD, MARK, PEOPLE, SCHEMA, TABLE, anatomized, generalized

SHOWN = (
    "table", "generalized", "anatomized", "permuted", "perturbed", "masked", "join release",
    "verification", "audit", "evaluation", "exploration", "risk", "answer", "likely",
)  # fmt: skip
ASKED = ("result",)  # an answer names the groups that were asked for
LONGEST = 12_000
VOID = {"rect"}


class Balanced(HTMLParser):
    """Raises at a tag that is not closed, or closed without having been opened."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        self.seen.add(tag)
        assert not {name for name, _ in attrs} & {"src", "href", "onclick", "onload"}

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.slow
@pytest.mark.parametrize("name", [*SHOWN, *ASKED])
def test_a_notebook_shows_short_html_and_nobody(name: str, tmp_path: Path) -> None:
    shown = HELD[name](tmp_path)._repr_html_()
    assert len(shown) <= LONGEST
    assert not {"script", "img", "link", "iframe"} & Balanced(shown).seen
    assert not re.search(r"https?:|url\(", shown)
    if name not in ASKED:
        assert MARK not in shown


def test_a_schema_tells_roles_and_how_much_is_declared() -> None:
    shown = SCHEMA._repr_html_()
    Balanced(shown)
    assert MARK not in shown
    assert "values in order" in shown
    assert "a taxonomy" in shown


def test_an_answer_is_drawn_where_it_is_not_exact() -> None:
    assert "<svg" in sf.Answer(2.5, 2, 3)._repr_html_()
    assert "<svg" not in sf.Answer(2, 2, 2)._repr_html_()
    assert "no row qualifies" in sf.Answer(None, None, None)._repr_html_()
    assert "<svg" not in sf.Answer("b", "a", "c")._repr_html_()


def test_long_results_end_with_how_many_more_there_are() -> None:
    shown = TABLE.query("SELECT disease, COUNT(*) FROM t GROUP BY disease")._repr_html_()
    assert f"{len(TABLE.attributes['disease'].values) - 20:,} more" in shown


def test_names_from_the_data_are_harmless() -> None:
    shown = card("<script>", grid(["<script>", "n"], [("<img src=x>", 1)]))
    assert not {"script", "img"} & Balanced(shown).seen
    assert "\u202e" not in safe("\u202eevil")


def test_sets_in_a_frame_are_texts_that_group() -> None:
    release = generalized()
    frame = release.to_pandas()
    assert len(frame) == release.manifest.rows
    sizes = frame.groupby(["age_min", "age_max", "job", "town"], dropna=False).size()
    assert sorted(sizes.to_list()) == sorted(release.sizes.tolist())
    assert frame["job"].str.fullmatch(r"\{.*\}").all()
    grouped = release.to_polars().group_by("age_min", "age_max", "job", "town").len()
    assert sorted(grouped["len"].to_list()) == sorted(release.sizes.tolist())


@pytest.mark.parametrize(
    "name", ["generalized", "anatomized", "permuted", "perturbed", "masked", "join release"]
)
def test_every_release_becomes_a_frame_of_its_first_table(name: str, tmp_path: Path) -> None:
    release: Any = HELD[name](tmp_path)
    frame = release.to_polars()
    assert isinstance(frame, pl.DataFrame)
    assert len(release.to_pandas()) == len(frame)
    assert list(release.to_pandas().columns) == frame.columns
    assert not any(isinstance(kind, pl.List) for kind in frame.dtypes)


def test_tables_about_one_column_are_asked_for_by_its_name() -> None:
    release = anatomized()
    assert list(release.to_pandas("disease").columns) == ["group_id", "disease", "count"]
    assert int(np.sum(release.to_pandas("disease")["count"])) == PEOPLE.num_rows
    with pytest.raises(ParameterError, match="one for disease"):
        release.to_pandas("age")
