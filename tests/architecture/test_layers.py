"""Who may import whom, read from the source text without importing it.

Imports inside functions and under ``TYPE_CHECKING`` count for the layers: a layer that needs a
higher one only for a type still knows about it.
"""

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

# A module imports only from lower numbers, from ANYWHERE_MAY_IMPORT, or from its own package.
LAYERS = {
    "core": 0,
    "models": 1,
    "queries": 1,
    "io": 1,
    "engines": 2,
    "answers": 2,
    "algorithms": 3,
    "learning": 3,
    "metrics": 4,
    "forms": 5,
    "verbs": 6,
    "asking": 7,
    "audits": 8,
    "exploring": 9,
    "statdb": 9,
    "client": 9,
    "server": 10,
    "studio": 11,
    "cli": 12,
}
ANYWHERE_MAY_IMPORT = {"errors"}
MAY_IMPORT_ANYTHING = {"__init__", "__main__"}

# Allowed by the numbers, but they meet at Partition only.
STRANGERS = {("forms", "algorithms")}

# The package itself (``from sfumato import publish``) is the face of layers 0 to 9.
FACE = "sfumato"
FACE_LAYER = 9

# Imported by the functions that need them, so that ``import sfumato`` stays fast.
HEAVY = {
    "cloudpickle", "dask", "distributed", "matplotlib", "pandas", "polars", "psycopg", "pyspark",
    "sklearn", "starlette", "uvicorn",
}  # fmt: skip
HEAVY_PREFIXES = ("adbc_driver_",)
NUMBA_HOME = "core/compiled.py"
TYPES_ONLY = {"TYPE_CHECKING", "typing.TYPE_CHECKING"}

SOURCE = Path(__file__).parents[2] / "src" / "sfumato"


def test_the_sources_are_found() -> None:
    assert (SOURCE / "__init__.py").is_file()


def test_modules_import_only_from_lower_layers() -> None:
    assert layer_violations(SOURCE) == []


def test_heavy_libraries_are_imported_inside_functions() -> None:
    assert heavy_violations(SOURCE) == []


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("core/a.py", "from sfumato.models import KAnonymity"),
        ("core/a.py", "import sfumato.models.k"),
        ("core/a.py", "from sfumato import models"),
        ("core/a.py", "from sfumato import KAnonymity"),
        ("core/a.py", "from .. import models"),
        ("core/a.py", "from ..models import k"),
        ("core/deep/a.py", "from ...models import k"),
        ("core/a.py", "def f():\n    from ..models import k"),
        ("core/a.py", "if TYPE_CHECKING:\n    from ..models import k"),
        ("core/__init__.py", "from ..models import k"),
        ("models/a.py", "from ..io import read"),
        ("algorithms/a.py", "from ..forms import Release"),
        ("forms/a.py", "from ..algorithms import Mondrian"),
        ("answers/a.py", "from ..forms import Release"),
        ("verbs.py", "from .asking import ask"),
        ("errors.py", "from .core import Schema"),
        ("unheard_of/a.py", "x = 1"),
        ("core/a.py", "from ..unheard_of import x"),
    ],
)
def test_a_planted_layer_violation_is_caught(tmp_path: Path, path: str, text: str) -> None:
    plant(tmp_path, path, text)
    assert len(layer_violations(tmp_path)) == 1


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("core/a.py", "from .b import c\nfrom . import d\nfrom sfumato.core.e import f"),
        ("core/a.py", "from ..errors import SfumatoError\nfrom .. import errors"),
        ("core/a.py", "import numpy\nfrom collections import abc"),
        ("models/a.py", "from ..core import Schema"),
        ("verbs.py", "from .forms import Release\nfrom .metrics import loss"),
        ("cli/a.py", "import sfumato\nfrom sfumato import KAnonymity, publish"),
        ("__init__.py", "from .cli import main"),
    ],
)
def test_a_lawful_import_passes(tmp_path: Path, path: str, text: str) -> None:
    plant(tmp_path, path, text)
    assert layer_violations(tmp_path) == []


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("metrics/a.py", "import matplotlib.pyplot as plt"),
        ("io/a.py", "from adbc_driver_postgresql import dbapi"),
        ("io/a.py", "try:\n    import pandas\nexcept ImportError:\n    pass"),
        ("io/a.py", "class A:\n    import polars"),
        ("io/a.py", "if TYPE_CHECKING:\n    pass\nelse:\n    import polars"),
        ("io/a.py", "if not TYPE_CHECKING:\n    import polars"),
        ("core/a.py", "from numba import njit"),
    ],
)
def test_a_planted_heavy_import_is_caught(tmp_path: Path, path: str, text: str) -> None:
    plant(tmp_path, path, text)
    assert len(heavy_violations(tmp_path)) == 1


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("io/a.py", "def f():\n    import pandas"),
        ("io/a.py", "class A:\n    async def f(self):\n        import pandas"),
        ("io/a.py", "if TYPE_CHECKING:\n    import pandas"),
        ("io/a.py", "import typing\nif typing.TYPE_CHECKING:\n    import pandas"),
        (NUMBA_HOME, "import numba"),
    ],
)
def test_a_late_heavy_import_passes(tmp_path: Path, path: str, text: str) -> None:
    plant(tmp_path, path, text)
    assert heavy_violations(tmp_path) == []


def plant(root: Path, path: str, text: str) -> None:
    target = root / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, encoding="utf-8")


def layer_violations(root: Path) -> list[str]:
    return [line for path in sorted(root.rglob("*.py")) for line in _check_layers(root, path)]


def heavy_violations(root: Path) -> list[str]:
    return [line for path in sorted(root.rglob("*.py")) for line in _check_heavy(root, path)]


def _check_layers(root: Path, path: Path) -> Iterator[str]:
    relative = path.relative_to(root)
    here = relative.parts[0].removesuffix(".py")
    if here in MAY_IMPORT_ANYTHING:
        return
    if here not in LAYERS and here not in ANYWHERE_MAY_IMPORT:
        yield f"{relative}: {here!r} has no layer; give it one in LAYERS"
        return
    for node in ast.walk(_parse(path)):
        for there in sorted(_units(node, relative)):
            if not _may_import(here, there):
                yield f"{relative}:{_line(node)}: {here} imports {there}"


def _may_import(here: str, there: str) -> bool:
    if there == here or there in ANYWHERE_MAY_IMPORT:
        return True
    if (here, there) in STRANGERS:
        return False
    below = FACE_LAYER if there == FACE else LAYERS.get(there)
    # errors has no layer: it stands under all of them and imports none.
    return below is not None and below < LAYERS.get(here, -1)


def _units(node: ast.AST, relative: Path) -> set[str]:
    """The parts of sfumato (first name below the package) that an import statement reaches."""
    if isinstance(node, ast.Import):
        return {_unit(alias.name.split(".")) for alias in node.names if _is_ours(alias.name)}
    if not isinstance(node, ast.ImportFrom):
        return set()
    origin = _origin(node, relative)
    if not origin or origin[0] != FACE:
        return set()
    if len(origin) > 1:
        return {_unit(origin)}
    return {_unit([FACE, alias.name]) for alias in node.names}


def _origin(node: ast.ImportFrom, relative: Path) -> list[str]:
    """The absolute module named after ``from``, as its parts."""
    named = node.module.split(".") if node.module else []
    if node.level == 0:
        return named
    package = [FACE, *relative.parent.parts]
    return package[: len(package) - node.level + 1] + named


def _unit(parts: list[str]) -> str:
    """``sfumato.core.schema`` belongs to ``core``; a bare public name belongs to the face."""
    if len(parts) == 1:
        return FACE
    known = parts[1] in LAYERS or parts[1] in ANYWHERE_MAY_IMPORT
    return parts[1] if known or len(parts) > 2 else FACE


def _is_ours(name: str) -> bool:
    return name.split(".")[0] == FACE


def _check_heavy(root: Path, path: Path) -> Iterator[str]:
    relative = path.relative_to(root)
    for node in _run_at_import(_parse(path)):
        for library in sorted(_libraries(node)):
            if _is_heavy(library) or (library == "numba" and relative.as_posix() != NUMBA_HOME):
                yield f"{relative}:{_line(node)}: {library} is imported at module level"


def _is_heavy(library: str) -> bool:
    return library in HEAVY or library.startswith(HEAVY_PREFIXES)


def _libraries(node: ast.AST) -> set[str]:
    if isinstance(node, ast.Import):
        return {alias.name.split(".")[0] for alias in node.names}
    if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
        return {node.module.split(".")[0]}
    return set()


def _run_at_import(node: ast.AST) -> Iterator[ast.AST]:
    """Every node that runs when the module is imported: not functions, not types-only blocks."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        return
    yield node
    for child in _running_children(node):
        yield from _run_at_import(child)


def _running_children(node: ast.AST) -> Iterable[ast.AST]:
    if isinstance(node, ast.If) and ast.unparse(node.test) in TYPES_ONLY:
        return node.orelse
    return ast.iter_child_nodes(node)


def _parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def _line(node: ast.AST) -> int:
    return getattr(node, "lineno", 0)


def test_files_that_comments_mention_are_there() -> None:
    """A file that is renamed leaves its name in other files' words."""
    known = {path.name for path in SOURCE.rglob("*.py")}
    mentioned = {
        (str(path.relative_to(SOURCE)), name)
        for path in SOURCE.rglob("*.py")
        for name in re.findall(r"\b[a-z_]+\.py\b", path.read_text(encoding="utf-8"))
    }
    assert sorted(where for where in mentioned if where[1] not in known) == []
