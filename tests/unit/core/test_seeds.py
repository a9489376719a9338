import hashlib
from typing import Any

import numpy as np
import pytest

import sfumato as sf
from sfumato.core.randomness import Randomness
from sfumato.core.seeds import SHORT, Seed, require_written, stated_seed
from sfumato.errors import ParameterError
from tests.support.seeds import long_seed

PHRASE = "three yellow submarines, diving"
LONG: list[Seed] = [long_seed(1), long_seed(1) >> 128, long_seed(1).to_bytes(32, "big"), PHRASE]


def test_new_seeds_are_long_and_never_the_same() -> None:
    seeds = [sf.new_seed() for _ in range(100)]
    assert len(set(seeds)) == 100
    assert all(seed.bit_length() == 256 and stated_seed(seed) is None for seed in seeds)


@pytest.mark.parametrize("seed", [None, *LONG])
def test_nothing_is_said_of_a_long_seed(seed: Seed | None) -> None:
    assert stated_seed(seed) is None
    require_written(stated_seed(seed), experiment=False)


@pytest.mark.parametrize(
    "seed",
    [
        0,
        7,
        np.int64(7),
        "7",
        " 7\n",
        2**64 - 1,
        long_seed(1) >> 129,  # 127 bits
        2**127,
        2**128 + 7,
        7 << 200,
        int.from_bytes(bytes(range(1, 8)) * 3, "big"),  # 7 different bytes
        "0" * 40 + "7",
    ],
)
def test_a_short_number_is_stated_and_written_as_an_experiment_only(seed: Seed) -> None:
    assert stated_seed(seed) == SHORT
    require_written(SHORT, experiment=True)
    with pytest.raises(ParameterError, match=r"new_seed\(\).*experiment=True") as caught:
        require_written(SHORT, experiment=False)
    assert caught.value.parameter == "seed"


@pytest.mark.parametrize(
    ("seed", "said"),
    [
        ("short", "5 characters"),
        ("", "0 characters"),
        ("fifteen letters", "15 characters"),
        ("abababababababababab", "2 of them different"),
        (b"fifteen letters", "15 bytes"),
        (bytes(16), "1 of them different"),
        (b"", "0 bytes"),
        (-1, "not -1"),
        (1.5, "float"),
        ("9" * 5000, "5000 digits"),
    ],
)
def test_what_can_be_guessed_is_no_seed_at_all(seed: Any, said: str) -> None:
    with pytest.raises(ParameterError, match=said) as caught:
        Randomness(seed)
    assert caught.value.parameter == "seed"
    with pytest.raises(ParameterError, match=said):
        stated_seed(seed)


def test_no_message_shows_a_passphrase() -> None:
    with pytest.raises(ParameterError) as caught:
        Randomness("hunter2 hunter2")
    assert "hunter2" not in str(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize("seed", LONG)
def test_a_long_seed_repeats_its_words(seed: Seed) -> None:
    assert Randomness(seed).words(20).tolist() == Randomness(seed).words(20).tolist()


def test_every_bit_of_a_long_seed_counts() -> None:
    seed = long_seed(1)
    flipped = (seed ^ 1 << bit for bit in range(256))
    seeds: list[Seed] = [seed, *flipped, seed.to_bytes(32, "big"), seed << 8]
    assert len({Randomness(one).words(1)[0] for one in seeds}) == len(seeds)


def test_digits_are_the_number_wherever_they_are_typed() -> None:
    seed = long_seed(3)
    assert Randomness(f"{seed}\n").words(4).tolist() == Randomness(seed).words(4).tolist()
    assert Randomness("7").words(4).tolist() == Randomness(7).words(4).tolist()


@pytest.mark.slow
def test_a_passphrase_is_one_in_every_spelling_of_its_letters() -> None:
    composed, decomposed = "fünf große Käfer!", "fu\u0308nf große Ka\u0308fer!"
    assert Randomness(composed).words(4).tolist() == Randomness(decomposed).words(4).tolist()


@pytest.mark.slow
def test_a_passphrase_goes_through_scrypt() -> None:
    """The parameters are pinned: others would repeat no earlier release, and cheaper ones serve
    the attacker.
    """
    salt = b"sfumato: seed from a passphrase, 1"
    key = hashlib.scrypt(PHRASE.encode(), salt=salt, n=2**17, r=8, p=1, maxmem=2**28, dklen=32)
    words = hashlib.shake_256(key + bytes(8)).digest(32)
    assert Randomness(PHRASE).words(4).tobytes() == words


def test_the_words_of_a_number_are_pinned() -> None:
    """SHAKE-256 of a key and a counter of parts; whoever changes it repeats no earlier release."""
    seed = long_seed(5)
    label = b"sfumato: seed from number\0"
    key = hashlib.shake_256(label + seed.to_bytes(32, "big")).digest(32)
    stream = Randomness(seed)
    first = [hashlib.shake_256(key + at.to_bytes(8, "little")) for at in range(4)]
    assert stream.words(3).tobytes() == first[0].digest(24)
    part = 2**22
    long = stream.half_words(part // 4 + 5).tobytes()
    assert long == first[1].digest(part) + first[2].digest(20)
    assert stream.words(1).tobytes() == first[3].digest(8)


def test_bound_words_depend_on_purpose_and_rows() -> None:
    def words(purpose: object, *rows: bytes) -> list[int]:
        stream = Randomness(long_seed(5))
        stream.bind(purpose, *(lambda row=row: row for row in rows))
        found: list[int] = stream.words(2).tolist()
        return found

    a, b = bytes([1]) * 32, bytes([2]) * 32
    assert words("x", a) == words("x", a)
    others = [words("x", a), words("y", a), words("x", b), words("x"), words("x", a, b)]
    others.append(Randomness(long_seed(5)).words(2).tolist())
    assert len({tuple(one) for one in others}) == len(others)


@pytest.mark.parametrize("seed", [None, 7])
def test_nothing_is_read_to_bind_what_has_no_key(seed: int | None) -> None:
    def never() -> bytes:
        raise AssertionError

    stream = Randomness(seed)
    stream.bind("x", never)
    if seed is not None:
        assert stream.words(3).tolist() == Randomness(seed).words(3).tolist()
