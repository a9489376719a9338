"""Releases of a table and a list that both grow, of which all together tell no more than each.

Sacharidis, Mouratidis, Papadias: "k-Anonymity in the Presence of External Databases", TKDE 2010,
leave updates of MT and PD to future work. Every release here is the last one, to the letter, and
beside it a k-join-anonymous release of the newcomers among people whom no line shows yet:

    1. rows that were published stay as they were. A box cannot be drawn closer around the people
       of a longer list: who lies in the old box and in the new one may be a single person
    2. newcomers of whom no line was shown are joined with the people of the list of whom none was,
       by the method of the series, under all its models; if they are too few, all of them wait
    3. a newcomer who had a line as a person of the list *rides along* in a new box that holds the
       person anyway, if any: no line and no face of a box tells of it. There are never more rows
       in a sensitive group than its boxes have lines, so that nobody need ride. The others wait

So whoever knows all releases, all lists, and even which people each group has lines of finds in
every group k people or more of whom each may be the row: trade places with the one whose row it is,
and if that person's row came later, another person of its group takes that place
(tests/properties tries all worlds). With Direct, whoever has a line needs no other.

Deleted or changed rows cannot be unsaid, and are refused. The cost is that of the method on the
newcomers.
"""

from __future__ import annotations

import json
import secrets
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from sfumato.core.fingerprint import KEY_BYTES, digest
from sfumato.core.microdata import Microdata
from sfumato.core.randomness import Randomness
from sfumato.errors import DataError, ParameterError, SfumatoWarning
from sfumato.forms.joined.release import JoinRelease
from sfumato.forms.joined.union import united
from sfumato.forms.load import load_with
from sfumato.forms.remembering import made_from
from sfumato.io.series_files import RELEASE, Remembered, locked, remembered, rewritten
from sfumato.verbs.checks import stated_promises
from sfumato.verbs.join_release import Wish
from sfumato.verbs.newcomers import NOBODY, Made, newcomers


@dataclass(frozen=True, eq=False)
class SeriesOf:
    """The next release of a series."""

    path: Path
    table: Microdata
    listed: pa.Table
    columns: Mapping[str, str]
    wish: Wish

    def next(self, provenance: dict[str, Any], randomness: Randomness) -> JoinRelease:
        """Make it, and remember it before anybody sees it: people who are remembered for nothing
        are hidden all the same, and those who are forgotten are not.
        """
        with locked(self.path):
            state = remembered(self.path)
            last = self.path / RELEASE
            before = None if state is None else load_with(last, JoinRelease.read)
            state = state or Remembered(self._settings, secrets.token_bytes(KEY_BYTES), *NOBODY)
            self._require_same(state)
            randomness.bind((self._settings, len(state.people)), lambda: digest(self.table))
            made = newcomers(self.table, self.listed, self.columns, self.wish, state).published(
                provenance, randomness
            )
            if before is None and made.release is None:
                raise made.why or DataError("there is nobody to publish")
            _warn_of_waiting(made)
            release = _beside(before, made.release, provenance, randomness)
            with rewritten(self.path, state.with_people(made.people, made.rows)) as folder:
                release.write(folder, experiment=True)
        release = replace(release, own=made.own)
        made_from(release, self.table, state.name)
        return release

    @cached_property
    def _settings(self) -> dict[str, Any]:
        schema, promises = self.table.schema, stated_promises(self.wish.needs(self.table))
        settings = {
            "algorithm": self.wish.algorithm,
            "k": self.wish.k,
            "promises": list(promises),
            "labels": self.wish.labels,
            "quasi": list(schema.quasi),
            "sensitive": list(schema.sensitive),
        }
        return dict(json.loads(json.dumps(settings)))  # as it is remembered

    def _require_same(self, state: Remembered) -> None:
        for name, was in state.settings.items():
            now = self._settings.get(name)
            if now != was:
                raise ParameterError(
                    f"{self.path} is a series with {name} = {was}, not {now}: all its releases are "
                    "made alike; begin another series for other people",
                    parameter="series",
                )


def _beside(
    before: JoinRelease | None,
    more: JoinRelease | None,
    provenance: dict[str, Any],
    randomness: Randomness,
) -> JoinRelease:
    if before is None:
        assert more is not None
        return more
    return united(before, more, randomness, external=provenance, seed=randomness.stated_seed)


def _warn_of_waiting(made: Made) -> None:
    if made.waiting:
        why = "" if made.why is None else f" ({made.why})"
        warnings.warn(
            f"{made.waiting:,} rows wait for a later release: they are too few to hide among each "
            f"other, or had lines as people of the list and lie in no new box{why}",
            SfumatoWarning,
            stacklevel=5,
        )
