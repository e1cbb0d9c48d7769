"""Who gets into the running app, on every route: its own pages in a browser that was let in, and nobody else."""

import asyncio
import socket
from contextlib import ExitStack, closing
from http import HTTPStatus
from pathlib import Path
from urllib.parse import quote

import pytest
from starlette.types import Message, Receive, Scope, Send

from pincite.web.door import Door, Doorkeeper
from pincite.web.passphrase import Passphrase
from tests.serving import RunningApp, free_port, pincite_command, running_app, without_network
from tests.web.attacker import HANDSHAKE, Attacker, let_in

FORBIDDEN = HTTPStatus.FORBIDDEN
ROUTES = (
    *("/", "/documents", "/index.html", "/favicon.png", "/nothing/here", "/static/index.html", "/static/nothing.js"),
    *("/_stcore/health", "/_stcore/host-config", "/_stcore/metrics", "/_stcore/script-health-check", "/_stcore/stream"),
    *("/_stcore/upload_file/session/file", "/_stcore/bidi-components/a/b", "/_stcore/agent/openapi.json"),
    *("/media/picture.png", "/component/a/b.html", "/app/static/a", "/auth/login", "/oauth2callback", "/healthz"),
    "/pictures/a/0",
    *("/..%2f..%2fetc%2fpasswd", "/%00", "/\\elsewhere", "/_stcore/%68ealth", "/media/..%2f..%2fapp.py"),
)
METHODS = ("GET", "HEAD", "OPTIONS", "PUT", "POST", "DELETE", "PATCH", "TRACE", "PROPFIND")
HOSTS = (
    *("elsewhere.example", "elsewhere.example:{port}", "localhost.elsewhere.example:{port}", "127.0.0.1.nip.io:{port}"),
    *("localhost", "127.0.0.1", "localhost:{other}", "127.0.0.1:{other}", "127.0.0.1:{port}0", "127.0.0.1:0{port}"),
    *("LOCALHOST:{port}", "Localhost:{port}", "localhost.:{port}", "127.0.0.1.:{port}", "127.1:{port}", "0:{port}"),
    *(
        "0.0.0.0:{port}",
        "[::1]:{port}",
        "[::]:{port}",
        "[::ffff:127.0.0.1]:{port}",
        "2130706433:{port}",
        "127.0.0.2:{port}",
    ),
    *(
        "user@127.0.0.1:{port}",
        "127.0.0.1:{port}@elsewhere.example",
        "127.0.0.1:{port}/",
        "127.0.0.1:{port}?",
        ":{port}",
    ),
    *(
        "127.0.0.1:{port}, elsewhere.example",
        "127.0.0.1:{port} elsewhere",
        "http://127.0.0.1:{port}",
        "0x7f.1:{port}",
        "",
    ),
)
ORIGINS = (
    *(
        "null",
        "",
        "http://elsewhere.example",
        "https://elsewhere.example:{port}",
        "http://localhost",
        "http://127.0.0.1",
    ),
    *("http://localhost:{port}", "http://localhost:{other}", "http://127.0.0.1:{other}", "http://[::1]:{port}"),
    *(
        "http://0.0.0.0:{port}",
        "http://127.0.0.1:{port}.elsewhere.example",
        "http://127.0.0.1:{port}@elsewhere.example",
    ),
    *(
        "http://user@127.0.0.1:{port}",
        "HTTP://127.0.0.1:{port}",
        "http://127.0.0.1:{port}/",
        "http://127.0.0.1:{port}#",
    ),
    *("file://", "chrome-extension://abcdef", "ws://127.0.0.1:{port}", "127.0.0.1:{port}", "//127.0.0.1:{port}"),
    *("http://127.0.0.1:{port} http://elsewhere.example", "http://127.0.0.1:{port}, null", "http://8.8.8.8"),
)


def filled(pattern: str, attacker: Attacker) -> str:
    return pattern.format(port=attacker.port, other=attacker.port - 1)


@pytest.mark.parametrize("route", ROUTES)
def test_without_the_cookie_every_route_is_closed_to_every_method(inside: Attacker, route: str) -> None:
    for method in METHODS:
        for origin in ([], [inside.origin]):
            assert inside.send(route, inside.host, *origin, method=method).status in (FORBIDDEN, 400), (method, route)
    assert inside.send(route, inside.host, inside.origin, *HANDSHAKE).status == FORBIDDEN


@pytest.mark.parametrize("route", ROUTES)
def test_no_route_can_be_framed_sniffed_or_followed(inside: Attacker, route: str) -> None:
    for headers in ([inside.cookie], []):
        for method in ("GET", "OPTIONS", "POST", "DELETE"):
            reply = inside.send(route, inside.host, inside.origin, *headers, method=method)
            if reply.status == 400 and b"Invalid HTTP request" in reply.body:
                continue  # not HTTP, so no browser shows it
            assert reply.all("x-frame-options") == ["DENY"], reply
            assert "frame-ancestors 'none'" in reply.all("content-security-policy")[0]
            assert reply.all("x-content-type-options") == ["nosniff"]
            assert reply.all("referrer-policy") == ["same-origin"]


@pytest.mark.parametrize("pattern", HOSTS)
def test_other_host_names_are_refused_though_the_cookie_is_right(inside: Attacker, pattern: str) -> None:
    host = "Host", filled(pattern, inside)
    for route in ("/", "/_stcore/health", "/_stcore/host-config", "/static/index.html", "/media/a.png"):
        assert inside.send(route, host, inside.cookie).status in (FORBIDDEN, 400), route
    assert inside.knock(host, inside.cookie, inside.origin) in (FORBIDDEN, 400)
    assert inside.knock(host, inside.cookie, ("Origin", f"http://{host[1]}")) in (FORBIDDEN, 400)


@pytest.mark.parametrize("pattern", ORIGINS)
def test_other_origins_are_refused_though_the_cookie_is_right(inside: Attacker, pattern: str) -> None:
    origin = "Origin", filled(pattern, inside)
    for method in ("GET", "OPTIONS", "PUT", "POST", "DELETE"):
        for route in ("/", "/_stcore/health", "/_stcore/upload_file/session/file"):
            assert inside.send(route, inside.host, inside.cookie, origin, method=method).status == FORBIDDEN
    assert inside.knock(inside.host, inside.cookie, origin) == FORBIDDEN


def test_own_pages_get_in_by_both_names_of_this_machine(inside: Attacker) -> None:
    for name in ("127.0.0.1", "localhost"):
        authority = f"{name}:{inside.port}"
        assert inside.send("/", ("Host", authority), inside.cookie).status == 200
        assert inside.knock(("Host", authority), ("Origin", f"http://{authority}"), inside.cookie) == 101


def test_missing_and_doubled_headers_are_refused(inside: Attacker) -> None:
    elsewhere, cookie = ("Host", "elsewhere.example"), inside.cookie
    assert inside.send("/", cookie).status in (FORBIDDEN, 400)
    assert inside.raw(f"GET / HTTP/1.0\r\nCookie: {cookie[1]}\r\n\r\n".encode()).status == FORBIDDEN
    for hosts in ((inside.host, elsewhere), (elsewhere, inside.host), (inside.host, inside.host)):
        assert inside.send("/", *hosts, cookie).status in (FORBIDDEN, 400)
        assert inside.knock(*hosts, cookie, inside.origin) in (FORBIDDEN, 400)
    assert inside.knock(inside.host, cookie) == FORBIDDEN, "a browser always names the origin of a socket"
    assert inside.knock(inside.host, cookie, inside.origin, ("Origin", "http://elsewhere.example")) in (FORBIDDEN, 400)
    assert inside.send("/_stcore/upload_file/a/b", inside.host, cookie, method="PUT").status == FORBIDDEN


def test_forwarding_headers_change_nothing(inside: Attacker) -> None:
    ours = inside.host[1]
    forwarding = (
        *(("X-Forwarded-Host", ours), ("X-Forwarded-For", "127.0.0.1"), ("X-Forwarded-Proto", "http")),
        *(("Forwarded", f"host={ours};for=127.0.0.1"), ("X-Original-Host", ours), ("X-Real-IP", "127.0.0.1")),
        *(("X-Forwarded-Port", str(inside.port)), ("X-HTTP-Method-Override", "GET"), ("X-Original-URL", "/")),
    )
    assert inside.send("/", ("Host", "elsewhere.example"), inside.cookie, *forwarding).status == FORBIDDEN
    assert inside.send("/", inside.host, *forwarding).status == FORBIDDEN
    assert inside.knock(inside.host, inside.cookie, ("Origin", "http://elsewhere.example"), *forwarding) == FORBIDDEN
    reply = inside.send("/", inside.host, inside.cookie, ("X-Forwarded-Host", "elsewhere.example"))
    assert reply.status == 200 and b"elsewhere" not in reply.body


def test_a_whole_address_as_the_request_target_opens_nothing(inside: Attacker) -> None:
    for target in ("http://elsewhere.example/", f"http://127.0.0.1:{inside.port}/", "//elsewhere.example/", "*", "a:b"):
        assert inside.send(target, inside.host).status in (FORBIDDEN, 400, 404), target
        assert inside.send(target, ("Host", "elsewhere.example"), inside.cookie).status in (FORBIDDEN, 400), target
        request = inside.send(target, inside.host, inside.cookie, inside.origin, *HANDSHAKE)
        assert request.status in (FORBIDDEN, 400), target


def test_pages_elsewhere_load_and_frame_nothing(inside: Attacker) -> None:
    def asked(site: str, mode: str, kind: str) -> int:
        headers = (("Sec-Fetch-Site", site), ("Sec-Fetch-Mode", mode), ("Sec-Fetch-Dest", kind))
        return inside.send("/", inside.host, inside.cookie, *headers).status

    for site in ("cross-site", "same-site"):
        for kind in ("image", "script", "empty", "audio", "style", "track"):
            assert asked(site, "no-cors", kind) == asked(site, "cors", kind) == FORBIDDEN
        for kind in ("iframe", "frame", "object", "embed"):
            assert asked(site, "navigate", kind) == FORBIDDEN
        assert asked(site, "navigate", "document") == 200, "a link may lead here; it brings no cookie from elsewhere"
    assert asked("same-origin", "cors", "empty") == asked("none", "navigate", "document") == 200


def test_only_the_token_of_this_launch_lets_in_and_it_is_not_kept_in_the_address(
    app: RunningApp, inside: Attacker
) -> None:
    token = app.entrance.partition("token=")[2]
    name, _, key = inside.cookie[1].partition("=")
    wrong = (
        "",
        "x",
        token[:-1],
        token + "x",
        token.swapcase(),
        "%00",
        quote("é"),
        key,
        f"{token}&token={token}",
        "%ff%ff",
    )
    for given in wrong:
        reply = inside.send(f"/?token={given}", inside.host)
        assert reply.status == FORBIDDEN and not reply.all("set-cookie"), given
        if given != key:
            assert inside.send("/", inside.host, ("Cookie", f"{name}={given}")).status == FORBIDDEN
    for method in ("POST", "PUT", "DELETE", "OPTIONS"):
        assert not inside.send(f"/?token={token}", inside.host, inside.origin, method=method).all("set-cookie")

    reply = inside.send(f"/documents?session=a%22b&token={token}", inside.host)
    (cookie,) = reply.all("set-cookie")
    assert reply.status == 303 and reply.all("location") == ["/documents?session=a%22b"]
    assert {"httponly", "samesite=strict", "path=/"} <= {part.strip().lower() for part in cookie.split(";")}
    assert token not in cookie, "who sees the cookie does not know the token"


def test_what_lets_in_leads_nowhere_else(app: RunningApp, inside: Attacker) -> None:
    token = app.entrance.partition("token=")[2]
    paths = ("//elsewhere.example/", "/\\elsewhere.example", "/%5celsewhere.example", "/%2felsewhere.example")
    locations = [at for path in paths for at in inside.send(f"{path}?token={token}", inside.host).all("location")]
    assert locations
    for location in locations:
        assert location.startswith("/") and not location.startswith(("//", "/\\")), location


def test_extra_cookie_next_to_ours_locks_nobody_out(inside: Attacker) -> None:
    name = inside.cookie[1].partition("=")[0]
    for cookies in (f"{name}=x; {inside.cookie[1]}", f"{inside.cookie[1]}; {name}=x", f"a; =; {inside.cookie[1]};;"):
        assert inside.send("/", inside.host, ("Cookie", cookies)).status == 200


def test_outside_page_shows_how_to_open_pincite_and_repeats_no_input(inside: Attacker) -> None:
    reply = inside.send("/<script>?a=<script>alert(1)</script>\"'&session=x", inside.host)
    page = reply.body.decode()
    assert "Run <code>pincite</code> once more" in page
    assert "<script" not in page and "alert(1)</" not in page
    assert reply.all("cache-control") == ["no-store"]


def test_a_stranger_cannot_take_over_a_session_by_its_id(inside: Attacker) -> None:
    for protocols in ("streamlit", "streamlit, x, 00000000-0000-4000-8000-000000000000", ", , ", "streamlit,,,,"):
        assert inside.knock(inside.host, inside.origin, ("Sec-WebSocket-Protocol", protocols)) in (FORBIDDEN, 400)


def test_strangers_who_hold_connections_open_keep_nobody_out(inside: Attacker) -> None:
    with ExitStack() as held:
        for number in range(400):
            connection = held.enter_context(closing(socket.create_connection(("127.0.0.1", inside.port), timeout=300)))
            connection.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1" if number % 2 else b"")
        assert inside.send("/", inside.host, inside.cookie).status == 200


def test_token_and_cookie_of_another_launch_are_refused(inside: Attacker, app: RunningApp, tmp_path: Path) -> None:
    with running_app(tmp_path, port=free_port(), environment=without_network(tmp_path)) as second:
        other = let_in(second)
        value = inside.cookie[1].partition("=")[2]
        for name in (inside.cookie[1].partition("=")[0], other.cookie[1].partition("=")[0]):
            assert other.send("/", other.host, ("Cookie", f"{name}={value}")).status == FORBIDDEN
        first_token = app.entrance.partition("token=")[2]
        assert other.send(f"/?token={first_token}", other.host).status == FORBIDDEN
        assert other.send("/", other.host, ("Cookie", f"{inside.cookie[1]}; {other.cookie[1]}")).status == 200
        assert inside.send("/", inside.host, ("Cookie", f"{inside.cookie[1]}; {other.cookie[1]}")).status == 200


def test_streamlit_run_has_the_same_door(tmp_path: Path) -> None:
    port, environment = free_port(), without_network(tmp_path)
    module = [pincite_command()[0], "-m", "streamlit", "run", str(Path(__file__).parents[2] / "app.py")]
    command = [*module, "--server.port", str(port), "--server.headless", "true"]
    environment["PINCITE_DATA_DIR"] = str(tmp_path / "data")
    with running_app(tmp_path, port=port, environment=environment, command=command) as app:
        developer = let_in(app)
        assert developer.knock(developer.host, developer.cookie, ("Origin", "http://elsewhere.example")) == FORBIDDEN
        assert developer.knock(developer.host, developer.cookie, developer.origin) == 101
        assert developer.send("/", developer.host).status == FORBIDDEN
    assert (tmp_path / "network.log").read_text(encoding="utf-8") == ""


def test_a_fault_inside_shows_no_traceback_and_keeps_the_headers() -> None:
    async def broken(scope: Scope, receive: Receive, send: Send) -> None:
        raise ZeroDivisionError("a secret of the machine")

    door = Door(frozenset({"localhost"}))
    headers = [(b"host", b"localhost:80"), (b"cookie", f"pincite-80={door.key}".encode())]
    scope = {"type": "http", "method": "GET", "path": "/", "query_string": b"", "headers": headers}
    sent: list[Message] = []

    async def ask() -> None:
        async def receive() -> Message:
            return {"type": "http.request"}

        async def send(message: Message) -> None:
            sent.append(message)

        await Doorkeeper(broken, lambda: door)({**scope, "server": ("127.0.0.1", 80)}, receive, send)

    asyncio.run(ask())
    assert sent[0]["status"] == 500 and (b"x-frame-options", b"DENY") in sent[0]["headers"]
    assert b"secret" not in sent[1]["body"]


def test_on_the_port_that_browsers_leave_out_the_bare_name_is_ours(tmp_path: Path) -> None:
    door = Door(frozenset({"localhost", "pincite.example"}), Passphrase(tmp_path))
    assert door.is_ours("localhost", ("127.0.0.1", 80)) and door.is_ours("127.0.0.1", ("127.0.0.1", 443))
    assert door.is_ours("pincite.example", ("127.0.0.1", 8501)), "a proxy in front of it has the usual port"
    assert door.is_ours("[2001:db8::1]:8501", ("2001:db8::1", 8501))
    assert door.is_ours("192.0.2.1:8501", ("::ffff:192.0.2.1", 8501))
    assert not door.is_ours("localhost", ("127.0.0.1", 8501)) and not door.is_ours("", ("", 0))


def test_where_other_machines_can_call_it_no_name_is_ours_without_a_passphrase() -> None:
    door = Door(frozenset({"localhost"}))
    assert door.is_ours("localhost:8501", ("127.0.0.1", 8501)) and door.is_ours("localhost:8501", ("::1", 8501))
    assert not door.is_ours("192.0.2.1:8501", ("192.0.2.1", 8501))
    assert not door.is_ours("localhost:8501", ("192.0.2.1", 8501))


@pytest.mark.parametrize("kind", ("address", "header", "headers", "extension", "trailers"))
def test_a_head_without_an_end_is_refused_before_it_fills_the_memory(inside: Attacker, kind: str) -> None:
    chunked = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    begin, more = {
        "address": (b"GET /", b"a" * 65536),
        "header": (b"GET / HTTP/1.1\r\nX: ", b"a" * 65536),
        "headers": (b"GET / HTTP/1.1\r\n", b"Xabc: d\r\n" * 7000),
        "extension": (chunked + b"5;", b"a" * 65536),
        "trailers": (chunked + b"0\r\n", b"Xabc: d\r\n" * 7000),
    }[kind]
    with socket.create_connection(("127.0.0.1", inside.port), timeout=300) as connection:
        connection.sendall(begin)
        with pytest.raises(ConnectionError):
            for _ in range(64 * 2**20 // len(more)):
                connection.sendall(more)


@pytest.mark.parametrize(
    "body",
    (
        "Transfer-Encoding: chunked\r\n\r\nZZ\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\nGET / HTTP/1.1\r\n\r\n",
        "Content-Length: 4\r\nContent-Length: 5\r\n\r\nabcd\r\n",
        "Content-Length: -4\r\n\r\n",
        "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
        "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
    ),
)
def test_a_body_without_one_length_is_refused(inside: Attacker, body: str) -> None:
    head = "".join(f"{name}: {value}\r\n" for name, value in (inside.host, inside.origin, inside.cookie))
    assert 400 <= inside.raw(f"POST / HTTP/1.1\r\n{head}{body}".encode()).status < 502


def test_a_body_that_goes_wrong_after_the_answer_ends_its_connection_and_nothing_else(inside: Attacker) -> None:
    head = "".join(f"{name}: {value}\r\n" for name, value in (inside.host, inside.origin))
    with socket.create_connection(("127.0.0.1", inside.port), timeout=300) as connection:
        connection.sendall(f"PUT / HTTP/1.1\r\n{head}Transfer-Encoding: chunked\r\n\r\n".encode())
        assert b" 403 " in connection.recv(65536)
        connection.sendall(b"ZZ\r\n")
        while connection.recv(65536):
            pass
