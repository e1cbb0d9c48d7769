"""The REST API and the OpenAI protocol of the running app, as programs use them."""

import json
import time
from collections.abc import Callable, Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest

from pincite.core.domain.settings import PACKAGE_ROOT
from pincite.core.domain.tokens import Permission
from tests.serving import RunningApp
from tests.support.waiting import wait_until
from tests.web.conftest import SECONDS, opened_tokens

QUESTION = "What is the fee for late payment?"


@pytest.fixture(scope="module")
def client(app: RunningApp, make_token: Callable[..., str]) -> Iterator[httpx2.Client]:
    """A program that may do everything, with the sample contract in the collection Contracts."""
    headers = {"Authorization": f"Bearer {make_token(*Permission)}"}
    with httpx2.Client(base_url=app.address, headers=headers, timeout=SECONDS) as client:
        sample = PACKAGE_ROOT / "data" / "samples" / "service-contract.pdf"
        added = client.post("/api/v1/documents", files={"file": (sample.name, sample.read_bytes())},
                            data={"collection": "Contracts"})  # fmt: skip
        assert (added.status_code, added.json()["collections"]) == (HTTPStatus.ACCEPTED, ["Contracts"])
        where = f"/api/v1/documents/{added.json()['id']}"
        while client.get(where).json()["status"] not in ("ready", "failed"):
            time.sleep(1)
        yield client


@pytest.mark.behaviour(
    "Other programs", "The REST API lists, searches, reads, asks and verifies; problems are problem+json."
)
def test_the_operations_answer_over_rest(client: httpx2.Client) -> None:
    assert client.get("/api/v1/collections").json() == {"collections": [{"name": "Contracts", "documents": 1}]}
    name = client.get("/api/v1/documents", params={"collection": "Contracts"}).json()["documents"][0]["name"]
    found = client.post("/api/v1/search", json={"query": "late payment", "limit": 3}).json()["passages"]
    page = client.get(f"/api/v1/documents/{name}/pages/{found[0]['page']}").json()
    assert " ".join(found[0]["text"].split()[:5]) in " ".join(page["text"].split())
    picture = client.get(f"/api/v1/documents/{name}/pages/1/picture")
    assert picture.content.startswith(b"\x89PNG") and picture.headers["content-type"] == "image/png"

    answer = client.post("/api/v1/ask", json={"question": QUESTION, "collection": "Contracts"}).json()
    assert answer["tier"] == "answered" and answer["citations"][0]["document"] == name
    quotation = answer["citations"][0]
    given = {"quotation": quotation["quotation"], "document": name, "page": quotation["page"]}
    assert client.post("/api/v1/verify/quote", json=given).json()["status"] == "verified"
    claim = client.post("/api/v1/verify/claim", json={"claim": quotation["quotation"]}).json()
    assert claim["agreement"] == "supported"
    ran = client.post("/api/v1/grids", json={"questions": [QUESTION], "collection": "Contracts"}).json()
    assert "1.5 %" in ran["rows"][0]["cells"][0]["value"] and ran["waiting"] == 0
    assert client.get(f"/api/v1/grids/{ran['name']}").json() == ran
    assert [one["name"] for one in client.get("/api/v1/grids").json()["grids"]] == [ran["name"]]
    follow_up = {"question": "And who pays it?", "session_id": answer["session_id"]}
    assert client.post("/api/v1/ask", json=follow_up).json()["session_id"] == answer["session_id"]


def events_of(text: str) -> list[tuple[str, Any]]:
    blocks = [dict(line.split(": ", 1) for line in block.splitlines() if line) for block in text.split("\n\n") if block]
    return [(block["event"], json.loads(block["data"])) for block in blocks if "event" in block]


def test_asking_streams_its_steps_and_then_the_answer(client: httpx2.Client) -> None:
    streamed = client.post("/api/v1/ask/stream", json={"question": "Who may terminate the contract, and when?"})
    assert streamed.headers["content-type"].startswith("text/event-stream")
    events = events_of(streamed.text)
    assert {name for name, _ in events[:-1]} == {"step"} and events[-1][0] == "answer"
    assert [one["step"] for _, one in events[:-1]] == sorted({one["step"] for _, one in events[:-1]})
    assert events[-1][1]["citations"]
    refused = events_of(client.post("/api/v1/ask/stream", json={"question": QUESTION, "collection": "None"}).text)
    assert [(name, one["status"]) for name, one in refused] == [("problem", HTTPStatus.NOT_FOUND)]


def test_a_question_is_stopped_when_the_program_goes_away(client: httpx2.Client, folder: Path) -> None:
    with client.stream("POST", "/api/v1/ask/stream", json={"question": f"{QUESTION} And what else?"}) as stream:
        next(stream.iter_bytes())

    def stopped() -> bool:
        with opened_tokens(folder) as database:
            rows = database.connection.execute("SELECT status FROM turns WHERE question LIKE '%what else?'").fetchall()
        return [row["status"] in ("stopped", "answered", "flagged") for row in rows] == [True]

    wait_until(stopped, SECONDS)


@pytest.mark.parametrize(
    ("method", "path", "given", "status", "hint"),
    [
        ("GET", "/documents/nothing.pdf", None, 404, ""),
        ("GET", "/documents/service-contract.pdf/pages/99", None, 404, "pages"),
        ("GET", "/documents/service-contract.pdf/pages/0", None, 422, "page"),
        ("GET", "/nothing", None, 404, ""),
        ("DELETE", "/documents", None, 405, ""),
        ("POST", "/search", {"query": ""}, 422, "query"),
        ("POST", "/search", {"query": "x", "documents": ["nothing.pdf"]}, 404, ""),
        ("POST", "/ask", {"question": "x", "collection": "Leases"}, 404, "Contracts"),
        ("POST", "/ask", {"question": "x", "session_id": "0" * 32}, 404, ""),
        ("POST", "/ask", {"question": "x", "timeout_seconds": 1}, 422, "timeout_seconds"),
        ("POST", "/verify/quote", {"quotation": "x" * 5_000}, 422, "quotation"),
        ("POST", "/verify/quote", {"quotation": "x", "page": 2}, 422, "document"),
        ("POST", "/verify/claim", [], 422, ""),
        ("GET", "/grids/nothing", None, 404, "There are"),
        ("POST", "/grids", {}, 422, "Templates"),
    ],
)
def test_errors_are_problems_that_say_what_to_do(
    client: httpx2.Client, method: str, path: str, given: Any, status: int, hint: str
) -> None:
    answer = client.request(method, f"/api/v1{path}", json=given)
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json")
    problem = answer.json()
    assert problem["status"] == status and problem["detail"] and hint in problem["hint"]


def test_what_is_no_document_is_refused_with_the_reason(client: httpx2.Client) -> None:
    for name, content in (("empty.pdf", b""), ("notes.pdf", b"no PDF"), ("../../up.pdf", b"no PDF")):
        refused = client.post("/api/v1/documents", files={"file": (name, content)})
        assert (
            refused.status_code == HTTPStatus.UNPROCESSABLE_ENTITY and name.split("/")[-1] in refused.json()["detail"]
        )
    assert client.post("/api/v1/documents", data={"collection": "x"}).status_code == HTTPStatus.UNPROCESSABLE_ENTITY
    assert [one["name"] for one in client.get("/api/v1/collections").json()["collections"]] == ["Contracts"]


def test_a_token_permits_only_what_it_says(app: RunningApp, make_token: Callable[..., str]) -> None:
    sent = {"file": ("x.pdf", b"x")}
    with httpx2.Client(base_url=app.address, timeout=SECONDS) as client:
        for permitted, paths in {
            Permission.READ: {("POST", "/api/v1/ask"), ("POST", "/v1/chat/completions"), ("GET", "/v1/models")},
            Permission.ASK: {("GET", "/api/v1/documents"), ("POST", "/api/v1/verify/claim")},
        }.items():
            headers = {"Authorization": f"Bearer {make_token(permitted)}"}
            assert client.post("/api/v1/documents", files=sent, headers=headers).status_code == HTTPStatus.FORBIDDEN
            for method, path in paths:
                assert client.request(method, path, headers=headers, json={}).status_code == HTTPStatus.FORBIDDEN


def test_the_description_is_open_and_holds_nothing_of_the_library(client: httpx2.Client, app: RunningApp) -> None:
    described = httpx2.get(f"{app.address}/api/openapi.json", timeout=SECONDS)
    assert {"/api/v1/ask", "/v1/chat/completions"} <= set(described.json()["paths"])
    assert "contract" not in described.text.replace("contracts", "").lower()
    page = httpx2.get(f"{app.address}/api/docs", timeout=SECONDS)
    assert "https://" not in page.text, "nothing is fetched from elsewhere"
    assert (
        httpx2.get(f"{app.address}/api/docs/files/swagger-ui-bundle.js", timeout=SECONDS).status_code == HTTPStatus.OK
    )


@pytest.fixture
def assistant(app: RunningApp, client: httpx2.Client) -> openai.OpenAI:
    key = client.headers["authorization"].removeprefix("Bearer ")
    return openai.OpenAI(base_url=f"{app.address}/v1", api_key=key, max_retries=0, timeout=SECONDS)


@pytest.mark.behaviour(
    "Other programs",
    "Any OpenAI client can use a collection as a model; answers carry citations as notes and annotations.",
)
def test_a_chat_client_asks_a_collection_and_follows_up(assistant: openai.OpenAI, app: RunningApp) -> None:
    assert [model.id for model in assistant.models.list()] == ["pincite", "pincite/Contracts"]
    said: list[Any] = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": QUESTION}]
    first = assistant.chat.completions.create(model="pincite/Contracts", messages=said).choices[0].message
    assert first.content is not None and first.annotations
    cited = first.annotations[0].url_citation
    assert first.content[cited.start_index : cited.end_index] == "[1]"
    assert cited.url.startswith(f"{app.address}/?session=") and "page 2" in cited.title
    assert f"({cited.url})" in first.content, "the note has the same link"

    said += [{"role": "assistant", "content": first.content}, {"role": "user", "content": "And when is it due?"}]
    second = assistant.chat.completions.create(model="pincite/Contracts", messages=said)
    session = second.model_extra["pincite"]["session_id"]  # type: ignore[index]
    assert f"session={session}" in first.content, "the conversation goes on in the same session"


def test_a_chat_client_can_stream(assistant: openai.OpenAI) -> None:
    said: list[Any] = [{"role": "user", "content": [{"type": "text", "text": QUESTION}]}]
    chunks = list(assistant.chat.completions.create(model="pincite", messages=said, stream=True))
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
    assert "[1]" in text and "/?session=" in text
    assert chunks[-1].choices[0].finish_reason == "stop"


def test_what_a_chat_client_does_wrong_is_said_in_its_own_form(assistant: openai.OpenAI) -> None:
    picture: list[Any] = [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:"}}]}]
    with pytest.raises(openai.UnprocessableEntityError, match="not a question"):
        assistant.chat.completions.create(model="pincite", messages=picture)
    for model in ("gpt-4o", "pincite/Leases", "pincite/"):
        with pytest.raises(openai.NotFoundError):
            assistant.chat.completions.create(model=model, messages=[{"role": "user", "content": "x"}])
    with pytest.raises(openai.UnprocessableEntityError, match="not a question"):
        assistant.chat.completions.create(model="pincite", messages=[{"role": "assistant", "content": "x"}])
    with pytest.raises(openai.AuthenticationError):
        assistant.with_options(api_key="wrong").models.list()


def test_requests_of_one_token_are_limited(app: RunningApp, make_token: Callable[..., str]) -> None:
    headers = {"Authorization": f"Bearer {make_token(Permission.ASK)}"}
    with httpx2.Client(base_url=app.address, headers=headers, timeout=SECONDS) as client:
        statuses = {client.get("/api/v1/documents").status_code for _ in range(500)}
    assert statuses == {HTTPStatus.FORBIDDEN, HTTPStatus.TOO_MANY_REQUESTS}


ROUTES: tuple[tuple[str, str, dict[str, Any] | None], ...] = (
    ("GET", "/api/v1/documents", None),
    ("GET", "/api/v1/collections", None),
    ("GET", "/api/v1/documents/service-contract.pdf", None),
    ("GET", "/api/v1/documents/service-contract.pdf/pages/1", None),
    ("GET", "/api/v1/documents/service-contract.pdf/pages/1/image", None),
    ("POST", "/api/v1/documents", None),
    ("POST", "/api/v1/search", {"query": "late payment"}),
    ("POST", "/api/v1/verify/quote", {"quotation": "Services Agreement"}),
    ("POST", "/api/v1/verify/claim", {"claim": "The fee is 1.5 %."}),
    ("POST", "/api/v1/ask", {"question": QUESTION}),
    ("POST", "/api/v1/ask/stream", {"question": QUESTION}),
    ("GET", "/api/v1/grids", None),
    ("GET", "/api/v1/grids/Contracts", None),
    ("POST", "/api/v1/grids", {"questions": [QUESTION]}),
    ("GET", "/v1/models", None),
    ("POST", "/v1/chat/completions", {"model": "Contracts", "messages": [{"role": "user", "content": QUESTION}]}),
)
OF_THE_LIBRARY = ("service-contract", "Meridian", "1.5 %", "Contracts")


def test_nothing_is_said_without_a_token(
    client: httpx2.Client, app: RunningApp, make_token: Callable[..., str]
) -> None:
    token = make_token(Permission.READ)
    wrong: list[dict[str, str]] = [
        {}, {"Authorization": ""}, {"Authorization": "Bearer"}, {"Authorization": "Bearer ."},
        {"Authorization": token}, {"Authorization": f"Basic {token}"}, {"Authorization": f"Bearer {token[:-1]}"},
        {"Authorization": f"Bearer {token}x"}, {"Authorization": f"Bearer {token.swapcase()}"},
        {"Authorization": "Bearer " + "x" * 4_000}, {"Cookie": f"token={token}"}, {"X-Api-Key": token},
        {"Authorization": f"Bearer {token} {token}"}, {"Authorization": f"Token {token}"},
    ]  # fmt: skip
    asked = 0
    with httpx2.Client(base_url=app.address, timeout=SECONDS) as stranger:
        for method, path, given in ROUTES:
            for headers in wrong:
                for query in ("", f"?token={token}") if not headers else ("",):
                    answer = stranger.request(method, path + query, json=given, headers=headers)
                    assert answer.status_code == HTTPStatus.UNAUTHORIZED, (method, path, headers, answer.status_code)
                    assert not any(words in answer.text for words in OF_THE_LIBRARY), answer.text
                    asked += 1
    assert asked == len(ROUTES) * (len(wrong) + 1) == 240


def test_malformed_and_giant_requests_leak_nothing(client: httpx2.Client, app: RunningApp) -> None:
    bodies = (
        b"",
        b"{",
        b"[]",
        b"null",
        b"\xff\xfe",
        b'{"query":1}',
        b"[" * 50_000,
        b'{"query": NaN}',
        b"x" * (2 << 20),
    )
    for path in ("/api/v1/search", "/api/v1/ask", "/api/v1/ask/stream", "/api/v1/verify/quote", "/v1/chat/completions"):
        for body in bodies:
            answer = client.post(path, content=body, headers={"Content-Type": "application/json"})
            assert 400 <= answer.status_code < 500, (path, body[:20])
            assert "Traceback" not in answer.text and "/site-packages/" not in answer.text
    for path in (
        "/api/v1/documents/..%2f..%2fetc",
        "/api/v1/documents/%00",
        "/api/",
        "/v1/",
        "/api/v1",
        "/api/docs/files/..%2f",
    ):
        assert client.get(path).status_code in (404, 422), path
    for origin in ("null", "http://elsewhere.example", "https://127.0.0.1"):
        assert client.get("/api/v1/documents", headers={"Origin": origin}).status_code == HTTPStatus.FORBIDDEN
    assert client.get("/api/v1/documents", headers={"Origin": app.address}).status_code == HTTPStatus.OK
    assert client.get("/api/docs", headers={"Host": "elsewhere.example"}).status_code == HTTPStatus.MISDIRECTED_REQUEST
