"""The OpenAI protocol at /v1: each collection is a model, so that any chat client can put questions to the documents.

A client sends the whole conversation each time. The links under an answer name its session, by which the next question
of the same conversation finds it; without them, the conversation is taken as the client has it.
"""

import json
import re
import time
from collections.abc import AsyncIterator, Sequence
from functools import partial
from typing import Annotated, Any
from urllib.parse import urlencode

import anyio.to_thread
from fastapi import FastAPI, Request
from fastapi.responses import Response
from pydantic import BaseModel, Field
from starlette.responses import JSONResponse, StreamingResponse

from pincite.core.domain.answers import Citation
from pincite.core.domain.errors import CollectionError, PinciteError, TurnError
from pincite.core.domain.presentation import Tier, present
from pincite.core.domain.tokens import Permission
from pincite.core.domain.turns import Turn
from pincite.core.text.markdown import escape
from pincite.core.text.marks import markdown_pieces
from pincite.web import inputs
from pincite.web.asking import Asking, Progress
from pincite.web.operations import Operations, answer_of
from pincite.web.permissions import may
from pincite.web.problems import body_of, status_of

MODEL = "pincite"
"""The model that searches all documents; that of a collection has its name after a slash."""
MAX_MESSAGES = 400
_SESSION = re.compile(r"/\?session=([0-9a-f]{32})\b")
NOTES = "\n\n---\n"
"""Between an answer and its citations."""


class Part(BaseModel):
    type: str
    text: str = ""


class Message(BaseModel):
    role: str
    content: str | list[Part] | None = None

    def text(self) -> str:
        """Return the text, without pictures and the like."""
        if isinstance(self.content, str) or self.content is None:
            return self.content or ""
        return "\n".join(part.text for part in self.content if part.type == "text")


class Completion(BaseModel):
    model: str
    messages: Annotated[list[Message], Field(min_length=1, max_length=MAX_MESSAGES)]
    stream: bool = False


def add_openai(api: FastAPI, operations: Operations) -> None:
    allowed = [may(Permission.ASK)]

    @api.get("/v1/models", tags=["OpenAI protocol"], dependencies=allowed, summary="List the collections as models")
    def models() -> dict[str, Any]:
        names = [MODEL, *(f"{MODEL}/{one.name}" for one in operations.list_collections().collections)]
        return {"object": "list", "data": [_model(name) for name in names]}

    @api.post("/v1/chat/completions", tags=["OpenAI protocol"], dependencies=allowed, response_model=None,
              summary="Answer the last message from the documents")  # fmt: skip
    async def completions(given: Completion, request: Request) -> Response:
        """`messages`: the conversation; what the system says is not used. `annotations` hold the citations."""
        asking = await anyio.to_thread.run_sync(_asking, operations, given)
        here = f"{request.url.scheme}://{request.headers['host']}"
        if given.stream:
            return StreamingResponse(_chunks(asking, given.model, here), media_type="text/event-stream")
        turn = await asking.answer(request)
        text, annotations = message_of(turn, here)
        message = {"role": "assistant", "content": text, "refusal": None, "annotations": annotations}
        choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}
        return JSONResponse({**_head(given.model, turn, "chat.completion"), "choices": [choice], "usage": None,
                             "pincite": answer_of(turn).model_dump()})  # fmt: skip


def _asking(operations: Operations, given: Completion) -> Asking[Turn]:
    """Raises a PinciteError if the model is none, or the last message no question."""
    name, slash, collection = given.model.partition("/")
    if name != MODEL or (slash and not operations.has_collection(collection)):
        raise CollectionError(f"There is no model called {given.model!r}.", hint=f"Use {MODEL!r}, or see /v1/models.")
    said = [message for message in given.messages if message.role in ("user", "assistant")]
    if not said or said[-1].role != "user" or not (question := said[-1].text().strip()):
        raise TurnError("The last message is not a question of the user.", hint="Send a text as the last message.")
    if len(question) > inputs.MAX_QUESTION:
        raise TurnError(f"The question is longer than {inputs.MAX_QUESTION} characters.", hint="Ask more briefly.")
    session_id, before = _conversation(said[:-1])
    if session_id and not operations.has_session(session_id, collection):
        session_id = ""
    return Asking(
        partial(operations.ask, question, [], collection, session_id, float(inputs.MAX_SECONDS), before=before)
    )


def _conversation(said: Sequence[Message]) -> tuple[str, list[tuple[str, str]]]:
    """Return the session that the last answer names, if any, and the questions with their answers."""
    session_id, question, before = "", "", list[tuple[str, str]]()
    for message in said:
        if message.role == "user":
            question = message.text().strip()
            continue
        answer, _, notes = message.text().rpartition(NOTES) if NOTES in message.text() else (message.text(), "", "")
        session_id = found[1] if (found := _SESSION.search(notes)) else session_id
        if question:
            before.append((question, answer.strip()))
    return session_id, before


def message_of(turn: Turn, here: str) -> tuple[str, list[dict[str, Any]]]:
    """Return an answer with its citations below, and the annotations of its marks. ``here``: the app's address."""
    places = {place.number: place for place in turn.final_citations}
    text, annotations = _standing(turn), list[dict[str, Any]]()
    for piece, numbers in markdown_pieces(turn.final_parts, escape):
        for place in filter(None, map(places.get, numbers)):
            end = len(text) + len(piece)
            span = {"start_index": end - len(piece.strip()), "end_index": end}
            annotations.append({"type": "url_citation", "url_citation": {
                **span, "url": _link(here, turn, place), "title": f"{place.document_name}, page {place.page_label}",
            }})  # fmt: skip
        text += piece
    notes = [
        f"\\[{place.number}\\] [{escape(f'{place.document_name}, page {place.page_label}')}]"
        f"({_link(here, turn, place)}): “{escape(place.quotation)}”"
        for place in places.values()
    ]
    return text.rstrip() + NOTES + "  \n".join([*notes, f"[Open in Pincite]({_link(here, turn)})"]), annotations


def _standing(turn: Turn) -> str:
    """Return what to look at first, if the answer cannot be relied on."""
    shown = present(turn)
    if shown.tier is Tier.DO_NOT_RELY:
        return f"**Do not rely on this yet: it waits for review.** {escape(' '.join(turn.reasons))}\n\n"
    return f"*{escape(shown.warning)}*\n\n" if shown.warning else ""


def _link(here: str, turn: Turn, place: Citation | None = None) -> str:
    named = {"session": turn.session_id}
    if place:
        page = {"document": place.document_id, "page": str(place.page_index + 1)}
        named |= page | {"citation": f"{turn.id}.{place.number}"}
    return f"{here}/?{urlencode(named)}"


async def _chunks(asking: Asking[Turn], model: str, here: str) -> AsyncIterator[str]:
    """Yield the answer once it is checked; before that, comments, which keep the connection open."""
    try:
        async for event in asking.events():
            if event is None or isinstance(event, Progress):
                yield f": {' '.join(event.text.split()) if event else ''}\n\n"
                continue
            text, annotations = message_of(event, here)
            head = _head(model, event, "chat.completion.chunk")
            delta = {"role": "assistant", "content": text, "annotations": annotations}
            yield _event({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
            yield _event({**head, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    except PinciteError as error:
        yield _event(body_of("/v1/", status_of(error), error.message, error.hint))
    yield "data: [DONE]\n\n"


def _event(data: dict[str, Any]) -> str:
    return f"data: {json.dumps(data)}\n\n"


def _head(model: str, turn: Turn, kind: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{turn.id}", "object": kind, "created": int(time.time()), "model": model}


def _model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "pincite"}
