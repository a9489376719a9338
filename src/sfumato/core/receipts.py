"""Receipts: the number and digest of the record that an answer has in a ledger.

A record's digest is SHA-256 of the record as JSON without it: keys sorted, no spaces, ASCII only.
A long answer is kept beside the records, which name its SHA-256. So whoever has a receipt can
compute that a record which is shown, and the answer, are those that were committed to.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from sfumato.errors import ParameterError

_REFERENCE = re.compile(r'\{"sha256":"([0-9a-f]{64})"\}')
_RECEIPT = re.compile(r"\s*([0-9]{1,18})-([0-9a-fA-F]{64})\s*")


class Head(NamedTuple):
    """A place in the chain: a record's number and digest; 0 and the genesis without any."""

    number: int
    digest: str

    def __str__(self) -> str:
        """As receipts and heads are written: 17-9f86d0..."""
        return f"{self.number}-{self.digest}"

    @classmethod
    def of(cls, text: str) -> Head:
        """Read one that was written so."""
        found = _RECEIPT.fullmatch(text)
        if found is None:
            raise ParameterError(
                f"{text[:80]!r} is no receipt and no head: a number, a hyphen and 64 hexadecimal "
                "digits",
                parameter="receipt",
            )
        return cls(int(found[1]), found[2].lower())


def digest_of(stated: Mapping[str, Any]) -> str:
    """SHA-256 of an object."""
    text = json.dumps(stated, sort_keys=True, separators=(",", ":"))  # ASCII by default
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def sha256_of(answer: str) -> str:
    """The name of an answer that is kept beside the records."""
    return hashlib.sha256(answer.encode()).hexdigest()


def reference_to(answer: str) -> str:
    """What a record says of a long answer."""
    return f'{{"sha256":"{sha256_of(answer)}"}}'


def referred(answer: str | None) -> str | None:
    """The SHA-256 of the answer that a record refers to; None if the record has it itself."""
    found = None if answer is None else _REFERENCE.fullmatch(answer)
    return None if found is None else found[1]


def is_shown(told: Mapping[str, Any], wanted: Head) -> bool:
    """Whether a record and its answer, as somebody tells them, are what a receipt is for."""
    record, answer = dict(told["record"]), told.get("answer")
    digest = record.pop("digest")
    name = referred(record["answer"])
    whole = answer == record["answer"] if name is None else sha256_of(answer or "") == name
    return bool(whole and digest == wanted.digest == digest_of(record)) and (
        record["number"] == wanted.number
    )
