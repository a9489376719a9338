"""Options that take one of a few words."""

from __future__ import annotations

from typing import Any

import click

from sfumato.io.hints import did_you_mean


class Choice(click.Choice):  # type: ignore[type-arg]
    """As click's, and of a word that is mistyped it says which was meant."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """The word, or a refusal that asks."""
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter as error:
            asked = did_you_mean(str(value), map(str, self.choices))
            raise click.BadParameter(f"{error.message} {asked}".rstrip(), ctx, param) from None
