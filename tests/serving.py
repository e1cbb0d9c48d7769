"""Start the app as a user does, and wait for it; shared by the tests that need a running server."""

import http.client
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def pincite_command(*words: str | Path) -> list[str]:
    return [sys.executable, "-m", "pincite.core.cli", *map(str, words)]


@contextmanager
def running_app(
    folder: Path, *, port: int, environment: Mapping[str, str] | None = None
) -> Iterator[subprocess.Popen[str]]:
    """`pincite --no-browser` in ``folder``, which has nothing to do with it, with its data in ``folder/data``."""
    process = subprocess.Popen(
        pincite_command("--no-browser", "--port", str(port), "--data-dir", folder / "data"),
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**(environment or os.environ), "PYTHONUNBUFFERED": "1"},
    )
    try:
        _wait_until_healthy(process, port)
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def _wait_until_healthy(process: subprocess.Popen[str], port: int) -> None:
    deadline = time.monotonic() + 60
    while True:
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
            connection.request("GET", "/_stcore/health")
            if connection.getresponse().status == 200:
                return
        except ConnectionRefusedError:
            pass
        assert process.poll() is None, process.communicate()[0]
        assert time.monotonic() < deadline, "the app did not answer within 60 s"
