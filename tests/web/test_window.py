"""Promises of `pincite --window`: the app in a window of its own, and the server's end with it."""

import os
import signal
import stat
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from pincite import cli
from pincite.web.window import ON_LINUX, installed_browser, profile_of
from tests.serving import free_port, pincite_command, running_app

FAKE = """#!{python}
import os, sys, time
open({log!r} + ".new", "w").write("\\n".join(sys.argv[1:]))
os.rename({log!r} + ".new", {log!r})
while not os.path.exists({log!r} + ".close"):
    time.sleep(0.05)
sys.exit(int(open({log!r} + ".close").read()))
"""


@pytest.fixture
def browsers(tmp_path: Path) -> Path:
    """A folder that is the whole PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    return folder


def executable(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def windowed(tmp_path: Path, port: int) -> list[str]:
    return pincite_command("--window", "--port", str(port), "--data-dir", tmp_path / "data")


def wait_for(written: Path, process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 60
    while not written.exists():
        assert process.poll() is None, "the app ended"
        assert time.monotonic() < deadline, f"{written.name} was not written within 60 s"
        time.sleep(0.02)


def arguments_of(log: Path, process: subprocess.Popen[str]) -> list[str]:
    wait_for(log, process)
    return log.read_text(encoding="utf-8").splitlines()


@pytest.mark.skipif(sys.platform == "win32", reason="the fake browser is a script")
@pytest.mark.parametrize("status", [0, 1])
def test_the_server_ends_with_its_window_but_not_with_one_that_failed(
    tmp_path: Path, browsers: Path, status: int
) -> None:
    log, port = tmp_path / "log", free_port()
    executable(browsers / "chromium", FAKE.format(python=sys.executable, log=str(log)))
    elsewhere = tmp_path / "elsewhere"
    executable(
        browsers / "default", f"#!/bin/sh\necho \"$1\" > '{elsewhere}.new'\n/bin/mv '{elsewhere}.new' '{elsewhere}'\n"
    )
    environment = {
        **os.environ,
        "PATH": str(browsers),
        "BROWSER": f"{browsers}/default %s",
        "PINCITE_ENGINE": "quoting",
    }
    with running_app(tmp_path, port=port, environment=environment, command=windowed(tmp_path, port)) as app:
        given = arguments_of(log, app.process)
        assert given[0] == f"--app={app.entrance}"
        assert given[1] == f"--user-data-dir={tmp_path / 'data' / 'window'}"
        browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        with browser.open(given[0].removeprefix("--app="), timeout=300) as page:
            assert page.status == 200
        assert not elsewhere.exists()
        Path(f"{log}.close").write_text(str(status), encoding="utf-8")
        if status == 0:
            assert app.process.wait(timeout=300) == 0
            return
        assert app.process.stdout is not None
        assert "The window of chromium failed (status 1)" in app.process.stdout.readline()
        wait_for(elsewhere, app.process)
        assert elsewhere.read_text(encoding="utf-8").strip() == app.entrance
        app.process.send_signal(signal.SIGINT)
        assert app.process.wait(timeout=300) == 0


@pytest.mark.skipif(sys.platform == "win32", reason="the fake browser is a script")
def test_stopping_the_server_closes_its_window_and_leaves_nothing_read_in_it(tmp_path: Path, browsers: Path) -> None:
    log, port = tmp_path / "log", free_port()
    executable(browsers / "chromium", FAKE.format(python=sys.executable, log=str(log)))
    profile = tmp_path / "data" / "window"
    environment = {**os.environ, "PATH": str(browsers), "PINCITE_ENGINE": "quoting"}
    with running_app(tmp_path, port=port, environment=environment, command=windowed(tmp_path, port)) as app:
        arguments_of(log, app.process)
        for name in ("Default/Preferences", "Default/History", "Default/Cache/data_1"):
            (profile / name).parent.mkdir(parents=True, exist_ok=True)
            (profile / name).write_text("{}", encoding="utf-8")
        app.process.send_signal(signal.SIGINT)
        assert app.process.wait(timeout=300) == 0
    assert [path.name for path in profile.rglob("*") if path.is_file()] == ["Preferences"]


@pytest.mark.skipif(sys.platform == "win32", reason="the fake browser is a script")
def test_default_browser_is_opened_and_reported_when_no_suitable_one_exists(tmp_path: Path, browsers: Path) -> None:
    elsewhere, port = tmp_path / "elsewhere", free_port()
    opener = f"#!/bin/sh\necho \"$1\" > '{elsewhere}.new' && /bin/mv '{elsewhere}.new' '{elsewhere}'\n"
    executable(browsers / "xdg-open", opener)
    environment = {**os.environ, "PATH": str(browsers), "DISPLAY": ":0", "PINCITE_ENGINE": "quoting"}
    process = subprocess.Popen(windowed(tmp_path, port), env=environment, stdout=subprocess.PIPE, text=True)
    try:
        wait_for(elsewhere, process)
        process.send_signal(signal.SIGINT)
        output = process.communicate(timeout=300)[0]
    finally:
        process.kill()
    assert "No Chrome, Chromium, Edge or Brave was found" in output
    assert elsewhere.read_text(encoding="utf-8").strip() in output


def test_browsers_are_found_where_each_system_has_them(tmp_path: Path) -> None:
    nothing = {"PATH": str(tmp_path), "HOME": str(tmp_path), "PROGRAMFILES": str(tmp_path)}
    assert all(installed_browser(system, nothing, tmp_path) is None for system in ("linux", "darwin", "win32"))
    edge = executable(tmp_path / "Microsoft/Edge/Application/msedge.exe", "")
    brave = executable(tmp_path / "Applications/Brave Browser.app/Contents/MacOS/Brave Browser", "")
    assert installed_browser("win32", nothing) == edge
    assert installed_browser("darwin", nothing, tmp_path) == brave
    if sys.platform != "win32":
        found = {name: installed_browser("linux", {"PATH": str(executable(tmp_path / name / name, "").parent)})
                 for name in ON_LINUX}  # fmt: skip
        assert found == {name: tmp_path / name / name for name in ON_LINUX}


def test_a_browser_from_the_snap_store_keeps_its_profile_where_it_may_write(tmp_path: Path) -> None:
    assert profile_of(Path("/snap/bin/chromium"), tmp_path).is_relative_to(Path.home() / "snap" / "chromium")
    assert profile_of(Path("/usr/bin/chromium"), tmp_path) == tmp_path / "window"


def test_window_with_no_browser_is_refused_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--window", "--no-browser"]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
