"""Build the site of docs/ into a folder, build/site by default.

    make site
    python -m tools.site FOLDER

It opens from there and fetches nothing. A link that leads nowhere, or a page that is not in the
menu (mkdocs.yml), is an error.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tools.site import pages


def main(folder: str = "build") -> int:
    """Write FOLDER/pages, then let MkDocs make FOLDER/site of it."""
    place = Path(folder).resolve()
    os.environ["SFUMATO_STATE"] = ""  # what the notebook publishes is nothing to remember
    pages.write(place / "pages")
    told = {
        "SITE_PAGES": str(place / "pages"),
        "SITE_OUTPUT": str(place / "site"),
        "NO_MKDOCS_2_WARNING": "1",
    }
    build = [sys.executable, "-m", "mkdocs", "build", "--strict"]
    return subprocess.run(build, cwd=pages.ROOT, env={**os.environ, **told}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
