"""Tables behind an address: fetched once, into a file that only its owner may open.

http and https through Python's own library, s3 and gs through Arrow's file systems, which find
their credentials where those of Amazon and Google put them. Addresses may hold keys, so messages
name host and path only.
"""

from __future__ import annotations

import http.client
import ipaddress
import shutil
import urllib.request
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import unquote, urlsplit

from sfumato.errors import DataError, SfumatoWarning
from sfumato.io.opened import one_line

_WEB = ("http", "https")
_STORES = ("s3", "gs")
_PATIENCE = 60  # seconds without a byte
_BLOCK = 2**20
_TYPES = {
    "text/csv": ".csv",
    "text/tab-separated-values": ".tsv",
    "application/vnd.apache.parquet": ".parquet",
    "application/x-ndjson": ".jsonl",
}


def is_remote(source: object) -> bool:
    """Whether this is an address that is fetched."""
    return isinstance(source, str) and source.partition("://")[0].lower() in (*_WEB, *_STORES)


def shown_address(url: str) -> str:
    """Host and path: what stands before and behind them may be a key."""
    found = urlsplit(url)
    return f"{found.scheme}://{found.netloc.rpartition('@')[2]}{found.path}"


@contextmanager
def fetched(url: str) -> Iterator[Path]:
    """A copy of what is there, for as long as it is needed."""
    shown = shown_address(url)
    _warn_if_open(url, shown)
    with TemporaryDirectory(prefix="sfumato-") as folder:
        path = Path(folder)
        try:
            with _stream(url) as (name, stream):
                path /= name
                with path.open("xb") as file:
                    shutil.copyfileobj(stream, file, _BLOCK)
        except (OSError, ValueError, http.client.HTTPException) as error:
            message = f"cannot fetch {shown}: {_said(error)}"
            raise DataError(message, source=shown) from None
        yield path


@contextmanager
def _stream(url: str) -> Iterator[tuple[str, Any]]:
    name = PurePosixPath(unquote(urlsplit(url).path)).name or "table"
    if urlsplit(url).scheme.lower() in _WEB:
        request = urllib.request.Request(url, headers={"User-Agent": "sfumato"})
        with urllib.request.urlopen(request, timeout=_PATIENCE) as answer:
            ending = _TYPES.get(answer.headers.get_content_type(), "")
            yield (name if PurePosixPath(name).suffix else f"{name}{ending}"), answer
        return
    from pyarrow import fs

    store, place = fs.FileSystem.from_uri(url)
    with store.open_input_stream(place) as stream:
        yield name, stream


def _said(error: BaseException) -> str:
    reason = getattr(error, "reason", None)
    if isinstance(error, OSError) and getattr(error, "code", None):
        return f"the server says {error.code} {reason}"  # type: ignore[attr-defined]
    return one_line(reason if isinstance(reason, BaseException) else error)


def _warn_if_open(url: str, shown: str) -> None:
    found = urlsplit(url)
    if found.scheme.lower() == "http" and not _is_here(found.hostname or ""):
        warnings.warn(
            f"{shown} is fetched without encryption: everybody on the way can read it; use https",
            SfumatoWarning,
            stacklevel=2,
        )


def _is_here(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
