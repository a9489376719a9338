"""How much memory this process may still take."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from sfumato.errors import ParameterError

_UNKNOWN = 4 * 2**30  # where nothing can be asked, such as on Windows


def available_memory() -> int:
    """Bytes: the least that the machine, its control group and the process limits leave."""
    return max(0, min(_offers(), default=_UNKNOWN))


def memory_or_half(limit: int | None) -> int:
    """The bytes that work may take: as many as are allowed, or half of what there is."""
    if limit is None:
        return available_memory() // 2
    if limit < 1:
        raise ParameterError(
            f"memory_limit is a number of bytes, not {limit}", parameter="memory_limit"
        )
    return limit


def processors() -> int:
    """How many this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _offers() -> Iterator[int]:
    machine = _kilobytes(Path("/proc/meminfo"), "MemAvailable")
    if machine is not None:
        yield machine
    elif hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        yield os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    yield from _control_group()
    yield from _process_limits()


def _control_group() -> Iterator[int]:
    root = Path("/sys/fs/cgroup")
    for limit, usage in (
        (root / "memory.max", root / "memory.current"),
        (root / "memory/memory.limit_in_bytes", root / "memory/memory.usage_in_bytes"),
    ):
        try:
            yield int(limit.read_text()) - int(usage.read_text())
        except (OSError, ValueError):  # not there, or "max"
            continue


def _process_limits() -> Iterator[int]:
    try:
        import resource
    except ImportError:
        return
    status = Path("/proc/self/status")
    resident = _kilobytes(status, "VmRSS") or 0
    for limit, used in ((resource.RLIMIT_AS, "VmSize"), (resource.RLIMIT_DATA, "VmData")):
        soft, _ = resource.getrlimit(limit)
        if soft != resource.RLIM_INFINITY:
            # allocators reserve addresses that count as used but are free for Arrow to use; half
            # of the limit is what they and the libraries leave at the least
            yield max(soft - (_kilobytes(status, used) or 0), soft // 2 - resident)


def _kilobytes(path: Path, key: str) -> int | None:
    try:
        lines = path.read_text().splitlines()
    except OSError:
        return None
    found = (line.split()[1] for line in lines if line.startswith(f"{key}:"))
    return next((int(number) * 1024 for number in found), None)
