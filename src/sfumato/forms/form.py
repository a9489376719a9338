"""What the rest of sfumato knows of a form of release; ``registry`` lists the forms.

Loading, asking, verifying, measuring and attacking are the same for every form, except for what is
said here. A field has the value that most forms share where there is one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.answers.answerer import Answerer
from sfumato.answers.lines import LineReader
from sfumato.core.arrays import Counts, Words
from sfumato.core.histograms import Histograms
from sfumato.core.keyed import Key
from sfumato.core.microdata import Microdata
from sfumato.core.partition import Partition
from sfumato.core.randomness import Randomness
from sfumato.errors import SchemaError
from sfumato.forms.columns import Labels
from sfumato.forms.evidence import Check, Evidence
from sfumato.forms.files import Files
from sfumato.forms.manifest import Manifest, PublishedColumn
from sfumato.forms.slices import Slices

Hashes = Callable[[pa.Table], Words]
GROUPS, ROWS = "groups", "rows"  # the purposes of keys, by which both are put in order


@dataclass(frozen=True, slots=True, eq=False)
class Shown:
    """A partition as a form shows it, in which groups that look alike are one group.

    ``rows`` are in their published order, group after group. ``lines`` are the boxes, one of each
    group, described by ``columns``; exact forms have none.
    """

    table: Microdata
    partition: Partition
    rows: Counts
    lines: pa.Table = field(default_factory=lambda: pa.table({}))
    columns: tuple[PublishedColumn, ...] = ()

    def counted(self) -> dict[str, Histograms]:
        """How often each sensitive value occurs in each group."""
        return {
            one.name: Histograms.of_runs(
                one, self.table.codes[one.name][self.rows], self.partition.sizes
            )
            for one in self.table.sensitive
        }


def _exactly(
    table: Microdata,
    partition: Partition,
    _labels: Labels,
    _means: Sequence[str],
    randomness: Randomness,
) -> Shown:
    numbers = np.arange(partition.n_rows)
    words = first_row_words(partition, numbers, randomness.key(GROUPS))
    partition = partition.ordered_by(words)
    rows = partition.published_order(randomness.key(ROWS).half_words(numbers))
    return Shown(table, partition, rows)


def first_row_words(partition: Partition, numbers: Counts, key: Key) -> Words:
    """A keyed word for every group: that of the first of its rows, whose ``numbers`` ascend."""
    first = np.empty(partition.n_groups, np.int64)
    first[partition.groups[::-1]] = numbers[::-1]  # what is put there last stays
    return key.words(first)


def _only_generalized(_release: Any, _names: list[str]) -> Evidence:
    raise SchemaError("only a generalized release can promise something about some columns")


def _each_table(release: Any, hashes: Hashes) -> Iterator[Words]:
    return map(hashes, release.tables)


def _no_flaws(_release: Any) -> Iterator[str]:
    return iter(())


def _no_limits(_manifest: Manifest) -> Iterable[str]:
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """One form: its class of releases, and where it differs from others."""

    release: type[Any]
    """What it holds, written and read; ``kind`` is the name of the form, as in release.json."""
    answerer: Callable[[Any], Answerer]
    """A release prepared for questions."""
    evidence: Callable[[Any], Evidence]
    """The groups that a release shows."""
    figures: Callable[[Any, Evidence], dict[str, Any]]
    """The figures of release.json, computed from the tables."""
    show: Callable[[Microdata, Partition, Labels, Sequence[str], Randomness], Shown] = _exactly
    """A partition as it will look, its groups in an order that tells nothing."""
    build: Callable[[Shown, Mapping[str, Histograms], Manifest, Randomness], Any] | None = None
    """The release of a partition, whose sensitive values are counted by group; None if ``publish``
    does not make this form."""

    boxes: bool = False
    """Whether quasi-identifiers are shown as boxes, and not exactly."""
    grouped: bool = True
    """Whether rows hide in groups."""
    external: bool = False
    """Whether there are lines of people who are not in the microdata."""
    masks: bool = False
    """Whether values were replaced row by row, so that moments are estimated."""
    blurs_relations: bool = False
    """Whether single columns are exact, and only what goes with what is estimated."""

    bears: Callable[[str, object], bool] = lambda _model, _on: False
    """Whether it bears a promise, by model and column, that is not about sensitive values."""
    evidence_on: Callable[[Any], Evidence] | None = None
    """The groups that promises about a column are about, where they are others."""
    evidence_within: Callable[[Any, list[str]], Evidence] = _only_generalized
    """The groups by some of the quasi-identifiers only."""
    sizes_on: str | None = None
    """The name under which the sizes of those other groups are promised something."""
    judged: Callable[[Any, Mapping[str, Any]], Check] | None = None
    """A promise computed again, where no model does it."""

    content: Callable[[Any, Hashes], Iterator[Words]] = _each_table
    """The hashes of the rows of each table."""
    typed: Callable[[Any], tuple[pa.Table, ...]] = lambda release: tuple(release.tables)
    """The tables whose types release.json states."""
    quasi_as: tuple[str, ...] = ("value",)
    """How quasi-identifiers are shown, where they are not boxes."""
    sensitive_as: tuple[str, ...] = ("value",)
    """How sensitive columns are shown."""
    count_column: str | None = None
    """A column of counts of values, which have to be discrete; the last one of its tables."""
    group_column: str | None = None
    """A column of group numbers, at whose changes the parts of a streamed file may end."""
    parts: Callable[[Any], list[int]] | None = None
    """The rows of each part of the first file, where long cells divide it."""
    partitioner: Callable[[Mapping[str, Any]], Any] = lambda stated: stated
    """The part of the stated algorithm that describes a partitioner; None if there is none."""
    statements: Callable[[Any], Iterator[str]] = _no_flaws
    """What release.json states otherwise than a release of this form does."""

    guessed: Callable[[Any], Any] = lambda release: release
    """The release as an adversary who guesses values reads it: boxes, or QIT and STs."""
    fold: Callable[[Files, str, int], Any] | None = None
    """The same of a folder, for the values of one column and within so much memory, without keeping
    rows; None if rows have to be kept."""
    slices: Slices | None = None
    """How it is cut into parts whose counts add up; None if counts are about the whole of it."""
    lines: LineReader | None = None
    """How it is learnt from; None where its groups do not say who may have which values."""
    unguessable: str | None = None
    """Why values cannot be guessed from groups."""
    stands_for_nobody: Callable[[Any], str | None] = lambda _release: None
    """Why rows that are alike say nothing about how many people are."""
    counted: Callable[[Any], bool] = lambda _release: True
    """Whether the tables tell how many rows are of the microdata."""
    limits: Callable[[Manifest], Iterable[str]] = _no_limits
    """What a promise does not cover in this form, in sentences."""

    @property
    def name(self) -> str:
        """The word of release.json."""
        return str(self.release.kind)

    @property
    def own_boxes(self) -> bool:
        """Whether boxes are of the microdata's rows alone, so that more may be said of them."""
        return self.boxes and not self.external
