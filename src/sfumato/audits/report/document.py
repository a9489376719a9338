"""What every report stands in: one file, which fetches nothing."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable
from importlib.resources import files

from sfumato.audits.report.writing import mark_of

# nothing may be fetched, whatever a value from the data looks like
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; form-action 'none'; base-uri 'none'"


def document(
    command: str, title: str, sections: Iterable[str], *, style: str = "", script: str = ""
) -> str:
    """The page of a command; title and sections are ready HTML.

    A ``script``, a module in one piece, runs last, and no other does: the page names its hash.
    """
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}{_allowed(script)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta name="robots" content="noindex">\n{mark_of(command)}\n'
        f"<title>{title}</title>\n<style>\n{_style()}{style}</style>\n</head>\n<body>\n"
        + "\n".join(sections)
        + f"\n<footer>Made by sfumato {command}.</footer>\n{_last(script)}</body>\n</html>\n"
    )


def _allowed(script: str) -> str:
    if not script:
        return ""
    digest = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
    return f"; script-src 'sha256-{digest}'"


def _last(script: str) -> str:
    return f'<script type="module">{script}</script>\n' if script else ""


def _style() -> str:
    return files(__package__).joinpath("report.css").read_text(encoding="utf-8")
