"""What is tried: methods, each under a number of promises."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from sfumato.algorithms.anatomize import Anatomize
from sfumato.algorithms.base import Partitioner
from sfumato.algorithms.frontier import Frontier
from sfumato.algorithms.intervals import SingleDimensional
from sfumato.algorithms.mondrian import Mondrian
from sfumato.algorithms.mondrian.branches import BranchMondrian
from sfumato.algorithms.recoding.full_domain import FullDomain
from sfumato.algorithms.recoding.local import LocalRecoding
from sfumato.algorithms.recoding.subtree import Sibling, Subtree
from sfumato.algorithms.topdown import TopDown
from sfumato.audits.risk import Risk
from sfumato.errors import ParameterError
from sfumato.forms.registry import FORMS
from sfumato.models.anonymity import KAnonymity
from sfumato.models.base import Model, all_of
from sfumato.models.closeness import TCloseness
from sfumato.models.diversity import LDiversity

METHODS: Mapping[str, Callable[[], Partitioner]] = {
    "mondrian": Mondrian,
    "topdown": TopDown,
    "local": LocalRecoding,
    "full-domain": FullDomain,
    "anatomy": Anatomize,
    "branches": BranchMondrian,
    "subtree": Subtree,
    "sibling": Sibling,
    "single-dimensional": SingleDimensional,
    "frontier": Frontier,
}
PERTURB = "perturb"
KNOWN = (*METHODS, PERTURB)
USUAL = ("mondrian", "topdown", "local", "full-domain", "anatomy")
_SIZES = (5, 10, 25, 50)
_ALL_SIZES = (3, 5, 10, 15, 25, 50, 100, 200)  # where nothing is sensitive
_LEAST, _SHARES, _CLOSE = 5, (2, 4), (0.3, 0.15)  # k beside l and t
_DIVERSE = (2, 2.5, 3, 4, 5, 6, 7, 8, 10, 12, 15, 20)
_EACH = 8  # settings of a method


@dataclass(frozen=True, slots=True)
class Setting:
    """A method, and what is promised with it; None for what is not."""

    method: str
    k: int | None = None
    l: float | None = None
    t: float | None = None
    m: float | None = None

    @property
    def model(self) -> Model:
        """All promises together."""
        parts: list[Model] = []
        if self.k is not None:
            parts.append(KAnonymity(self.k))
        if self.l is not None:
            parts.append(LDiversity(self.l))
        if self.t is not None:
            parts.append(TCloseness(self.t))
        return all_of(parts)

    @property
    def about_values(self) -> bool:
        """Whether anything is promised of sensitive values."""
        return any(one is not None for one in (self.l, self.t, self.m))

    @property
    def promises(self) -> dict[str, float]:
        """By their letters."""
        given = {"k": self.k, "l": self.l, "t": self.t, "m": self.m}
        return {name: value for name, value in given.items() if value is not None}

    @property
    def words(self) -> str:
        """As in ``k = 5, l = 2``."""
        return ", ".join(f"{name} = {typed_number(value)}" for name, value in self.promises.items())

    def command(
        self,
        source: str | Sequence[str] = "table.csv",
        schema: str = "schema.toml",
        reading: Sequence[str] = (),
    ) -> str:
        """What to type to publish it; ``reading`` are the options that read the table."""
        files = [source] if isinstance(source, str) else source
        options = [part for name, value in self.promises.items()
                   for part in (f"--{name}", typed_number(value))]  # fmt: skip
        named = ["sfumato", "publish", *files, "-s", schema, *reading]
        return shlex.join([*named, "--method", self.method, *options, "-o", "out"])

    @property
    def python(self) -> str:
        """The same in Python."""
        if self.method == PERTURB:
            return f"sf.perturb(table, m={typed_number(self.promises['m'])})"
        names = {"k": "KAnonymity", "l": "LDiversity", "t": "TCloseness"}
        models = [
            f"sf.{names[name]}({typed_number(value)})" for name, value in self.promises.items()
        ]
        made = type(METHODS[self.method]()).__name__
        return f"sf.publish(table, sf.{made}(), {' & '.join(models)})"

    def __repr__(self) -> str:
        """Method and promises."""
        return f"Setting({self.method!r}, {self.words})"


def typed_number(value: float) -> str:
    """A number in full, as commands and Python read it: 1000000 and not 1e+06."""
    exact = float(value)
    return str(int(value)) if exact.is_integer() else repr(exact)


def settings_of(risk: Risk, methods: Sequence[str], given: Mapping[str, Sequence[Any]]
                ) -> tuple[Setting, ...]:  # fmt: skip
    """The points of a grid in turns, one of each method; usual promises where none are given."""
    strangers = [name for name in methods if name not in KNOWN]
    if strangers:
        raise ParameterError(
            f"method must be one of {', '.join(KNOWN)}, not {strangers[0]!r}", parameter="methods"
        )
    asked = {name: list(values) for name, values in given.items() if values}
    if not asked and not risk.sensitive:
        methods = [name for name in methods if name != PERTURB and not _needs_values(name)]
    lists = [
        list(dict.fromkeys(_given(name, asked) if asked else _usual(name, risk)))
        for name in methods
    ]
    if not any(lists):
        raise ParameterError(
            f"nothing to try: {', '.join(methods)} cannot make these promises; boxes take k, l "
            "and t, anatomy l and t, perturb m",
            parameter="methods",
        )
    for one in (one for some in lists for one in some if one.method != PERTURB):
        _ = one.model  # raises for a promise that means nothing, such as k = 0
    most = max(map(len, lists))
    return tuple(some[turn] for turn in range(most) for some in lists if turn < len(some))


def _needs_values(method: str) -> bool:
    return method in METHODS and not FORMS[METHODS[method]().form].boxes


def promised(method: str) -> tuple[str, ...]:
    """The promises that a method can make, by their letters."""
    if method == PERTURB:
        return ("m",)
    return ("l", "t") if _needs_values(method) else ("k", "l", "t")


def _given(method: str, asked: Mapping[str, Sequence[Any]]) -> Iterator[Setting]:
    """Every combination of the promises that a method can make."""
    wanted = [(name, asked[name]) for name in promised(method) if name in asked]
    for values in product(*(some for _, some in wanted)) if wanted else ():
        yield Setting(method, **dict(zip((name for name, _ in wanted), values, strict=True)))


def _usual(method: str, risk: Risk) -> Iterator[Setting]:
    sizes = [k for k in (_SIZES if risk.sensitive else _ALL_SIZES) if 2 * k <= risk.rows]
    largest = min((one.largest_l for one in risk.sensitive), default=0)
    if method == PERTURB:
        yield from (Setting(method, m=m) for m in (2, 3, 4, 5, 6, 8, 10, 15) if m <= largest)
    elif _needs_values(method):
        # the least is tried even if it cannot be: the refusal says which column is in the way
        some = [l for l in _DIVERSE if l <= largest] or [_DIVERSE[0]]
        yield from (Setting(method, l=l) for l in some[:_EACH])
    else:
        yield from (Setting(method, k=k) for k in sizes or [2])
        if risk.sensitive and sizes:
            yield from (Setting(method, k=_LEAST, l=l) for l in _SHARES if l <= largest)
            yield from (Setting(method, k=_LEAST, t=t) for t in _CLOSE)
