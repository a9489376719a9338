"""The page, its explanation, and the files they are made of: all from the package, none from
elsewhere.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path

from sfumato.server.access import Grant
from sfumato.server.errors import ApiError
from sfumato.server.http import Call, Reply
from sfumato.server.service import Service

STATIC = Path(__file__).parent / "static"
_NAME = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)+", re.ASCII)
_MEDIA = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".json": "application/json",
    ".woff2": "font/woff2",
    ".txt": "text/plain; charset=utf-8",
}


async def page(service: Service, call: Call, grants: Sequence[Grant]) -> Reply:  # noqa: ARG001
    """The page; what stands behind the question mark is for its script."""
    return file_reply(call, "index.html")


async def about(service: Service, call: Call, grants: Sequence[Grant]) -> Reply:  # noqa: ARG001
    """The guarantee for laypeople."""
    return file_reply(call, "about.html")


async def static(service: Service, call: Call, grants: Sequence[Grant]) -> Reply:  # noqa: ARG001
    """A file by its name: no folders, so there is no way out of this one."""
    return file_reply(call, str(call.scope["path_params"]["name"]))


def file_reply(call: Call, name: str, *folders: Path) -> Reply:
    """A file of the first folder that has it, or of this one."""
    media = _MEDIA.get(Path(name).suffix)
    if media is None or not _NAME.fullmatch(name):
        raise not_found()
    path = next((one / name for one in (*folders, STATIC) if (one / name).is_file()), None)
    if path is None:
        raise not_found()
    content = path.read_bytes()
    tag = f'"{hashlib.sha256(content).hexdigest()[:16]}"'
    headers = (("Cache-Control", "no-cache"), ("ETag", tag))
    if call.headers.get(b"if-none-match", b"").decode("latin-1") == tag:
        return Reply(b"", media, 304, headers)
    return Reply(content, media, headers=headers)


def not_found() -> ApiError:
    """There is nothing at this address."""
    return ApiError(
        "not_found", "there is nothing here", "GET /v1/openapi.json lists all addresses"
    )
