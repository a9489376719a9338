"""What two processes must have alike for their results to be the same bytes."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Mapping
from functools import cache
from importlib.metadata import version
from pathlib import Path

from sfumato.errors import MachineError


@cache
def versions() -> dict[str, str]:
    """The versions of this process, and a checksum of the code itself."""
    made = hashlib.blake2b(digest_size=6)
    home = Path(__file__).parents[1]
    for file in sorted(home.rglob("*.py")):
        made.update(str(file.relative_to(home)).encode() + b"\0" + file.read_bytes())
    libraries = ("numpy", "numba", "pyarrow")
    return {
        "python": ".".join(platform.python_version_tuple()[:2]),
        "sfumato": f"{version('sfumato')} ({made.hexdigest()})",
        **{name: version(name) for name in libraries},
    }


def require_alike(worker: str, found: Mapping[str, str]) -> None:
    """Raise unless a worker has what this process has."""
    for name, own in versions().items():
        if found.get(name) != own:
            raise MachineError(
                f"worker {worker} has {name} {found.get(name, 'not')}, and this process {own}; "
                "install the same on all of them",
                doing="running on a cluster",
            )
