"""Several QIDs: a promise for each of several sets of columns, kept by any method.

Who can link ``age`` and ``sex`` need not know ``zipcode`` and ``job``. The slides ask for
k-anonymity on each such set (QID) alone, of one published table:

    1. QIDs that share a column become one set, with the promises of all of them
    2. the method divides the rows by the columns of each set, as if there were no others
    3. a row shows, along every column, the side of its group in that column's set

Rows that look alike on a QID are all rows of one or several groups of its set, so the QID keeps its
model if merging groups does not break it; ``publish`` and ``verify`` look at them as they are
shown. QIDs that share columns could do with less than their union asks for, which
``FullDomain(qids=...)`` searches for. Nothing is promised to people who know columns of several
sets.

Cost: that of the method, once for each set, with fewer columns; then one pass over the rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeAlias

import numpy as np

from sfumato.algorithms.base import (
    Partitioner,
    Progress,
    ignore_progress,
    require_algorithm,
)
from sfumato.core._kernels import number_rows
from sfumato.core.microdata import Microdata
from sfumato.core.partition import Part, Partition
from sfumato.core.randomness import Randomness
from sfumato.core.schema import Schema
from sfumato.errors import ParameterError, SchemaError
from sfumato.models.base import Model
from sfumato.models.requirements import Requirement, requirements

QID: TypeAlias = Sequence[str] | tuple[Sequence[str], Model]
Within: TypeAlias = tuple[tuple[str, ...], tuple[Requirement, ...]]


@dataclass(frozen=True, slots=True)
class SeveralQIDs:
    """A method whose promises are made for each of several sets of columns.

    A QID is a list of columns, or a pair of such a list and a model, which is then promised there
    instead of that of ``publish``. Every quasi-identifier is in one QID at least.

    >>> patients = sf.read("patients.csv", sf.read_schema("patients.toml"))
    >>> qids = [["age", "sex"], (["zipcode", "education", "job"], sf.KAnonymity(20))]
    >>> release = sf.publish(patients, sf.SeveralQIDs(sf.Mondrian(), qids), sf.KAnonymity(5))
    >>> [(promise["k"], promise["within"]) for promise in release.manifest.promise]
    [(5, ['age', 'sex']), (20, ['zipcode', 'education', 'job'])]
    """

    name: ClassVar[str] = "several-qids"
    form: ClassVar[str] = "generalized"
    method: Partitioner
    qids: Sequence[QID]
    models: tuple[Model | None, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Part columns and models, and refuse what cannot be kept by each."""
        require_algorithm(self.method, "method")
        if not self.qids:
            raise ParameterError("name at least one QID", parameter="qids")
        pairs = [_pair(qid) for qid in self.qids]
        object.__setattr__(self, "qids", tuple(columns for columns, _ in pairs))
        object.__setattr__(self, "models", tuple(model for _, model in pairs))
        if getattr(self.method, "qids", ()):
            raise ParameterError("the method has QIDs of its own; name them once", parameter="qids")
        if getattr(self.method, "suppress", 0):
            raise ParameterError("with several QIDs no row can be left out", parameter="suppress")
        if getattr(self.method, "workload", ()):
            raise ParameterError(
                "queries about several QIDs cannot guide the cuts of each; leave the workload out",
                parameter="workload",
            )

    def under(self, models: Sequence[Model]) -> SeveralQIDs:
        """The same QIDs, each with a model of its own."""
        columns = [_pair(qid)[0] for qid in self.qids]
        return SeveralQIDs(self.method, list(zip(columns, models, strict=True)))

    @property
    def labels(self) -> str:
        """How boxes are shown unless somebody says otherwise: as the method does."""
        return getattr(self.method, "labels", "ranges")

    def partition(
        self,
        table: Microdata,
        needs: tuple[Requirement, ...],
        randomness: Randomness,
        progress: Progress | None = None,
    ) -> Partition:
        """Divide by each set of columns, then by all of them at once."""
        hear, sets = progress or ignore_progress, joined_qids(within(self, needs, table.schema))
        parts = []
        for done, (names, own) in enumerate(sets):
            some = table.of_quasi(names)

            def hear_part(share: float, before: int = done) -> None:
                hear((before + share) / len(sets))

            parts.append(Part(names, self.method.partition(some, own, randomness, hear_part)))
        return _together(parts)


def within(
    algorithm: Partitioner, needs: tuple[Requirement, ...], schema: Schema
) -> tuple[Within, ...]:
    """Every QID of an algorithm with what is required there; none if it makes no difference."""
    qids = getattr(algorithm, "qids", ())
    require_qids(qids, schema)
    models: Sequence[Model | None] = getattr(algorithm, "models", (None,) * len(qids))
    if qids and not any(model is None or requirements(model, schema) == needs for model in models):
        raise ParameterError(
            "every QID has a model of its own, so the release's would be promised nowhere; give "
            "one of theirs",
            parameter="model",
        )
    own = [needs if model is None else requirements(model, schema) for model in models]
    return tuple((tuple(qid), asked) for qid, asked in zip(qids, own, strict=True))


def require_qids(qids: Sequence[Sequence[str]], schema: Schema) -> None:
    """Raise unless QIDs name quasi-identifiers, and all of them."""
    for name in (name for qid in qids for name in qid):
        if name in schema.sensitive:
            raise SchemaError(
                f"a QID names {name!r}, which is sensitive: it is what is to be hidden from those "
                "who know a QID; leave it out",
                column=name,
            )
        if name not in schema.quasi:
            raise SchemaError(f"a QID names {name!r}, which is no quasi-identifier", column=name)
    covered = {name for qid in qids for name in qid}
    for name in schema.quasi if qids else ():
        if name not in covered:
            raise ParameterError(
                f"{name!r} is in none of the QIDs, so it would single people out; name it in one, "
                "or call it insensitive if nobody knows it",
                parameter="qids",
            )


def joined_qids(qids: Sequence[Within]) -> list[Within]:
    """QIDs that share columns as one, which keeps what all of them require."""
    sets: list[Within] = []
    for names, needs in qids:
        apart = [one for one in sets if not set(one[0]) & set(names)]
        shared = [one for one in sets if set(one[0]) & set(names)]
        columns = dict.fromkeys(name for one, _ in [*shared, (names, needs)] for name in one)
        asked = dict.fromkeys(need for _, one in [*shared, (names, needs)] for need in one)
        sets = [*apart, (tuple(columns), tuple(asked))]
    return sets


def _pair(qid: QID) -> tuple[tuple[str, ...], Model | None]:
    columns: Sequence[Any] = qid
    model: Model | None = None
    if isinstance(qid, tuple) and len(qid) == 2 and isinstance(qid[1], Model):
        columns, model = qid[0], qid[1]
    names = () if isinstance(columns, str) else tuple(columns)
    if not names or not all(isinstance(name, str) for name in names):
        raise ParameterError("a QID is a list of at least one column", parameter="qids")
    if len(set(names)) < len(names):
        raise ParameterError(f"a QID names a column twice: {', '.join(names)}", parameter="qids")
    return names, model


def _together(parts: Sequence[Part]) -> Partition:
    """Rows that are in the same group of every part."""
    groups = np.stack([part.partition.groups for part in parts], axis=1)
    sizes = np.array([part.partition.n_groups for part in parts], np.int64)
    numbers, _, counts = number_rows(groups, sizes)
    return Partition(numbers, counts, notes=dict(_notes(parts)), parts=tuple(parts))


def _notes(parts: Sequence[Part]) -> Iterator[tuple[str, object]]:
    """What the method found, by its columns."""
    for part in parts:
        if part.partition.notes:
            yield ", ".join(part.names), dict(part.partition.notes)
