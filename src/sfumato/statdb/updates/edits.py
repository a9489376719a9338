"""A change of few rows: the words of places that become others, and nothing else.

A database is a few arrays over places. Where rows come and go, words of 64 places change in all
bitmaps, and the codes at these places; the rest is the very same. So the store needs to write no
more than that (store), and a database in memory is made from it when somebody asks for one.

When the domain of a quasi-identifier grows, its codes and the index change everywhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.core.arrays import Codes, Counts, Ints, Words
from sfumato.statdb.layout.bucketization import WORD, Bucketization
from sfumato.statdb.layout.index import EVERYBODY, marked, places_marked
from sfumato.statdb.layout.layout import Layout, with_index
from sfumato.statdb.layout.slots import lines_of, segments_of
from sfumato.statdb.store.files import Patch
from sfumato.statdb.updates.capacity import make_room
from sfumato.statdb.updates.kernel import cohort_groups, fill_segments
from sfumato.statdb.updates.newcomers import Newcomers
from sfumato.statdb.updates.rebuild import is_sparse, relaid


class UpdateRows(NamedTuple):
    """Rows that come: their slots, their sensitive codes, and the others by attribute."""

    newcomers: Newcomers
    values: Codes
    codes: Mapping[str, Ints]


@dataclass(frozen=True, slots=True, eq=False)
class Edits:
    """``words`` of places become others: with these bitmaps, and these codes, 64 to a word.

    ``base`` has everything else. Of an attribute in ``grown`` it has codes of the larger domain,
    and then the index is a new one.
    """

    base: Layout
    buckets: Bucketization
    words: Counts
    bitmaps: Words
    codes: Mapping[str, Ints]
    grown: Mapping[str, int]

    def stored(self, n_values: int, sizes: Sequence[int]) -> Layout:
        """What is stored afterwards, under domains of these sizes."""
        codes = {name: self._changed(name) for name in self.codes}
        if self.grown:
            everybody = self.base.everybody.copy()
            everybody[self.words] = self.bitmaps[EVERYBODY]
            return with_index(self.buckets, codes, sizes, n_values, everybody)
        bitmaps = self.base.index.bitmaps.copy()
        bitmaps[:, self.words] = self.bitmaps
        return Layout(self.base.index._replace(bitmaps=bitmaps), codes, self.buckets)

    def patches(self) -> dict[str, Patch]:
        """What changes in arrays that stay, by the names that ``Layout`` has for them."""
        own, n_words = self.base.named(), self.base.index.bitmaps.shape[1]
        line = np.arange(len(self.bitmaps))[:, None] * n_words + self.words
        places = (self.words[:, None] * WORD + np.arange(WORD)).ravel()
        found: dict[str, tuple[Counts, NDArray[Any]]]
        found = {f"codes.{name}": (places, column) for name, column in self.codes.items()}
        found["index.bitmaps"] = line.ravel(), self.bitmaps.ravel()
        return {name: _differing(own[name], *patch) for name, patch in found.items()}

    def _changed(self, name: str) -> Ints:
        column = self.base.codes[name].copy()
        column.reshape(-1, WORD)[self.words] = self.codes[name].reshape(-1, WORD)
        return column


def edited(
    base: Layout, gone: Counts, came: UpdateRows, cohort: int | None, grown: Mapping[str, int]
) -> Edits | None:
    """The edits that take rows away and bring others; None if all have to be laid out anew."""
    everybody = base.everybody.copy()
    unmark(everybody, gone)
    room = make_room(base.buckets, everybody, came.newcomers, cohort)
    if room is None or is_sparse(room.buckets, everybody, cohort):
        return None
    unmark(everybody, room.moved_from)
    mark(everybody, room.moved_to)
    bucket = room.bucket[came.newcomers.number]
    places = _placed(room.buckets, everybody, bucket, came.newcomers.cohort, came.values)
    left = np.append(gone, room.moved_from)
    taken = np.append(room.moved_to, places)
    words = np.unique(np.append(left, taken) // WORD)
    codes = {
        name: _codes_at(words, column, left, taken, np.append(column[room.moved_from], new))
        for (name, column), new in zip(base.codes.items(), came.codes.values(), strict=True)
    }
    return Edits(
        base,
        _counted(room.buckets, everybody, taken, gone),
        words,
        marked(base.index, list(codes.values()), everybody[words]),
        codes,
        grown,
    )


def laid_out_anew(
    base: Layout,
    gone: Counts,
    came: UpdateRows,
    cohort: int | None,
    n_values: int,
    sizes: Sequence[int],
) -> Layout:
    """The same with all rows at other places."""
    everybody = base.everybody.copy()
    unmark(everybody, gone)
    new = relaid(base.buckets, everybody, came.newcomers, cohort)
    everybody = places_marked(new.rows)
    places = _placed(new.buckets, everybody, new.bucket, new.cohort, came.values)
    codes = {}
    for (name, column), theirs in zip(base.codes.items(), came.codes.values(), strict=True):
        codes[name] = np.where(new.rows < 0, column.dtype.type(0), column[new.rows])
        codes[name][places] = theirs
    every = np.arange(new.buckets.n_buckets)
    buckets = new.buckets._replace(groups=_groups(new.buckets, everybody, every))
    return with_index(buckets, codes, sizes, n_values, everybody)


def mark(everybody: Words, places: Counts) -> None:
    """Set the bits of places."""
    np.bitwise_or.at(everybody, places // WORD, _bits(places))


def unmark(everybody: Words, places: Counts) -> None:
    """Clear the bits of places."""
    np.bitwise_and.at(everybody, places // WORD, ~_bits(places))


def _bits(places: Counts) -> Words:
    return np.uint64(1) << (places % WORD).astype(np.uint64)


def _placed(
    buckets: Bucketization, everybody: Words, bucket: Counts, cohort: Counts | Codes, values: Codes
) -> Counts:
    """A free place for everybody who comes, in the segment of bucket, value and cohort."""
    first = segments_of(buckets, bucket, lines_of(buckets, bucket, values), cohort.astype(np.int64))
    places = fill_segments(everybody, first, buckets.size[bucket])
    assert (places >= 0).all(), "a bucket has less room than it was given"
    return places


def _codes_at(words: Counts, column: Ints, left: Counts, taken: Counts, codes: Ints) -> Ints:
    """The codes in these words of places: none where rows left, these where others came."""
    found = column.reshape(-1, WORD)[words].ravel()
    found[_among(words, left)] = 0
    found[_among(words, taken)] = codes
    return found


def _among(words: Counts, places: Counts) -> Counts:
    within: Counts = np.searchsorted(words, places // WORD) * WORD + places % WORD
    return within


def _counted(
    buckets: Bucketization, everybody: Words, taken: Counts, gone: Counts
) -> Bucketization:
    """The layout with the groups that there are now, in the buckets of these places."""
    inside = gone[gone >= buckets.base[0]]
    chosen = np.unique(np.searchsorted(buckets.base, np.append(taken, inside), "right") - 1)
    groups = buckets.groups.copy()
    groups[chosen] = _groups(buckets, everybody, chosen)
    return buckets._replace(groups=groups)


def _groups(buckets: Bucketization, everybody: Words, chosen: Counts) -> Counts:
    each = cohort_groups(everybody, buckets, chosen)
    ends = np.append(0, np.cumsum(buckets.cohorts[chosen]))
    groups: Counts = np.diff(np.append(0, np.cumsum(each))[ends])
    return groups


def _differing(array: NDArray[Any], places: Counts, values: NDArray[Any]) -> Patch:
    """Those of the places at which other values stand."""
    other = array.reshape(-1)[places] != values
    return Patch(places[other], values[other])
