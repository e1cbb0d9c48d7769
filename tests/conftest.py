"""Fixtures that many tests share, and the rule that CI skips nothing (``PINCITE_CI=1``)."""

import math
import os
import shutil
from collections.abc import Generator, Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest

from pincite.core.documents.reader import ProcessReader
from pincite.core.domain.settings import PACKAGE_ROOT, Settings
from pincite.core.services.ingest import OF_READING
from tests.support.databases import address_of, new_database
from tests.support.databases import database as database
from tests.support.databases import database_url as database_url
from tests.support.databases import each_engine as each_engine
from tests.support.databases import postgresql as postgresql
from tests.support.databases import postgresql_server as postgresql_server

if TYPE_CHECKING:
    from pincite.core.services.bootstrap import Pincite


hypothesis.settings.register_profile(
    "unhurried", hypothesis.settings(), deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("unhurried")
"""No property fails because the machine is busy."""


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Defaults on an empty data directory."""
    return Settings(data_dir=tmp_path / "data")


@pytest.fixture(scope="session")
def samples() -> Path:
    """The folder of the sample PDFs."""
    return PACKAGE_ROOT / "data" / "samples"


@pytest.fixture(scope="session")
def contract_library(samples: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory with the sample contract, read to its end once; to be copied, not to be opened."""
    from pincite.core.services.bootstrap import open_pincite

    settings = Settings(data_dir=tmp_path_factory.mktemp("contract") / "data", engine="quoting")
    with closing(open_pincite(settings)) as pincite:
        pincite.ingest.add(samples / "service-contract.pdf", "service-contract.pdf")
        assert pincite.ingest.wait(timeout_seconds=300)
    return settings.data_dir


@pytest.fixture(scope="session")
def contract_database(contract_library: Path, postgresql_server: str) -> str:
    """The name of a PostgreSQL database with the sample contract; to be used as a template, not to be opened."""
    from pincite.core.services.bootstrap import open_pincite

    name = new_database(postgresql_server)
    address = address_of(postgresql_server, name)
    data_dir = contract_library.with_name("postgresql")
    with closing(open_pincite(Settings(data_dir=data_dir, engine="quoting", database_url=address))) as pincite:
        pincite.ingest.add(PACKAGE_ROOT / "data" / "samples" / "service-contract.pdf", "service-contract.pdf")
        assert pincite.ingest.wait(timeout_seconds=300)
    return name


@pytest.fixture
def app(
    request: pytest.FixtureRequest, contract_library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> "Iterator[Pincite]":
    """Pincite, quoting, open on a library of the sample contract of its own."""
    from pincite.core.services.bootstrap import open_pincite

    if "each_engine" in request.fixturenames and request.getfixturevalue("each_engine"):
        server = request.getfixturevalue("postgresql_server")
        name = new_database(server, request.getfixturevalue("contract_database"))
        monkeypatch.setenv("PINCITE_DATABASE_URL", address_of(server, name))
        contract_library = contract_library.with_name("postgresql")
    shutil.copytree(contract_library, tmp_path / "data")
    with closing(open_pincite(Settings(data_dir=tmp_path / "data", engine="quoting"))) as pincite:
        yield pincite


class KeptReader(ProcessReader):
    """A reader that keeps its processes when the library closes: each takes a second to start."""

    def close(self) -> None:
        pass


@pytest.fixture(scope="session")
def _readers() -> Iterator[dict[tuple[object, ...], KeptReader]]:
    kept: dict[tuple[object, ...], KeptReader] = {}
    yield kept
    for reader in kept.values():
        ProcessReader.close(reader)


@pytest.fixture(autouse=True)
def _kept_readers(_readers: dict[tuple[object, ...], KeptReader], monkeypatch: pytest.MonkeyPatch) -> None:
    """Every library that a test opens in its own process reads with the processes of the one before it."""

    def kept(settings: Settings) -> KeptReader:
        return _readers.setdefault(tuple(getattr(settings, name) for name in OF_READING), KeptReader(settings))

    monkeypatch.setattr("pincite.core.services.ingest.ProcessReader", kept)


@pytest.fixture(autouse=True)
def _no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """A PINCITE_* variable of the developer's shell must not decide a test."""
    for name in [name for name in os.environ if name.startswith("PINCITE_")]:
        if name not in ("PINCITE_CI", "PINCITE_EVALS"):
            monkeypatch.delenv(name)


def pytest_xdist_auto_num_workers() -> int:
    """Half as many again as there are processors: much of a test with a browser or a server is waiting."""
    return math.ceil(1.5 * (len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if os.environ.get("PINCITE_CI") and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} was skipped, and CI skips nothing: {report.longrepr}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    if os.environ.get("PINCITE_CI") and report.skipped:
        report.outcome = "failed"
        report.longrepr = f"{collector.nodeid} was skipped, and CI skips nothing: {report.longrepr}"
    return report
