"""What a privacy model is, and how several hold at once.

A model is a frozen dataclass with a ``passes`` method over histograms. A user's own class needs
nothing else; the built-in ones also carry a compiled rule, which makes them fast inside the
partitioning loops, and know the largest parameter a table can bear.

What else algorithms may rely on is a *trait*, an attribute of the model's class. A class without
one is taken not to have it, which is always safe and sometimes slow:

- ``merging_safe``: groups that pass still pass when they are merged. So a grouping that fails rules
  out all finer ones, and searches know what they need not look at.
- ``group_alone``: the verdict on a group hangs on that group, never on the whole table. So groups
  that pass still do when others are left out.
- ``values_safe``: no group passes because sensitive values are merged into one. So columns of
  thousands of values are counted in classes (algorithms/coarsen.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal, Protocol, Self, TypeAlias, runtime_checkable

from sfumato.core.arrays import Flags
from sfumato.core.attribute import Attribute
from sfumato.core.expected import given
from sfumato.core.histograms import Histograms
from sfumato.errors import Infeasible, ParameterError
from sfumato.models._rules import Rule


@runtime_checkable
class Model(Protocol):
    """The seam: anything that can tell which groups are safe."""

    def passes(self, groups: Histograms) -> Flags:
        """Per group, whether it is safe."""
        ...


class Combinable:
    """Adds ``model & model`` to a model."""

    __slots__ = ()

    def __and__(self, other: Model) -> AllOf:
        """Both must hold."""
        return AllOf((*parts(self), *parts(other)))  # type: ignore[arg-type]

    def __rand__(self, other: Model) -> AllOf:
        """Both must hold, the other one a model that knows nothing of this class."""
        return AllOf((*parts(other), *parts(self)))  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class AllOf(Combinable):
    """Several models, all of which must hold, each over its own attribute."""

    models: tuple[Model, ...]

    def __post_init__(self) -> None:
        """Refuse a promise of nothing."""
        if not self.models:
            raise ParameterError("name at least one model", parameter="models")
        for model in self.models:
            require_model(model)

    def passes(self, groups: Histograms) -> Flags:
        """Groups that every part passes, all parts looking at the same histograms."""
        first, *rest = self.models
        verdict = first.passes(groups)
        for model in rest:
            verdict = verdict & model.passes(groups)
        return verdict

    def __str__(self) -> str:
        """Names of the parts."""
        return " & ".join(str(model) for model in self.models)


def all_of(models: Sequence[Model]) -> Model:
    """One model out of one or more."""
    return models[0] if len(models) == 1 else AllOf(tuple(models))


def as_model(model: Model | Sequence[Model]) -> Model:
    """One model; a list of them asks for all."""
    found = all_of(model) if isinstance(model, list | tuple) else model
    require_model(found)
    return found  # type: ignore[return-value]


def require_model(model: object) -> None:
    """Raise unless this is a privacy model."""
    if isinstance(model, Model) and not isinstance(model, type):
        return
    raise ParameterError(
        f"model must be a privacy model such as sf.KAnonymity(10), or a list of them, not "
        f"{given(model)}{_instead_of(model)}",
        parameter="model",
    )


def _instead_of(model: object) -> str:
    if isinstance(model, type):
        return f"; make one: {model.__name__}(...)"
    return "; the algorithm comes before the model" if hasattr(model, "partition") else ""


def parts(model: Model) -> Iterator[Model]:
    """The single models that a model is made of."""
    if isinstance(model, AllOf):
        for part in model.models:
            yield from parts(part)
    else:
        yield model


Trait: TypeAlias = Literal["merging_safe", "group_alone", "values_safe"]


def has(model: Model, trait: Trait) -> bool:
    """Whether a model's class says that it has a trait."""
    return bool(getattr(model, trait, False))


class BuiltIn(Combinable):
    """Base of the models that ship: a name, parameters as dataclass fields, a compiled rule."""

    __slots__ = ()
    name: ClassVar[str]
    needs_sensitive: ClassVar[bool] = True
    merging_safe: ClassVar[bool] = True
    group_alone: ClassVar[bool] = True
    values_safe: ClassVar[bool] = False

    def rule(self, groups: Histograms) -> Rule | None:
        """The compiled form for this table, or None when there is none."""
        raise NotImplementedError

    def passes(self, groups: Histograms) -> Flags:
        """Per group, whether it is safe."""
        raise NotImplementedError

    def lasting(self) -> Model | None:
        """What this model asks of a group at least, and what no merging undoes; None for nothing.

        A group that fails it fails this model too, however it is divided.
        """
        return None

    def on_neighbours(self, attribute: Attribute, slack: float) -> Model | None:  # noqa: ARG002
        """The model to ask for where neighbours in an order are merged, or None if there is none.

        Merging moves shares along the order by at most ``slack`` of its length.
        """
        return self if self.values_safe else None

    def statement(self, groups: Histograms) -> str:  # noqa: ARG002
        """The model in words, with what it found in these groups where that decides its meaning."""
        return str(self)

    def refusal(self, whole: Histograms) -> Infeasible:
        """The error for a table that fails even as one group."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """Name and parameters, as written in release.json."""
        stated = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        told = {key: value for key, value in stated.items() if value is not None}
        return {"model": self.name, **told}

    @classmethod
    def from_dict(cls, stated: dict[str, Any]) -> Self:
        """The inverse of to_dict."""
        return cls(**{key: value for key, value in stated.items() if key != "model"})

    def __str__(self) -> str:
        """Name and parameters in words."""
        stated = {key: value for key, value in self.to_dict().items() if key != "model"}
        return f"{self.name} ({', '.join(f'{key} = {value}' for key, value in stated.items())})"
