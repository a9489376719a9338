"""publish_join: microdata, published with the help of a table that everybody has."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from sfumato.algorithms.base import Stages, describe, require_algorithm, silent
from sfumato.algorithms.join.methods import JoinMethod, merges
from sfumato.core.fingerprint import digest
from sfumato.core.foreign import our_errors
from sfumato.core.joined import Joined, Matching, join
from sfumato.core.microdata import Microdata, require_microdata
from sfumato.core.randomness import Randomness
from sfumato.core.seeds import Seed
from sfumato.engines.choice import CLUSTERS, Cluster, Engine, address_of, require_engine
from sfumato.engines.memory import memory_or_half
from sfumato.engines.opening import open_workers
from sfumato.engines.parts import Work
from sfumato.errors import ParameterError, SfumatoWarning
from sfumato.forms.columns import Labels, require_labels
from sfumato.forms.joined.release import (
    EMPTY_LIST,
    JoinRelease,
)
from sfumato.forms.remembering import made_from
from sfumato.io.tables import Source, markers, read_table
from sfumato.models.anonymity import KJoinAnonymity
from sfumato.models.base import Model, all_of, as_model, parts
from sfumato.verbs.checks import (
    require_spelling,
    stated_promises,
)
from sfumato.verbs.join_release import Wish, built
from sfumato.verbs.join_series import SeriesOf
from sfumato.verbs.listing import Reading, is_streamed


@our_errors("publishing")
def publish_join(
    table: Microdata,
    external: Source,
    method: JoinMethod,
    model: Model | Sequence[Model],
    *,
    columns: Mapping[str, str] | None = None,
    source: str | None = None,
    labels: Labels | None = None,
    missing: str | Collection[str] = (),
    header: bool | None = None,
    seed: Seed | None = None,
    engine: Engine | Cluster = "auto",
    scheduler: str | None = None,
    master: str | None = None,
    memory_limit: int | None = None,
    series: str | Path | None = None,
    progress: Stages | None = None,
) -> JoinRelease:
    """Publish a table with the help of an external one, such as a list of voters.

    The table must have been read with the ``id`` to join on. The external table needs that id and
    the quasi-identifiers, one row per person; ``columns`` gives the names it has for them where
    they differ from the table's. ``method`` is Direct or Refinement over an algorithm; the model
    is KJoinAnonymity, for Refinement also with models of the sensitive values. ``source`` says in
    release.json where the external table is from: by default a file's name and checksum.
    ``missing`` are texts that stand for a missing value in the external table, and ``header`` is
    about its first line, if it is a CSV file; see ``read``.

    The list may be a file that does not fit into memory; its different combinations of values have
    to. ``engine`` "auto" streams it when it seems too large, "stream" and "memory" insist;
    ``memory_limit`` is in bytes, half of what the machine offers by default. "dask" and "spark"
    have the list read by the workers of the cluster whose ``scheduler`` or ``master`` has this
    address (docs/cluster.md); what they exchange lies beside the list.

    With a ``series``, a folder of the owner's, the release is one of several of a table and a list
    that both grow: it shows everything that the last one showed, and newcomers in groups of their
    own, or they wait; see docs/joining.md.

    External rows must be real people: with invented ones among them, whoever invented them can
    tell who is in the table.

    >>> import pyarrow.csv as csv
    >>> voters = csv.read_csv("patients.csv")
    >>> schema = sf.Schema(identifiers=["name"], quasi=["age", "sex"], sensitive="disease")
    >>> table = sf.read(voters.slice(0, 200), schema, id="name")
    >>> method = sf.Refinement(sf.Mondrian())
    >>> release = sf.publish_join(table, voters, method, sf.KJoinAnonymity(10))
    >>> release.joined.num_rows >= 200
    True
    """
    require_microdata(table)
    require_algorithm(getattr(method, "algorithm", method))
    natural: Labels = getattr(method.algorithm, "labels", "ranges")
    shown = labels or natural
    require_engine(engine, memory_limit, CLUSTERS)
    address = address_of(engine, scheduler, master)
    require_labels(shown)
    tell = progress or silent
    wish = Wish(method, *_split(as_model(model)), shown)
    require_spelling(table)
    tell("reading", 0.0)
    if series is not None:
        if engine not in ("auto", "memory"):
            raise ParameterError("a series needs the list in memory", parameter="engine")
        reading = Reading(columns or {}, markers(missing), header)
        listed = _listed(external, reading)
        state = SeriesOf(Path(series), table, listed, reading.columns, wish)
        told = provenance(external, source, listed.num_rows, table.schema.quasi, columns or {})
        return state.next(told, Randomness(seed))
    joined = _joined(
        table, external, Reading(columns or {}, markers(missing), header),
        method, engine, address, memory_limit, tell,
    )  # fmt: skip
    _warn(joined.matching)
    randomness = Randomness(seed)
    needs = wish.needs(table)
    purpose = (shown, method.name, method.trim, wish.k, stated_promises(needs, ()))
    randomness.bind(
        (*purpose, describe(method.algorithm)),
        lambda: digest(table),
        lambda: digest(joined.everyone, joined.weights),
    )
    found = method.partition(
        joined,
        wish.k,
        needs,
        randomness,
        lambda share: tell("partitioning", share),
    )
    if found.first is None and table.schema.sensitive:
        names = ", ".join(table.schema.sensitive)
        warnings.warn(
            f"Direct publishes no sensitive values: {names} stays at home; use Refinement",
            SfumatoWarning,
            stacklevel=3,
        )
    tell("building tables", 0.0)
    rows, quasi = joined.matching.external, joined.everyone.schema.quasi
    told = provenance(external, source, rows, quasi, columns or {})
    release = built(found, wish, told, randomness)
    made_from(release, table)
    return release


def _joined(
    table: Microdata,
    external: Source,
    reading: Reading,
    method: JoinMethod,
    engine: Engine | Cluster,
    address: str | None,
    memory_limit: int | None,
    tell: Stages,
) -> Joined:
    """The table and the list, in which people who are alike are one row if the method allows it."""
    merge = merges(method.algorithm)
    if engine in ("stream", *CLUSTERS) and not merge:
        raise ParameterError(
            "a list is streamed for algorithms that never tell equal people apart (TopDown, and "
            "Mondrian without relaxed cuts and without a workload); use the in-memory engine",
            parameter="engine",
        )
    if is_streamed(external, reading.names(table), engine if merge else "memory"):
        with open_workers(engine, address, memory_limit) as workers:
            memory = memory_or_half(memory_limit) if workers is None else workers.memory
            work = None if workers is None else Work(workers, Path(external))
            return reading.stream(table, external, memory, tell, work)
    joined = join(table, _listed(external, reading), reading.columns)
    return joined.merged() if merge else joined


def _listed(external: Source, reading: Reading) -> pa.Table:
    return read_table(
        external, missing=reading.missing, header=reading.header, trim=True, empty=True
    )


def _split(model: Model) -> tuple[int, Model | None]:
    """The k of the join, and what else is asked of the microdata."""
    joins = [part for part in parts(model) if isinstance(part, KJoinAnonymity)]
    others = [part for part in parts(model) if not isinstance(part, KJoinAnonymity)]
    if not joins:
        raise ParameterError(
            "a join promises k-join-anonymity: name KJoinAnonymity(k) (--k), alone or with other "
            "models",
            parameter="model",
        )
    return max(part.k for part in joins), all_of(others) if others else None


def provenance(
    external: Source,
    source: str | None,
    rows: int,
    quasi: Sequence[str],
    columns: Mapping[str, str],
) -> dict[str, Any]:
    """Where the external rows are from, so that a receiver can look at the same table."""
    stated: dict[str, Any] = {"source": source, "rows": rows}
    if isinstance(external, str | Path) and Path(external).is_file():
        path = Path(external)
        stated["source"] = source or path.name
        with path.open("rb") as file:
            stated["sha256"] = hashlib.file_digest(file, "sha256").hexdigest()
    stated["columns"] = {name: columns.get(name, name) for name in quasi}
    if not rows:
        stated["note"] = EMPTY_LIST
    return stated


def _warn(matching: Matching) -> None:
    if not matching.external:
        warnings.warn(
            "the external table is empty: the release is no more than k-anonymous, with no help",
            SfumatoWarning,
            stacklevel=4,
        )
    elif not matching.shared:
        warnings.warn(
            "nobody of the microdata was found in the external table; if people are in both, "
            "their ids are written differently, and they count twice",
            SfumatoWarning,
            stacklevel=4,
        )
    if matching.incomplete:
        warnings.warn(
            f"{matching.incomplete:,} people of the microdata lack a value in the external table: "
            "who has it may see that a box holds more people than it names, and guess who they are",
            SfumatoWarning,
            stacklevel=4,
        )
    if matching.disagreements:
        told = ", ".join(f"{name}: {n:,}" for name, n in matching.disagreements.items())
        warnings.warn(
            f"people whose values differ in the external table ({told}); the microdata's are used",
            SfumatoWarning,
            stacklevel=4,
        )
