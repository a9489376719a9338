"""What a release is still good for, measured by somebody who has the table.

    seen = evaluate("out/", table)
    seen.write_html("report.html")

The promise is verified, the cost read from release.json, distributions and answers are compared
with the truth, and advice is drawn from the figures. All of this is the owner's: it holds true
figures of the microdata, which the release hides.
"""

from __future__ import annotations

import math
import secrets
import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sfumato.algorithms.base import Progress, Stages, silent
from sfumato.asking.ask import unaskable
from sfumato.audits.audit import Audit
from sfumato.audits.evaluation.advice import Advice, advise
from sfumato.audits.evaluation.attacking import attacked, stated
from sfumato.audits.evaluation.default_workload import Workload, default_workload
from sfumato.audits.evaluation.distributions import Distribution, blurred, distribution
from sfumato.audits.evaluation.joint import Joint, joints_of
from sfumato.audits.evaluation.limits import limits_of
from sfumato.audits.evaluation.query_errors import (
    QueryErrors,
    askable,
    by_marginals,
    compare_slowly,
)
from sfumato.audits.evaluation.trials import Effect, trial_of
from sfumato.audits.join_risk import join_risk
from sfumato.audits.masking import MaskingRisk, Moment, masking_risk, moments_of
from sfumato.audits.report.page import render
from sfumato.audits.report.text import plural
from sfumato.audits.report.writing import write_page
from sfumato.audits.risk import Risk, assess
from sfumato.audits.same_table import require_same
from sfumato.audits.usefulness import Asked, Usefulness
from sfumato.audits.usefulness.agreement import require_agreeing
from sfumato.audits.verify import Verification, verify
from sfumato.core.foreign import our_errors
from sfumato.core.html import card, grid, lines, note
from sfumato.core.microdata import Microdata
from sfumato.core.query import Query
from sfumato.core.schema import Schema
from sfumato.engines.memory import memory_or_half
from sfumato.engines.parts import TableParts
from sfumato.errors import OutOfMemory, ParameterError, SfumatoError, SfumatoWarning
from sfumato.forms.joined.answers import UNKNOWN
from sfumato.forms.load import load, require_loadable
from sfumato.forms.manifest import Manifest
from sfumato.forms.registry import Release, form_of
from sfumato.forms.stated import read_manifest
from sfumato.io.paths import usable
from sfumato.queries.asked import questions_of


@dataclass(frozen=True, slots=True, eq=False)
class Evaluation:
    """Everything that the report shows.

    ``unasked`` names columns that cannot be asked about, with the reason; ``errors`` is None if no
    query of the workload could be asked. ``presence`` is how surely the least protected person is
    known to be in a table that was joined with a list; None for other releases. ``moments`` are
    those of masked columns, and ``masking_risk`` is that of a masked release which was made here.
    ``before`` and ``after`` are the risk of the table and of the release, where its tables can be
    read. ``attacked`` is what a learner makes of it; None where there is nothing to guess, or for
    too many rows, which ``audit`` attacks when it is asked. ``joints`` say how far the published
    distribution of all columns together is from the true one. ``usefulness`` is what the release
    keeps of what goes with what, beside the marginals; None without a sensitive column that can be
    asked about. ``effects`` are those of the changes that were tried and helped.
    """

    name: str
    manifest: Manifest
    verification: Verification
    distributions: tuple[Distribution, ...]
    unasked: dict[str, str]
    errors: QueryErrors | None
    presence: float | None = None
    moments: tuple[Moment, ...] = ()
    masking_risk: MaskingRisk | None = None
    before: Risk | None = None
    after: Risk | None = None
    attacked: Audit | None = None
    joints: tuple[Joint, ...] = ()
    usefulness: Usefulness | None = None
    effects: Mapping[str, Effect] = field(default_factory=dict)

    @property
    def limits(self) -> tuple[str, ...]:
        """What the promise does not cover."""
        return limits_of(self.manifest)

    @property
    def advice(self) -> tuple[Advice, ...]:
        """What to do next, the gravest first."""
        return advise(self)

    def to_dict(self) -> dict[str, Any]:
        """For machines; None where there is no figure."""
        figures: dict[str, Any] = _plain(
            {
                "release": self.name,
                "rows": self.manifest.rows,
                "groups": self.manifest.groups,
                "form": self.manifest.kind,
                "algorithm": self.manifest.algorithm,
                "promise": self.verification.to_dict(),
                "not_covered": self.limits,
                "metrics": self.manifest.metrics,
                "distributions": [shown.to_dict() for shown in self.distributions],
                "joint_distributions": [one.to_dict() for one in self.joints],
                "cannot_be_asked": self.unasked,
                "presence": self.presence,
                "moments": [moment.to_dict() for moment in self.moments],
                "masking_risk": None if self.masking_risk is None else self.masking_risk.to_dict(),
                "risk": {"before": _stated(self.before), "after": _stated(self.after)},
                "attacked": None if self.attacked is None else stated(self.attacked),
                "queries": None if self.errors is None else self.errors.to_dict(),
                "usefulness": None if self.usefulness is None else self.usefulness.to_dict(),
                "advice": [{"figure": one.figure, "text": one.text} for one in self.advice],
            }
        )
        return figures

    def write_html(self, path: str | Path, *, force: bool = False) -> Path:
        """Write the report: one file that opens anywhere, without a network."""
        return write_page(render(self), path, force=force)

    def _repr_html_(self) -> str:
        """How far answers are off, by the size of the truth, and what to do next."""
        bands = [] if self.errors is None else self.errors.by_size
        rows = [(one.label, one.figures, f"{one.median:.1%}") for one in bands]
        head = ("true value", "figures", "median error")
        return card(
            repr(self),
            grid(head, rows) if rows else "",
            lines(one.text for one in self.advice),
            note("True figures are among these: they are for the owner of the table."),
        )

    def __repr__(self) -> str:
        """A summary in one line; ``to_dict`` and ``write_html`` have the rest."""
        asked = "nothing asked" if self.errors is None else f"{len(self.errors.queries):,} queries"
        promise = "promise kept" if self.verification.ok else "promise broken"
        return (
            f"Evaluation({self.name!r}, {self.manifest.rows:,} rows in {self.manifest.groups:,} "
            f"groups, {promise}, {asked}, {plural(len(self.advice), 'piece')} of advice)"
        )


@our_errors("evaluating")
def evaluate(
    release: Release | str | Path,
    table: Microdata | TableParts,
    workload: Sequence[str | Query] | None = None,
    *,
    queries: int | None = None,
    learn: bool = False,
    seed: int | None = None,
    progress: Stages | None = None,
    memory_limit: int | None = None,
) -> Evaluation:
    """Measure a release, or a release folder, against the table that it was made from.

    Without a ``workload`` so many random ``queries`` are asked, 600 unless they would be very long;
    ``seed`` repeats them. With ``learn`` models are trained on the release, as ``usefulness`` does.
    ``progress`` hears the stage and the share of it that is done. A release
    that does not fit into ``memory_limit`` bytes, half of what there is by default, is refused.

    >>> patients = sf.read("patients.csv", sf.read_schema("patients.toml"))
    >>> release = sf.publish(patients, sf.Mondrian(), sf.KAnonymity(10))
    >>> found = sf.evaluate(release, patients, ["SELECT COUNT(*) FROM t WHERE age < 40"])
    >>> found.errors
    QueryErrors(1 queries, ...)
    """
    tell = progress or silent
    if workload is None and queries is not None and queries < 1:
        raise ParameterError(f"queries must be 1 or more, not {queries}", parameter="queries")
    tell("verifying", 0.0)
    truth = table if isinstance(table, TableParts) else TableParts.of(table)
    name, published, verification = _verified(release, memory_or_half(memory_limit))
    require_same(published, truth, whole=verification.checks[0].kept)
    refused = _refused(published, verification, truth.schema)
    require_agreeing(published, truth, refused)
    subjects, compared = blurred(published, refused), list[Distribution]()
    for place, subject in enumerate(subjects):
        tell("comparing", place / len(subjects))
        compared.append(distribution(published, truth, *subject))
    asked = _workload(workload, truth.domain, queries, seed)
    errors = _errors(published, truth, asked, refused, lambda share: tell("asking", share))
    useful = _usefulness(published, truth, refused, learn=learn, seed=seed or 0)
    trial = trial_of(published.manifest, truth, tuple(compared), errors, useful)
    return Evaluation(
        name,
        published.manifest,
        verification,
        tuple(compared),
        refused,
        errors,
        _presence(published, truth.domain, verification),
        *_masked(published, truth, verification),
        assess(truth),
        _risk(published, verification),
        attacked(published, truth, seed, tell) if verification.ok else None,
        joints_of(published, truth, refused),
        useful,
        trial.effects() if verification.ok and trial is not None else {},
    )


def _usefulness(
    release: Release, table: TableParts, refused: Mapping[str, str], *, learn: bool, seed: int
) -> Usefulness | None:
    schema = table.schema
    known = [set(names) - set(refused) for names in (schema.quasi, schema.sensitive)]
    if not all(known) or not form_of(release).counted(release):
        return None
    try:
        asked = Asked.of(table, tuple(refused))
        return asked.usefulness(release, learn=learn, seed=seed)
    except OutOfMemory as error:
        said = f"what the release keeps of what goes with what is not measured: {error}"
        warnings.warn(said, SfumatoWarning, stacklevel=4)
        return None
    except SfumatoError:
        return None  # masked sensitive columns, of which single values cannot be asked


def _risk(release: Release, verification: Verification) -> Risk | None:
    try:
        return assess(release) if verification.checks[0].kept else None
    except SfumatoError:
        return None  # boxes made for reading


def _stated(risk: Risk | None) -> dict[str, Any] | None:
    return None if risk is None else risk.to_dict()


def _presence(release: Release, table: Microdata, verification: Verification) -> float | None:
    if not form_of(release).external or not verification.checks[0].kept:
        return None
    try:
        return float(join_risk(release, table).presence.max())
    except SfumatoError:
        return None  # boxes made for reading


def _masked(
    release: Release, table: TableParts, verification: Verification
) -> tuple[tuple[Moment, ...], MaskingRisk | None]:
    """What is measured of masks, for which all rows are needed."""
    if not form_of(release).masks or not verification.checks[0].kept or table.engine is not None:
        return (), None
    told = getattr(release, "origin", None) is not None or release.drawn  # type: ignore[union-attr]
    risk = masking_risk(release, table.domain) if told else None  # type: ignore[arg-type]
    return moments_of(release, table.domain), risk  # type: ignore[arg-type]


def _verified(release: Release | str | Path, memory: int) -> tuple[str, Release, Verification]:
    """A release with its verification, which is always one of files."""
    if isinstance(release, str | Path):
        folder = usable(release)
        require_loadable(read_manifest(folder), memory, "evaluating")
        judgement = verify(release)  # first: it lets go of the tables
        return folder.resolve().name, load(release), judgement
    with TemporaryDirectory(prefix="sfumato-") as place:
        # its tables are judged, not its seed; and a copy is not remembered as published
        judged = replace(release, manifest=replace(release.manifest, seed=None))
        return "release in memory", release, verify(judged.write(Path(place) / "release"))


def _refused(release: Release, verification: Verification, schema: Schema) -> dict[str, str]:
    """Columns that cannot be asked about: all of them if the tables are damaged."""
    stated = verification.checks[0]
    if stated.kept and not form_of(release).counted(release):
        return {**dict.fromkeys(schema.sensitive, UNKNOWN), **unaskable(release)}
    if stated.kept:
        return unaskable(release)
    return {column.name: f"damaged tables: {stated.detail}" for column in release.manifest.columns}


def _workload(
    workload: Sequence[str | Query] | None, table: Microdata, queries: int | None, seed: int | None
) -> Workload:
    if workload is None:
        return default_workload(table, queries, secrets.randbelow(2**31) if seed is None else seed)
    asked = tuple(questions_of(workload))
    words = f"{len(asked):,} {'query' if len(asked) == 1 else 'queries'} of your own"
    return Workload(asked, words, given=True)


def _errors(
    release: Release,
    table: TableParts,
    asked: Workload,
    refused: Collection[str],
    tell: Progress,
) -> QueryErrors | None:
    queries = tuple(query for query in asked.queries if askable(query, refused))
    if not queries or not form_of(release).counted(release):
        return None
    return QueryErrors(
        asked.words,
        asked.given,
        queries,
        len(asked.queries) - len(queries),
        compare_slowly(release, table, queries, tell),
        by_marginals(table, queries),
    )


def _plain(value: Any) -> Any:
    """What JSON can say: NaN and infinity are not numbers there."""
    if isinstance(value, dict):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
