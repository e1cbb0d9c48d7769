"""Start the app as a user does, and wait for it; shared by the tests that need a running server."""

import http.client
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

GUARD = """
import os, sys

HERE = ("127.0.0.1", "::1", "localhost", "0.0.0.0", "::", "", None)

def refuse(event, arguments):
    if event in ("socket.connect", "socket.sendto"):
        address = arguments[1]
        host = address[0] if isinstance(address, tuple) else None
    elif event in ("socket.getaddrinfo", "socket.gethostbyname"):
        host = arguments[0]
    else:
        return
    host = host.decode() if isinstance(host, bytes) else host
    if host not in HERE:
        with open(os.environ["NETWORK_LOG"], "a") as log:
            log.write(f"{event} {host}\\n")
        raise OSError(f"the network is forbidden: {host}")

sys.addaudithook(refuse)
"""


def without_network(folder: Path) -> dict[str, str]:
    """Return the environment of a process without a network; its attempts are logged in ``folder/network.log``."""
    guard = folder / "guard"
    guard.mkdir()
    (guard / "sitecustomize.py").write_text(GUARD, encoding="utf-8")
    log = folder / "network.log"
    log.touch()
    outside = {name: value for name, value in os.environ.items() if name not in ("CI", "ORT_DISABLE_TELEMETRY")}
    return {
        **outside,
        "HOME": str(folder / "home"),
        "XDG_CACHE_HOME": str(folder / "home" / "cache"),
        "PYTHONPATH": os.pathsep.join([str(guard), *filter(None, [os.environ.get("PYTHONPATH")])]),
        "NETWORK_LOG": str(log),
        "PYTHONUNBUFFERED": "1",
        "LANGSMITH_TRACING": "true",  # as the shell of somebody who traces other programs has it
        "LANGSMITH_API_KEY": "a key",
    }


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def pincite_command(*words: str | Path) -> list[str]:
    return [sys.executable, "-m", "pincite.cli", *map(str, words)]


@dataclass(frozen=True)
class RunningApp:
    """``entrance``: the address that the app printed, which lets a browser in."""

    process: subprocess.Popen[str]
    address: str
    entrance: str


@contextmanager
def running_app(
    folder: Path, *, port: int, environment: Mapping[str, str] | None = None, command: Sequence[str] = ()
) -> Iterator[RunningApp]:
    """`pincite --no-browser` in ``folder``, which has nothing to do with it, with its data in ``folder/data``."""
    process = subprocess.Popen(
        command or pincite_command("--no-browser", "--port", str(port), "--data-dir", folder / "data"),
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**(environment or os.environ), "PYTHONUNBUFFERED": "1"},
    )
    try:
        entrance = _printed_address(process)
        _wait_until_it_answers(process, port)
        yield RunningApp(process, f"http://127.0.0.1:{port}", entrance)
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def _printed_address(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    printed = []
    for line in process.stdout:
        printed.append(line)
        if found := re.match(r"Pincite is running at (\S+)", line):
            return found[1]
    raise AssertionError("".join(printed))


def _wait_until_it_answers(process: subprocess.Popen[str], port: int) -> None:
    deadline = time.monotonic() + 60
    while True:
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=300)
            connection.request("GET", "/_stcore/health")
            assert connection.getresponse().status == 403, "a stranger was let in"
            return
        except ConnectionRefusedError:
            pass
        assert process.poll() is None, process.communicate()[0]
        assert time.monotonic() < deadline, "the app did not answer within 60 s"
