"""Promises of the package: what the wheel holds, that it works from any folder, and what it depends on."""

import ast
import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pypdf
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from pincite.core import __version__
from pincite.core.domain.settings import PACKAGE_ROOT
from tests.make_samples import WRITERS

PROJECT = tomllib.loads((PACKAGE_ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
AT_THE_ROOT = (
    "__init__.py", "app.py", "cli.py", "serve.py", "py.typed", ".streamlit/config.toml", "data/suggestions.toml",
)  # fmt: skip


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy, so that nothing left over in the checkout gets in or comes out."""
    folder = tmp_path_factory.mktemp("wheel")
    leave_out = shutil.ignore_patterns(".git", "build", "dist", "*.egg-info", "__pycache__", ".*_cache", ".venv")
    source = folder / "source"
    source.mkdir()
    for entry in PACKAGE_ROOT.iterdir():
        if entry.name in ("commands", "core", "pages", "web", ".streamlit", "tests", "benchmarks", "training"):
            shutil.copytree(entry, source / entry.name, ignore=leave_out)
        elif entry.is_file() and not entry.is_symlink():
            shutil.copy(entry, source)
    for shipped in ("samples", "terms", "formulas", "grids"):
        shutil.copytree(PACKAGE_ROOT / "data" / shipped, source / "data" / shipped)
    shutil.copy(PACKAGE_ROOT / "data" / "suggestions.toml", source / "data")
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "-q",
        "--no-deps",
        "--no-build-isolation",
        "-w",
        str(folder),
        str(source),
    ]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=300)
    [built] = folder.glob("*.whl")
    return built


def test_wheel_puts_one_name_into_site_packages(wheel: Path) -> None:
    names = {name.split("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    assert names == {"pincite", f"pincite-{__version__}.dist-info"}


def test_wheel_holds_every_module_and_all_data(wheel: Path) -> None:
    product = [
        file.relative_to(PACKAGE_ROOT).as_posix()
        for folder in ("commands", "core", "pages", "web", "data/samples", "data/terms", "data/formulas", "data/grids")
        for file in (PACKAGE_ROOT / folder).rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    ]
    expected = {f"pincite/{name}" for name in [*product, *AT_THE_ROOT]}
    shipped = {name for name in zipfile.ZipFile(wheel).namelist() if name.startswith("pincite/")}
    assert shipped == expected


def test_installed_wheel_works_from_any_folder_and_keeps_data_in_the_users_folder(wheel: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    install = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "-q",
        "--no-deps",
        "--no-index",
        "--target",
        str(site),
        str(wheel),
    ]
    subprocess.run(install, check=True, capture_output=True, timeout=300)
    script = (
        "import pincite, pincite.core.domain.settings as s; print(pincite.__file__); print(s.default_data_dir()); "
        "print(len(list((s.PACKAGE_ROOT / 'data' / 'samples').glob('*.pdf'))))"
    )
    home = tmp_path / "home"
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    environment = {**os.environ, "PYTHONPATH": str(site), "HOME": str(home), "XDG_DATA_HOME": str(home / "share")}
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=elsewhere, env=environment, capture_output=True, text=True, check=True
    )
    package, data, samples = done.stdout.split("\n")[:3]
    assert Path(package).is_relative_to(site)
    assert Path(data).is_relative_to(home) and Path(data).name == "pincite"
    assert int(samples) == len(WRITERS)
    for words in (["--help"], ["doctor"]):
        command = [sys.executable, "-c", "import sys; from pincite.cli import main; sys.exit(main())", *words]
        subprocess.run(command, cwd=elsewhere, env=environment, capture_output=True, check=True, timeout=300)
    assert list(elsewhere.iterdir()) == []
    script = (
        "import importlib.util, sys\n"
        "before = list(sys.path)\n"
        "import pincite.app, pincite.cli\n"
        "assert sys.path == before, sys.path\n"
        "names = ('app', 'cli', 'commands', 'core', 'pages', 'serve', 'web')\n"
        "found = [name for name in names if importlib.util.find_spec(name)]\n"
        "assert not found, found"
    )
    subprocess.run([sys.executable, "-c", script], cwd=elsewhere, env=environment, check=True, timeout=300)


def test_a_checkout_keeps_its_data_in_its_data_folder() -> None:
    from pincite.core.domain.settings import default_data_dir

    assert default_data_dir() == PACKAGE_ROOT / "data"


def _imports(*folders: str) -> set[str]:
    """The top-level names of every third-party import of the product."""
    files = [file for folder in folders for file in (PACKAGE_ROOT / folder).rglob("*.py")] + [
        PACKAGE_ROOT / "app.py",
        PACKAGE_ROOT / "cli.py",
        PACKAGE_ROOT / "serve.py",
    ]
    names: set[str] = set()
    for file in files:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                names.add(node.module.split(".")[0])
    return names - set(sys.stdlib_module_names) - {"pincite"}


def test_everything_imported_is_declared() -> None:
    requirements = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["server"]]
    declared = {canonicalize_name(Requirement(text).name) for text in requirements}
    owners = importlib.metadata.packages_distributions()
    undeclared = [
        name
        for name in _imports("commands", "core", "pages", "web")
        if not declared & {canonicalize_name(owner) for owner in owners[name]}
    ]
    assert undeclared == []


def test_constraints_pin_a_version_inside_every_range() -> None:
    lines = (PACKAGE_ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = dict(line.split("==") for line in lines if "==" in line)
    pinned = {canonicalize_name(name): version for name, version in pins.items()}
    extras = [text for extra in PROJECT["optional-dependencies"].values() for text in extra]
    for requirement in map(Requirement, [*PROJECT["dependencies"], *extras]):
        name = canonicalize_name(requirement.name)
        if name not in ("setuptools", "pincite"):
            assert requirement.specifier.contains(pinned[name]), f"{requirement} against {pinned[name]}"


def test_streamlit_sends_no_statistics_and_listens_on_this_machine_only() -> None:
    options = tomllib.loads((PACKAGE_ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))
    assert options["browser"]["gatherUsageStats"] is False
    assert options["server"]["address"] == "127.0.0.1"
    assert options["server"]["showEmailPrompt"] is False


@pytest.mark.parametrize("name", sorted(WRITERS))
def test_samples_are_what_their_script_writes(name: str, samples: Path, tmp_path: Path) -> None:
    WRITERS[name](tmp_path / name)
    written, kept = pypdf.PdfReader(tmp_path / name), pypdf.PdfReader(samples / name)
    assert written.page_labels == kept.page_labels
    assert [page.extract_text() for page in written.pages] == [page.extract_text() for page in kept.pages]
    assert [len(page.images) for page in written.pages] == [len(page.images) for page in kept.pages]


def test_changelog_speaks_of_this_version() -> None:
    changelog = (PACKAGE_ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(rf"^## {re.escape(__version__)}\b", changelog, re.MULTILINE)


def test_links_between_the_documents_lead_somewhere() -> None:
    pages = [PACKAGE_ROOT / "README.md", PACKAGE_ROOT / "CHANGELOG.md", *(PACKAGE_ROOT / "docs").glob("*.md")]
    links = [
        (page, target)
        for page in pages
        for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8"))
        if "://" not in target
    ]
    assert [f"{page.name}: {target}" for page, target in links if not (page.parent / target).exists()] == []
