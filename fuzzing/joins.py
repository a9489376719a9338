"""Joined releases: a table and a list of people that everybody has."""

from __future__ import annotations

import tempfile
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

import sfumato as sf
from fuzzing.judging import Finding
from fuzzing.questions import Question, questions
from fuzzing.releases import LABELS, ask, compare, require_same_answers
from fuzzing.tables import Table, tables
from sfumato.errors import PromiseBroken, SfumatoError
from sfumato.forms.files import FileFormat

ID = "person"
ALGORITHMS: dict[str, Any] = {str(one): one for one in (sf.Mondrian(), sf.TopDown())}
METHODS: dict[str, Any] = {
    f"{method.__name__}(trim={trim})": (method, trim)
    for method in (sf.Direct, sf.Refinement)
    for trim in (True, False)
}


@dataclass(frozen=True, slots=True)
class JoinCase:
    """A table, of which the first ``inside`` rows are the microdata and all are on the list."""

    table: Table
    inside: int
    method: str
    algorithm: str
    k: int
    l: float | None
    labels: str
    format: FileFormat
    questions: tuple[Question, ...]


@st.composite
def cases(draw: st.DrawFn) -> JoinCase:
    """Any table, method and label."""
    table = draw(tables((0, 1), others=False, even=True))
    return JoinCase(
        table,
        draw(st.integers(1, table.n_rows)),
        draw(st.sampled_from(sorted(METHODS))),
        draw(st.sampled_from(sorted(ALGORITHMS))),
        draw(st.integers(2, 5)),
        draw(st.sampled_from([None, 1.5, 2])) if table.of_role("sensitive") else None,
        draw(st.sampled_from(LABELS[:4])),
        draw(st.sampled_from(["parquet", "csv"])),
        tuple(draw(st.lists(questions(table), min_size=1, max_size=3))),
    )


def check(case: JoinCase) -> str:
    """Publish, write, verify, load and ask."""
    rows = tuple(
        replace(column, cells=column.cells[: case.inside]) for column in case.table.columns
    )
    inside = replace(case.table, columns=rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            release = _publish(case, inside)
        except PromiseBroken as error:
            raise Finding(f"the promise is broken: {error}") from error
        except SfumatoError as error:
            return f"refused: {type(error).__name__}"
        with tempfile.TemporaryDirectory() as folder:
            return _life(case, inside, release, Path(folder) / "out")


def _publish(case: JoinCase, inside: Table) -> sf.JoinRelease:
    everyone = pa.table({ID: range(case.table.n_rows)}).select([ID])
    for column in case.table.of_role("quasi"):
        everyone = everyone.append_column(column.name, column.array())
    rows = inside.arrow().append_column(ID, everyone[ID].slice(0, case.inside))
    schema = inside.schema(identifiers=[ID])
    table = sf.Microdata.from_arrow(rows, schema, id=ID)
    method, trim = METHODS[case.method]
    model: Any = sf.KJoinAnonymity(case.k)
    if case.l is not None:
        model = model & sf.LDiversity(case.l)
    algorithm = method(ALGORITHMS[case.algorithm], trim=trim)
    labels: Any = case.labels
    return sf.publish_join(table, everyone, algorithm, model, labels=labels, source="a list")


def _life(case: JoinCase, inside: Table, release: sf.JoinRelease, path: Path) -> str:
    try:
        release.write(path, format=case.format)
    except SfumatoError:
        ask(inside, case.questions, release)
        return "published, not written"
    found = sf.verify(path)
    if not found.ok:
        raise Finding(f"our own release is not verified: {[o for o in found.checks if not o.kept]}")
    back = sf.load(path)
    compare(release, back)
    require_same_answers(inside, case.questions, release, back)
    return "published"
