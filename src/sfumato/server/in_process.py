"""Ask the application without a server."""

from __future__ import annotations

import asyncio
from collections.abc import MutableMapping
from typing import Any
from urllib.parse import quote, urlsplit

from sfumato.server.app import App
from sfumato.server.http import Reply


def get(app: App, path: str) -> Reply:
    """What GET of a path answers; the application is closed afterwards."""
    try:
        return asyncio.run(_get(app, path))
    finally:
        app.service.close()


async def _get(app: App, path: str) -> Reply:
    parts = urlsplit(path)
    # typed by hand: what is encoded already stays, blanks and quotes may be plain
    query = quote(parts.query, safe="%&=+()*'<>,;:/?@!$-._~\"")
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": parts.path,
        "raw_path": parts.path.encode(),
        "root_path": "",
        "query_string": query.encode(),
        "headers": [(b"host", b"localhost")],
        "client": ("127.0.0.1", 0),
        "server": ("127.0.0.1", 0),
    }
    sent: list[MutableMapping[str, Any]] = []

    async def receive() -> MutableMapping[str, Any]:
        return {"type": "http.request", "body": b""}

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message)

    await app(scope, receive, send)
    start, *bodies = sent
    media = dict(start["headers"])[b"content-type"].decode()
    return Reply(b"".join(part["body"] for part in bodies), media, start["status"])
