"""Serve the app behind its door: where it listens, what lets a browser in, and what it reports after the start."""

import errno
import json
import os
import socket
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager, nullcontext, suppress
from functools import cache
from pathlib import Path
from typing import Any

import streamlit as st
import uvicorn.config
from filelock import FileLock, Timeout
from h11 import LocalProtocolError
from streamlit import cli_util, config
from streamlit.runtime.pages_manager import PagesManager
from streamlit.web import bootstrap
from uvicorn.protocols.http.h11_impl import H11Protocol

from pincite.core.domain.errors import PinciteError, SettingsError, StorageError
from pincite.core.domain.settings import PACKAGE_ROOT, Settings, load_settings
from pincite.core.domain.writing import NOT_OURS, write_whole
from pincite.core.text.plain import shown
from pincite.web.door import TOKEN, Door, is_loopback
from pincite.web.passphrase import Passphrase
from pincite.web.sign_in import public_host
from pincite.web.window import app_window, installed_browser, profile_of

# Until st.navigation has run once in a process, Streamlit takes the folder pages/ next to the main script for its older
# kind of multipage app, and an address such as /documents would open without the frame.
PagesManager.uses_pages_directory = False
os.environ["FORWARDED_ALLOW_IPS"] = ""  # uvicorn would believe any local program about who is calling


class BoundedProtocol(H11Protocol):
    """Uvicorn's faster reader of requests keeps addresses and headers of any length: a stranger's gigabyte, too."""

    def send_400_response(self, msg: str) -> None:
        try:
            super().send_400_response(msg)
        except LocalProtocolError:  # the answer to the request's head is on its way, or there already
            self.transport.close()


uvicorn.config.HTTP_PROTOCOLS["auto"] = f"{__name__}:BoundedProtocol"

MESSAGE_MB = 50
"""Of one message over a socket, where Streamlit's own limit is 200."""
OPENING = {
    "STREAMLIT_SERVER_ADDRESS": "server.address",
    "STREAMLIT_SERVER_ALLOWED_HOSTS": "server.allowedHosts",
    "STREAMLIT_SERVER_SSL_CERT_FILE": "server.sslCertFile",
    "STREAMLIT_SERVER_SSL_KEY_FILE": "server.sslKeyFile",
}
ADDRESS_FILE = "app.json"
"""In the data directory while the app is open: its whole address, for whoever may read that directory."""


@cache
def the_door() -> Door:
    """The door of this launch. Raises SettingsError where other machines could come in and there is no passphrase."""
    address = config.get_option("server.address") or "0.0.0.0"
    names = frozenset(name.strip().lower() for name in config.get_option("server.allowedHosts"))
    if any("*" in name for name in names):
        hint = "Set STREAMLIT_SERVER_ALLOWED_HOSTS to whole names."
        raise SettingsError("Pincite accepts only exact host names, and one of them contains a *.", hint=hint)
    if load_settings().admins:
        return Door(names | {public_host()}, accounts=True)
    if all(is_loopback(name) for name in (address, *names)):
        return Door(names)
    passphrase = Passphrase(load_settings().data_dir)
    if not passphrase.is_chosen():
        hint = "Choose one with `pincite passphrase`, then start again."
        raise SettingsError("Pincite does not let other machines in without a passphrase.", hint=hint)
    return Door(names, passphrase)


@asynccontextmanager
async def serving(_: st.App) -> AsyncIterator[None]:
    """What happens once when the server starts, whoever starts it."""
    threading.Thread(target=open_library, name="open-library", daemon=True).start()
    where = entrance(config.get_option("server.port"))
    print(shown(f"Pincite is running at {where} (press Ctrl-C to stop). Data: {load_settings().data_dir}"), flush=True)
    if not config.get_option("server.headless"):
        cli_util.open_browser(where)
    yield


def open_library() -> None:
    """Open what all pages share before anyone asks for a page: ingest goes on where an earlier run was ended."""
    from pincite.pages.components.facade import library

    with suppress(PinciteError):  # the first page will report it
        library()


def entrance(port: int) -> str:
    """Return the address that lets a browser in, or takes it to where it signs in."""
    address = config.get_option("server.address") or "0.0.0.0"
    host = "127.0.0.1" if address in ("0.0.0.0", "::") else f"[{address}]" if ":" in address else address
    door = the_door()
    scheme = "https" if config.get_option("server.sslCertFile") else "http"
    if door.accounts:
        return os.environ["PINCITE_ADDRESS"]
    return f"{scheme}://{host}:{port}/" + (f"?{TOKEN}={door.token}" if door.passphrase is None else "")


def open_app(app: st.App, settings: Settings, *, port: int, headless: bool, window: bool = False) -> None:
    """Serve until Ctrl-C, or until the window is closed. Raises SettingsError or StorageError before that."""
    browser = installed_browser() if window else None
    if window and browser is None:
        notice = "No Chrome, Chromium, Edge or Brave was found for a separate window: opening the default browser."
        print(notice, flush=True)
    options = _options(settings, port) | ({"server.headless": True} if headless or browser else {})
    bootstrap.load_config_options(options)
    where = entrance(port)
    config.set_option("server.allowedHosts", [])  # the door is stricter, and knows the address that was called
    with _claimed(settings, port, where):
        _refuse_a_taken_port(config.get_option("server.address") or "0.0.0.0", port)
        sys.argv = [str(PACKAGE_ROOT / "app.py")]
        _allow_many_connections()
        shown_in: AbstractContextManager[None] = nullcontext()
        if browser:
            profile = profile_of(browser, settings.data_dir)
            shown_in = app_window(browser, profile, where, otherwise=cli_util.open_browser)
        with suppress(KeyboardInterrupt), shown_in:
            app.run(config=options | {"server.allowedHosts": []})


def _allow_many_connections() -> None:
    """Files share their limit with connections, and strangers can hold those open."""
    if sys.platform != "win32":
        import resource

        most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def _options(settings: Settings, port: int) -> dict[str, Any]:
    """Return the options, which override the environment and other configuration files."""
    return _from_environment() | {
        "server.port": port,
        "server.maxUploadSize": settings.max_file_mib,
        "server.maxMessageSize": MESSAGE_MB,
        "global.developmentMode": False,
        "browser.gatherUsageStats": False,
        "logger.hideWelcomeMessage": True,  # for which it would ask for this machine's address outside
    }


def _from_environment() -> dict[str, Any]:
    """What opens the app to others; such variables are read by Streamlit's command, and not where it is embedded."""
    given = {name: os.environ.get(variable, "") for variable, name in OPENING.items()}
    hosts = given.pop("server.allowedHosts").replace(",", " ").split()
    return {name: value for name, value in given.items() if value} | ({"server.allowedHosts": hosts} if hosts else {})


@contextmanager
def _claimed(settings: Settings, port: int, where: str) -> Iterator[None]:
    """Keep the address where a second start on this data finds it. Raises StorageError when it is that one."""
    lock, note = FileLock(settings.data_dir / "app.lock"), settings.data_dir / ADDRESS_FILE
    try:
        lock.acquire(timeout=0)
    except Timeout:
        _tell_of_the_other(note, port)
        yield
        return
    try:
        write_whole(note, json.dumps({"port": port, "address": where}))
        yield
    finally:
        note.unlink(missing_ok=True)
        lock.release()


def _tell_of_the_other(note: Path, port: int) -> None:
    try:
        other = json.loads(note.read_text(encoding="utf-8"))
        where, taken = str(other["address"]), other["port"]
    except (OSError, *NOT_OURS):  # it has not got so far, or is just leaving
        where, taken = "another address", 0
    if taken == port:
        hint = "(use `--port` to open the same data a second time)"
        raise StorageError(f"Pincite is already running: open {where}", hint=hint)
    print(shown(f"The same data is also open at {where}."), flush=True)


def _refuse_a_taken_port(address: str, port: int) -> None:
    with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET) as probe:
        if os.name == "posix":
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, port))
        except OSError as error:
            problem = "is in use" if error.errno == errno.EADDRINUSE else f"cannot be used ({error.strerror})"
            raise SettingsError(f"Port {port} {problem}.", hint="Choose another with --port.") from error
