"""The one way to a model server: the ``ollama`` package over a transport that trusts neither server nor environment.

No proxy, redirect, cookie or compression is accepted. Every call has a limit of seconds and of bytes, replies are JSON
objects with finite numbers, and a stop is heeded while connecting, sending or waiting: no wait outlasts POLL_SECONDS.
"""

import errno
import json
import queue
import selectors
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

import httpcore
import httpx
import ollama
from pydantic import ValidationError
from pydantic_core import from_json

from core.domain.errors import StoppedError

POLL_SECONDS = 0.1
REPLY_BYTES = 2 * 2**20
STREAM_BYTES = 8 * 2**20
LINE_BYTES = 2**18
ERROR_BYTES = 2**16
MOST_PARTS = 50_000
"""Lists and objects in one reply: an empty one takes three bytes to send and hundreds to keep."""
LONGEST_REMARK = 200

_CONNECTING = (errno.EINPROGRESS, errno.EWOULDBLOCK, getattr(errno, "WSAEWOULDBLOCK", errno.EWOULDBLOCK))
_WIRE_ERRORS = (
    httpcore.NetworkError,
    httpcore.ProtocolError,
    httpcore.TimeoutException,
    httpcore.UnsupportedProtocol,
)
Done = TypeVar("Done")


class ServerTrouble(Exception):
    """What a model server did, told as what follows "the server": the adapters make errors for people of it."""

    def __init__(self, what: str, *, status: int = 0) -> None:
        super().__init__(what)
        self.status = status
        """The HTTP status, where the reply had another than success."""


def _never() -> bool:
    return False


_stopped: ContextVar[Callable[[], bool]] = ContextVar("stopped", default=_never)


@contextmanager
def stoppable(stopped: Callable[[], bool]) -> Iterator[None]:
    """Every call to a model server that is made inside ends with StoppedError once ``stopped()`` is true."""
    token = _stopped.set(stopped)
    try:
        yield
    finally:
        _stopped.reset(token)


@contextmanager
def model_server(
    address: str, *, seconds: float, lines: bool = False, stopped: Callable[[], bool] = _never
) -> Iterator[ollama.Client]:
    """A client for one call, or a few that share one limit; every connection is closed at the end.

    ``lines`` is for streamed replies, one JSON object a line. Raises ServerTrouble, and StoppedError once
    ``stopped()`` or the surrounding ``stoppable`` says so.
    """
    outer = _stopped.get()
    call = _Call(seconds, STREAM_BYTES if lines else REPLY_BYTES, lambda: stopped() or outer())
    try:
        with ollama.Client(
            host=address,
            transport=_Transport(call, lines=lines),
            trust_env=False,
            follow_redirects=False,
            headers={"accept-encoding": "identity"},
        ) as client:
            yield client
    except (httpx.HTTPError, httpx.InvalidURL, ollama.ResponseError, ConnectionError, ValidationError) as error:
        raise ServerTrouble("sent a reply that cannot be understood") from error
    finally:
        call.close()


class _Call:
    """The limits of one call, and the sockets that were opened for it."""

    def __init__(self, seconds: float, most_bytes: int, stopped: Callable[[], bool]) -> None:
        self._seconds = seconds
        self._deadline = time.monotonic() + seconds
        self._bytes_left = most_bytes
        self._most_bytes = most_bytes
        self._stopped = stopped
        self.sockets: list[socket.socket] = []

    def check(self) -> None:
        """Raises StoppedError or ServerTrouble."""
        if self._stopped():
            raise StoppedError("It was stopped.")
        if time.monotonic() >= self._deadline:
            raise ServerTrouble(f"did not answer in full within {self._seconds:.0f} seconds")

    def received(self, count: int) -> None:
        self._bytes_left -= count
        if self._bytes_left < 0:
            raise ServerTrouble(f"sent more than the {self._most_bytes // 2**20} MiB that a reply may have")

    def patiently(self, act: Callable[[], Done]) -> Done:
        """Repeat what a socket does until it is done; its own time limit is POLL_SECONDS."""
        while True:
            self.check()
            try:
                return act()
            except TimeoutError:
                continue

    def close(self) -> None:
        for opened in self.sockets:
            opened.close()


class _Network(httpcore.NetworkBackend):
    """Opens connections within a call's limits."""

    def __init__(self, call: _Call) -> None:
        self._call = call

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        for family, kind, protocol, _, address in self._look_up(host.strip("[]"), port):
            opened = socket.socket(family, kind, protocol)
            self._call.sockets.append(opened)
            if self._connected(opened, address):
                opened.settimeout(POLL_SECONDS)
                return _Wire(opened, self._call)
        raise ServerTrouble("does not answer")

    def _connected(self, opened: socket.socket, address: Any) -> bool:
        opened.setblocking(False)
        try:
            result = opened.connect_ex(address)
        except OSError:
            return False
        if result in _CONNECTING:
            with selectors.DefaultSelector() as selector:
                selector.register(opened, selectors.EVENT_WRITE)
                while not selector.select(POLL_SECONDS):
                    self._call.check()
            result = opened.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        return result == 0

    def _look_up(self, host: str, port: int) -> list[Any]:
        """In a thread of its own: the system offers no way to stop looking up a name."""
        found: queue.SimpleQueue[list[Any]] = queue.SimpleQueue()

        def look() -> None:
            try:
                found.put(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
            except (OSError, UnicodeError):
                found.put([])

        threading.Thread(target=look, name="name-lookup", daemon=True).start()
        while True:
            self._call.check()
            try:
                return found.get(timeout=POLL_SECONDS)
            except queue.Empty:
                continue


class _Wire(httpcore.NetworkStream):
    """One connection within a call's limits."""

    def __init__(self, opened: socket.socket, call: _Call) -> None:
        self._socket = opened
        self._call = call

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        try:
            data = self._call.patiently(lambda: self._socket.recv(max_bytes))
        except OSError as error:
            raise httpcore.ReadError(str(error)) from error
        self._call.received(len(data))
        return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        rest = memoryview(buffer)
        try:
            while rest:
                rest = rest[self._call.patiently(lambda left=rest: self._socket.send(left)) :]  # type: ignore[misc]
        except OSError as error:
            raise httpcore.WriteError(str(error)) from error

    def close(self) -> None:
        self._socket.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        try:
            secured = ssl_context.wrap_socket(
                self._socket, server_hostname=server_hostname, do_handshake_on_connect=False
            )
            self._call.sockets.append(secured)
            self._call.patiently(secured.do_handshake)
        except ssl.SSLCertVerificationError as error:
            raise ServerTrouble(f"cannot prove who it is ({error.verify_message})") from error
        except OSError as error:
            raise ServerTrouble("does not speak HTTPS") from error
        return _Wire(secured, self._call)

    def get_extra_info(self, info: str) -> Any:
        return None


class _Transport(httpx.BaseTransport):
    """Sends requests, and lets nothing through but what is an answer to them."""

    def __init__(self, call: _Call, *, lines: bool) -> None:
        self._call = call
        self._lines = lines
        self._pool = httpcore.ConnectionPool(network_backend=_Network(call), max_keepalive_connections=0)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        secure = request.url.scheme == "https"  # else a key from OLLAMA_API_KEY would be there for all to read
        sent = httpcore.Request(
            method=request.method,
            url=httpcore.URL(
                scheme=request.url.raw_scheme,
                host=request.url.raw_host,
                port=request.url.port,
                target=request.url.raw_path,
            ),
            headers=[header for header in request.headers.raw if secure or header[0].lower() != b"authorization"],
            content=request.stream,
        )
        try:
            reply = self._pool.handle_request(sent)
        except _WIRE_ERRORS as error:
            raise _lost(error) from error
        body = _Body(reply, self._call, lines=self._lines)
        if reply.status != 200:
            try:
                raise ServerTrouble(body.refusal(), status=reply.status)
            finally:
                reply.close()
        return httpx.Response(200, headers={"content-type": "application/json"}, stream=body)

    def close(self) -> None:
        self._pool.close()


class _Body(httpx.SyncByteStream):
    """A reply's JSON, checked and written anew: what reads it sees ASCII, objects and finite numbers alone."""

    def __init__(self, reply: httpcore.Response, call: _Call, *, lines: bool) -> None:
        self._reply = reply
        self._call = call
        self._lines = lines

    def __iter__(self) -> Iterator[bytes]:
        encoding = next((value for name, value in self._reply.headers if name.lower() == b"content-encoding"), b"")
        if encoding.strip().lower() not in (b"", b"identity"):
            raise ServerTrouble("sent a compressed reply, which was not asked for")
        for text in self._split() if self._lines else (b"".join(self._chunks()),):
            if text.strip() or not self._lines:
                yield _checked(text)

    def close(self) -> None:
        self._reply.close()

    def refusal(self) -> str:
        """What the status says, with the server's own remark where there is one."""
        status = self._reply.status
        if 300 <= status < 400:
            return f"sends its visitors elsewhere (status {status}), which is not followed"
        text = b""
        try:
            for chunk in self._chunks():
                text += chunk
                if len(text) > ERROR_BYTES:
                    break
            reply = from_json(text)
        except (ServerTrouble, ValueError):
            reply = None
        said = _remark(reply.get("error")) if isinstance(reply, dict) else ""
        return f"refused (status {status})" + (f": {said}" if said else "")

    def _chunks(self) -> Iterator[bytes]:
        try:
            for chunk in self._reply.iter_stream():
                self._call.check()
                yield chunk
        except _WIRE_ERRORS as error:
            raise _lost(error) from error

    def _split(self) -> Iterator[bytes]:
        rest = bytearray()
        for chunk in self._chunks():
            rest += chunk
            if b"\n" in chunk:
                *whole, tail = bytes(rest).split(b"\n")
                yield from whole
                rest = bytearray(tail)
            if len(rest) > LINE_BYTES:
                raise ServerTrouble(f"sent more than {LINE_BYTES // 1024} KiB in one piece")
        yield bytes(rest)


def strict_json(text: str | bytes) -> Any:
    """Read JSON without NaN, infinity and broken characters. Raises ValueError."""
    value = from_json(text, allow_inf_nan=False)
    json.dumps(value, allow_nan=False)  # 1e999 is JSON, and infinity
    return value


def _checked(text: bytes) -> bytes:
    if text.count(b"{") + text.count(b"[") > MOST_PARTS:
        raise ServerTrouble("sent a reply of more parts than any has")
    try:
        value = strict_json(text)
    except ValueError as error:
        raise ServerTrouble("sent a reply that is not JSON") from error
    if not isinstance(value, dict):
        raise ServerTrouble("sent a reply that cannot be understood")
    if value.get("error"):
        raise ServerTrouble(f"reported an error: {_remark(value['error'])}".removesuffix(": "))
    return json.dumps(value).encode() + b"\n"


def _remark(error: object) -> str:
    """A server's own words in one short line."""
    line = " ".join(error.split()) if isinstance(error, str) else ""
    return "".join(character for character in line if character.isprintable())[:LONGEST_REMARK]


def _lost(error: Exception) -> ServerTrouble:
    early = any(word in str(error) for word in ("disconnected", "closed")) or not isinstance(
        error, httpcore.ProtocolError
    )
    return ServerTrouble("broke the connection off" if early else "sent a reply that is not HTTP")
