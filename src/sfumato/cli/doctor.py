"""sfumato doctor: what is installed, which cluster answers, what is missing and how to get it."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version

import click

from sfumato.cli import show
from sfumato.engines import java
from sfumato.engines.memory import available_memory
from sfumato.engines.opening import open_workers
from sfumato.engines.versions import versions
from sfumato.errors import SfumatoError

# what each extra is for, and a library that comes with it alone
_EXTRAS = {
    "audit": ("audit: one more learner, reconstruction; --learn", "scikit-learn"),
    "dask": ("--engine dask", "distributed"),
    "formats": ("Excel, Stata, SPSS and SAS files", "pyreadstat"),
    "frames": ("Python: frames of pandas and polars", "polars"),
    "plot": ("pictures of reproduce and evaluate", "matplotlib"),
    "postgres": ("PostgreSQL: tables, shared ledgers", "adbc-driver-postgresql"),
    "server": ("statdb serve, studio", "starlette"),
    "spark": ("--engine spark", "pyspark"),
}
_HEAD = ("what", "found", "to do")
Line = tuple[str, str, str]


@click.command()
@click.option(
    "--scheduler", metavar="ADDRESS", help="Ask the Dask cluster at this address whether it works."
)
@click.option(
    "--master", metavar="ADDRESS", help="Ask the Spark cluster at this address whether it works."
)
@click.option(
    "--compile",
    "compiles",
    is_flag=True,
    help="Compile the inner loops of databases now, and keep them in NUMBA_CACHE_DIR.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the lines as JSON.")
def doctor(scheduler: str | None, master: str | None, compiles: bool, as_json: bool) -> None:
    """Say what is installed, and how to get what is missing.

    \b
    sfumato doctor
    sfumato doctor --compile
    sfumato doctor --scheduler tls://head:8786
    """
    lines = [*_own(), *_extras(), _java()]
    if compiles:
        lines.append(_compiled())
    failed: SfumatoError | None = None
    for engine, address in (("dask", scheduler), ("spark", master)):
        if address is not None:
            try:
                lines.append(_asked(engine, address))
            except SfumatoError as error:  # what is said above may be why
                lines.append((f"cluster: {address}", "cannot be used", ""))
                failed = failed or error
    if as_json:
        show.print_json([dict(zip(_HEAD, line, strict=True)) for line in lines])
    else:
        show.console().print(show.table("", _HEAD, lines))
    if failed is not None:
        raise failed


def _own() -> Iterator[Line]:
    for name, found in versions().items():
        yield name, found, ""
    yield "free memory", f"{available_memory() / 2**30:.1f} GiB", ""


def _compiled() -> Line:
    from sfumato.core.compiled import is_cached
    from sfumato.statdb.compiling import compile_all
    from sfumato.statdb.count.near_kernel import near_count

    kinds = compile_all()
    kept = "kept on disk" if is_cached(near_count) else "compiled in memory only"
    todo = "" if is_cached(near_count) else "let NUMBA_CACHE_DIR name a folder that can be written"
    return f"inner loops of {kinds} kinds of databases", kept, todo


def _extras() -> Iterator[Line]:
    for extra, (what, library) in _EXTRAS.items():
        try:
            yield f"{extra}: {what}", f"{library} {version(library)}", ""
        except PackageNotFoundError:
            yield f"{extra}: {what}", "not installed", f"pip install 'sfumato[{extra}]'"


def _java() -> Line:
    found = java.java_version()
    what = "java: --engine spark"
    if found is None:
        return what, "not found", java.HOW
    return what, f"version {found}", "" if found >= java.LEAST else java.HOW


def _asked(engine: str, address: str) -> Line:
    """A cluster that is asked for; raise if it cannot be used."""
    with open_workers(engine, address, None) as workers:
        assert workers is not None
        return f"cluster: {address}", f"{workers.memory / 2**30:.1f} GiB for a task", ""
