"""The promise that nothing leaves the machine: a whole turn, and the app's start, with the network forbidden.

An audit hook, inherited by every child process, refuses and notes each address outside this machine.
"""

import json
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from pincite.core.domain.settings import PACKAGE_ROOT
from tests.serving import free_port, pincite_command, running_app, without_network


@pytest.fixture
def forbidden(tmp_path: Path) -> Mapping[str, str]:
    """Return the environment of a process without a network; its attempts are logged in ``tmp_path/network.log``."""
    return without_network(tmp_path)


def test_the_guard_refuses_and_notes(forbidden: Mapping[str, str], tmp_path: Path) -> None:
    script = "import socket; socket.create_connection(('192.0.2.1', 80), timeout=5)"
    done = subprocess.run([sys.executable, "-c", script], env=forbidden, capture_output=True, text=True, timeout=300)
    assert "the network is forbidden: 192.0.2.1" in done.stderr
    assert "192.0.2.1" in (tmp_path / "network.log").read_text(encoding="utf-8")


def test_a_whole_turn_needs_no_network(forbidden: Mapping[str, str], samples: Path, tmp_path: Path) -> None:
    words = ("ask", "--json", "--engine", "quoting", "--data-dir", str(tmp_path / "data"))
    question = "What is the penalty for late payment?"
    pdfs = (str(samples / "service-contract.pdf"), str(samples / "scanned-letter.pdf"))
    command = pincite_command(*words, question, *pdfs)
    done = subprocess.run(command, env=forbidden, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "1.5" in json.loads(done.stdout)["answer"]
    assert (tmp_path / "network.log").read_text(encoding="utf-8") == ""
    assert not (tmp_path / "home").exists(), "a library keeps something, such as an identifier, in the user's folder"


def test_the_first_page_is_drawn_without_a_network(forbidden: Mapping[str, str], tmp_path: Path) -> None:
    script = (
        "from streamlit.testing.v1 import AppTest\n"
        f"app = AppTest.from_file({str(PACKAGE_ROOT / 'app.py')!r}, default_timeout=300).run()\n"
        "assert not app.exception, app.exception\n"
    )
    environment = {**forbidden, "PINCITE_DATA_DIR": str(tmp_path / "data")}
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "network.log").read_text(encoding="utf-8") == ""


def test_the_server_starts_without_a_network(forbidden: Mapping[str, str], tmp_path: Path) -> None:
    with running_app(tmp_path, port=free_port(), environment=forbidden) as app:
        app.process.send_signal(signal.SIGINT)
        app.process.wait(timeout=300)
    assert (tmp_path / "network.log").read_text(encoding="utf-8") == ""
