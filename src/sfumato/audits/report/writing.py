"""Put a report in place: whole or not at all, never over another file unasked.

And never into a release folder, with which it would be published, nor over what is no report.
"""

from __future__ import annotations

import os
from pathlib import Path

from sfumato.errors import OutputExists, ReleaseError
from sfumato.forms.manifest import FILE
from sfumato.io.paths import usable

_MARK = '<meta name="generator" content="sfumato '
MADE_BY = '"made_by": "sfumato '  # in a report for machines
_HEAD = 2000  # the mark stands within so many letters


def mark_of(command: str) -> str:
    """What tells a report from other pages."""
    return f'{_MARK}{command}">'


def write_page(page: str, path: str | Path, *, force: bool = False) -> Path:
    """Write a page that its owner alone may read, or say why that cannot be."""
    target = Path(path)
    require_place(target, force=force)
    unfinished = target.with_name(f".{target.name}.{os.getpid()}.new")
    try:
        unfinished.touch(0o600, exist_ok=False)
        unfinished.write_text(page, encoding="utf-8")
        unfinished.replace(target)
    except OSError as error:
        raise ReleaseError(f"cannot write {target}: {error.strerror}", path=target) from error
    finally:
        unfinished.unlink(missing_ok=True)
    return target


def require_place(path: str | Path, *, force: bool = False) -> None:
    """Raise unless a report can be written there: asked before the long work starts."""
    target = usable(path)
    if not target.parent.is_dir():
        raise ReleaseError(f"cannot write {target}: no folder {target.parent}", path=target)
    if (target.parent / FILE).exists():
        raise ReleaseError(
            f"{target} would be part of the release: the report holds true figures; "
            "write it somewhere else",
            path=target,
        )
    if target.is_dir():
        raise OutputExists(f"{target} is a folder; name a file", path=target)
    if not os.path.lexists(target):
        return
    if not _is_report(target):
        raise OutputExists(
            f"{target} exists and is no report, so it is never replaced; choose another name",
            path=target,
        )
    if not force:
        raise OutputExists(
            f"{target} exists; choose another name, or replace it with force=True (--force)",
            path=target,
        )


def _is_report(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open(encoding="utf-8", errors="replace") as file:
        head = file.read(_HEAD)
    return _MARK in head or MADE_BY in head
