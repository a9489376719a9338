"""publish_file: from a source to a release folder, also beyond memory."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from sfumato.algorithms.anatomize import Anatomize
from sfumato.algorithms.anatomize.stream import DividedFile, divide_file, needs_streaming
from sfumato.algorithms.base import Partitioner, Stages, describe, silent
from sfumato.core.foreign import our_errors
from sfumato.core.randomness import Randomness
from sfumato.core.schema import Schema
from sfumato.core.seeds import Seed, require_written, stated_seed
from sfumato.errors import ParameterError
from sfumato.forms.anatomized.release import AnatomizedTables
from sfumato.forms.anatomized.stream import write_divided
from sfumato.forms.columns import Labels
from sfumato.forms.files import FileFormat
from sfumato.forms.generalized.release import GeneralizedTable
from sfumato.forms.manifest import Manifest
from sfumato.forms.registry import Release
from sfumato.forms.remembering import noting_rows
from sfumato.io.csv_headers import FirstLine
from sfumato.io.folders import require_room
from sfumato.io.tables import Source, read
from sfumato.models.base import Model
from sfumato.verbs.checks import Form
from sfumato.verbs.publishing import publish
from sfumato.verbs.streamed_rows import StreamedRows

Engine: TypeAlias = Literal["auto", "memory", "stream"]


@our_errors("publishing")
def publish_file(
    source: Source,
    schema: Schema,
    algorithm: Partitioner,
    model: Model,
    output: str | Path,
    *,
    engine: Engine = "auto",
    form: Form | None = None,
    labels: Labels | None = None,
    means: bool | Sequence[str] = False,
    format: FileFormat = "parquet",
    query: str | None = None,
    missing: str | Collection[str] = (),
    names: Sequence[str] | None = None,
    header: bool | None = None,
    force: bool = False,
    seed: Seed | None = None,
    experiment: bool = False,
    memory_limit: int | None = None,
    progress: Stages | None = None,
) -> Manifest:
    """Read a table, publish it and write the release folder; see ``read`` and ``publish``.

    Anatomize can do so with a file that does not fit into memory. ``engine`` "auto" streams when
    the file seems too large, "stream" and "memory" insist; ``memory_limit`` is in bytes, half of
    what the machine offers by default. A short ``seed`` needs ``experiment``, and is stated.

    >>> schema = sf.read_schema("patients.toml")
    >>> sf.publish_file("patients.csv", schema, sf.Anatomize(), sf.LDiversity(4), "out")
    Manifest(anatomized, 1,000 rows in 250 groups, l-diversity, made by anatomize)
    """
    require_written(stated_seed(seed), experiment=experiment)
    if engine not in get_args(Engine):
        raise ParameterError(
            f"engine must be one of {', '.join(get_args(Engine))}, not {engine!r}",
            parameter="engine",
        )
    require_room(output, force)
    tell = progress or silent
    shape: Any = form or algorithm.form
    plain = shape == AnatomizedTables.kind and query is None and format == "parquet"
    streams = isinstance(algorithm, Anatomize) and plain
    if engine == "stream" and not streams:
        raise ParameterError(
            "streaming is for Anatomize, from files to Parquet and without a query; "
            "use the in-memory engine",
            parameter="engine",
        )
    if engine == "stream" or (engine == "auto" and streams and needs_streaming(source, schema)):
        randomness, rows = Randomness(seed), StreamedRows(schema)
        first = FirstLine.said(names, header)

        def divide(scratch: Path) -> DividedFile:
            divided = divide_file(
                source, schema, model, scratch, randomness,
                missing=missing, first=first, memory_limit=memory_limit, progress=tell,
            )  # fmt: skip
            return rows.watching(divided)

        with noting_rows(output, AnatomizedTables.kind, rows.fingerprints, stacklevel=7):
            return write_divided(
                output,
                schema,
                divide,
                describe(algorithm),
                randomness,
                force=force,
                experiment=experiment,
            )
    tell("reading", 0.0)
    table = read(source, schema, query=query, missing=missing, names=names, header=header)
    boxes: dict[str, Any] = {"labels": labels, "means": means}
    release: Release = publish(
        table,
        algorithm,
        model,
        form=shape,
        seed=seed,
        progress=tell,
        **(boxes if shape == GeneralizedTable.kind else {}),
    )
    tell("writing", 0.0)
    release.write(output, force=force, format=format, experiment=experiment)
    return release.manifest
