"""Frames of Dask and Spark: their partitions become files, which are then read as any others."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import gettempdir
from typing import Any

from sfumato.core.foreign import said
from sfumato.core.microdata import require_columns
from sfumato.core.schema import Schema
from sfumato.engines.cluster import Workers, shared_folder
from sfumato.engines.rows import Rows, open_rows
from sfumato.errors import DataError, MachineError, ParameterError
from sfumato.io.dialects import Dialect


def engine_of(source: object, engine: str) -> tuple[Any, bool]:
    """The engine that is asked for; of a frame, the one whose frame it is, and that it is one."""
    own = {"dask": "dask", "pyspark": "spark"}.get(type(source).__module__.partition(".")[0])
    if own is not None and engine not in ("auto", own):
        raise ParameterError(
            f"a frame of {own} is published by the engine {own}, not by {engine}",
            parameter="engine",
        )
    return own or engine, own is not None


@contextmanager
def frame_rows(
    frame: Any,
    schema: Schema,
    workers: Workers,
    target: Path | None,
    missing: Collection[str],
    dialect: Dialect,
) -> Iterator[Rows]:
    """The rows of a frame, through files beside the target; identifiers are not among them.

    Where nothing is to be written the files are where temporary ones are.
    """
    label = f"the {type(frame).__name__}"
    dialect.require_unused(label)
    require_columns(list(frame.columns), schema)
    columns = [*schema.quasi, *schema.sensitive, *schema.insensitive]
    beside = Path(gettempdir(), "frame") if target is None else target
    with shared_folder(beside.resolve()) as folder:
        workers.require_folder(folder)
        try:
            workers.store(frame[columns], folder / "frame")
        except MachineError:
            raise
        except Exception as error:  # of the program that makes the partitions, or of their types
            raise DataError(
                f"the partitions of the frame do not make one table ({said(error)}); they need "
                "the same columns, of the same types",
                source="frame",
            ) from error
        stored = open_rows(folder / "frame" / "*.parquet", schema.without_identifiers(), missing)
        yield replace(stored, schema=schema, label=label)
