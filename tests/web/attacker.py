"""What a program that is no browser can send to the app: any bytes, any headers, over sockets of its own."""

import re
import socket
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass

from tests.serving import RunningApp

Headers = Iterable[tuple[str, str]]
HANDSHAKE = (
    ("Connection", "Upgrade"),
    ("Upgrade", "websocket"),
    ("Sec-WebSocket-Version", "13"),
    ("Sec-WebSocket-Key", "AAAAAAAAAAAAAAAAAAAAAA=="),
)


@dataclass(frozen=True)
class Reply:
    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes

    def all(self, name: str) -> list[str]:
        return [value for found, value in self.headers if found == name.lower()]


@dataclass(frozen=True)
class Attacker:
    """``cookie``: what a browser that was let in sends."""

    port: int
    cookie: tuple[str, str]

    @property
    def host(self) -> tuple[str, str]:
        return "Host", f"127.0.0.1:{self.port}"

    @property
    def origin(self) -> tuple[str, str]:
        return "Origin", f"http://127.0.0.1:{self.port}"

    def send(self, target: str, *headers: tuple[str, str], method: str = "GET", body: bytes = b"") -> Reply:
        lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in headers)]
        length = [f"Content-Length: {len(body)}"] if body or method in ("PUT", "POST") else []
        return self.raw("\r\n".join([*lines, *length, "", ""]).encode("latin-1") + body)

    def raw(self, request: bytes) -> Reply:
        """Send bytes as they are, and read the first reply's head, and its body if the head announces one."""
        with closing(socket.create_connection(("127.0.0.1", self.port), timeout=300)) as connection:
            connection.sendall(request)
            return _reply(connection, has_body=not request.startswith(b"HEAD "))

    def knock(self, *headers: tuple[str, str]) -> int:
        """Open a socket of the app; the status is 101 where it opens."""
        return self.send("/_stcore/stream", *headers, *HANDSHAKE).status


def _reply(connection: socket.socket, *, has_body: bool) -> Reply:
    received = b""
    while b"\r\n\r\n" not in received:
        more = connection.recv(65536)
        if not more:
            break
        received += more
    head, _, body = received.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = tuple((name.lower(), value.strip()) for name, _, value in (line.partition(":") for line in lines))
    length = next((int(value) for name, value in headers if name == "content-length"), 0)
    while has_body and len(body) < length and (more := connection.recv(65536)):
        body += more
    found = re.match(r"HTTP/1\.\d (\d+)", first)
    return Reply(int(found[1]) if found else 0, headers, body)


def let_in(app: RunningApp) -> Attacker:
    """Exchange the token that the app printed for its cookie."""
    port = int(app.address.rpartition(":")[2])
    stranger = Attacker(port, ("Cookie", ""))
    reply = stranger.send("/?" + app.entrance.partition("/?")[2], stranger.host)
    (cookie,) = reply.all("set-cookie")
    return Attacker(port, ("Cookie", cookie.partition(";")[0]))
