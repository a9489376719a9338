"""Nothing but its own folder and the registry knows a form by its class or its word.

A chain of ``isinstance`` over releases, or of comparisons with their ``kind``, is where a new form
is forgotten. So nobody outside of a form's folder may ask which one it has before it; what forms
differ in is a field of ``forms.form.Form``.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from sfumato.forms.registry import FORMS
from tests.architecture.test_layers import SOURCE, plant

CLASSES = {form.release.__name__ for form in FORMS.values()}


def test_nobody_asks_for_the_form_of_a_release() -> None:
    assert chains(SOURCE) == []


@pytest.mark.parametrize(
    "text",
    [
        "isinstance(x, JoinRelease)",
        "isinstance(x, (A, PerturbedTable))",
        "isinstance(x, A | GeneralizedTable)",
        "assert isinstance(x, releases.AnatomizedTables)",
        "type(x) is PermutedTable",
        "x.kind == GeneralizedTable.kind",
        "x.kind in (AnatomizedTables.kind, A)",
        "x.manifest.kind == 'joined'",
        "shape != 'perturbed'",
        "match x:\n    case JoinRelease():\n        pass",
    ],
)
def test_a_planted_chain_is_caught(tmp_path: Path, text: str) -> None:
    plant(tmp_path, "audits/a.py", text)
    assert len(chains(tmp_path)) == 1


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("forms/joined/a.py", "isinstance(x, JoinRelease)"),
        ("audits/a.py", "attribute.kind is Kind.NUMERICAL"),
        ("audits/a.py", "Manifest(kind=JoinRelease.kind)"),
        ("audits/a.py", "isinstance(x, Microdata)"),
        ("audits/a.py", "def f(x: JoinRelease) -> None: ..."),
    ],
)
def test_other_questions_pass(tmp_path: Path, path: str, text: str) -> None:
    plant(tmp_path, path, text)
    assert chains(tmp_path) == []


def chains(root: Path) -> list[str]:
    return [line for path in sorted(root.rglob("*.py")) for line in _chains(root, path)]


def _chains(root: Path, path: Path) -> Iterator[str]:
    relative = path.relative_to(root)
    own = relative.parts[0] == "forms" and relative.parts[1] in FORMS
    # algorithms know no forms: each says the word of the one that is natural to it
    if own or relative.parts[0] == "algorithms":
        return
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if _asks(node):
            yield f"{relative.as_posix()}:{getattr(node, 'lineno', 0)}"


def _asks(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        return ast.unparse(node.func) == "isinstance" and _names(node.args[1]) & CLASSES != set()
    if isinstance(node, ast.Compare):
        sides = [node.left, *node.comparators]
        words = {side.value for side in sides if isinstance(side, ast.Constant)}
        return any(_names(side) & CLASSES for side in sides) or bool(words & set(FORMS))
    return isinstance(node, ast.MatchClass) and bool(_names(node.cls) & CLASSES)


def _names(node: ast.AST) -> set[str]:
    """The last words of all names in an expression, without what is called or compared in it."""
    return {
        one.id if isinstance(one, ast.Name) else one.attr
        for one in ast.walk(node)
        if isinstance(one, ast.Name | ast.Attribute)
    }
