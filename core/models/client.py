"""The one way to a model server: the asynchronous client of its maker, on one thread of ours, within limits.

No proxy, redirect or compression is accepted, and no key goes out in clear. Every call has a limit of seconds and of
bytes, and a stop is heeded while connecting, sending or waiting: no wait outlasts POLL_SECONDS.
"""

import asyncio
import json
import ssl
import threading
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Coroutine, Generator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, suppress
from contextvars import ContextVar
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic_core import from_json

from pincite.core.domain.errors import StoppedError

if TYPE_CHECKING:
    import ollama

THREAD = "model servers"
POLL_SECONDS = 0.1
CLOSING_SECONDS = 5.0
REPLY_BYTES = 2 * 2**20
STREAM_BYTES = 8 * 2**20
MAX_PARTS = 50_000
"""Lists and objects in one JSON text: an empty one takes three bytes to send and hundreds to keep."""
MAX_REMARK_LENGTH = 200
SILENT_SECONDS = 60.0
"""The longest pause in the middle of a streamed reply."""
_SENT = ("host", "accept", "authorization", "content-type", "content-length", "transfer-encoding", "connection")
"""Headers that are sent; the clients would add some about the machine."""

Client = TypeVar("Client")
Done = TypeVar("Done")
UNREADABLE = (ValueError, TypeError, AttributeError, LookupError, RecursionError)
"""What the clients raise over a reply that is not what they expect."""


class ServerTrouble(Exception):
    """An error of a model server, worded to follow "the server"; the adapters turn it into errors for people."""

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


def ask(
    opened: AbstractAsyncContextManager[Client],
    call: Callable[[Client], Awaitable[Done]],
    *,
    seconds: float,
    stopped: Callable[[], bool] = _never,
) -> Done:
    """Return the reply to one call. Raises ServerTrouble, or StoppedError if ``stopped()`` or ``stoppable`` is true."""

    async def asked() -> Done:
        async with opened as client:
            return await call(client)

    return _on_thread(_Limits(seconds, stopped).hold(asked()))


def stream(
    opened: AbstractAsyncContextManager[Client],
    call: Callable[[Client], Awaitable[Any]],
    *,
    seconds: float,
    stopped: Callable[[], bool] = _never,
) -> Generator[Any, None, None]:
    """The parts of a reply as they come in. Raises as ``ask`` does; the server is let go when the generator closes."""
    limits = _Limits(seconds, stopped)

    async def received() -> AsyncGenerator[Any, None]:
        async with opened as client:
            async for part in await call(client):
                yield part

    async def following() -> Any:
        return await anext(parts, None)

    parts = received()
    try:
        while (part := _on_thread(limits.hold(following()))) is not None:
            yield part
            limits.silence = SILENT_SECONDS
    finally:
        closed = asyncio.run_coroutine_threadsafe(_closed(parts), _loop())
        if threading.current_thread().name != THREAD:  # where garbage is collected there, it cannot be waited for
            with suppress(TimeoutError):
                closed.result(CLOSING_SECONDS)


class _Limits:
    """How long one call may take, as a whole and between the parts of its reply."""

    def __init__(self, seconds: float, stopped: Callable[[], bool]) -> None:
        outer = _stopped.get()
        self._stopped: Callable[[], bool] = lambda: stopped() or outer()
        self._seconds, self._deadline = seconds, time.monotonic() + seconds
        self.silence = seconds

    async def hold(self, act: Coroutine[Any, Any, Done]) -> Done:
        """What comes of it, which is ended before this returns. Raises ServerTrouble and StoppedError."""
        task, silent_at = asyncio.ensure_future(act), time.monotonic() + self.silence
        try:
            while not task.done():
                if self._stopped():
                    raise StoppedError("Stopped.")
                if time.monotonic() >= self._deadline:
                    raise ServerTrouble(f"did not answer in full within {self._seconds:.0f} seconds")
                if time.monotonic() >= silent_at:
                    raise ServerTrouble(f"sent nothing for {self.silence:.0f} seconds")
                await asyncio.wait([task], timeout=POLL_SECONDS)
            return task.result()
        finally:
            task.cancel()
            await asyncio.wait([task])


@cache
def _loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name=THREAD, daemon=True).start()
    return loop


async def _closed(parts: AsyncGenerator[Any, None]) -> None:
    await parts.aclose()


def _on_thread(act: Coroutine[Any, Any, Done]) -> Done:
    return asyncio.run_coroutine_threadsafe(act, _loop()).result()


def ollama_at(address: str, max_bytes: int = REPLY_BYTES) -> AbstractAsyncContextManager["ollama.AsyncClient"]:
    """Ollama's client for one call. Raises ServerTrouble."""
    import httpx  # both are loaded only where a server is asked, and before its time runs
    import ollama

    @asynccontextmanager
    async def opened() -> AsyncIterator[ollama.AsyncClient]:
        carrier = limited(httpx, max_bytes)
        try:
            async with ollama.AsyncClient(
                host=address, transport=carrier, trust_env=False, follow_redirects=False
            ) as client:
                yield client
        except (httpx.HTTPError, httpx.InvalidURL, ollama.ResponseError, ConnectionError, *UNREADABLE) as error:
            raise trouble_of(error) from error

    return opened()


def limited(library: ModuleType, max_bytes: int, key: str = "") -> Any:
    """A transport for the asynchronous client of httpx or of its successor httpx2; ``key`` alone is sent for one.

    Raises ServerTrouble over redirects, and over compressed and too large replies.
    """
    return _transports(library)(max_bytes, key)


@cache
def _transports(library: Any) -> Any:
    class Counted(library.AsyncByteStream):  # type: ignore[misc]  # of either library
        def __init__(self, stream: Any, max_bytes: int) -> None:
            self._stream, self._most_bytes = stream, max_bytes

        async def __aiter__(self) -> AsyncIterator[bytes]:
            left, parts = self._most_bytes, 0
            async for chunk in self._stream:
                left -= len(chunk)
                if left < 0:
                    raise ServerTrouble(f"sent a reply larger than the limit of {self._most_bytes // 2**20} MiB")
                if self._most_bytes == STREAM_BYTES and b"\n" in chunk:
                    parts = 0  # of a stream each line is a text
                parts += chunk.count(b"{") + chunk.count(b"[")
                if parts > MAX_PARTS:
                    raise ServerTrouble("sent a reply with too many parts")
                yield chunk

        async def aclose(self) -> None:
            await self._stream.aclose()

    class Limited(library.AsyncHTTPTransport):  # type: ignore[misc]
        def __init__(self, max_bytes: int, key: str) -> None:
            super().__init__(verify=_trusted(), trust_env=False, limits=library.Limits(max_keepalive_connections=0))
            self._most_bytes, self._key = max_bytes, key

        async def handle_async_request(self, request: Any) -> Any:
            clear = not self._key and request.url.scheme != "https"  # OLLAMA_API_KEY would be there for all to read
            for name in [one for one in request.headers if one not in _SENT or (clear and one == "authorization")]:
                del request.headers[name]
            request.headers["accept-encoding"] = "identity"
            reply = await super().handle_async_request(request)
            if 300 <= reply.status_code < 400:
                await reply.aclose()
                what = f"redirects to another address (status {reply.status_code}), which Pincite does not follow"
                raise ServerTrouble(what, status=reply.status_code)
            if reply.headers.get("content-encoding", "").strip().lower() not in ("", "identity"):
                await reply.aclose()
                raise ServerTrouble("sent a compressed reply, which was not asked for")
            reply.headers["content-type"] = "application/json"
            reply.stream = Counted(reply.stream, self._most_bytes)
            return reply

    return Limited


@cache
def _trusted() -> ssl.SSLContext:
    """Made once: reading all certificates takes a tenth of a second."""
    import httpx

    return httpx.create_ssl_context(trust_env=False)


def trouble_of(error: BaseException) -> ServerTrouble:
    """Return the trouble of the server from a client's error or its cause."""
    causes = [error]
    while (cause := causes[-1].__cause__ or causes[-1].__context__) is not None and cause not in causes:
        causes.append(cause)
    names = {type(cause).__name__ for cause in causes}
    for cause in causes:
        if isinstance(cause, ServerTrouble):
            return cause
        if isinstance(cause, ssl.SSLCertVerificationError):
            return ServerTrouble(f"cannot prove its identity ({cause.verify_message})")
        if isinstance(cause, ssl.SSLError):
            return ServerTrouble("does not speak HTTPS")
    if "ConnectError" in names:
        return ServerTrouble("does not answer")
    if names & {"ReadError", "WriteError"} or "disconnected" in str(error) or "closed" in str(error):
        return ServerTrouble("closed the connection early")
    if "RemoteProtocolError" in names:
        return ServerTrouble("sent a reply that is not HTTP")
    status, remark = getattr(error, "status_code", -1), _remark(getattr(error, "body", getattr(error, "error", "")))
    if status >= 400:
        return ServerTrouble(f"refused (status {status})" + (f": {remark}" if remark else ""), status=status)
    return ServerTrouble(f"reported an error: {remark}" if remark else "sent a reply that cannot be understood")


def strict_json(text: str | bytes) -> Any:
    """Read JSON without NaN, infinity and broken characters. Raises ValueError."""
    value = from_json(text, allow_inf_nan=False)
    json.dumps(value, allow_nan=False)  # 1e999 is JSON, and infinity
    return value


def _remark(error: object) -> str:
    """Return a server's own words in one short line."""
    if isinstance(error, dict):
        error = error.get("message")
    line = " ".join(error.split()) if isinstance(error, str) else ""
    return "".join(character for character in line if character.isprintable())[:MAX_REMARK_LENGTH]
