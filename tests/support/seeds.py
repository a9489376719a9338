"""Seeds for tests that write: as long as a release's must be, and the same in every run."""

import hashlib


def long_seed(number: int) -> int:
    """A seed of 256 bits; it looks like one of chance, and is not."""
    return int.from_bytes(hashlib.sha256(b"%d" % number).digest(), "big") | 1 << 255
