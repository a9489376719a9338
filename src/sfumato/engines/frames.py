"""Frames of Dask and Spark: their partitions become files, which are then read as any others."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from sfumato.core.foreign import said
from sfumato.core.microdata import require_columns
from sfumato.core.schema import Schema
from sfumato.engines.cluster import Workers, shared_folder
from sfumato.engines.rows import Rows, open_rows
from sfumato.errors import DataError, MachineError, ParameterError


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
def frame_rows(frame: Any, schema: Schema, workers: Workers, target: Path) -> Iterator[Rows]:
    """The rows of a frame, through files beside the target; identifiers are not among them."""
    require_columns(list(frame.columns), schema)
    columns = [*schema.quasi, *schema.sensitive, *schema.insensitive]
    with shared_folder(target.resolve()) as folder:
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
        rows = open_rows(folder / "frame" / "*.parquet", schema.without_identifiers())
        yield replace(rows, schema=schema, label=f"the {type(frame).__name__}")
