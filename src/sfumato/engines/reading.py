"""read: a table in memory, also from a file that would not fit there as it is.

Such a file is read twice, part by part: once for the values of every column, once for their codes.
Memory then holds the codes, one to four bytes for each value, and never the texts and numbers. The
parts may be read by the workers of a cluster; what they find is put together here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa

from sfumato.core.attribute import narrowest
from sfumato.core.binning import needs_rows
from sfumato.core.expected import given
from sfumato.core.foreign import our_errors
from sfumato.core.microdata import Microdata
from sfumato.core.schema import Schema
from sfumato.engines.choice import CLUSTERS, Cluster, Engine, address_of, require_engine
from sfumato.engines.cluster import Workers, cluster_engine
from sfumato.engines.coded import coded, microdata
from sfumato.engines.domains import Counted, count_values, open_engine
from sfumato.engines.frames import engine_of, frame_rows
from sfumato.engines.memory import memory_or_half
from sfumato.engines.opening import open_workers
from sfumato.engines.rows import Rows, needs_streaming, open_rows, together
from sfumato.engines.stream import Scratch
from sfumato.errors import OutOfMemory, ParameterError
from sfumato.io.dialects import Dialect, Written
from sfumato.io.schema_files import as_schema
from sfumato.io.sources import is_files
from sfumato.io.tables import Source, markers, read_whole


@our_errors("reading a table")
def read(
    source: Source,
    schema: Schema | str | Path,
    *,
    query: str | None = None,
    missing: str | Collection[str] = (),
    names: Sequence[str] | None = None,
    header: bool | None = None,
    encoding: str | None = None,
    decimal: str = ".",
    day_first: bool = False,
    id: str | None = None,
    engine: Engine | Cluster = "auto",
    scheduler: str | None = None,
    master: str | None = None,
    memory_limit: int | None = None,
) -> Microdata:
    """Read and encode the columns that the schema names; ``schema`` may be the path of one.

    ``query`` is SQL: with a database URL a table's name or a SELECT, with anything else a SELECT
    in which the source is called ``t``. ``missing`` are texts that stand for a missing value.

    A CSV file starts with the names of its columns. A first line that looks like a row is refused:
    ``header=True`` says that it is the header all the same, ``names`` are the columns of a file
    that has none; both together replace the names.

    ``encoding`` is that of the texts of a CSV file, UTF-8 unless it is said. With ``decimal=","``
    1,5 is a number (and 1.5 is none), with ``day_first`` 31.12.2020, 31/12/2020 and 31-12-2020 are
    dates.

    Blanks around quasi-identifying and sensitive texts are dropped. Identifiers must be there but
    are not kept, and not loaded either where the columns can be chosen; only ``id``, one of them,
    is kept beside the table when it is named, to be joined on by ``publish_join``.

    A list of paths, a folder, or a pattern such as ``part-*.parquet`` is several files, which are
    read as one table. An address of http, https, s3 or gs is fetched. Of an Excel workbook with
    several sheets ``query`` names one; such files, and those of Stata, SPSS and SAS, need the extra
    ``formats``.

    A file that seems too large is read part by part (``engine`` "stream" and "memory" insist), and
    its codes have to fit into ``memory_limit`` bytes, half of what the machine offers by default.
    With "dask" and "spark" the workers of a cluster read it (``publish_file``). A frame of Dask or
    Spark is read by its own cluster.

    >>> sf.read("patients.csv", sf.Schema(quasi=["age", "sex"], sensitive="disease"))
    Microdata(1,000 rows, quasi=['age', 'sex'], sensitive=['disease'])
    """
    if isinstance(source, Schema | Microdata):
        raise ParameterError(
            f"source is {given(source)}: the table comes first, and one that was read is used as "
            "it is",
            parameter="source",
        )
    schema = as_schema(schema)
    written: Written = {
        "names": names, "header": header, "encoding": encoding, "decimal": decimal,
        "day_first": day_first,
    }  # fmt: skip
    require_engine(engine, memory_limit, CLUSTERS)
    engine, framed = engine_of(source, engine)
    address = address_of(engine, scheduler, master)
    absent, dialect = markers(missing), Dialect.said(**written)
    parts, insists = _in_parts(source, framed, schema, query, id), engine in ("stream", *CLUSTERS)
    if insists and not parts:
        raise ParameterError(
            "streaming is for files, without a query, an id and bins; use the in-memory engine",
            parameter="engine",
        )
    if insists or (engine == "auto" and parts and needs_streaming(source, schema)):
        with ExitStack() as ends:
            if not framed:  # what is wrong with a file is said before a cluster is started
                rows = open_rows(source, schema, absent, dialect)
            workers = ends.enter_context(open_workers(engine, address, None))
            if framed:
                assert workers is not None
                rows = ends.enter_context(
                    frame_rows(source, schema, workers, None, absent, dialect)
                )
            return read_coded(rows, memory_or_half(memory_limit), workers)
    whole = together(source, absent, dialect)
    return read_whole(whole, schema, query=query, missing=missing, id=id, **written)


def read_coded(rows: Rows, memory: int, workers: Workers | None = None) -> Microdata:
    """The table of rows that are read part by part, if its codes fit into so much memory."""
    with _coded_parts(rows, workers, memory) as (counted, parts):
        kinds = {name: narrowest(one.size) for name, one in counted.attributes.items()}
        taken = counted.n_rows * sum(np.dtype(kind).itemsize for kind in kinds.values())
        _require_memory(counted, taken, memory)
        codes = {name: np.empty(counted.n_rows, kind) for name, kind in kinds.items()}
        others, filled = [counted.domain().insensitive], 0
        for part in parts:
            found = microdata(part, rows.schema, counted.attributes)
            end = filled + found.n_rows
            if end > counted.n_rows:
                raise rows.changed()
            for name, column in found.codes.items():
                codes[name][filled:end] = column
            others.append(found.insensitive)
            taken += others[-1].nbytes
            _require_memory(counted, taken, memory)
            filled = end
    if filled != counted.n_rows:
        raise rows.changed()
    return Microdata(
        rows.schema, counted.n_rows, counted.attributes, codes, pa.concat_tables(others)
    )


@contextmanager
def _coded_parts(
    rows: Rows, workers: Workers | None, memory: int
) -> Iterator[tuple[Counted, Iterator[pa.Table]]]:
    """What the first pass finds, and the parts of the second."""
    if workers is None:
        engine = open_engine(rows, Scratch(Path()), _silent)  # nothing is spilled
        counted = count_values(engine, rows, memory)
        yield counted, (coded(part, *counted.coding) for part in engine.parts())
        return
    with cluster_engine(rows, workers, rows.files.files[0], _silent) as many:
        counted = count_values(many, rows, memory)
        yield counted, counted.encoded(many).parts()


def _silent() -> None:
    """Nobody listens."""


def _in_parts(
    source: object, framed: bool, schema: Schema, query: str | None, id: str | None
) -> bool:
    """Whether the source could be read part by part."""
    binned = any(needs_rows(declared.bins) for declared in schema.declarations.values())
    return (framed or is_files(source)) and query is None and id is None and not binned


def _require_memory(counted: Counted, taken: int, memory: int) -> None:
    if taken > memory:
        raise OutOfMemory(
            f"{memory:,} bytes of memory are too few for {counted.n_rows:,} rows, which take "
            f"{taken:,} bytes as codes; allow more, or leave columns out of the schema",
            doing="reading a table",
        )
