"""Heads to publish: the end of a chain, stated by the owner and signed with a key of theirs.

Whoever has a head can later tell whether the ledger still holds everything up to there. A signed
one can be published anywhere: it shows by itself who said so, and when.

    {"format": "sfumato-head", "ledger": "<genesis>", "head": "17-9f86d0...", "time": "...",
     "public_key": "<64 hexadecimal digits>", "signature": "<128 hexadecimal digits>"}

The signature is Ed25519's, of the object without it as JSON: keys sorted, no spaces, ASCII only.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sfumato.errors import MissingExtra, ParameterError
from sfumato.statdb.access.chains import Book
from sfumato.statdb.access.ledger_records import Head

FORMAT = "sfumato-head"


def stated_head(ledger: Book, key: str | Path | None = None) -> dict[str, str]:
    """The end of a ledger as of now; signed if there is the file of a private key (PEM)."""
    told = {
        "format": FORMAT,
        "ledger": ledger.genesis,
        "head": str(ledger.head()),
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    if key is None:
        return told
    private = _private(Path(key))
    told["public_key"] = private.public_key().public_bytes_raw().hex()
    return {**told, "signature": private.sign(_signed(told)).hex()}


def read_head(text: str, public_key: str | None = None) -> Head:
    """The head in a text: of a file that was published, or alone.

    With a ``public_key``, in hexadecimal digits, it must be signed by its owner.
    """
    told: dict[str, Any] = {"head": text}
    if text.lstrip().startswith("{"):
        try:
            told = dict(json.loads(text))
        except ValueError as error:
            raise _wrong(f"this is no head that was published: {error}") from error
    if public_key is not None or "signature" in told:
        _require_signature(told, public_key)
    return Head.of(str(told.get("head")))


def _require_signature(told: Mapping[str, Any], public_key: str | None) -> None:
    if "signature" not in told:
        raise _wrong("the head is not signed; give the whole file that was published")
    if public_key is not None and told.get("public_key") != public_key.strip().lower():
        raise _wrong("the head is signed with another key")
    kind = _ed25519().Ed25519PublicKey
    from cryptography.exceptions import InvalidSignature

    try:
        key = kind.from_public_bytes(bytes.fromhex(told["public_key"]))
        key.verify(bytes.fromhex(told["signature"]), _signed(told))
    except (InvalidSignature, ValueError, TypeError, KeyError):
        raise _wrong("the head's signature is wrong: it was changed, or never signed") from None


def _wrong(message: str) -> ParameterError:
    return ParameterError(message, parameter="receipt")


def _signed(told: Mapping[str, Any]) -> bytes:
    stated = {name: value for name, value in told.items() if name != "signature"}
    return json.dumps(stated, sort_keys=True, separators=(",", ":")).encode("ascii")


def _private(path: Path) -> Any:
    kind = _ed25519().Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        key = load_pem_private_key(path.read_bytes(), None)
    except OSError as error:
        raise ParameterError(f"{path}: {error.strerror}", parameter="key") from error
    except (ValueError, TypeError) as error:
        raise ParameterError(
            f"{path} is no private key without a password; make one: openssl genpkey -algorithm "
            f"ed25519 -out {path}",
            parameter="key",
        ) from error
    if not isinstance(key, kind):
        raise ParameterError(
            f"{path} is a key of another kind; make one: openssl genpkey -algorithm ed25519",
            parameter="key",
        )
    return key


def _ed25519() -> Any:
    try:
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError as error:
        raise MissingExtra("signing heads", "server") from error
    return ed25519
