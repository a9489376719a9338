"""sfumato: publish personal microdata, or answer questions about it, without exposing anyone.

The names below are the whole public face; each is imported when it is first used, so that
``import sfumato`` costs next to nothing.

Examples in docstrings begin after ``import sfumato as sf``, in a folder with ``patients.csv`` and
``patients.toml``, which ship in ``sfumato/data``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from sfumato import errors

if TYPE_CHECKING:
    from sfumato.algorithms.anatomize import Anatomize
    from sfumato.algorithms.frontier import Frontier
    from sfumato.algorithms.intervals import SingleDimensional
    from sfumato.algorithms.join.methods import Direct, Refinement
    from sfumato.algorithms.masking.microaggregate import Microaggregate
    from sfumato.algorithms.masking.noise import Noise
    from sfumato.algorithms.masking.swap import Swap
    from sfumato.algorithms.masking.synthesize import Synthesize
    from sfumato.algorithms.mondrian import Mondrian
    from sfumato.algorithms.mondrian.branches import BranchMondrian
    from sfumato.algorithms.qids import SeveralQIDs
    from sfumato.algorithms.recoding.full_domain import FullDomain
    from sfumato.algorithms.recoding.local import LocalRecoding
    from sfumato.algorithms.recoding.subtree import Sibling, Subtree
    from sfumato.algorithms.topdown import TopDown
    from sfumato.answers.accuracy import accuracy
    from sfumato.asking.compare import compare
    from sfumato.asking.folded import open_release
    from sfumato.asking.matching import matching
    from sfumato.asking.sharpening import Sharpened, sharpen
    from sfumato.asking.training import Classifier, train
    from sfumato.audits.audit import Audit, audit
    from sfumato.audits.breach import (
        belief,
        individual_breach,
        row_breach,
        uncertain_belief,
    )
    from sfumato.audits.evaluation import Evaluation, evaluate
    from sfumato.audits.gains import Gains, gains
    from sfumato.audits.inspection import guess_schema, profile
    from sfumato.audits.join_risk import JoinRisk, edge_attack, join_risk
    from sfumato.audits.masking import MaskingRisk, masking_risk
    from sfumato.audits.risk import Risk, assess
    from sfumato.audits.usefulness import Usefulness, usefulness
    from sfumato.audits.verify import verify
    from sfumato.client import connect
    from sfumato.core.answer import Answer, Likely, Result
    from sfumato.core.attribute import Attribute
    from sfumato.core.boxes import Boxes
    from sfumato.core.histograms import Histograms
    from sfumato.core.joined import Joined, join
    from sfumato.core.microdata import Microdata
    from sfumato.core.partition import Partition
    from sfumato.core.predicates import (
        Compare,
        Missing,
        Within,
        at_least,
        at_most,
        between,
        one_of,
        within,
    )
    from sfumato.core.query import Aggregate, Query
    from sfumato.core.randomness import Randomness
    from sfumato.core.schema import Schema
    from sfumato.core.seeds import new_seed
    from sfumato.core.taxonomy import Taxonomy
    from sfumato.core.taxonomy_builders import (
        date_taxonomy,
        interval_taxonomy,
        prefix_taxonomy,
        suggest_taxonomy,
    )
    from sfumato.core.words import Words
    from sfumato.engines.reading import read
    from sfumato.exploring import Exploration, explore
    from sfumato.forms.anatomized.release import AnatomizedTables
    from sfumato.forms.generalized.release import GeneralizedTable
    from sfumato.forms.joined.release import JoinRelease
    from sfumato.forms.load import load
    from sfumato.forms.masked.release import MaskedTable
    from sfumato.forms.permuted.release import PermutedTable
    from sfumato.forms.perturbed.release import PerturbedTable
    from sfumato.io.schema_files import read_schema, read_taxonomies, write_schema
    from sfumato.metrics.information_loss import (
        average_group_size,
        discernibility,
        iloss,
        ncp,
        perimeter,
    )
    from sfumato.metrics.reconstruction import (
        generalized_reconstruction_error,
        least_reconstruction_error,
        reconstruction_error,
    )
    from sfumato.models.anonymity import KAnonymity, KJoinAnonymity
    from sfumato.models.bound import require_feasible
    from sfumato.models.closeness import TCloseness
    from sfumato.models.diversity import (
        DistinctLDiversity,
        EntropyLDiversity,
        LDiversity,
        RecursiveLDiversity,
    )
    from sfumato.queries.workload_files import read_workload, write_workload
    from sfumato.queries.workloads import anatomy_workload, dynamic_workload, range_workload
    from sfumato.statdb.database import StatDB
    from sfumato.verbs import mask, perturb, publish, publish_file, publish_join

__version__ = "0.1.0"

_HOMES = {
    "algorithms.anatomize": ("Anatomize",),
    "algorithms.frontier": ("Frontier",),
    "algorithms.mondrian.branches": ("BranchMondrian",),
    "algorithms.qids": ("SeveralQIDs",),
    "algorithms.recoding.full_domain": ("FullDomain",),
    "algorithms.join.methods": ("Direct", "Refinement"),
    "algorithms.intervals": ("SingleDimensional",),
    "algorithms.recoding.subtree": ("Sibling", "Subtree"),
    "algorithms.recoding.local": ("LocalRecoding",),
    "algorithms.masking.microaggregate": ("Microaggregate",),
    "algorithms.masking.noise": ("Noise",),
    "algorithms.masking.swap": ("Swap",),
    "algorithms.masking.synthesize": ("Synthesize",),
    "algorithms.mondrian": ("Mondrian",),
    "algorithms.topdown": ("TopDown",),
    "answers.accuracy": ("accuracy",),
    "asking.compare": ("compare",),
    "asking.folded": ("open_release",),
    "asking.matching": ("matching",),
    "asking.sharpening": ("Sharpened", "sharpen"),
    "asking.training": ("Classifier", "train"),
    "audits.audit": ("Audit", "audit"),
    "audits.breach": ("belief", "individual_breach", "row_breach", "uncertain_belief"),
    "audits.evaluation": ("Evaluation", "evaluate"),
    "audits.gains": ("Gains", "gains"),
    "audits.inspection": ("guess_schema", "profile"),
    "audits.join_risk": ("JoinRisk", "edge_attack", "join_risk"),
    "audits.masking": ("MaskingRisk", "masking_risk"),
    "audits.risk": ("Risk", "assess"),
    "audits.usefulness": ("Usefulness", "usefulness"),
    "exploring": ("Exploration", "explore"),
    "audits.verify": ("verify",),
    "client": ("connect",),
    "core.answer": ("Answer", "Likely", "Result"),
    "core.attribute": ("Attribute",),
    "core.boxes": ("Boxes",),
    "core.histograms": ("Histograms",),
    "core.joined": ("Joined", "join"),
    "core.microdata": ("Microdata",),
    "core.partition": ("Partition",),
    "core.predicates": (
        "Compare",
        "Missing",
        "Within",
        "at_least",
        "at_most",
        "between",
        "one_of",
        "within",
    ),
    "core.query": ("Aggregate", "Query"),
    "core.randomness": ("Randomness",),
    "core.schema": ("Schema",),
    "core.words": ("Words",),
    "core.seeds": ("new_seed",),
    "core.taxonomy": ("Taxonomy",),
    "core.taxonomy_builders": (
        "date_taxonomy",
        "interval_taxonomy",
        "prefix_taxonomy",
        "suggest_taxonomy",
    ),
    "io.schema_files": ("read_schema", "read_taxonomies", "write_schema"),
    "engines.reading": ("read",),
    "metrics.information_loss": (
        "average_group_size",
        "discernibility",
        "iloss",
        "ncp",
        "perimeter",
    ),
    "models.anonymity": ("KAnonymity", "KJoinAnonymity"),
    "models.closeness": ("TCloseness",),
    "models.bound": ("require_feasible",),
    "models.diversity": (
        "DistinctLDiversity",
        "EntropyLDiversity",
        "LDiversity",
        "RecursiveLDiversity",
    ),
    "metrics.reconstruction": (
        "generalized_reconstruction_error",
        "least_reconstruction_error",
        "reconstruction_error",
    ),
    "queries.workload_files": ("read_workload", "write_workload"),
    "queries.workloads": ("anatomy_workload", "dynamic_workload", "range_workload"),
    "forms.anatomized.release": ("AnatomizedTables",),
    "forms.generalized.release": ("GeneralizedTable",),
    "forms.joined.release": ("JoinRelease",),
    "forms.load": ("load",),
    "forms.masked.release": ("MaskedTable",),
    "forms.permuted.release": ("PermutedTable",),
    "forms.perturbed.release": ("PerturbedTable",),
    "statdb.database": ("StatDB",),
    "verbs": ("mask", "perturb", "publish", "publish_file", "publish_join"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "Aggregate",
    "Anatomize",
    "AnatomizedTables",
    "Answer",
    "Attribute",
    "Audit",
    "Boxes",
    "BranchMondrian",
    "Classifier",
    "Compare",
    "Direct",
    "DistinctLDiversity",
    "EntropyLDiversity",
    "Evaluation",
    "Exploration",
    "Frontier",
    "FullDomain",
    "Gains",
    "GeneralizedTable",
    "Histograms",
    "JoinRelease",
    "JoinRisk",
    "Joined",
    "KAnonymity",
    "KJoinAnonymity",
    "LDiversity",
    "Likely",
    "LocalRecoding",
    "MaskedTable",
    "MaskingRisk",
    "Microaggregate",
    "Microdata",
    "Missing",
    "Mondrian",
    "Noise",
    "Partition",
    "PermutedTable",
    "PerturbedTable",
    "Query",
    "Randomness",
    "RecursiveLDiversity",
    "Refinement",
    "Result",
    "Risk",
    "Schema",
    "SeveralQIDs",
    "Sharpened",
    "Sibling",
    "SingleDimensional",
    "StatDB",
    "Subtree",
    "Swap",
    "Synthesize",
    "TCloseness",
    "Taxonomy",
    "TopDown",
    "Usefulness",
    "Within",
    "Words",
    "accuracy",
    "anatomy_workload",
    "assess",
    "at_least",
    "at_most",
    "audit",
    "average_group_size",
    "belief",
    "between",
    "compare",
    "connect",
    "date_taxonomy",
    "discernibility",
    "dynamic_workload",
    "edge_attack",
    "errors",
    "evaluate",
    "explore",
    "gains",
    "generalized_reconstruction_error",
    "guess_schema",
    "iloss",
    "individual_breach",
    "interval_taxonomy",
    "join",
    "join_risk",
    "least_reconstruction_error",
    "load",
    "mask",
    "masking_risk",
    "matching",
    "ncp",
    "new_seed",
    "one_of",
    "open_release",
    "perimeter",
    "perturb",
    "prefix_taxonomy",
    "profile",
    "publish",
    "publish_file",
    "publish_join",
    "range_workload",
    "read",
    "read_schema",
    "read_taxonomies",
    "read_workload",
    "reconstruction_error",
    "require_feasible",
    "row_breach",
    "sharpen",
    "suggest_taxonomy",
    "train",
    "uncertain_belief",
    "usefulness",
    "verify",
    "within",
    "write_schema",
    "write_workload",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'sfumato' has no attribute {name!r}")
    found = getattr(import_module(f"sfumato.{_HOME_OF[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
