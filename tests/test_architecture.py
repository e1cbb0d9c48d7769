"""Promises about the shape of the code: who may import whom, what may live at module level, and the drawn graph."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pincite.core.domain.settings import PACKAGE_ROOT

LAYERS: tuple[tuple[str, ...], ...] = (
    ("pincite.core.domain",),
    ("pincite.core.text",),
    ("pincite.core.models",),
    ("pincite.core.questions",),
    (
        "pincite.core.answers",
        "pincite.core.search",
        "pincite.core.judge",
        "pincite.core.figures",
        "pincite.core.documents",
        "pincite.core.store",
    ),
    ("pincite.core.graph", "pincite.core.ingest", "pincite.core.export"),
    ("pincite.core.services",),
    ("pincite.web", "pincite.serve"),
    ("pincite.app", "pincite.cli", "pincite.commands", "pincite.pages"),
)
"""The lowest first. Rooms of one layer do not know each other."""
ONLY_BOOTSTRAP = "pincite.core.store"
MAY_OPEN_STORES = ("pincite.core.services.bootstrap", "pincite.core.services.looking")
FACADE_AND_VOCABULARY = ("pincite.core.services", "pincite.core.domain", "pincite.core.text", "pincite.pages")
THE_VERSION = "pincite.core"
THE_SERVER = ("pincite.web", "pincite.serve", "pincite.app")
THE_GRAPH_AS_DRAWN = ("pincite.core.graph.build", "pincite.core.judge.citations")
WORKERS = {
    "pincite.core.services.turns",
    "pincite.core.services.model_library",
    "pincite.core.ingest.pipeline",
    "pincite.core.services.suggestions",
    "pincite.core.services.grids",
    "pincite.web.door",
    "pincite.core.services.watching",
    "pincite.core.services.illustrations",
    "pincite.web.gate",
    "pincite.core.export.styles",
    "pincite.web.mcp_servers",
    "pincite.core.domain.plugins",
}
HEAVY = ("streamlit", "chromadb", "langgraph", "onnxruntime", "numpy", "pypdfium2", "pydantic")


def _modules(*folders: str) -> list[str]:
    """Return the dotted names of all modules in these folders, such as ``pincite.core.graph.build``."""
    files = [file for folder in folders for file in (PACKAGE_ROOT / folder).rglob("*.py")]
    names = (".".join(file.relative_to(PACKAGE_ROOT).with_suffix("").parts) for file in files)
    product = ("core.", "commands.", "pages.", "web.")
    whole = (f"pincite.{name}" if name.startswith(product) else name for name in names)
    return sorted(name for name in whole if not name.endswith("__init__"))


def _source(module: str) -> Path:
    return PACKAGE_ROOT.joinpath(*module.removeprefix("pincite.").split(".")).with_suffix(".py")


def _is_module(name: str) -> bool:
    return name.startswith("pincite.") and _source(name).exists()


def _imports(module: str, *, only_at_run_time: bool = False) -> Iterator[str]:
    """Every module that a module imports, also inside functions."""
    tree = ast.parse(_source(module).read_text(encoding="utf-8"))
    for_checkers = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if only_at_run_time and id(node) in for_checkers:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}: imports are absolute"
            modules = (f"{node.module}.{alias.name}" for alias in node.names)
            yield from (name if _is_module(name) else str(node.module) for name in modules)


def _own_imports(module: str) -> set[str]:
    return {name for name in _imports(module, only_at_run_time=True) if name.startswith("pincite.")}


def test_core_never_imports_streamlit() -> None:
    offenders = [
        module for module in _modules("core") if any(name.split(".")[0] == "streamlit" for name in _imports(module))
    ]
    assert offenders == []


def _room(module: str) -> tuple[int, str]:
    """Return the layer and the package of a module."""
    for depth, names in enumerate(LAYERS):
        for name in names:
            if module == name or module.startswith(f"{name}."):
                return depth, name
    pytest.fail(f"{module} has no place among the layers")


def _points_back(module: str, imported: str) -> bool:
    (depth, room), (other_depth, other_room) = _room(module), _room(imported)
    if room == other_room:
        return False
    if other_room == ONLY_BOOTSTRAP:
        return module not in MAY_OPEN_STORES
    return other_depth > depth or (other_depth == depth and depth < len(LAYERS) - 1)


def test_arrows_never_point_back() -> None:
    backward = {
        f"{module} imports {imported}"
        for module in _modules("core", "pages", "web")
        for imported in _own_imports(module)
        if _is_module(imported) and _points_back(module, imported)
    }
    assert backward == set()


def test_pages_know_only_the_facade_and_the_vocabulary() -> None:
    strangers = [
        f"{module} imports {imported}"
        for module in [*_modules("pages", "web"), "pincite.app", "pincite.serve"]
        for imported in sorted(_own_imports(module))
        if imported != THE_VERSION
        and not imported.startswith((*FACADE_AND_VOCABULARY, *THE_GRAPH_AS_DRAWN, *THE_SERVER))
    ]
    assert strangers == []


def test_measuring_and_testing_share_only_tests_support() -> None:
    measuring, testing = _modules("benchmarks", "training"), _modules("tests")
    assert len(measuring) > 20 and len(testing) > 100
    strangers = {
        f"{module} imports {imported}"
        for room, modules, other, shared in (
            ("benchmarks", measuring, "tests", "tests.support"),
            ("tests", testing, "benchmarks", ""),
        )
        for module in modules
        for imported in _imports(module)
        if imported.split(".")[0] == other
        and not (shared and imported.startswith(shared))
        and not (room == "tests" and module.startswith("tests.benchmarks."))
    }
    assert strangers == set()


def test_only_a_workers_outermost_frame_swallows_everything() -> None:
    broad = []
    for module in [*_modules("core", "pages", "web"), "pincite.app", "pincite.serve"]:
        for node in ast.walk(ast.parse(_source(module).read_text(encoding="utf-8"))):
            if isinstance(node, ast.ExceptHandler) and (
                node.type is None or ast.unparse(node.type) in ("Exception", "BaseException")
            ):
                reraises = any(isinstance(inner, ast.Raise) and inner.exc is None for inner in ast.walk(node))
                if not reraises:
                    broad.append(module)
    assert set(broad) <= WORKERS, broad


def test_importing_builds_no_client_connection_thread_or_graph() -> None:
    """Every module of core is imported in a fresh process, and then looked through for living things."""
    script = """
import importlib, sys, threading
for name in sys.argv[1:]:
    importlib.import_module(name)
import chromadb.api, httpx, ollama, onnxruntime, sqlite3
from langgraph.pregel import Pregel
from pincite.core.domain.settings import Settings
from pincite.core.store.sqlite import SqliteDatabase
living = (chromadb.api.ClientAPI, httpx.Client, ollama.Client, onnxruntime.InferenceSession, sqlite3.Connection, Pregel,
          Settings, SqliteDatabase, threading.Thread)
for name in sys.argv[1:]:
    for attribute, value in vars(sys.modules[name]).items():
        if isinstance(value, living):
            print(f"{name}.{attribute} is a {type(value).__name__}")
for thread in threading.enumerate():
    if thread is not threading.main_thread():
        print(f"thread {thread.name}")
"""
    done = subprocess.run(
        [sys.executable, "-c", script, *_modules("core")], capture_output=True, text=True, timeout=300
    )
    assert (done.stdout, done.returncode) == ("", 0), done.stderr


def _loaded_by(*words: str) -> set[str]:
    """What a command has imported when it has done its work."""
    script = "import sys, pincite.cli; status = pincite.cli.main(sys.argv[1:]); print(*sys.modules); sys.exit(status)"
    command = [sys.executable, "-c", script, *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    return set(done.stdout.splitlines()[-1].split())


def test_help_loads_nothing_heavy() -> None:
    assert _loaded_by("--help") & set(HEAVY) == set()


def test_listing_the_documents_loads_nothing_that_answers_or_reads(tmp_path: Path) -> None:
    used = {"numpy", "pydantic"}
    unused = {"httpx", "ollama", "requests", "pypdf", "altair", "starlette"}
    assert _loaded_by("list", "--data-dir", str(tmp_path)) & ({*HEAVY, *unused} - used) == set()


def test_architecture_page_shows_the_graph_that_the_code_builds() -> None:
    from pincite.core.graph.build import build_graph

    drawing = build_graph().get_graph().draw_mermaid()
    page = (PACKAGE_ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    assert drawing.strip() in page
