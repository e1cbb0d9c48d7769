"""The door before the app's server: who may come in, on every route and socket, before Streamlit sees anything.

A browser gets in with the token of this launch, or by signing in where other machines can reach the server; either is
exchanged for a cookie. Where there are accounts, the cookie is that of the sign-in at the identity provider.
Streamlit's own check of the origin is never reached by a stranger: it lets any page on this machine in, and asks a
server on the internet for this machine's address before it refuses the others.
"""

import asyncio
import html
import ipaddress
import logging
import secrets
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from string import Template
from urllib.parse import parse_qs, parse_qsl, quote, urlencode

from h11 import LocalProtocolError
from starlette.datastructures import MutableHeaders
from starlette.requests import HTTPConnection, Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pincite.web.passphrase import Passphrase, TooManyAttempts
from pincite.web.sign_in import ROUTES, SIGN_OUT, START, claims_of, derived_key, way_to_provider

logger = logging.getLogger(__name__)

TOKEN = "token"
FORM_BYTES = 4096
SOCKETS = 100
"""Open at once; each tab has one, and each costs a session of Streamlit."""
_PAGE = Template((Path(__file__).parent / "door.html").read_text(encoding="utf-8"))
_OWN_PAGE = "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
_APP = (
    "default-src 'self' data: blob:; script-src 'self' 'unsafe-inline' 'unsafe-eval' blob:; "
    "style-src 'self' 'unsafe-inline'; worker-src 'self' blob:; object-src 'none'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
_EVERYWHERE = {
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",  # with none at all, forms of our own come with the origin "null"
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}
_HOW_TO_OPEN = """<h1>This address alone does not open Pincite</h1>
<p>Pincite lets in only a browser that was opened with the key for this run, so that no other page or program can read
your documents.</p>
<ul><li>Open the whole address that <code>pincite</code> printed when it started; it ends in <code>token=…</code></li>
<li>Not at hand? Run <code>pincite</code> once more: it prints the address again.</li></ul>
<p><a class="button" href="$here">Try again</a></p>
<p class="small">If Pincite is open in another tab of this browser, trying again is enough.</p>"""
_SIGN_IN = """<h1>Sign in</h1>
<form method="post" action="$here"><label for="passphrase">Passphrase for this installation</label>
<input id="passphrase" name="passphrase" type="password" autocomplete="current-password" autofocus required>
<p class="wrong" role="alert">$wrong</p><button>Sign in</button></form>
<p class="small">The person who runs this Pincite chose it with <code>pincite passphrase</code>.</p>"""
_SIGN_IN_ELSEWHERE = """<h1>Sign in</h1>
<p>Pincite asks your organisation who you are.</p>
<p><a class="button" href="$start">Sign in</a></p>"""


@dataclass(frozen=True, slots=True)
class Door:
    """What opens one launch of the app. ``names``: the hosts that it goes by, each with a port or without one."""

    names: frozenset[str]
    passphrase: Passphrase | None = None
    """Signs in from other machines; None where only this one reaches the server, and the token lets in."""
    accounts: bool = False
    """An identity provider says who people are."""
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    key: str = field(default_factory=lambda: _shared_key() or secrets.token_urlsafe(32), repr=False)
    """The cookie's value."""

    def is_ours(self, authority: str, listening: tuple[str, int]) -> bool:
        """Return whether a Host header names exactly this server: a name of ours, or the address that was called.

        Where other machines can call it, whatever started the server, none is ours without a passphrase.
        """
        address, port = listening[0].removeprefix("::ffff:"), listening[1]
        if self.passphrase is None and not self.accounts and not is_loopback(address):
            return False
        literal = f"[{address}]" if ":" in address else address
        return authority in (f"{literal}:{port}", *self._authorities(port)) or (
            port in (80, 443) and authority == literal
        )

    def _authorities(self, port: int) -> Iterator[str]:
        for name in self.names:
            yield name if ":" in name else f"{name}:{port}"
            if port in (80, 443) or not is_loopback(name):  # browsers leave out a default port, also a proxy's
                yield name


def _shared_key() -> str:
    """Return the key that all apps of a server have; empty where each launch makes its own. Raises SettingsError."""
    return derived_key("door")


def is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


class Doorkeeper:
    """ASGI middleware around the whole app; whatever passes it carries a cookie of this launch."""

    def __init__(self, app: ASGIApp, door: Callable[[], Door]) -> None:
        self._app = app
        self._door = door()
        self._sockets = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await self._admit_socket(scope, receive, send)
        else:

            async def sending(message: Message) -> None:
                with suppress(LocalProtocolError):  # the rest of the request was none, and has been refused already
                    await send(message)

            await self._admit_request(scope, receive, sending)

    async def _admit_socket(self, scope: Scope, receive: Receive, send: Send) -> None:
        connection = HTTPConnection(scope)
        full = self._sockets >= SOCKETS
        if full or self._stranger(connection, origin_needed=True) or not self._knows(connection):
            await receive()
            await send({"type": "websocket.close", "code": 1013 if full else 1008})
            return
        self._sockets += 1
        try:
            await self._app(scope, receive, send)
        except Exception:
            logger.exception("A socket of the app failed")
        finally:
            self._sockets -= 1

    async def _admit_request(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        reading = request.method in ("GET", "HEAD")
        if stranger := self._stranger(request, origin_needed=not reading):
            answer: Response | None = PlainTextResponse(stranger, 403)
        elif self._door.accounts:
            answer = self._admit_user(request)
        elif reading and self._has_token(request):
            answer = self._let_in(request)
        elif self._knows(request):
            answer = None
        elif self._door.passphrase is None:
            answer = _page(_HOW_TO_OPEN, request, status=403)
        elif request.method == "POST":
            answer = await self._sign_in(request, self._door.passphrase)
        else:
            answer = _page(_SIGN_IN, request, status=403)
        if answer is None:
            await self._serve(scope, receive, send)
        else:
            await answer(scope, receive, _with_headers(send, _OWN_PAGE, private=True))

    def _admit_user(self, request: Request) -> Response | None:
        """Return None for who has signed in at the identity provider, or does so."""
        path = request.scope["path"]
        if path == START:
            return RedirectResponse(way_to_provider(), 303)
        if path == SIGN_OUT and request.headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
            return PlainTextResponse("Pincite does not answer to other pages.", 403)
        if path in ROUTES or self._knows(request):
            return None
        return _page(_SIGN_IN_ELSEWHERE, request, status=403)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun = False

        async def watched(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        guarded = _with_headers(watched, _APP)
        try:
            await self._app(scope, receive, guarded)
        except Exception:
            logger.exception("A request to the app failed")
            if not begun:
                await PlainTextResponse("Something went wrong inside Pincite.", 500)(scope, receive, guarded)

    def _stranger(self, connection: HTTPConnection, *, origin_needed: bool) -> str:
        """Why a request comes from somewhere else; empty where it comes from a page of ours or a person."""
        hosts, origins = connection.headers.getlist("host"), connection.headers.getlist("origin")
        path, listening = connection.scope["path"], connection.scope.get("server") or ("", 0)
        if len(hosts) != 1 or not self._door.is_ours(hosts[0], listening):
            return "Pincite does not answer to this host name."
        if not path.startswith("/") or path.startswith("//"):
            return "This address does not exist."
        if "content-length" in connection.headers and "transfer-encoding" in connection.headers:
            return "This request has two lengths."
        if origins not in ([f"http://{hosts[0]}"], [f"https://{hosts[0]}"]) and (origins or origin_needed):
            return "Pincite does not answer to other pages."
        kind = connection.headers.get("sec-fetch-dest", "document")
        if kind in ("iframe", "frame", "object", "embed"):
            return "Pincite cannot be shown inside other pages."
        elsewhere = connection.headers.get("sec-fetch-site") in ("cross-site", "same-site")
        if elsewhere and connection.headers.get("sec-fetch-mode") != "navigate":
            return "Pincite does not answer to other pages."
        return ""

    def _knows(self, connection: HTTPConnection) -> bool:
        if self._door.accounts:
            return bool(claims_of(connection))
        # Not Starlette's parser: of two cookies of one name, which another port of this machine can plant, it sees one.
        name = _cookie_name(connection)
        pairs = (
            part.strip().partition("=") for line in connection.headers.getlist("cookie") for part in line.split(";")
        )
        return any(found == name and _same(value, self._door.key) for found, _, value in pairs)

    def _has_token(self, request: Request) -> bool:
        given = request.query_params.getlist(TOKEN)
        return (
            not (self._door.passphrase or self._door.accounts) and len(given) == 1 and _same(given[0], self._door.token)
        )

    def _let_in(self, request: Request) -> Response:
        answer = RedirectResponse(_here(request), 303)
        secure = "https" in (request.url.scheme, request.headers.get("origin", "").partition(":")[0])
        answer.set_cookie(
            _cookie_name(request), self._door.key, path="/", httponly=True, samesite="strict", secure=secure
        )
        return answer

    async def _sign_in(self, request: Request, passphrase: Passphrase) -> Response:
        given = (parse_qs(await _small_body(request)).get("passphrase") or [""])[0]
        client = request.client.host if request.client else ""
        try:
            if await passphrase.admits(given, client):
                return self._let_in(request)
        except TooManyAttempts as error:
            wrong = _page(_SIGN_IN, request, status=429, wrong=str(error))
            wrong.headers["Retry-After"] = str(error.seconds)
            return wrong
        return _page(_SIGN_IN, request, status=403, wrong="Wrong passphrase.")


def _page(body: str, request: Request, *, status: int, wrong: str = "") -> Response:
    filled = Template(body).substitute(here=html.escape(_here(request)), wrong=html.escape(wrong), start=START)
    return HTMLResponse(_PAGE.substitute(body=filled), status)


def _here(request: Request) -> str:
    """Return the address that was asked for, without the token and without a host."""
    query = [pair for pair in parse_qsl(request.url.query, keep_blank_values=True) if pair[0] != TOKEN]
    return quote("/" + request.scope["path"].lstrip("/")) + (f"?{urlencode(query)}" if query else "")


def _cookie_name(connection: HTTPConnection) -> str:
    """With the port, unless apps share a key: browsers share cookies among ports, and each may be another Pincite."""
    return f"pincite-{'shared' if _shared_key() else (connection.scope.get('server') or ('', 0))[1]}"


def _same(given: str, right: str) -> bool:
    return secrets.compare_digest(given.encode("utf-8", "replace"), right.encode())


async def _small_body(request: Request) -> str:
    """Return the body of a form; nothing where it is longer than one can be or does not come."""
    body = b""
    try:
        async with asyncio.timeout(10):
            async for chunk in request.stream():
                body += chunk
                if len(body) > FORM_BYTES:
                    return ""
    except TimeoutError:
        return ""
    return body.decode("utf-8", "replace")


def _with_headers(send: Send, policy: str, *, private: bool = False) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers.update({**_EVERYWHERE, "Content-Security-Policy": policy})
            if private:
                headers["Cache-Control"] = "no-store"
        await send(message)

    return sending
