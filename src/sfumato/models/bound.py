"""Requirements bound to one table: what each sees of all rows is counted once, and asked often.

Feasibility, compiled rules, merged values and closeness all look at the whole table; so does every
verdict of a model that compares a group with it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from sfumato.core.arrays import Counts, Flags, Floats, Ints
from sfumato.core.expected import given
from sfumato.core.histograms import Histograms, count_codes
from sfumato.core.microdata import Microdata, require_microdata
from sfumato.core.partition import Partition
from sfumato.errors import Infeasible, ParameterError
from sfumato.models._rules import Rule, rule_matrix
from sfumato.models.base import BuiltIn
from sfumato.models.requirements import Requirement


@dataclass(frozen=True, slots=True, eq=False)
class Bound:
    """The requirements of a table; ``everyone[i]`` is what ``needs[i]`` sees of it as one group.

    ``table`` may hold some of its rows only, or none, or different ones each of which stands for as
    many as its weight says. ``classes`` has the class of every code of the sensitive attributes
    whose values were merged (algorithms/coarsen.py).
    """

    table: Microdata
    needs: tuple[Requirement, ...]
    everyone: tuple[Histograms, ...]
    classes: Mapping[str, Ints] = field(default_factory=dict)
    weights: Counts | None = None

    @classmethod
    def of(
        cls, needs: tuple[Requirement, ...], table: Microdata, weights: Counts | None = None
    ) -> Bound:
        """Count every attribute that a requirement is about."""
        names = {need.attribute for need in needs if need.attribute is not None}
        counts = {
            name: count_codes(table.codes[name], table.attributes[name].size, weights)
            for name in names
        }
        n_rows = table.n_rows if weights is None else int(weights.sum())
        return replace(cls.of_counts(needs, table, counts, n_rows), weights=weights)

    @classmethod
    def of_counts(
        cls,
        needs: tuple[Requirement, ...],
        table: Microdata,
        counts: Mapping[str, Counts],
        n_rows: int,
    ) -> Bound:
        """Requirements of a table of so many rows, whose values were counted elsewhere."""
        seen: dict[str | None, Histograms] = {
            name: Histograms.of_whole(table.attributes[name], found)
            for name, found in counts.items()
        }
        seen[None] = Histograms.of_sizes(np.array([n_rows], np.int64))
        return cls(table, needs, tuple(seen[need.attribute] for need in needs))

    @property
    def n_rows(self) -> int:
        """The rows of the whole table."""
        return int(self.everyone[0].whole.sum())

    def with_needs(self, more: tuple[Requirement, ...]) -> Bound:
        """The same, and requirements of the same attributes, or of sizes, beside them."""
        seen = {
            need.attribute: whole for need, whole in zip(self.needs, self.everyone, strict=True)
        }
        seen.setdefault(None, Histograms.of_sizes(np.array([self.n_rows], np.int64)))
        everyone = tuple(seen[need.attribute] for need in more)
        return replace(self, needs=(*self.needs, *more), everyone=(*self.everyone, *everyone))

    def without(self, met: Callable[[Requirement], bool]) -> Bound:
        """The requirements that are not met already."""
        pairs = zip(self.needs, self.everyone, strict=True)
        rest = [(need, seen) for need, seen in pairs if not met(need)]
        return replace(
            self, needs=tuple(need for need, _ in rest), everyone=tuple(seen for _, seen in rest)
        )

    def over(self, table: Microdata) -> Bound:
        """The same requirements over other rows of the same table, values merged as here."""
        merged = {name: classes[table.codes[name]] for name, classes in self.classes.items()}
        attributes, codes = self.table.attributes, {**table.codes, **merged}
        return replace(self, table=replace(table, attributes=attributes, codes=codes))

    @property
    def feasible(self) -> bool:
        """Whether the whole table, as one group, passes."""
        return all(
            bool(need.model.passes(whole)[0])
            for need, whole in zip(self.needs, self.everyone, strict=True)
        )

    def passing(self, partition: Partition, rows: Ints | None = None) -> Flags:
        """Per group, whether it meets every requirement.

        The partition is of the table, or of some of its ``rows``: these are compared with the whole
        table all the same.
        """
        verdict = np.ones(partition.n_groups, np.bool_)
        weights = self.weights if self.weights is None or rows is None else self.weights[rows]
        for need, whole in zip(self.needs, self.everyone, strict=True):
            seen = need.histograms(self.table, partition, rows, weights)
            verdict &= need.model.passes(replace(seen, whole=whole.whole))
        return verdict

    def rules(self) -> tuple[Rule | None, ...]:
        """The compiled form of each requirement, None where there is none."""
        return tuple(
            need.model.rule(whole) if isinstance(need.model, BuiltIn) else None
            for need, whole in zip(self.needs, self.everyone, strict=True)
        )


class CompiledRules(NamedTuple):
    """Requirements in the form the kernels read (see _rules).

    The histograms of all sensitive attributes stand one after another in one array; ``offsets``
    says where each starts.
    """

    rules: Floats
    whole_counts: Counts
    offsets: dict[str, int]
    least: int


def require_feasible(
    needs: tuple[Requirement, ...], table: Microdata, weights: Counts | None = None
) -> Bound:
    """Raise Infeasible unless the whole table, as one group, passes; the bound requirements.

    With ``weights`` a row stands for so many.
    All built-in models are kept when groups are merged, so this is exact for them.

    >>> from sfumato.models.requirements import requirements
    >>> patients = sf.read("patients.csv", sf.read_schema("patients.toml"))
    >>> sf.require_feasible(requirements(sf.LDiversity(20), patients.schema), patients)
    Traceback (most recent call last):
    ...
    sfumato.errors.Infeasible: l = 20 is out of reach on ...
    """
    require_microdata(table)
    _require_needs(needs)
    return feasible(Bound.of(needs, table, weights))


def _require_needs(needs: object) -> None:
    alike = isinstance(needs, tuple) and all(isinstance(need, Requirement) for need in needs)
    if not alike:
        raise ParameterError(
            f"needs must be the requirements of a model, not {given(needs)}: "
            "requirements(model, table.schema) of sfumato.models.requirements",
            parameter="needs",
        )


def feasible(bound: Bound) -> Bound:
    """The same requirements, if the whole table passes them; see require_feasible."""
    for need, whole in zip(bound.needs, bound.everyone, strict=True):
        if not need.model.passes(whole)[0]:
            if isinstance(need.model, BuiltIn):
                raise need.model.refusal(whole)
            raise Infeasible(f"the whole table does not pass {need}", model=need.model)
    return bound


def compile_rules(bound: Bound) -> CompiledRules | None:
    """The requirements as kernel rules, or None when one of them has no compiled form."""
    offsets: dict[str, int] = {}
    counts: list[Counts] = [np.zeros(0, np.int64)]
    placed, least = [], 1
    for need, seen, rule in zip(bound.needs, bound.everyone, bound.rules(), strict=True):
        if rule is None:
            return None
        if need.attribute is not None and need.attribute not in offsets:
            offsets[need.attribute] = sum(map(len, counts))
            counts.append(seen.whole)
        first = offsets[need.attribute] if need.attribute is not None else 0
        placed.append((rule, first, first + len(seen.whole)))
        least = max(least, rule.least)
    return CompiledRules(rule_matrix(placed), np.concatenate(counts), offsets, least)
