"""publish_file: from a source to a release folder, also beyond memory."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from sfumato.algorithms.base import (
    Partitioner,
    Planner,
    Stages,
    describe,
    require_algorithm,
    silent,
)
from sfumato.core.foreign import our_errors
from sfumato.core.randomness import Randomness
from sfumato.core.schema import Schema
from sfumato.core.seeds import Seed, require_written, stated_seed
from sfumato.engines.choice import CLUSTERS, Cluster, Engine, address_of, require_engine
from sfumato.engines.frames import engine_of, frame_rows
from sfumato.engines.memory import memory_or_half
from sfumato.engines.opening import open_workers
from sfumato.engines.rows import needs_streaming, open_rows, together
from sfumato.errors import ParameterError
from sfumato.forms.columns import Labels
from sfumato.forms.files import FileFormat, require_format
from sfumato.forms.manifest import Manifest
from sfumato.forms.registry import FORMS, Release
from sfumato.io.dialects import Dialect, Written
from sfumato.io.folders import require_room
from sfumato.io.schema_files import as_schema
from sfumato.io.tables import Source, markers, read_whole
from sfumato.models.base import Model
from sfumato.models.requirements import Requirement, requirements
from sfumato.verbs.checks import Form
from sfumato.verbs.publishing import OwnGroups, grouped_release
from sfumato.verbs.shortcuts import model_now
from sfumato.verbs.streaming import STREAMED, Wish, stream_release


@our_errors("publishing")
def publish_file(
    source: Source,
    schema: Schema | str | Path,
    algorithm: Partitioner,
    model: Model | Sequence[Model],
    output: str | Path,
    *,
    engine: Engine | Cluster = "auto",
    scheduler: str | None = None,
    master: str | None = None,
    form: Form | None = None,
    labels: Labels | None = None,
    means: bool | Sequence[str] = False,
    format: FileFormat = "parquet",
    query: str | None = None,
    missing: str | Collection[str] = (),
    names: Sequence[str] | None = None,
    header: bool | None = None,
    encoding: str | None = None,
    decimal: str = ".",
    day_first: bool = False,
    force: bool = False,
    seed: Seed | None = None,
    experiment: bool = False,
    memory_limit: int | None = None,
    progress: Stages | None = None,
    owner: Callable[[OwnGroups], None] | None = None,
) -> Manifest:
    """Read a table, publish it and write the release folder; see ``read`` and ``publish``.

    ``schema`` may be the path of a schema file. The ``owner`` hears who is in which group, unless
    the table is beyond memory.

    All algorithms but SingleDimensional can do so with a file that does not fit into memory; most
    need memory for its different combinations of values (docs/methods.md). ``engine`` "auto"
    streams when the file seems too large, "stream" and "memory" insist; ``memory_limit`` is in
    bytes, half of what the machine offers by default. "dask" and "spark" have the same done by the
    workers of the cluster whose ``scheduler`` or ``master`` has this address, by processes of this
    machine without one; the limit is then that of each worker (docs/cluster.md). A frame of Dask or
    Spark is published by its own cluster. A short ``seed`` needs ``experiment``, and is stated.

    >>> schema = sf.read_schema("patients.toml")
    >>> sf.publish_file("patients.csv", schema, sf.Anatomize(), sf.LDiversity(4), "out")
    Manifest(anatomized, 1,000 rows in 35 groups, l-diversity, made by anatomize)
    """
    schema = as_schema(schema)
    written: Written = {
        "names": names, "header": header, "encoding": encoding, "decimal": decimal,
        "day_first": day_first,
    }  # fmt: skip
    require_algorithm(algorithm)
    require_written(stated_seed(seed), experiment=experiment)
    require_engine(engine, memory_limit, CLUSTERS)
    engine, framed = engine_of(source, engine)
    address = address_of(engine, scheduler, master)
    require_room(output, force)
    require_format(format)
    tell, dialect = progress or silent, Dialect.said(**written)
    shape: Any = form or algorithm.form
    if shape in FORMS and not FORMS[shape].boxes:
        labels, means = None, False  # of boxes; a seed is bound to what has an effect
    needs = requirements(model, schema)
    insists = engine in ("stream", *CLUSTERS)
    if insists:
        _require_streaming(algorithm, shape, needs, query)
    wanted = insists or (engine == "auto" and needs_streaming(source, schema))
    if wanted and _streams(algorithm, shape, needs, query):
        assert isinstance(algorithm, Planner)
        shown: Labels = labels if labels is not None else getattr(algorithm, "labels", "ranges")
        with ExitStack() as ends:
            if not framed:  # what is wrong with a file is said before a cluster is started
                rows = open_rows(source, schema, markers(missing), dialect)
            workers = ends.enter_context(open_workers(engine, address, memory_limit))
            if framed:
                assert workers is not None
                given = (source, schema, workers, Path(output), markers(missing), dialect)
                rows = ends.enter_context(frame_rows(*given))
            memory = memory_or_half(memory_limit) if workers is None else workers.memory
            wish = Wish(algorithm, describe(algorithm), needs, shape, shown, means, format, memory)
            return stream_release(rows, wish, output, Randomness(seed), force, tell, workers)
    tell("reading", 0.0)
    whole = together(source, markers(missing), dialect)
    table = read_whole(whole, schema, query=query, missing=missing, **written)
    asked = model_now(model, None, None, None)
    release: Release = grouped_release(
        table, algorithm, asked, shape, labels, means, seed, tell, owner
    )
    tell("writing", 0.0)
    release.write(output, force=force, format=format, experiment=experiment)
    return release.manifest


def _streams(
    algorithm: Partitioner,
    shape: str,
    needs: tuple[Requirement, ...],
    query: str | None,
) -> bool:
    """Whether such a release can be made of a file that does not fit into memory."""
    try:
        _require_streaming(algorithm, shape, needs, query)
    except ParameterError:
        return False
    return True


def _require_streaming(
    algorithm: Partitioner,
    shape: str,
    needs: tuple[Requirement, ...],
    query: str | None,
) -> None:
    if query is not None:
        what = "the result of a query"
    elif shape not in STREAMED:
        what = f"a {shape} release"
    elif not isinstance(algorithm, Planner):
        what = f"the method {algorithm.name}"
    else:
        algorithm.require_planned(needs)
        return
    raise ParameterError(
        f"{what} needs all rows in memory; use the in-memory engine", parameter="engine"
    )
