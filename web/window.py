"""The app's own window: an installed Chromium-family browser without its bars; closed, it ends the server."""

import _thread
import os
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from pincite.core.text.plain import shown

PROFILE = "window"
"""In the data directory: what the browser keeps; only its preferences outlive the window."""
ON_LINUX = (
    *("google-chrome", "google-chrome-stable", "chromium", "chromium-browser"),
    *("microsoft-edge", "microsoft-edge-stable", "brave-browser", "brave"),
)
ON_A_MAC = ("Google Chrome", "Chromium", "Microsoft Edge", "Brave Browser")
ON_WINDOWS = (
    "Google/Chrome/Application/chrome.exe",
    "Chromium/Application/chrome.exe",
    "Microsoft/Edge/Application/msedge.exe",
    "BraveSoftware/Brave-Browser/Application/brave.exe",
)
FLAGS = (
    *("--no-first-run", "--no-default-browser-check", "--disable-background-mode", "--hide-crash-restore-bubble"),
    *(
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--disable-domain-reliability",
    ),
    "--class=Pincite",
)
_BEAT_SECONDS = 0.1
_LEAVING_SECONDS = 5


def installed_browser(
    platform: str = sys.platform, environment: Mapping[str, str] = os.environ, apps: Path = Path("/Applications")
) -> Path | None:
    """Return the first browser that can show an app in a window of its own."""
    return next((path for path in _places(platform, environment, apps) if path.is_file()), None)


def _places(platform: str, environment: Mapping[str, str], apps: Path) -> Iterator[Path]:
    if platform == "darwin":
        folders = (apps, Path(environment.get("HOME", "/")) / "Applications")
        yield from (folder / f"{name}.app/Contents/MacOS/{name}" for name in ON_A_MAC for folder in folders)
    elif platform == "win32":
        roots = [environment.get(name) for name in ("PROGRAMFILES", "PROGRAMFILES(X86)", "LOCALAPPDATA")]
        yield from (Path(root) / name for name in ON_WINDOWS for root in roots if root)
    else:
        found = (shutil.which(name, path=environment.get("PATH")) for name in ON_LINUX)
        yield from (Path(path) for path in found if path)


def profile_of(browser: Path, data_dir: Path) -> Path:
    """Browsers from the Snap store can write only into their own folder."""
    if "snap" in browser.parts:
        return Path.home() / "snap" / browser.name / "common" / f"pincite-{data_dir.name}"
    return data_dir / PROFILE


@contextmanager
def app_window(browser: Path, profile: Path, where: str, otherwise: Callable[[str], object]) -> Iterator[None]:
    """Open the address in a window as soon as it answers; closed, it ends the process as Ctrl-C does.

    If the window cannot be opened or ends with an error, this is reported, and ``otherwise`` gets the address.
    """
    leaving = threading.Event()
    opened: list[subprocess.Popen[bytes]] = []

    def watch() -> None:
        if not _answers(where, leaving):
            return
        try:
            opened.append(subprocess.Popen(_command(browser, profile, where), start_new_session=True,
                                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))  # fmt: skip
            problem = f"status {status}" if (status := opened[0].wait()) else ""
        except OSError as error:
            problem = error.strerror or str(error)
        if leaving.is_set():
            return
        if problem:
            message = f"The window of {browser.name} failed ({problem}); Pincite continues in the default browser."
            print(shown(message), flush=True)
            otherwise(where)
        else:
            _thread.interrupt_main()

    _forget(profile)
    watcher = threading.Thread(target=watch, name="app-window", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        leaving.set()
        for process in opened:
            process.terminate()
        watcher.join(_LEAVING_SECONDS)
        _forget(profile)


def _command(browser: Path, profile: Path, where: str) -> list[str]:
    return [str(browser), f"--app={where}", f"--user-data-dir={profile}", *FLAGS]


def _answers(where: str, leaving: threading.Event) -> bool:
    """Wait until the server takes connections; False where it is ended before that."""
    parts = urlsplit(where)
    while not leaving.wait(_BEAT_SECONDS):
        try:
            socket.create_connection((parts.hostname or "127.0.0.1", parts.port or 80), timeout=1).close()
        except OSError:
            continue
        return True
    return False


def _forget(profile: Path) -> None:
    """Leave only how the window stood: nothing that was read in it."""
    preferences = profile / "Default" / "Preferences"
    try:
        kept = preferences.read_bytes()
    except OSError:
        kept = b""
    shutil.rmtree(profile, ignore_errors=True)
    if kept:
        preferences.parent.mkdir(parents=True, exist_ok=True)
        preferences.write_bytes(kept)
