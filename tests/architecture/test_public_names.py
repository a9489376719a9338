"""The public face: pinned, importable, documented, and cheap to import."""

from __future__ import annotations

import subprocess
import sys

import pytest

import sfumato as sf
from tests.support.waiting import PATIENCE

PUBLIC = [
    "connect", "StatDB", "TopDown", "JoinRisk", "edge_attack", "join_risk",
    "Direct", "Refinement", "Joined", "join", "KJoinAnonymity", "JoinRelease", "publish_join",
    "Aggregate", "Answer", "Compare", "Missing", "Query", "Result", "accuracy", "at_least",
    "at_most", "between", "compare", "matching", "one_of", "open_release", "Evaluation", "evaluate",
    "Classifier", "train", "Sharpened", "sharpen",
    "Audit", "audit", "mask", "masking_risk", "MaskedTable", "MaskingRisk", "Microaggregate",
    "Noise", "Swap", "Synthesize",
    "Risk",
    "anatomy_workload", "dynamic_workload", "range_workload", "read_workload", "write_workload",
    "publish_file", "BranchMondrian", "LocalRecoding", "Likely", "PermutedTable", "PerturbedTable",
    "perturb", "Frontier", "FullDomain", "SeveralQIDs", "Sibling",
    "SingleDimensional", "Subtree",
    "date_taxonomy", "interval_taxonomy", "prefix_taxonomy", "suggest_taxonomy",
    "belief", "individual_breach", "row_breach", "uncertain_belief",
    "Anatomize", "AnatomizedTables", "generalized_reconstruction_error",
    "errors", "least_reconstruction_error", "reconstruction_error",
    "Attribute", "Boxes", "DistinctLDiversity", "EntropyLDiversity", "GeneralizedTable",
    "Histograms", "KAnonymity", "LDiversity", "Microdata", "Mondrian", "Partition",
    "RecursiveLDiversity", "Schema", "TCloseness", "Taxonomy", "assess", "average_group_size",
    "discernibility", "guess_schema", "iloss", "load", "ncp", "new_seed", "perimeter", "profile",
    "publish", "Randomness", "require_feasible", "read", "read_schema", "read_taxonomies",
    "verify", "write_schema", "Usefulness", "usefulness",
    "Exploration", "Words", "explore", "Within", "within", "Gains", "gains",
]  # fmt: skip


def test_public_names_are_pinned() -> None:
    assert sorted(sf.__all__) == sorted(PUBLIC)


@pytest.mark.parametrize("name", PUBLIC)
def test_each_name_is_there_and_documented(name: str) -> None:
    assert getattr(sf, name).__doc__
    assert name in dir(sf)


def test_unknown_names_are_attribute_errors() -> None:
    with pytest.raises(AttributeError, match="anonymise"):
        _ = sf.anonymise


def test_importing_sfumato_imports_nothing_heavy() -> None:
    code = "import sys, sfumato; print(*sorted(sys.modules))"
    loaded = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=PATIENCE
    ).stdout.split()
    assert "sfumato" in loaded
    assert not {"numpy", "numba", "pyarrow", "duckdb", "rich", "click"} & set(loaded)


def test_help_does_not_import_the_engine() -> None:
    code = (
        "import sys; from sfumato.cli.main import cli\n"
        "try: cli.main(['--help'])\n"
        "except SystemExit: pass\n"
        "print(*sorted(sys.modules))"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=PATIENCE
    ).stdout.split()
    assert "click" in loaded
    assert not {"numpy", "numba", "pyarrow", "duckdb", "rich"} & set(loaded)
