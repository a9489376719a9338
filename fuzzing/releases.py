"""Releases: publish, write, verify, load and ask any table by any method; compare with the rows."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

import sfumato as sf
from fuzzing.judging import Finding
from fuzzing.questions import Question, questions
from fuzzing.tables import Table, tables
from fuzzing.truth import judge, rows_of
from sfumato.core.askable import Askable
from sfumato.errors import DataError, PromiseBroken, QueryRefused, SfumatoError
from sfumato.forms.files import FileFormat
from sfumato.forms.registry import Release
from sfumato.io.plain import plain_table
from sfumato.models.requirements import requirements
from tests.support.algorithms import partitioner_classes, refined, variants
from tests.support.models import SETTINGS
from tests.support.oracles import ORACLES, counted

ALGORITHMS: dict[str, Any] = {
    str(one): one for cls in partitioner_classes() for one in variants(cls)
} | {str(one): one for one in refined()}
MODELS: dict[str, Any] = {
    str(one): one for one in SETTINGS if not isinstance(one, sf.KJoinAnonymity)
}
FORMS = ("generalized", "anatomized", "permuted")
LABELS = ("ranges", "sets", "taxonomy", "suppression", "text")
PERTURB = "perturb"


@dataclass(frozen=True, slots=True)
class Published:
    """A table, how it is published, and what is asked of it."""

    table: Table
    algorithm: str
    model: str
    form: str
    labels: str
    format: FileFormat
    means: bool
    evaluated: bool
    questions: tuple[Question, ...]


@st.composite
def cases(draw: st.DrawFn) -> Published:
    """Any table, method, model, form, label and format."""
    table = draw(tables() | tables(even=True))
    form = draw(st.sampled_from(FORMS if table.of_role("sensitive") else FORMS[:1]))
    return Published(
        table,
        draw(st.sampled_from(_methods(table))),
        draw(st.sampled_from(_models(table, form))),
        form,
        draw(st.sampled_from(LABELS)),
        draw(st.sampled_from(["parquet", "csv"])),
        draw(st.booleans()),
        draw(st.integers(0, 9)) == 9,
        tuple(draw(st.lists(questions(table), min_size=1, max_size=4))),
    )


def _methods(table: Table) -> list[str]:
    if table.of_role("sensitive"):
        return [*sorted(ALGORITHMS), PERTURB]
    return [name for name in sorted(ALGORITHMS) if "Anatomize" not in name]


def _models(table: Table, form: str) -> list[str]:
    """The models that fit; a promise about rows is one of boxes only, the others need values."""
    rows = [name for name, one in MODELS.items() if not one.needs_sensitive]
    values = [name for name, one in MODELS.items() if one.needs_sensitive]
    fitting = values if table.of_role("sensitive") else []
    return sorted(rows + fitting if form == "generalized" else fitting)


def check(case: Published) -> str:
    """The outcome in a word; raises a Finding."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            table = case.table.microdata()
            release = _publish(case, table)
        except PromiseBroken as error:
            raise Finding(f"the promise is broken: {error}") from error
        except SfumatoError as error:
            return f"refused: {type(error).__name__}"
        _keep_promise(release, table, case)
        with tempfile.TemporaryDirectory() as folder:
            return _life(case, table, release, Path(folder) / "out")


def _publish(case: Published, table: sf.Microdata) -> Release:
    if case.algorithm == PERTURB:
        return sf.perturb(table, p=0.5)
    options: dict[str, Any] = {"form": case.form}
    if case.form == "generalized":
        options |= {"labels": case.labels, "means": case.means}
    algorithm: Any = ALGORITHMS[case.algorithm]
    release: Release = sf.publish(table, algorithm, MODELS[case.model], **options)
    return release


def _life(case: Published, table: sf.Microdata, release: Release, path: Path) -> str:
    try:
        release.write(path, format=case.format)
    except SfumatoError as error:
        if path.exists():
            raise Finding(f"a refused write left a folder: {error}") from error
        ask(case.table, case.questions, release)
        return "published, not written"
    found = sf.verify(path)
    if not found.ok:
        broken = [str(one) for one in found.checks if not one.kept]
        raise Finding(f"our own release is not verified: {broken}")
    back = sf.load(path)
    compare(release, back)
    for one, other in zip(
        ask(case.table, case.questions, release), ask(case.table, case.questions, back), strict=True
    ):
        if one != other:
            raise Finding(f"in memory {one}, from files {other}")
    if case.evaluated:
        _evaluate(back, table)
    if release.kind in ("anatomized", "permuted"):
        _sharpen(case, back)
    return "published"


def _sharpen(case: Published, release: Release) -> None:
    """Judge answers with learnt estimates, and hold their bounds against the usual ones."""
    learnt = sf.sharpen(release)
    answers_of(case.table, case.questions, learnt, release.manifest.suppressed)
    for question in case.questions:
        sql = question.sql(case.table)
        try:
            usual, sharper = release.query(sql), learnt.query(sql)
        except QueryRefused:
            continue
        if _bounds(usual) != _bounds(sharper):
            raise Finding(f"{sql}: sharper estimates changed the bounds")


def _bounds(result: sf.Result) -> str:
    lines = zip(result.keys, result.answers, strict=True)
    return str(sorted(f"{key}: {[(one.lo, one.hi) for one in line]}" for key, line in lines))


def ask(table: Table, asked: Sequence[Question], release: Release) -> list[str]:
    """Every answer, judged, as text."""
    return answers_of(table, asked, release, release.manifest.suppressed)


def answers_of(table: Table, asked: Sequence[Question], release: Askable, gone: int) -> list[str]:
    """The same of anything that can be asked, which lacks so many rows."""
    rows, answers = rows_of(table), []
    for question in asked:
        sql = question.sql(table)
        try:
            result = release.query(sql)
        except QueryRefused as error:
            answers.append(f"refused: {error}")
            continue
        try:
            judge(question, table, result, rows, gone)
        except Finding as finding:
            raise Finding(f"{sql}: {finding}") from finding
        lines = zip(result.keys, result.answers, strict=True)
        answers.append(f"{sql}: {sorted(str(line) for line in lines)}")
    return answers


def require_same_answers(
    table: Table, asked: Sequence[Question], release: Release, back: Release
) -> None:
    """Raise a Finding unless a release answers from files as it does from memory."""
    lines = zip(ask(table, asked, release), ask(table, asked, back), strict=True)
    for one, other in lines:
        if one != other:
            raise Finding(f"in memory {one}, from files {other}")


def _evaluate(release: Release, table: sf.Microdata) -> None:
    try:
        sf.evaluate(release, table).to_dict()
    except DataError as error:  # it is the table that was published
        raise Finding(f"evaluating: {error}") from error
    except SfumatoError:
        return  # a refusal is an answer


def compare(release: Release, back: Release) -> None:
    """Raise a Finding unless what was written came back."""
    if replace(back.manifest, files=()).to_json() != release.manifest.to_json():
        raise Finding("release.json does not come back")
    for one, other in zip(release.tables, back.tables, strict=True):
        plain = plain_table(one)
        for name in plain.column_names:
            here, there = plain[name], other[name]
            if here.type != there.type:
                raise Finding(f"column {name!r} went as {here.type}, came as {there.type}")
            if sorted(map(_text, here)) != sorted(map(_text, there)):
                raise Finding(f"column {name!r} does not come back with the same values")


def _text(scalar: pa.Scalar) -> str:
    return str(scalar)


def _keep_promise(release: Release, table: sf.Microdata, case: Published) -> None:
    """Count the published values again, in plain Python, and ask each model's definition."""
    if case.algorithm == PERTURB:
        return
    groups = list(_groups(release, table))
    for need in requirements(MODELS[case.model], table.schema):
        vectors = [_vector(group, need.attribute, table) for group in groups]
        whole = tuple(map(sum, zip(*vectors, strict=True)))
        of = None if need.attribute is None else table.attributes[need.attribute]
        test: Callable[..., bool] = ORACLES[need.model.name]  # type: ignore[attr-defined]
        for vector in vectors:
            if not test(need.model, vector, whole, of):
                raise Finding(f"{need.model} does not hold for a group with counts {vector}")


def _vector(group: Sequence[Any], name: str | None, table: sf.Microdata) -> tuple[int, ...]:
    if name is None:
        return (len(group),)
    of = table.attributes[name]
    place = {str(value): code for code, value in enumerate(of.values)}
    codes = (of.missing_code if row[name] is None else place[row[name]] for row in group)
    return counted(codes, of.size + 1)[: of.size]


def _groups(release: Release, table: sf.Microdata) -> Iterable[list[dict[str, Any]]]:
    """The published rows of each group that can be told from others, cells as texts."""
    found: dict[Any, list[dict[str, Any]]] = {}
    sensitive = set(table.schema.sensitive)
    if isinstance(release, sf.AnatomizedTables):
        yield from _anatomized(release)
        return
    published = plain_table(release.table)  # type: ignore[union-attr]
    names = published.column_names
    hidden = sensitive | set(table.schema.insensitive)
    columns = {name: [_cell(one) for one in published[name]] for name in names}
    for i in range(published.num_rows):
        row = {name: columns[name][i] for name in names}
        if isinstance(release, sf.PermutedTable):
            key: Any = row["group_id"]
        else:
            key = tuple(str(row[name]) for name in names if name not in hidden)
        found.setdefault(key, []).append(row)
    yield from found.values()


def _anatomized(release: sf.AnatomizedTables) -> Iterable[list[dict[str, Any]]]:
    sizes: dict[Any, int] = {}
    for group in release.qit["group_id"].to_pylist():
        sizes[group] = sizes.get(group, 0) + 1
    for group, size in sizes.items():
        rows: list[dict[str, Any]] = [{} for _ in range(size)]
        for name, table in release.sts.items():
            plain = plain_table(table)
            held = [
                _cell(plain[name][i])
                for i in range(plain.num_rows)
                if plain["group_id"][i].as_py() == group
                for _ in range(plain["count"][i].as_py())
            ]
            for row, value in zip(rows, held, strict=True):
                row[name] = value
        yield rows


def _cell(scalar: pa.Scalar) -> str | None:
    return str(scalar) if scalar.is_valid else None
