"""Values and figures as text of a page; whatever comes from the data is harmless behind it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from sfumato.core.html import cut as cut
from sfumato.core.html import safe as safe


def number(value: float) -> str:
    """As many digits as a reader wants."""
    if not math.isfinite(value):
        return "–"
    if value == int(value) or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2g}"


def percent(share: float) -> str:
    """A share, or a relative error, of any size."""
    if not math.isfinite(share):
        return "–"
    size = abs(share)
    if 0 < size < 0.0005:
        return "< 0.1%"
    if size >= 0.9995 or size == 0:
        return f"{share:,.0%}"
    return f"{share:.1%}"


def plural(amount: int, what: str) -> str:
    """``1 group``, ``2 groups``."""
    return f"{amount:,} {what}{'' if amount == 1 else 's'}"


def listing(names: Iterable[str]) -> str:
    """Column names in a sentence."""
    return ", ".join(f"<b>{safe(name)}</b>" for name in names)


def part(title: str, lead: str, body: str) -> str:
    """A part of the page: its title, one sentence about it, and the rest."""
    return f'<section><h2>{title}</h2>\n<p class="soft">{lead}</p>\n{body}</section>'


def table(head: Sequence[str], rows: Iterable[Sequence[str]], *, left: int = 1) -> str:
    """A table of ready cells: the first ones are texts, the others numbers."""

    def cells(tag: str, row: Sequence[str]) -> str:
        kinds = ("" if place < left else ' class="n"' for place in range(len(row)))
        return "".join(
            f"<{tag}{kind}>{cell}</{tag}>" for kind, cell in zip(kinds, row, strict=True)
        )

    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    heading = f"<thead><tr>{cells('th', head)}</tr></thead>"
    return f'<div class="wide"><table>{heading}<tbody>{body}</tbody></table></div>'


def meter(share: float) -> str:
    """A share as a bar in a line of a table."""
    return f'<span class="meter"><i style="width:{min(share, 1):.0%}"></i></span>'


def figure(drawing: str, title: str, caption: str = "", numbers: str = "") -> str:
    """A drawing with its title, what it means, and its numbers for those who want them."""
    below = f"<details><summary>Numbers</summary>{numbers}</details>" if numbers else ""
    said = f"<p>{caption}</p>" if caption else ""
    return f"<figure><figcaption><b>{title}</b>{said}</figcaption>{drawing}{below}</figure>"
