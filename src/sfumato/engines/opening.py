"""Who works on rows beyond memory: this process alone, or the workers of a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

from sfumato.engines.base import Engine
from sfumato.engines.cluster import Workers, cluster_engine
from sfumato.engines.domains import open_engine
from sfumato.engines.rows import Rows
from sfumato.engines.spill import scratch_folder
from sfumato.engines.stream import Scratch


def open_workers(
    engine: str, address: str | None, memory: int | None
) -> AbstractContextManager[Workers | None]:
    """The workers of the cluster at an address, or of this machine; none where none are asked."""
    if engine == "dask":
        from sfumato.engines.dask import dask_workers

        return dask_workers(address, memory)
    if engine == "spark":
        from sfumato.engines.spark import spark_workers

        return spark_workers(address, memory)
    return nullcontext()


@contextmanager
def engine_for(
    rows: Rows, workers: Workers | None, folder: Path, target: Path, tell: Callable[[], None]
) -> Iterator[Engine]:
    """The rows of a source, for as long as they are needed.

    What this process spills lies inside a folder, what workers exchange beside the target.
    """
    if workers is not None:
        with cluster_engine(rows, workers, target, tell) as engine:
            yield engine
        return
    with scratch_folder(folder) as place, Scratch(place) as scratch:
        yield open_engine(rows, scratch, tell)
