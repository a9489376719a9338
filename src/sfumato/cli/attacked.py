"""What the commands that publish say of attackers: one line, from the attack that takes seconds."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING

from rich.text import Text

from sfumato.audits.defaults import QUICK_ROWS
from sfumato.cli import show
from sfumato.errors import SfumatoError, SfumatoWarning

if TYPE_CHECKING:
    from sfumato.audits.audit import Audit


def tell_attacked(attack: Callable[[], Audit | None], rows: int, whole: str) -> None:
    """Say how often a learner guesses right; ``whole`` is the command for all attacks.

    Where no value can be guessed there is nothing to say.
    """
    page = show.console()
    if rows > QUICK_ROWS:
        show.say(page, f"Not attacked, for that takes long with more than {QUICK_ROWS:,} rows.")
        show.say(page, f"All attacks, with controls: {whole}", wrap=False)
        return
    with warnings.catch_warnings(), show.stages(quiet=False) as tell:
        warnings.simplefilter("ignore", SfumatoWarning)
        tell("attacking", 0.0)
        try:
            found = attack()
        except SfumatoError as error:
            show.say(page, f"Not attacked: {error}.")
            return
    if found is None:
        return
    if any(one.verdict == "beaten" for one in found.findings):
        measure = "the promise" if found.promised else "what the release says by itself"
        told = f"attacked, and {measure} is beaten: {found.summary}."
        show.say(page, Text("Warning: ", "yellow"), told)
    else:
        show.say(page, f"Attacked: {found.summary}.")
    show.say(page, f"All attacks, with controls: {whole}", wrap=False)


def tell_joined(whole: str | None) -> None:
    """Say that a join release is not attacked without being asked for, and by which command."""
    page = show.console()
    show.say(
        page, "Not attacked: its values stand apart from people; whoever has the list attacks it."
    )
    if whole is not None:
        show.say(page, f"All attacks with the list: {whole}", wrap=False)
