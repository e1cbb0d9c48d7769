"""The one way to a model server: a transport that trusts neither server nor environment, under the client of its maker.

No proxy, redirect, cookie or compression is accepted. Every call has a limit of seconds and of bytes, replies are JSON
objects with finite numbers, and a stop is heeded while connecting, sending or waiting: no wait outlasts POLL_SECONDS.
"""

import asyncio
import json
import ssl
import threading
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from concurrent.futures import wait
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import cache
from typing import Any, Literal, TypeVar

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
SILENT_SECONDS = 60.0
"""The longest pause in the middle of a streamed reply."""

Done = TypeVar("Done")
Framing = Literal["whole", "lines", "events"]
"""A reply is one JSON object, one a line, or one a server-sent event."""


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
def transport(
    *, seconds: float, framing: Framing = "whole", stopped: Callable[[], bool] = _never, keyed: bool = False
) -> Iterator[httpx.BaseTransport]:
    """What carries one call, or a few that share one limit; every connection is closed at the end.

    ``keyed``: the caller has seen to it where its key may be sent in clear; else that is nowhere. Raises ServerTrouble,
    and StoppedError once ``stopped()`` or the surrounding ``stoppable`` says so.
    """
    outer = _stopped.get()
    call = _Call(seconds, lambda: stopped() or outer(), streamed=framing != "whole")
    try:
        yield _Transport(call, framing, keyed=keyed)
    except (httpx.HTTPError, httpx.InvalidURL, ollama.ResponseError, ConnectionError, ValidationError) as error:
        raise ServerTrouble("sent a reply that cannot be understood") from error
    finally:
        call.close()


@contextmanager
def model_server(
    address: str, *, seconds: float, lines: bool = False, stopped: Callable[[], bool] = _never
) -> Iterator[ollama.Client]:
    """Ollama's client over ``transport``; ``lines`` is for streamed replies."""
    framing: Framing = "lines" if lines else "whole"
    with (
        transport(seconds=seconds, framing=framing, stopped=stopped) as carrier,
        ollama.Client(
            host=address,
            transport=carrier,
            trust_env=False,
            follow_redirects=False,
            headers={"accept-encoding": "identity"},
        ) as client,
    ):
        yield client


@cache
def _trusted() -> ssl.SSLContext:
    """Made once: reading all certificates takes a tenth of a second."""
    return httpx.create_ssl_context(trust_env=False)


class _Call:
    """The limits of one call, and the thread that waits for the network: whatever waits there can be let go."""

    def __init__(self, seconds: float, stopped: Callable[[], bool], *, streamed: bool) -> None:
        self._seconds = seconds
        self._deadline = time.monotonic() + seconds
        self._bytes_left = self._most_bytes = STREAM_BYTES if streamed else REPLY_BYTES
        self._stopped = stopped
        self._streamed = streamed
        self._begun = False
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="model server", daemon=True)
        self._thread.start()
        limits = httpx.Limits(max_keepalive_connections=0)
        self.network = httpx.AsyncHTTPTransport(verify=_trusted(), trust_env=False, limits=limits)

    def check(self) -> None:
        """Raises StoppedError or ServerTrouble."""
        if self._stopped():
            raise StoppedError("It was stopped.")
        if time.monotonic() >= self._deadline:
            raise ServerTrouble(f"did not answer in full within {self._seconds:.0f} seconds")

    def received(self, count: int) -> None:
        self._begun = self._streamed
        self._bytes_left -= count
        if self._bytes_left < 0:
            raise ServerTrouble(f"sent a reply larger than the limit of {self._most_bytes // 2**20} MiB")

    def wait_for(self, act: Coroutine[Any, Any, Done]) -> Done:
        """What comes of it. Raises ServerTrouble, also for what goes wrong on the network, and StoppedError."""
        done = asyncio.run_coroutine_threadsafe(act, self._loop)
        silent_at = time.monotonic() + SILENT_SECONDS
        try:
            while True:
                self.check()
                if self._begun and time.monotonic() >= silent_at:
                    raise ServerTrouble(f"sent nothing for {SILENT_SECONDS:.0f} seconds")
                if wait([done], POLL_SECONDS).done:
                    return done.result()
        except httpx.TransportError as error:
            raise _lost(error) from error
        finally:
            done.cancel()

    @property
    def closed(self) -> bool:
        return self._loop.is_closed()

    def close(self) -> None:
        asyncio.run_coroutine_threadsafe(self._let_go(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _let_go(self) -> None:
        waiting = asyncio.all_tasks() - {asyncio.current_task()}
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        with suppress(httpx.TransportError):
            await self.network.aclose()
        await self._loop.shutdown_asyncgens()


class _Transport(httpx.BaseTransport):
    """Sends requests, and lets nothing through but what is an answer to them."""

    def __init__(self, call: _Call, framing: Framing, *, keyed: bool) -> None:
        self._call = call
        self._framing = framing
        self._keyed = keyed

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        if request.url.scheme != "https" and not self._keyed:
            request.headers.pop("authorization", None)  # a key from OLLAMA_API_KEY would be there for all to read
        reply = self._call.wait_for(self._call.network.handle_async_request(request))
        body = _Body(reply, self._call, self._framing)
        if reply.status_code != 200:
            try:
                raise ServerTrouble(body.refusal(), status=reply.status_code)
            finally:
                body.close()
        kind = "text/event-stream" if self._framing == "events" else "application/json"
        return httpx.Response(200, headers={"content-type": kind}, stream=body)


class _Body(httpx.SyncByteStream):
    """A reply's JSON, checked and written anew: what reads it sees ASCII, objects and finite numbers alone."""

    def __init__(self, reply: httpx.Response, call: _Call, framing: Framing) -> None:
        self._reply = reply
        self._received = aiter(reply.aiter_raw())
        self._call = call
        self._framing = framing

    def __iter__(self) -> Iterator[bytes]:
        if self._reply.headers.get("content-encoding", "").strip().lower() not in ("", "identity"):
            raise ServerTrouble("sent a compressed reply, which was not asked for")
        if self._framing == "whole":
            yield _checked(b"".join(self._chunks()))
        elif self._framing == "lines":
            yield from (_checked(text) for text in self._split() if text.strip())
        else:
            yield from self._events()

    def close(self) -> None:
        """A call that is over has closed it already."""
        if not self._call.closed:
            with suppress(ServerTrouble, StoppedError):
                self._call.wait_for(self._reply.aclose())

    def refusal(self) -> str:
        """What the status says, with the server's own remark where there is one."""
        status = self._reply.status_code
        if 300 <= status < 400:
            return f"redirects to another address (status {status}), which Pincite does not follow"
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

    def _events(self) -> Iterator[bytes]:
        """Those that carry data; comments, names and numbers of events are passed over, anything else is no event."""
        for line in self._split():
            name, _, data = line.strip().partition(b":")
            if name == b"data":
                yield b"data: " + (b"[DONE]\n" if data.strip() == b"[DONE]" else _checked(data)) + b"\n"
            elif name not in (b"", b"event", b"id", b"retry"):
                _checked(line)
                raise ServerTrouble("sent a reply that is not an event stream")

    def _chunks(self) -> Iterator[bytes]:
        while chunk := self._call.wait_for(_next(self._received)):
            self._call.received(len(chunk))
            yield chunk

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
        raise ServerTrouble("sent a reply with too many parts")
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
    if isinstance(error, dict):
        error = error.get("message")
    line = " ".join(error.split()) if isinstance(error, str) else ""
    return "".join(character for character in line if character.isprintable())[:LONGEST_REMARK]


async def _next(chunks: AsyncIterator[bytes]) -> bytes:
    """Empty at the end."""
    async for chunk in chunks:
        if chunk:
            return chunk
    return b""


def _lost(error: httpx.TransportError) -> ServerTrouble:
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, ssl.SSLError):
        cause = cause.__cause__ or cause.__context__
    if isinstance(cause, ssl.SSLCertVerificationError):
        return ServerTrouble(f"cannot prove its identity ({cause.verify_message})")
    if cause is not None:
        return ServerTrouble("does not speak HTTPS")
    if isinstance(error, httpx.ConnectError):
        return ServerTrouble("does not answer")
    early = not isinstance(error, httpx.ProtocolError) or any(word in str(error) for word in ("disconnected", "closed"))
    return ServerTrouble("closed the connection early" if early else "sent a reply that is not HTTP")
