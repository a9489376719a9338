"""Checksums made anew: whoever changes a release on purpose does so, too."""

from __future__ import annotations

import json
from pathlib import Path

from sfumato.forms.checksums import file_checksum
from sfumato.forms.manifest import CHECKSUM, own_checksum


def reseal(folder: Path) -> Path:
    """Let release.json state the checksums of what is there now, and change nothing else.

    Its text is left as it is, so that what is odd about it stays. One that cannot be parsed, or
    that states no checksums, is left alone; so is what stands in the place of one.
    """
    path = folder / "release.json"
    try:
        text = path.read_bytes().decode("utf-8")
        stated = json.loads(text)
        sums, own = dict(stated["files"]), str(stated[CHECKSUM])
    except (OSError, ValueError, TypeError, KeyError):
        return folder
    for name, checksum in sums.items():
        if (folder / name).is_file() and len(str(checksum)) == 64:
            sums[name] = file_checksum(folder / name)
            text = text.replace(str(checksum), sums[name])
    fresh = own_checksum({**stated, "files": sums})
    path.write_bytes(text.replace(own, fresh).encode("utf-8"))
    return folder
