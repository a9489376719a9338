import numpy as np
import pytest
from scipy import stats

from sfumato.core.randomness import Randomness
from sfumato.errors import ParameterError
from tests.support.seeds import long_seed


def test_a_seed_repeats_its_words() -> None:
    assert Randomness(4).words(50).tolist() == Randomness(4).words(50).tolist()
    assert Randomness(4).words(50).tolist() != Randomness(5).words(50).tolist()


def test_a_stream_moves_on() -> None:
    stream = Randomness(4)
    assert stream.words(5).tolist() != stream.words(5).tolist()


def test_without_a_seed_words_never_repeat() -> None:
    drawn = np.concatenate([Randomness().words(1000), Randomness().words(1000)])
    assert len(np.unique(drawn)) == 2000


@pytest.mark.parametrize("seed", [None, 0, long_seed(0)])
def test_words_fill_all_64_bits(seed: int | None) -> None:
    words = Randomness(seed).words(4000)
    assert words.dtype == np.uint64
    assert words.flags.writeable  # one array type, so one compiled kernel, for both sources
    bits = np.unpackbits(words.view(np.uint8)).reshape(4000, 64).sum(axis=0, dtype=np.int64)
    # six standard deviations of a fair coin
    assert (abs(bits - 2000) < 6 * np.sqrt(1000)).all()


@pytest.mark.parametrize("seed", [None, 0, long_seed(0)])
def test_a_permutation_has_everything_once(seed: int | None) -> None:
    assert sorted(Randomness(seed).permutation(100)) == list(range(100))
    assert Randomness(seed).permutation(0).tolist() == []


def test_permutations_are_uniform() -> None:
    stream = Randomness(2)
    places = [int(np.argmin(stream.permutation(5))) for _ in range(5000)]
    assert stats.chisquare(np.bincount(places, minlength=5)).pvalue > 1e-6


def test_a_negative_seed_is_refused() -> None:
    with pytest.raises(ParameterError, match="not -1") as caught:
        Randomness(-1)
    assert caught.value.parameter == "seed"
