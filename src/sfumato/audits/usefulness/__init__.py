"""What a release is good for: how much it keeps of what goes with what.

    found = usefulness("out/", table)
    found.sentences

Single columns are published well by nearly any method, and random sets of values average every
association away. So readers' own questions are asked (a sensitive column by category of others),
and every figure stands beside that of the marginals alone, which take all columns for independent.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from sfumato.asking.ask import unaskable
from sfumato.audits.same_table import require_same
from sfumato.audits.usefulness.agreement import require_agreeing
from sfumato.audits.usefulness.association import (
    association,
    coefficient,
    conditional,
    differences,
)
from sfumato.audits.usefulness.counting import Counting, Crossed, crossed
from sfumato.audits.usefulness.group_means import group_means
from sfumato.audits.usefulness.learning import learned
from sfumato.audits.usefulness.questions import Classes, Cross, pairs, singles
from sfumato.audits.usefulness.results import (
    Association,
    Coefficient,
    Conditional,
    Difference,
    Learner,
    Usefulness,
)
from sfumato.core.foreign import our_errors
from sfumato.core.microdata import Microdata
from sfumato.engines.parts import TableParts
from sfumato.errors import SchemaError
from sfumato.forms.load import load
from sfumato.forms.registry import FORMS, Release

__all__ = [
    "Asked", "Association", "Coefficient", "Conditional", "Difference", "Learner", "Usefulness",
    "usefulness",
]  # fmt: skip

_STRONGEST = 4  # columns that are also asked about two at a time
_DIFFERENCES = 10


@our_errors("measuring usefulness")
def usefulness(
    source: Release | Counting | str | Path,
    table: Microdata | TableParts,
    *,
    learn: bool = False,
    seed: int = 0,
) -> Usefulness:
    """How much a release, its folder or a statistical database keeps of the table it is made from.

    Readers' questions are asked of both: how each sensitive column is distributed by category of
    each quasi-identifier, and of the strongest of them two at a time. With ``learn``
    models are trained on the release, too, which takes scikit-learn; ``seed`` decides the samples.

    >>> patients = sf.read("patients.csv", sf.read_schema("patients.toml"))
    >>> release = sf.publish(patients, sf.Anatomize(near=False), sf.LDiversity(4))
    >>> sf.usefulness(release, patients).verdict
    'keeps little'
    """
    truth = table if isinstance(table, TableParts) else TableParts.of(table)
    opened = _opened(source)
    refused = _require_same(opened, truth)
    return Asked.of(truth, refused).usefulness(opened, learn=learn, seed=seed)


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """Readers' questions and their true answers, which any number of releases can be held to."""

    table: TableParts
    classes: tuple[Classes, ...]
    questions: tuple[tuple[Cross, Classes, Crossed], ...]

    @classmethod
    def of(cls, table: TableParts, refused: Sequence[str] = ()) -> Asked:
        """Choose the questions about a table, without columns that cannot be asked about."""
        names = [name for name in table.schema.quasi if name not in refused]
        classes = tuple(
            Classes.of(table, name) for name in table.schema.sensitive if name not in refused
        )
        if not table.schema.sensitive:
            raise SchemaError(
                "usefulness is about what goes with sensitive columns; the schema names none"
            )
        crosses = singles(table, names)
        found = [asked for one in classes for asked in _questions(table, crosses, one)]
        return cls(table, classes, tuple(found))

    def usefulness(
        self, source: Release | Counting, *, learn: bool = False, seed: int = 0, best: bool = True
    ) -> Usefulness:
        """What one release keeps; ``best`` also finds everybody's group, where that is cheap."""
        is_release = getattr(source, "kind", None) in FORMS
        means = {
            one.name: group_means(source, self.table, one) if best and is_release else None  # type: ignore[arg-type]
            for one in self.classes
        }
        found, related, slopes = [], [], []
        for cross, classes, true in self.questions:
            shown, exact = crossed(source, cross, classes), means[classes.name]
            best_cells = None if exact is None else exact(cross)
            found.append(conditional(cross, classes, true, shown, best_cells))
            if len(cross.columns) == 1:
                related.append(self._association(cross, classes, true, shown))
                if self._ordered(cross.columns[0]) and shown.sums is not None:
                    slopes.append(coefficient(cross, classes, true, shown))
        learners, why = learned(source, self.table, seed) if learn else ((), None)
        return Usefulness(
            rows=self.table.n_rows,
            conditionals=tuple(found),
            associations=tuple(related),
            coefficients=tuple(one for one in slopes if one is not None),
            differences=tuple(_largest(found)),
            learners=learners,
            unlearned=why,
        )

    def _association(
        self, cross: Cross, classes: Classes, true: Crossed, shown: Crossed
    ) -> Association:
        ordered = self._ordered(cross.columns[0]) and self._ordered(classes.name)
        return association(cross, classes, true, shown, ordered=ordered)

    def _ordered(self, name: str) -> bool:
        attribute = self.table.attributes[name]
        return attribute.ordered and not attribute.has_missing  # which has a bin after the last


def _questions(
    table: TableParts, crosses: Sequence[Cross], classes: Classes
) -> Iterator[tuple[Cross, Classes, Crossed]]:
    """One column at a time, then two of those that go most with the sensitive one."""
    told = [(cross, classes, crossed(table, cross, classes)) for cross in crosses]
    yield from told
    gaps = {
        cross.columns[0]: conditional(cross, classes, true, true, None) for cross, _, true in told
    }
    strongest = sorted(gaps, key=lambda name: gaps[name].chance - gaps[name].marginals)
    both = [name for name in gaps if name in strongest[:_STRONGEST] and gaps[name].associated]
    for cross in pairs(table, both):
        yield cross, classes, crossed(table, cross, classes)


def _largest(found: Sequence[Conditional]) -> Iterator[Difference]:
    told = [apart for one in found if len(one.columns) == 1 for apart in differences(one)]
    for _, one in sorted(told, key=lambda pair: -pair[0])[:_DIFFERENCES]:
        yield one


def _require_same(source: Release | Counting, table: TableParts) -> tuple[str, ...]:
    """Raise unless the table can be that of the source; what the source cannot be asked about."""
    refused: tuple[str, ...] = ()
    if getattr(source, "kind", None) in FORMS:
        release: Release = source  # type: ignore[assignment]
        require_same(release, table, whole=True)
        refused = tuple(unaskable(release))
    require_agreeing(source, table, refused)
    return refused


def _opened(source: Release | Counting | str | Path) -> Release | Counting:
    return load(source) if isinstance(source, str | Path) else source
