"""Classifiers from a release of groups, or, for its owner, from the table.

A naive Bayes classifier and a decision tree need nothing but counts. Those that a release leads to
expect are COUNT's estimates, of all bins and values at once, so classifiers are trained from boxes
or from QIT and ST as they are, and no rows are drawn from them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.answers.axes import Axis
from sfumato.answers.lines import BY_ROWS, LineReader, Lines
from sfumato.asking.ask import answerer
from sfumato.core.arrays import Codes, Counts
from sfumato.core.askable import Askable
from sfumato.core.attribute import Attribute
from sfumato.core.foreign import our_errors
from sfumato.core.microdata import Microdata
from sfumato.core.schema import Role
from sfumato.errors import ParameterError, SchemaError
from sfumato.forms.registry import Release, form_of
from sfumato.io.hints import did_you_mean
from sfumato.learning.models import LEARNERS, Model, Name

MOST_VALUES = 1_000
_AT_ONCE = 2**22  # chances of people and values


@dataclass(frozen=True, slots=True, eq=False)
class Classifier:
    """Says which value of the ``target`` people have, by their quasi-identifiers.

    >>> patients = sf.read("patients.csv", sf.read_schema("patients.toml"))
    >>> release = sf.publish(patients, sf.Mondrian(), sf.LDiversity(3))
    >>> learnt = sf.train(release, target="disease", model="naive-bayes")
    >>> isinstance(learnt, sf.Classifier), learnt.predict(patients).null_count
    (True, 0)
    """

    target: Attribute
    _axes: tuple[Axis, ...] = field(repr=False)  # bins are values of people
    _model: Model = field(repr=False)

    def predict(self, table: Microdata) -> pa.Array:
        """The likeliest value of each person; a value that was never seen tells nothing of them."""
        return self.target.decode(self._likeliest(table))

    def accuracy(self, table: Microdata) -> float:
        """The share of people whose value is predicted."""
        name = self.target.name
        if name not in table.attributes:
            raise SchemaError(
                f"the table has no column {name!r} under its schema, to compare with", column=name
            )
        truth = table.attributes[name].decode(table.codes[name])
        found = self.predict(table).cast(truth.type)
        alike = pc.equal(found, truth).fill_null(False)
        both = pc.and_(found.is_null(), truth.is_null())
        return float(pc.mean(pc.or_(alike, both)).as_py())

    def _likeliest(self, table: Microdata) -> Counts:
        columns = [_bins(axis, table) for axis in self._axes]
        bins = np.stack(columns, axis=1)
        step = max(1, _AT_ONCE // self.target.size)
        parts = [
            self._model.log_chances(bins[low : low + step]).argmax(axis=1)
            for low in range(0, len(bins), step)
        ]
        return np.concatenate(parts)

    def __str__(self) -> str:
        return f"{self._model} for {self.target.name!r}"


@our_errors("training")
def train(
    source: Release | Microdata,
    *,
    target: str,
    model: Name = "tree",
    features: Sequence[str] | None = None,
) -> Classifier:
    """Learn to tell a sensitive value by quasi-identifiers, ``features`` if not by all of them.

    From a release of groups, or, to compare, from the table: ``accuracy`` says how many people of
    another table are told right.

    >>> patients = sf.read("patients.csv", sf.read_schema("patients.toml"))
    >>> release = sf.publish(patients, sf.Anatomize(), sf.LDiversity(3))
    >>> ideal = sf.train(patients, target="disease", model="naive-bayes")
    >>> learnt = sf.train(release, target="disease", model="naive-bayes")
    >>> learnt.accuracy(patients) < ideal.accuracy(patients)
    True
    """
    if model not in LEARNERS:
        known = ", ".join(map(repr, LEARNERS))
        raise ParameterError(f"no model {model!r}; there are {known}", parameter="model")
    asked, reader = answerer(source), reader_of(source)
    quasi, sensitive = _columns(source)
    _require(target, sensitive, "target", "sensitive column")
    names = quasi if features is None else tuple(dict.fromkeys(features))
    for name in names:
        _require(name, quasi, "features", "quasi-identifier")
    if not names:
        raise ParameterError("there is no column to learn by", parameter="features")
    for name in (*names, target):
        asked.catalog.find(name)  # or its refusal
    lines = reader.lines_of(asked, [reader.axis_of(asked, name) for name in names], target)
    _require_few(lines)
    return Classifier(lines.target, lines.axes, LEARNERS[model](lines))


def reader_of(source: Askable) -> LineReader:
    """How a source is read line by line."""
    if isinstance(source, Microdata):
        return BY_ROWS
    found = form_of(source).lines
    if found is None:
        raise ParameterError(
            f"a {form_of(source).name} release does not say by groups who may have which values; "
            "classifiers are trained from generalized, anatomized and permuted ones",
            parameter="release",
        )
    return found


def _columns(source: Release | Microdata) -> tuple[Sequence[str], Sequence[str]]:
    """The quasi-identifiers and the sensitive columns."""
    if isinstance(source, Microdata):
        return source.schema.quasi, source.schema.sensitive
    manifest = source.manifest
    quasi, sensitive = manifest.of_role(Role.QUASI), manifest.of_role(Role.SENSITIVE)
    return [one.name for one in quasi], [one.name for one in sensitive]


def _require(name: str, known: Sequence[str], parameter: str, kind: str) -> None:
    if name not in known:
        hint = did_you_mean(name, known) or f"there is {', '.join(known) or 'none'}"
        raise ParameterError(f"no {kind} {name!r} to learn; {hint}", parameter=parameter)


def _require_few(lines: Lines) -> None:
    if lines.n_values > MOST_VALUES:
        raise ParameterError(
            f"{lines.target.name!r} has {lines.n_values:,} values, and a classifier tells at most "
            f"{MOST_VALUES:,} apart; declare bins for it in the schema, and publish these",
            parameter="target",
        )


def _bins(axis: Axis, table: Microdata) -> Codes:
    """The bin of every person, -1 where there is none."""
    name = axis.column.name
    if name not in table.attributes:
        raise SchemaError(f"the table has no column {name!r} under its schema", column=name)
    attribute = table.attributes[name]
    try:
        return axis.of_codes(attribute)[table.codes[name]]
    except TypeError as error:
        raise SchemaError(
            f"{name!r} holds {attribute.values.type} values, and {axis.column.type} were learnt",
            column=name,
        ) from error
