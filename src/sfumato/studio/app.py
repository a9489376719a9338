"""The application: the page of the desk, and what it asks for, as plain ASGI."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import unquote

import sfumato.exploring as exploring
from sfumato.core.foreign import as_ours
from sfumato.errors import OutputExists, SfumatoError
from sfumato.server.errors import ApiError, internal, invalid
from sfumato.server.http import Call, Gone, Receive, Reply, Scope, Send, to_json
from sfumato.server.limits import Limits
from sfumato.server.logs import Log
from sfumato.server.pages import file_reply, not_found
from sfumato.studio.api import ACTIONS, plain
from sfumato.studio.desk import Desk
from sfumato.studio.door import Door

Result = TypeVar("Result")
# its own files, the frontier of explore's page; the look is that of the database's page
STATIC = (Path(__file__).parent / "static", Path(exploring.__file__).parent)
# a schema or a taxonomy may be long; tables come by themselves
LIMITS = Limits(body=2**25, seconds=60.0)
_LARGEST = 2**34  # bytes of an uploaded file
_PAGE, _FILES = "studio.html", "static/"
_NAME = b"x-file-name"


class App:
    """An ASGI application over one desk."""

    def __init__(self, desk: Desk, door: Door, log: Log) -> None:
        self.desk, self.door, self.log = desk, door, log
        self._pool = ThreadPoolExecutor(4, "desk")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, or the start and end of the server."""
        if scope["type"] == "lifespan":
            await _live(receive, send)
            return
        call = Call(scope, receive)
        try:
            reply = await self._reply(call)
        except Gone:
            return
        except ApiError as error:
            reply = Reply.of_error(error, call.request_id)
        except SfumatoError as error:
            reply = _refused(error, call.request_id)
        except Exception as error:
            foreign = as_ours(error, "this step")
            if foreign is None:
                self.log.failure("failure", error, request_id=call.request_id)
                reply = Reply.of_error(internal(), call.request_id)
            else:
                reply = _refused(foreign, call.request_id)
        await reply.send(call, send)

    async def _reply(self, call: Call) -> Reply:
        self.door.require_sound(call)
        if call.method == "GET" and call.scope["path"] == "/":
            return self.door.admit(call)
        path = self.door.inside(call)
        if path is None:
            raise not_found()
        if call.method == "GET":
            return await self._shown(call, path)
        if call.method != "POST":
            raise ApiError("method_not_allowed", "the desk knows GET and POST", "use its page")
        return await self._done(call, path)

    async def _shown(self, call: Call, path: str) -> Reply:
        if path == "":
            return file_reply(call, _PAGE, *STATIC)
        if path.startswith(_FILES):
            return file_reply(call, path.removeprefix(_FILES), *STATIC)
        if path == "schema.toml":
            text = await self._in_thread(self.desk.toml)
            return _download("schema.toml", text.encode(), "application/toml")
        if path == "release.zip":
            made = self.desk.release(_number(call.parameters("number").get("number", "")))
            return _download(
                f"release-{made.number}.zip", await self._in_thread(made.zipped), "application/zip"
            )
        if path == "release.toml":
            made = self.desk.release(_number(call.parameters("number").get("number", "")))
            return _download("schema.toml", made.schema.encode(), "application/toml")
        raise not_found()

    async def _done(self, call: Call, path: str) -> Reply:
        if path == "upload":
            return await self._uploaded(call)
        action = ACTIONS.get(path)
        if action is None:
            raise not_found()
        if not call.headers.get(b"content-type", b"").startswith(b"application/json"):
            raise ApiError("unsupported_media_type", "this is no JSON", "use the page of the desk")
        told = _object(await call.body(LIMITS))
        return Reply(to_json(plain(await self._in_thread(lambda: action(self.desk, told)))))

    async def _uploaded(self, call: Call) -> Reply:
        """A file as it is, part by part; what is no table is removed again."""
        if call.headers.get(b"content-type") != b"application/octet-stream":
            raise ApiError("unsupported_media_type", "this is no file", "use the page of the desk")
        name = unquote(call.headers.get(_NAME, b"").decode("latin-1"))
        place = self.desk.upload_place(name)
        try:
            await _received(call, place)
            told = _object(unquote(call.headers.get(b"x-words", b"{}").decode("latin-1")).encode())
            words = {**told, "path": place, "name": place.name}
            opened = ACTIONS["open"]
            return Reply(to_json(plain(await self._in_thread(lambda: opened(self.desk, words)))))
        except BaseException:
            place.unlink(missing_ok=True)
            raise

    async def _in_thread(self, work: Callable[[], Result]) -> Result:
        return await asyncio.get_running_loop().run_in_executor(self._pool, work)


async def _received(call: Call, place: Path) -> None:
    with place.open("xb") as file:
        async for part in call.parts(_LARGEST):
            file.write(part)


async def _live(receive: Receive, send: Send) -> None:
    """Say that the start and the end have been heard; there is nothing to prepare."""
    while True:
        kind = (await receive())["type"]
        await send({"type": f"{kind}.complete"})
        if kind == "lifespan.shutdown":
            return


def _refused(error: SfumatoError, request_id: str) -> Reply:
    """What the owner is told, in full: the desk shows nothing to anybody else."""
    exists = isinstance(error, OutputExists)
    told = {
        "code": "exists" if exists else "refused",
        "message": str(error),
        "hint": "",
        "request_id": request_id,
    }
    return Reply(to_json({"error": told}), status=409 if exists else 422)


def _object(body: bytes) -> Mapping[str, Any]:
    try:
        told = json.loads(body)
    except (ValueError, RecursionError):
        raise invalid("the body is no JSON", "use the page of the desk") from None
    if not isinstance(told, dict):
        raise invalid("the body is no JSON object", "use the page of the desk")
    return told


def _number(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        raise invalid("a release has a number", "use the page of the desk")
    return int(text)


def _download(name: str, content: bytes, media: str) -> Reply:
    disposition = ("Content-Disposition", f'attachment; filename="{name}"')
    return Reply(content, media, headers=(disposition,))
