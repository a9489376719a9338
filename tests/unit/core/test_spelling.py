import sys
import unicodedata

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from sfumato.core.attribute import encode
from sfumato.core.spelling import folded, require_one_spelling, spelled
from sfumato.errors import DataError, SfumatoWarning


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("flu", "flu"),
        (" flu\t", "flu"),
        ("flu\u00a0", "flu"),
        ("fl\u200bu", "flu"),
        ("\ufeffflu", "flu"),
        ("fl\u00adu", "flu"),
        ("grippe\u0301e", "gripp\u00e9e"),
        ("e\u200d\u0301", "\u00e9"),
        ("flu\ufe0f", "flu"),
        ("flu\U000e0100", "flu"),
        ("f\u034flu", "flu"),
        ("flu\u180b", "flu"),
        ("flu\u17b4", "flu"),
        ("flu\u3164", "flu"),
        ("flu\uffa0", "flu"),
        ("fl\x01u", "flu"),
        ("flu\x7f", "flu"),
        ("flu\x00", "flu"),
        ("flu\x9f", "flu"),
        (" \x00 flu", "flu"),
        ("a\tb\nc", "a\tb\nc"),
        ("½ m², ﬂ ｆ", "½ m², ﬂ ｆ"),
        ("\u200b", None),
        ("", None),
        (None, None),
    ],
)
def test_what_looks_alike_is_one_text(written: str | None, read: str | None) -> None:
    once = folded(pa.array([written], pa.string()))
    assert once.to_pylist() == [read]
    assert folded(once).equals(once)
    assert written is None or spelled(written) == (read or "")


def test_half_of_a_character_is_nobodys() -> None:
    assert spelled("\ud800 ") == "\ud800 "


def test_spellings_are_one_value_before_anything_counts_them() -> None:
    column = pa.chunked_array([["flu", "flu ", "fl\u200bu", " ", None, "cold"]])
    attribute, codes = encode("disease", column)
    assert attribute.values.to_pylist() == ["cold", "flu"]
    assert codes.tolist() == [1, 1, 1, 2, 2, 0]


def test_a_declared_order_is_read_like_the_column() -> None:
    column = pa.chunked_array([["caf\u00e9", "tea"]])
    attribute, codes = encode("drink", column, order=["tea ", "cafe\u0301"])
    assert attribute.values.to_pylist() == ["tea", "caf\u00e9"]
    assert codes.tolist() == [1, 0]


@pytest.mark.parametrize("other", ["020", "20.0", "+20", "2e1", "20."])
def test_one_number_in_two_spellings_is_refused(other: str) -> None:
    with pytest.raises(DataError, match="as numbers they are one value"):
        require_one_spelling("code", ["7", "20", other])


def test_codes_that_are_no_numbers_may_look_similar() -> None:
    require_one_spelling("code", ["V20", "V020", "20", "21", "nan", "inf", "Infinity", None, 20])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("flu", "ｆlu"),
        ("flu", "ﬂu"),
        ("flu", "flu\u2800"),
        ("x y", "x\u00a0y"),
        ("x y", "x\ty"),
        ("x y", "x  y"),
        ("x y", "x\u3000y"),
        ("x\u2003y", "x\u2028y"),
    ],
)
def test_texts_that_look_alike_are_refused(one: str, other: str) -> None:
    with pytest.raises(DataError, match="they look alike"):
        require_one_spelling("disease", [one, "cold", other])


def test_signs_that_stand_for_others_and_look_otherwise_may_stay() -> None:
    require_one_spelling("unit", ["m2", "m²", "H₂O", "H2O", "1/2", "½", "1⁄2", "1", "①", "m²/½"])


def test_no_unseen_character_of_unicode_is_left() -> None:
    """Cf and Cc by Python's own tables; blanks stay, as they are seen inside a text."""
    unseen = [
        letter
        for letter in map(chr, range(sys.maxunicode + 1))
        if unicodedata.category(letter) in ("Cc", "Cf") and not letter.isspace()
    ]
    written = pa.array([f"fl{letter}u" for letter in unseen], pa.string())
    assert pc.unique(folded(written)).to_pylist() == ["flu"]


def test_capital_letters_are_worth_a_word() -> None:
    with pytest.warns(SfumatoWarning, match="'Flu' and 'flu'"):
        require_one_spelling("disease", ["Flu", "flu"])
