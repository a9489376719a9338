"""Room for newcomers in a layout, so that those who are there stay where they are.

A bucket that needs more cohorts, or larger ones, has places to spare (bucketization.py). Where they
do not suffice the bucket moves behind the last one, and new buckets begin there. Buckets that move
are small, or take a part of the table that their growth has paid for. When there is no room behind
the last one either, everything is laid out anew (rebuild.py).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sfumato.core.arrays import Codes, Counts, Flags, Words
from sfumato.statdb.layout.bucketization import WORD, Bucketization, in_words, inverted, shapes
from sfumato.statdb.layout.slots import segments_of, slots_of
from sfumato.statdb.updates.newcomers import Newcomers


class Needs(NamedTuple):
    """Per signature of newcomers: its bucket, -1 for none, and what it has to have."""

    own: Counts
    cohorts: Counts
    size: Counts


class Capacity(NamedTuple):
    """A layout with room for newcomers; their buckets by signature, and the rows that move."""

    buckets: Bucketization
    bucket: Counts
    moved_from: Counts
    moved_to: Counts


def needs_of(buckets: Bucketization, newcomers: Newcomers) -> Needs:
    """What the buckets of newcomers have to have, at least what they have already."""
    own = np.array([buckets.find(signature) for signature in newcomers.signatures], np.int64)
    cohorts, size = np.zeros(len(own), np.int64), np.array(newcomers.sizes, np.int64)
    np.maximum.at(cohorts, newcomers.number, newcomers.cohort.astype(np.int64) + 1)
    known = own >= 0
    cohorts[known] = np.maximum(cohorts[known], buckets.cohorts[own[known]])
    size[known] = np.maximum(size[known], buckets.size[own[known]])
    return Needs(own, cohorts, size)


def make_room(
    buckets: Bucketization, everybody: Words, newcomers: Newcomers, cohort: int | None
) -> Capacity | None:
    """The layout with room for all newcomers; None if everything has to be laid out anew."""
    needs = needs_of(buckets, newcomers)
    fits = _fits(buckets, needs)
    wider = _widened(buckets, Needs(*(part[fits] for part in needs)))
    late = np.flatnonzero(~fits)
    if not len(late):
        none = np.zeros(0, np.int64)
        return Capacity(wider, needs.own, none, none)
    tail = _at_end(wider, [len(newcomers.signatures[i]) for i in late], needs, late, cohort)
    if tail is None:
        return None
    values = np.concatenate([newcomers.signatures[i] for i in late]).astype(np.int32)
    leaving = needs.own[late][needs.own[late] >= 0]
    new = _appended(_without(wider, leaving), values, tail)
    number = np.cumsum(~np.isin(np.arange(wider.n_buckets), leaving)) - 1
    bucket = np.where(fits, number[needs.own], -1)
    bucket[late] = new.n_buckets - len(late) + np.arange(len(late))
    return Capacity(new, bucket, *_moves(wider, new, everybody, needs.own[late], bucket[late]))


def _fits(buckets: Bucketization, needs: Needs) -> Flags:
    """Which buckets can have what they need where they are."""
    fits: Flags = (
        (needs.own >= 0)
        & (needs.size <= buckets.room[needs.own])
        & (needs.cohorts * buckets.room[needs.own] <= buckets.stride[needs.own])
    )
    return fits


def _widened(buckets: Bucketization, needs: Needs) -> Bucketization:
    """Buckets that stay where they are and have more, or larger, cohorts."""
    changed = {}
    for name, needed in (("cohorts", needs.cohorts), ("size", needs.size)):
        if (getattr(buckets, name)[needs.own] != needed).any():
            changed[name] = getattr(buckets, name).copy()
            changed[name][needs.own] = needed
    return buckets._replace(**changed)


def _at_end(
    buckets: Bucketization, lengths: list[int], needs: Needs, late: Counts, cohort: int | None
) -> Bucketization | None:
    """Buckets behind the last one, each from a new word on, without their values; if they fit."""
    size, cohorts = needs.size[late], needs.cohorts[late]
    room, stride = shapes(size, cohorts, cohort)
    bits = in_words(stride * np.array(lengths))
    base = in_words(np.append(buckets.end, bits)).cumsum()
    if base[-1] > buckets.n_places:
        return None
    starts = np.append(0, np.cumsum(lengths)).astype(np.int64)
    base[-1] = buckets.n_places
    return buckets._replace(
        starts=starts,
        groups=np.zeros(len(late), np.int64),
        size=size,
        cohorts=cohorts,
        room=room,
        stride=stride,
        base=base,
    )


def _without(buckets: Bucketization, leaving: Counts) -> Bucketization:
    """The other buckets, where they are; the inverted index is still the old one."""
    stays = np.ones(buckets.n_buckets, np.bool_)
    stays[leaving] = False
    lengths = np.diff(buckets.starts)
    return buckets._replace(
        starts=np.append(0, np.cumsum(lengths[stays])).astype(np.int64),
        values=buckets.values[np.repeat(stays, lengths)],
        base=np.append(buckets.base[:-1][stays], buckets.base[-1]),
        **{name: getattr(buckets, name)[stays] for name in _EACH},
    )


_EACH = ("groups", "size", "cohorts", "room", "stride")


def _appended(buckets: Bucketization, values: Codes, tail: Bucketization) -> Bucketization:
    """Both, one after the other."""
    starts = np.append(buckets.starts, buckets.starts[-1] + tail.starts[1:])
    both = np.append(buckets.values, values)
    return Bucketization(
        starts=starts,
        values=both,
        base=np.append(buckets.base[:-1], tail.base),
        **{name: np.append(getattr(buckets, name), getattr(tail, name)) for name in _EACH},
        **inverted(starts, both, len(buckets.value_starts) - 1),
    )


def _moves(
    old: Bucketization, new: Bucketization, everybody: Words, before: Counts, after: Counts
) -> tuple[Counts, Counts]:
    """The places of the rows in buckets that move, and those they move to."""
    places_from, places_to = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for b, to in zip(before.tolist(), after.tolist(), strict=True):
        if b < 0:
            continue
        places = _occupied(everybody, old, b)
        _, line, cohort, slot = slots_of(old, places)
        places_from.append(places)
        places_to.append(segments_of(new, np.full(len(places), to), line, cohort) + slot)
    return np.concatenate(places_from), np.concatenate(places_to)


def _occupied(everybody: Words, buckets: Bucketization, b: int) -> Counts:
    """The places of a bucket that have a row."""
    begin = int(buckets.base[b])
    end = begin + int(buckets.stride[b] * (buckets.starts[b + 1] - buckets.starts[b]))
    first = begin // WORD
    bits = np.unpackbits(everybody[first : -(-end // WORD)].view(np.uint8), bitorder="little")
    places: Counts = np.flatnonzero(bits[begin - first * WORD : end - first * WORD]) + begin
    return places
