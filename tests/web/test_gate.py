"""The MCP server of the running app: programs with a token get in, as far as it permits, and nobody else."""

import asyncio
import json
import os
import signal
import socket
from collections.abc import Awaitable, Callable, Iterable
from http import HTTPStatus
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from pincite.core.domain.tokens import Permission
from pincite.core.store.tokens import Tokens
from tests.serving import RunningApp, free_port, running_app
from tests.web.conftest import SECONDS, opened_tokens

LISTING = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
LOOKING = {"list_documents", "search_documents", "read_page", "verify_quote", "verify_claim", "read_grid"}
ASKING = {"ask_documents", "run_grid"}


def with_client(app: RunningApp, token: str, use: Callable[[Client], Awaitable[Any]], *, mode: str = "auto") -> Any:
    async def run() -> Any:
        headers = {"Authorization": f"Bearer {token}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=SECONDS) as http,
            Client(streamable_http_client(f"{app.address}/mcp", http_client=http), mode=mode) as client,
        ):
            return await use(client)

    return asyncio.run(run())


async def names(client: Client) -> set[str]:
    return {tool.name for tool in (await client.list_tools()).tools}


@pytest.mark.behaviour(
    "The Model Context Protocol",
    "The app serves assistants at /mcp: each token permits reading, asking or adding, and can be revoked.",
)
@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_token_gives_the_tools_that_it_permits(
    app: RunningApp, folder: Path, make_token: Callable[..., str], mode: str
) -> None:
    reader = make_token(Permission.READ)
    assert with_client(app, reader, names, mode=mode) == LOOKING
    assert with_client(app, make_token(Permission.ASK), names, mode=mode) == ASKING
    assert with_client(app, make_token(*Permission), names, mode=mode) == LOOKING | ASKING, "no files"

    async def listed(client: Client) -> Any:
        return (await client.call_tool("list_documents", {})).structured_content

    assert with_client(app, reader, listed, mode=mode) == {"documents": []}
    with opened_tokens(folder) as database:
        tokens = Tokens(database)
        for token in tokens.list():
            tokens.revoke(token.id)
    assert status(app, headers={"Authorization": f"Bearer {reader}"}) is HTTPStatus.UNAUTHORIZED


def status(app: RunningApp, method: str = "POST", *, content: bytes | None = None, headers: Any = ()) -> HTTPStatus:
    given = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
    body = json.dumps(LISTING).encode() if content is None else content
    with httpx2.Client(timeout=SECONDS) as client:
        answer = client.request(method, f"{app.address}/mcp", content=body, headers=given | dict(headers))
    assert "Traceback" not in answer.text and "/site-packages/" not in answer.text
    return HTTPStatus(answer.status_code)


def refused(headers: Iterable[tuple[str, str]], token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"} | dict(headers)


def test_nobody_gets_in_without_a_token_or_from_a_web_page(app: RunningApp, make_token: Callable[..., str]) -> None:
    token = make_token(Permission.READ)
    for wrong in ("", "Bearer", f"Basic {token}", f"Bearer {token}x", f"Bearer {token[:-1]}", token):
        assert status(app, headers={"Authorization": wrong} if wrong else ()) is HTTPStatus.UNAUTHORIZED
    for origin in (app.address, "null", "http://elsewhere.example", ""):
        assert status(app, headers=refused([("Origin", origin)], token)) is HTTPStatus.FORBIDDEN
    for host in ("elsewhere.example", "localhost", "127.0.0.1:1", "LOCALHOST:80", ""):
        assert status(app, headers=refused([("Host", host)], token)) in (421, 400)
    for method in ("GET", "PUT", "DELETE", "PATCH", "OPTIONS"):
        assert status(app, method, headers=refused([], token)) is HTTPStatus.METHOD_NOT_ALLOWED


def test_the_app_ends_although_a_request_is_open(tmp_path: Path) -> None:
    environment = {**os.environ, "PINCITE_ENGINE": "quoting"}
    with running_app(tmp_path, port=free_port(), environment=environment) as app:
        with opened_tokens(tmp_path) as database:
            token = Tokens(database).create("test", [Permission.READ])[1]
        assert with_client(app, token, names) == LOOKING
        host, _, port = app.address.removeprefix("http://").partition(":")
        lines = f"Host: {host}:{port}\r\nAuthorization: Bearer {token}\r\nContent-Length: 10\r\nExpect: 100-continue"
        head = f"POST /mcp HTTP/1.1\r\n{lines}\r\n\r\n{{"
        with socket.create_connection((host, int(port)), SECONDS) as connection:
            connection.sendall(head.encode())
            assert connection.recv(4096).startswith(b"HTTP/1.1 100"), "the app waits for the rest of the request"
            app.process.send_signal(signal.SIGINT)
            app.process.wait(20)


def test_a_body_that_is_none_leaves_no_traceback(app: RunningApp) -> None:
    """The fixture fails if the app printed one."""
    host, _, port = app.address.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), SECONDS) as connection:
        connection.sendall(b"POST /mcp HTTP/1.1\r\nHost: elsewhere\r\nTransfer-Encoding: chunked\r\n\r\nZZZ\r\n")
        assert connection.recv(4096).startswith(b"HTTP/1.1 4")


def test_malformed_and_oversized_requests_get_the_right_status(app: RunningApp, make_token: Callable[..., str]) -> None:
    token = make_token(*Permission)
    good = refused([], token)
    assert status(app, headers=good) in (200, 400), "a legacy request without a session is answered or refused"
    for content in (b"", b"{", b"[]", b"null", b"\xff\xfe", b'{"jsonrpc":"1.0"}', b"[" * 10_000, b'{"id":1}'):
        assert 400 <= status(app, content=content, headers=good) < 500
    assert status(app, content=b"x" * (5 << 20), headers=good) is HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    assert status(app, headers=good | {"Content-Type": "text/plain"}) in (400, 415)
    assert status(app, headers=good | {"Accept": "text/html"}) is HTTPStatus.NOT_ACCEPTABLE
