"""What somebody who was let in can do to the app over its socket and its uploads: nothing that ends or doubles it."""

import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.protocol import State
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Origin, Subprotocol

from pincite.web.door import SOCKETS
from tests.serving import RunningApp
from tests.web.attacker import Attacker

SECONDS = 300


@pytest.fixture
def opened(inside: Attacker) -> Iterator[Callable[..., ClientConnection]]:
    with ExitStack() as stack:

        def open_one(*protocols: str) -> ClientConnection:
            opening = connect(
                f"ws://127.0.0.1:{inside.port}/_stcore/stream",
                origin=Origin(inside.origin[1]),
                additional_headers=[inside.cookie],
                subprotocols=[Subprotocol(name) for name in protocols] or None,
                proxy=None,
                max_size=None,
                open_timeout=SECONDS,
                close_timeout=1,
            )
            return stack.enter_context(opening)

        yield open_one


def rerun(connection: ClientConnection, message: BackMsg | None = None) -> list[ForwardMsg]:
    """Have the page drawn, and return all messages to the end of it."""
    if message is None:
        message = BackMsg()
        message.rerun_script.query_string = ""
    connection.send(message.SerializeToString())
    messages = []
    while True:
        received = ForwardMsg()
        received.ParseFromString(bytes(connection.recv(timeout=SECONDS, decode=False)))
        messages.append(received)
        if received.WhichOneof("type") == "script_finished":
            return messages


def session_id(messages: list[ForwardMsg]) -> str:
    return next(message.new_session.initialize.session_id for message in messages if message.HasField("new_session"))


def shows_the_app(messages: list[ForwardMsg]) -> bool:
    exceptions = [message for message in messages if message.delta.new_element.HasField("exception")]
    return not exceptions and any(message.HasField("delta") for message in messages)


def open_files(app: RunningApp, name: str) -> int:
    folder = Path(f"/proc/{app.process.pid}/fd")
    links = []
    for link in folder.iterdir():
        try:
            links.append(os.readlink(link))  # noqa: PTH115 # the name of a deleted file too
        except OSError:
            continue
    return sum(link.endswith(f"/{name}") for link in links)


def test_a_cleared_cache_opens_no_second_library(app: RunningApp, opened: Callable[..., ClientConnection]) -> None:
    connection = opened("streamlit")
    assert shows_the_app(rerun(connection))
    before = open_files(app, "checkpoints.db")
    for _ in range(5):
        connection.send(BackMsg(clear_cache=True).SerializeToString())
        assert shows_the_app(rerun(connection))
    assert open_files(app, "checkpoints.db") == before == 1


def odd_messages() -> dict[str, BackMsg]:
    page, widget, fragment, query, operation, urls = (BackMsg() for _ in range(6))
    page.rerun_script.page_script_hash = "0" * 32
    page.rerun_script.page_name = "../../etc/passwd"
    state = widget.rerun_script.widget_states.widgets.add()
    state.id, state.json_value = "$$ID-0-nothing", "{" * 1000
    fragment.rerun_script.fragment_id = "\0" * 100
    query.rerun_script.query_string = "session=../../x&page=%ff&document=%00&turn=" + "a" * 100_000
    operation.backend_operation_request.SetInParent()
    urls.file_urls_request.request_id = "x"
    urls.file_urls_request.file_names.extend(["../../../etc/passwd"] * 100)
    return {
        "unknown page": page,
        "unknown widget": widget,
        "unknown fragment": fragment,
        "long query": query,
        "operation": operation,
        "upload addresses": urls,
        "stop": BackMsg(stop_script=True),
        "git": BackMsg(load_git_info=True),
        "run on save": BackMsg(set_run_on_save=True),
        "disconnect": BackMsg(debug_disconnect_websocket=True),
        "shut down": BackMsg(debug_shutdown_runtime=True),
        "heartbeat": BackMsg(app_heartbeat=True),
        "nothing": BackMsg(),
    }


@pytest.mark.parametrize("kind", odd_messages())
def test_an_odd_message_leaves_the_app_as_it_was(
    app: RunningApp, opened: Callable[..., ClientConnection], kind: str
) -> None:
    connection = opened("streamlit")
    rerun(connection)
    connection.send(odd_messages()[kind].SerializeToString())
    assert shows_the_app(rerun(opened("streamlit")))
    assert app.process.poll() is None


@pytest.mark.parametrize(
    "frame",
    (b"\xff" * 100, b"", b"\x00" * 1000, "a text frame", os.urandom(10_000), b"x" * 30_000_000, b"x" * 60_000_000),
    ids=("no message", "empty", "zeros", "text", "noise", "30 MB", "60 MB"),
)
def test_a_malformed_or_giant_frame_ends_at_most_its_own_socket(
    opened: Callable[..., ClientConnection], frame: bytes | str
) -> None:
    connection, other = opened("streamlit"), opened("streamlit")
    rerun(other)
    try:
        connection.send(frame)
        pong, until = connection.ping(), time.monotonic() + SECONDS
        while connection.state is State.OPEN and not pong.wait(0.1) and time.monotonic() < until:
            pass
    except ConnectionClosed:
        pass
    assert shows_the_app(rerun(other))


def test_more_sockets_than_anybody_has_tabs_are_refused_and_the_rest_go_on(
    opened: Callable[..., ClientConnection],
) -> None:
    first, refused = opened("streamlit"), 0
    for _ in range(SOCKETS + 20):
        try:
            opened("streamlit")
        except InvalidStatus as error:
            refused += 1
            assert error.response.status_code == 403
    assert refused >= 20
    assert shows_the_app(rerun(first))


def test_uploads_need_a_session_a_token_and_a_size_within_the_limit(
    inside: Attacker, opened: Callable[..., ClientConnection]
) -> None:
    mine = session_id(rerun(opened("streamlit")))
    (xsrf,) = inside.send("/_stcore/health", inside.host, inside.cookie).all("set-cookie")
    token = re.split("[=;]", xsrf)[1]
    allowed = ("Cookie", f"{inside.cookie[1]}; {xsrf.partition(';')[0]}"), ("X-Xsrftoken", token)
    kind = "Content-Type", "multipart/form-data; boundary=b"
    form = '--b\r\nContent-Disposition: form-data; name="f"; filename="../../../evil.pdf"\r\n\r\n%PDF\r\n--b--\r\n'

    def put(session: str, *headers: tuple[str, str]) -> int:
        target = f"/_stcore/upload_file/{session}/../../x" if session == "path" else f"/_stcore/upload_file/{session}/f"
        return inside.send(target, inside.host, inside.origin, kind, *headers, method="PUT", body=form.encode()).status

    assert put(mine, *allowed) == 204
    assert put(mine, inside.cookie) == 403, "without Streamlit's own token"
    assert put(mine) == 403, "without the cookie"
    assert put("0" * 36, *allowed) == 400, "somebody else's session"
    assert put("path", *allowed) in (400, 404, 405)
    long = (
        b"PUT /_stcore/upload_file/%b/f HTTP/1.1\r\nHost: %b\r\nOrigin: %b\r\nContent-Length: 99999999999\r\n%b\r\n\r\n"
    )
    headers = "\r\n".join(f"{name}: {value}" for name, value in (kind, *allowed)).encode()
    host, origin = inside.host[1].encode(), inside.origin[1].encode()
    assert inside.raw(long % (mine.encode(), host, origin, headers)).status == 413


def test_a_second_tab_has_a_session_of_its_own(opened: Callable[..., ClientConnection]) -> None:
    first, second = (session_id(rerun(opened("streamlit"))) for _ in range(2))
    assert first != second
