"""The pages of the Python reference: every public name on one of them, from its docstring."""

from __future__ import annotations

from collections.abc import Iterator

GROUPS: dict[str, tuple[str, tuple[str, ...]]] = {
    "Tables and schemas": (
        "What is read, and which column plays which role.",
        (
            "read", "Schema", "Words", "Attribute", "Microdata", "read_schema", "write_schema",
            "guess_schema", "profile", "join", "Joined", "new_seed", "Randomness",
        ),
    ),
    "Taxonomies": (
        "Trees of values, by which releases show classes instead of values.",
        (
            "Taxonomy", "read_taxonomies", "interval_taxonomy", "prefix_taxonomy", "date_taxonomy",
            "suggest_taxonomy",
        ),
    ),
    "Promises": (
        "Models: what a release promises of everybody. `&` asks for both.",
        (
            "KAnonymity", "LDiversity", "DistinctLDiversity", "EntropyLDiversity",
            "RecursiveLDiversity", "TCloseness", "KJoinAnonymity", "require_feasible", "Histograms",
        ),
    ),
    "Methods": (
        "Algorithms: how people are grouped.",
        (
            "Mondrian", "BranchMondrian", "TopDown", "LocalRecoding", "FullDomain", "Subtree",
            "Sibling", "SingleDimensional", "Anatomize", "Frontier", "SeveralQIDs", "Direct",
            "Refinement", "Partition", "Boxes",
        ),
    ),
    "Masks": (
        "Other values instead of groups, changed in a stated way.",
        ("mask", "Microaggregate", "Noise", "Swap", "Synthesize", "MaskedTable", "masking_risk",
         "MaskingRisk"),
    ),
    "Publishing": (
        "From a table to a release, and what releases are.",
        (
            "explore", "Exploration", "publish", "publish_file", "publish_join", "perturb",
            "GeneralizedTable", "AnatomizedTables", "PermutedTable", "PerturbedTable",
            "JoinRelease", "load", "open_release",
        ),
    ),
    "Asking": (
        "Questions to releases, databases and tables, and their answers.",
        (
            "Query", "Aggregate", "Compare", "Missing", "at_least", "at_most", "between", "one_of",
            "Within", "within",
            "Answer", "Likely", "Result", "sharpen", "Sharpened", "matching", "connect",
        ),
    ),
    "The statistical database": (
        "Any number of questions, answered by intervals that contain the truth.",
        ("StatDB",),
    ),
    "Checking": (
        "Is the promise kept, who is exposed, and what would an attacker learn?",
        (
            "verify", "assess", "Risk", "audit", "Audit", "individual_breach", "row_breach",
            "belief", "uncertain_belief", "gains", "Gains", "join_risk", "JoinRisk", "edge_attack",
        ),
    ),
    "Usefulness": (
        "What a release is still good for.",
        (
            "evaluate", "Evaluation", "usefulness", "Usefulness", "train", "Classifier", "compare",
            "accuracy", "anatomy_workload", "range_workload", "dynamic_workload", "read_workload",
            "write_workload",
        ),
    ),
    "Measures of loss": (
        "How much of a table's detail a partition or a release has lost.",
        (
            "ncp", "discernibility", "average_group_size", "perimeter", "iloss",
            "reconstruction_error", "least_reconstruction_error",
            "generalized_reconstruction_error",
        ),
    ),
    "Errors": ("Everything that is raised on purpose.", ("errors",)),
}  # fmt: skip

_START = """# Python

```python
import sfumato as sf
```

The names on these pages are the whole public face. Their examples run beside `patients.csv` and
`patients.toml`, which ship with sfumato.

"""


def pages() -> dict[str, str]:
    """The Markdown of every page, by its file name, in the order of the menu."""
    start = _START + "".join(
        f"- **[{title}]({_file(title)})**: {', '.join(f'`{name}`' for name in names)}\n"
        for title, (_, names) in GROUPS.items()
    )
    return {"index.md": start, **{_file(title): _page(title) for title in GROUPS}}


def _page(title: str) -> str:
    about, names = GROUPS[title]
    return "\n".join([f"# {title}\n\n{about}\n", *_entries(names)])


def _entries(names: tuple[str, ...]) -> Iterator[str]:
    for name in names:
        yield f"::: sfumato.{name}\n"


def _file(title: str) -> str:
    return f"{title.lower().replace(' ', '-')}.md"
