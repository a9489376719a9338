"""What can be learned from a release: models trained on it, and tested on people of the table.

A third of the table is held out. One model learns from the rest of the table, and one from rows
that the release makes equally likely (sampling.py); the release was made from all rows, so it is
the release that is judged and not how well it generalizes. The marginals know the share of those
who have the value, and nothing of who they are. Where there are no rows, counts are learned from
(learning_counts.py).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from sfumato.audits.bins import shown
from sfumato.audits.usefulness.counting import Counting
from sfumato.audits.usefulness.learning_counts import MODEL, auc, chances_of_counts
from sfumato.audits.usefulness.questions import Classes, singles
from sfumato.audits.usefulness.results import Learner
from sfumato.audits.usefulness.sampling import sampled
from sfumato.core.arrays import Codes, Counts, Flags, Floats
from sfumato.core.attribute import Attribute, Kind
from sfumato.core.microdata import Microdata
from sfumato.core.moments import askable_values
from sfumato.core.threads import one_thread
from sfumato.engines.parts import TableParts
from sfumato.errors import SfumatoError
from sfumato.forms.registry import FORMS, Release, form_of

_MOST = 10_000  # rows to learn from, and to be tested on
_FEWEST = 100
_HELD_OUT = 1 / 3
_DUMMIES, _CATEGORIES = 50, 255  # values of an unordered column that a model tells apart
_BANDS = 10

_NEEDS = "learning needs scikit-learn: pip install 'sfumato[audit]'"
_NO_ROWS = "the release gives no rows to learn from: sets in CSV files, or boxes made for reading"
_TOO_FEW = f"learning needs {_FEWEST} rows or more, of both sorts, in memory"


class _Half(NamedTuple):
    """Rows of one source: points and who has what is asked for."""

    points: Codes
    has: Flags


def learned(
    source: Release | Counting, table: TableParts, seed: int
) -> tuple[tuple[Learner, ...], str | None]:
    """Two models for each sensitive column (one where there are no rows), or why there are none."""
    if table.engine is not None or table.n_rows < _FEWEST:
        return (), _TOO_FEW
    try:
        models = _models(table.domain, seed) if _gives_rows(source) else None
    except ImportError:
        return (), _NEEDS
    found: list[Learner] = []
    for name in table.schema.sensitive:
        try:
            if models is None:
                found += _of_counts(source, table, name, seed)
            else:
                found += _of_column(source, table, name, models, seed)  # type: ignore[arg-type]
        except SfumatoError:
            return tuple(found), _NO_ROWS
    return tuple(found), None if found else _TOO_FEW


def _gives_rows(source: Release | Counting) -> bool:
    if getattr(source, "kind", None) not in FORMS:
        return False
    form = form_of(source)
    return form.grouped and form.unguessable is None and not form.external and not form.masks


def _of_column(
    release: Release,
    table: TableParts,
    name: str,
    models: dict[str, Callable[[], Any]],
    seed: int,
) -> list[Learner]:
    asked, wanted = _target(table.attributes[name], table.value_counts[name])
    whole = table.domain
    test, train = (_half(whole, name, some, wanted) for some in _held_out(whole.n_rows, seed))
    points, values = sampled(release, whole, name, _MOST, seed)
    released = _Half(points, wanted[values])
    if any(one.has.all() or not one.has.any() for one in (test, train, released)):
        return []
    share = float(wanted @ table.value_counts[name] / table.n_rows)
    alone = _off(test.has, np.full(len(test.has), share))
    return [
        Learner(model, name, asked, len(test.has), *_judged(make, train, released, test), alone)
        for model, make in models.items()
    ]


def _of_counts(source: Counting, table: TableParts, name: str, seed: int) -> list[Learner]:
    """The same by counts of whatever answers them: who is in the largest class."""
    classes = Classes.of(table, name)
    codes, counts = table.domain.codes[name], table.value_counts[name]
    rows = np.bincount(classes.of_code[: len(counts)], counts, len(classes.bins))
    most = int(rows.argmax())
    test, train = _held_out(table.n_rows, seed)
    has = classes.of_code[codes[test]] == most
    if has.all() or not has.any() or not singles(table, table.schema.quasi):
        return []
    own, shown = (one[:, most] for one in chances_of_counts(source, table, classes, train, test))
    alone = _off(has, np.full(len(has), rows[most] / table.n_rows))
    return [Learner(
        MODEL, name, f"is {classes.bins[most].label}", len(has), auc(has, own), auc(has, shown),
        _off(has, own), _off(has, shown), alone,
    )]  # fmt: skip


def _held_out(rows: int, seed: int) -> tuple[Counts, Counts]:
    """Rows to be tested on, and others to learn from."""
    order = np.random.default_rng(seed).permutation(rows)
    cut = int(rows * _HELD_OUT)
    return order[:cut][:_MOST], order[cut:][:_MOST]


def _judged(
    make: Callable[[], Any], train: _Half, released: _Half, test: _Half
) -> tuple[float, float, float, float]:
    from sklearn.metrics import roc_auc_score

    with one_thread():
        chances = [
            make().fit(one.points, one.has).predict_proba(test.points)[:, 1]
            for one in (train, released)
        ]
    aucs = [float(roc_auc_score(test.has, one)) for one in chances]
    return aucs[0], aucs[1], _off(test.has, chances[0]), _off(test.has, chances[1])


def _off(has: Flags, chances: Floats) -> float:
    """How far predicted chances are from what happens, in bands of a tenth, weighted by rows."""
    band = np.minimum((chances * _BANDS).astype(np.int64), _BANDS - 1)
    apart = np.bincount(band, has.astype(np.float64) - chances, _BANDS)
    return float(np.abs(apart).sum() / len(has))


def _half(table: Microdata, name: str, rows: Any, wanted: Flags) -> _Half:
    some = [table.codes[one.name][rows] for one in table.quasi]
    return _Half(np.stack(some, axis=1).astype(np.int32), wanted[table.codes[name][rows]])


def _target(attribute: Attribute, counts: Any) -> tuple[str, Flags]:
    """Above the median of an ordered column, or the most frequent value: in words and by code."""
    codes = np.arange(attribute.size)
    if attribute.ordered and len(attribute.values) > 2:
        known = np.cumsum(counts[: len(attribute.values)])
        middle = int(np.searchsorted(known, known[-1] / 2))
        middle = min(middle, len(attribute.values) - 2)
        value = shown(askable_values(attribute.values[middle : middle + 1])[0])
        return f"above {value}", (codes > middle) & (codes < len(attribute.values))
    most = int(np.argmax(counts))
    value = shown(*(askable_values(attribute.values[most : most + 1]) or [None]))
    return f"is {value}", codes == most


def _models(table: Microdata, seed: int) -> dict[str, Callable[[], Any]]:
    """Both by their names, for codes of these quasi-identifiers."""
    from sklearn.compose import ColumnTransformer
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

    lines = [j for j, one in enumerate(table.quasi) if one.ordered]
    others = [j for j, one in enumerate(table.quasi) if not one.ordered]
    listed = [j for j in others if table.quasi[j].size <= _CATEGORIES]
    dummies = OneHotEncoder(handle_unknown="infrequent_if_exist", max_categories=_DUMMIES)
    places = [_places(table.quasi[j]) for j in lines]

    def placed(points: Codes) -> Floats:
        columns = [at[points[:, j]] for j, at in enumerate(places)]
        return np.stack(columns, axis=1) if columns else np.zeros((len(points), 0))

    def logistic() -> Any:
        numbers = make_pipeline(FunctionTransformer(placed), StandardScaler())
        parts = [("numbers", numbers, lines), ("others", dummies, others)]
        chosen = ColumnTransformer([part for part in parts if part[2]])
        return make_pipeline(chosen, LogisticRegression(max_iter=300))

    def boosting() -> Any:
        return HistGradientBoostingClassifier(
            max_iter=40, max_leaf_nodes=15, early_stopping=False, random_state=seed,
            categorical_features=listed or None,
        )  # fmt: skip

    return {"Gradient boosting": boosting, "Logistic regression": logistic}


def _places(attribute: Attribute) -> Floats:
    """Where codes lie on a line, what is missing in the middle."""
    known = (
        attribute.positions
        if attribute.kind is Kind.NUMERICAL
        else np.arange(len(attribute.values), dtype=np.float64)
    )
    low, high = (float(known[0]), float(known[-1])) if len(known) else (0.0, 0.0)
    scaled = (known - low) / ((high - low) or 1.0)
    return np.append(scaled, 0.5)
