"""Which Java there is, without which Spark does not start."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

LEAST = 17
_PATIENCE = 30.0  # seconds
_VERSION = re.compile(r'version "(?:1\.)?(\d+)')
HOW = (
    f"install a JDK of version {LEAST} or newer (Debian: openjdk-{LEAST}-jre-headless, or "
    "default-jre-headless)"
)


def java_version() -> int | None:
    """The version that Spark would start with; None if there is none that answers."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home, "bin", "java")) if home else shutil.which("java")
    if java is None:
        return None
    try:
        told = subprocess.run(
            [java, "-version"], capture_output=True, text=True, timeout=_PATIENCE, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    found = _VERSION.search(told.stderr + told.stdout)
    return int(found[1]) if found else None
