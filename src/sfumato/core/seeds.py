"""What a seed is, and which ones are too short to be published with.

A seed replaces secret chance, so whoever finds it undoes the shuffles; and whoever has the files
can try seeds one after the other until one of them yields these very files. What is written
therefore takes a seed that cannot be searched:

- a whole number of 128 bits or more, as ``new_seed`` makes it, or a text of its digits;
- 16 bytes or more;
- a passphrase of 16 characters or more, which goes through scrypt: a passphrase is guessed, not
  searched, and each guess has to cost time and memory. The salt is fixed. A salt of
  chance would have to be published or kept like the seed itself for a run to be repeatable, and who
  can keep it needs no passphrase. So one table of hashed passphrases serves against all releases:
  take a passphrase that nobody else has.

Length can be checked, chance cannot: a number or a string of bytes with hardly any different bytes
in it (a small number that was padded) counts as short; the hash of a small number is not noticed.
"""

from __future__ import annotations

import hashlib
import operator
import secrets
import unicodedata
from typing import SupportsIndex, TypeAlias

from sfumato.errors import ParameterError

Seed: TypeAlias = SupportsIndex | bytes | str

SHORT = "short, for experiments"  # what a release made with a short seed says of it
_BITS, _BYTES, _CHARACTERS = 128, 16, 16
# 16 bytes of chance have fewer than 8 different ones once in 10**12 times
_DIFFERENT = 8
_USE = "use sf.new_seed(), or no seed"
# about 0.4 s and 128 MiB for a guess; changing any of these changes what a passphrase repeats
_COST = {"n": 2**17, "r": 8, "p": 1, "maxmem": 2**28, "dklen": 32}
_SALT = b"sfumato: seed from a passphrase, 1"


def new_seed() -> int:
    """A seed of 256 bits from the operating system.

    Keep it like a key: with it and the table a release can be made again, and undone.

    >>> sf.new_seed().bit_length() > 100
    True
    """
    return secrets.randbits(256) | 1 << 255


def stated_seed(seed: Seed | None) -> str | None:
    """What has to be said of a seed: that it is short, or nothing. Raises if it cannot be one."""
    if seed is None:
        return None
    seed = _read(seed)
    if isinstance(seed, int):
        return SHORT if seed.bit_length() < _BITS or not _varied(_bytes_of(seed)) else None
    _require_hard(seed)
    return None


def require_written(stated: str | None, *, experiment: bool) -> None:
    """Raise if something made with a short seed is to be written, and not as an experiment."""
    if stated is not None and not experiment:
        raise ParameterError(
            f"the seed is short: whoever has the files finds a number below 2**{_BITS} by trying, "
            f"and undoes the shuffles; {_USE} (on the shell: --seed-file, or none), or say that "
            "this is an experiment with invented or public data, which is then stated: "
            "experiment=True (--experiment)",
            parameter="seed",
        )


def number_of(seed: Seed | None) -> int:
    """The number that a short seed is."""
    number = None if seed is None else _read(seed)
    assert isinstance(number, int), "only numbers are short"
    return number


def key_of(seed: Seed) -> bytes:
    """32 bytes for a keyed stream, of a seed that is not short."""
    seed = _read(seed)
    if isinstance(seed, str):
        return hashlib.scrypt(seed.encode(), salt=_SALT, **_COST)
    kind = b"number" if isinstance(seed, int) else b"bytes"
    material = _bytes_of(seed) if isinstance(seed, int) else seed
    return hashlib.shake_256(b"sfumato: seed from " + kind + b"\0" + material).digest(32)


def _read(seed: Seed) -> int | bytes | str:
    """The seed as one of three types; digits are a number, wherever they were typed."""
    if isinstance(seed, str):
        text = unicodedata.normalize("NFC", seed.strip())
        return _number(text) if text.isascii() and text.isdecimal() else text
    if isinstance(seed, bytes | bytearray | memoryview):
        return bytes(seed)
    try:
        number = operator.index(seed)
    except TypeError:
        raise ParameterError(
            f"seed must be a whole number, bytes or a passphrase, not {type(seed).__name__}",
            parameter="seed",
        ) from None
    if number < 0:
        raise ParameterError(f"seed must be 0 or more, not {number}", parameter="seed")
    return number


def _number(digits: str) -> int:
    try:
        return int(digits)
    except ValueError:  # Python reads no more than some thousand digits
        raise ParameterError(f"seed has {len(digits)} digits; {_USE}", parameter="seed") from None


def _require_hard(seed: bytes | str) -> None:
    """Raise if this can be guessed. The message must not show it: it may be half of a good one."""
    least, unit = (_CHARACTERS, "characters") if isinstance(seed, str) else (_BYTES, "bytes")
    if len(seed) < least or not _varied(seed):
        raise ParameterError(
            f"seed has {len(seed)} {unit}, {len(set(seed))} of them different; {least} or more are "
            f"needed, {_DIFFERENT} of them different: {_USE}",
            parameter="seed",
        )


def _varied(material: bytes | str) -> bool:
    return len(set(material)) >= _DIFFERENT


def _bytes_of(number: int) -> bytes:
    return number.to_bytes((number.bit_length() + 7) // 8, "big")
