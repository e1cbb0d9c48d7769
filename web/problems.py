"""Errors as other programs expect them: problem+json (RFC 9457), and OpenAI's form where its protocol is spoken."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from starlette.responses import JSONResponse

from pincite.core.domain.errors import (
    CollectionError,
    DocumentError,
    FullDiskError,
    ModelError,
    NoAnswerError,
    PinciteError,
    StorageError,
    TooLargeError,
    UnknownDocumentError,
    UnknownGridError,
    UnknownPageError,
    UnknownSessionError,
)

OPENAI = "/v1/"
_STATUS: tuple[tuple[type[PinciteError], HTTPStatus], ...] = (
    (UnknownDocumentError, HTTPStatus.NOT_FOUND),
    (UnknownPageError, HTTPStatus.NOT_FOUND),
    (CollectionError, HTTPStatus.NOT_FOUND),
    (UnknownSessionError, HTTPStatus.NOT_FOUND),
    (UnknownGridError, HTTPStatus.NOT_FOUND),
    (NoAnswerError, HTTPStatus.SERVICE_UNAVAILABLE),
    (TooLargeError, HTTPStatus.REQUEST_ENTITY_TOO_LARGE),
    (DocumentError, HTTPStatus.UNPROCESSABLE_ENTITY),
    (FullDiskError, HTTPStatus.INSUFFICIENT_STORAGE),
    (StorageError, HTTPStatus.SERVICE_UNAVAILABLE),
    (ModelError, HTTPStatus.SERVICE_UNAVAILABLE),
)
"""The first that fits."""


def status_of(error: PinciteError) -> HTTPStatus:
    return next((status for kind, status in _STATUS if isinstance(error, kind)), HTTPStatus.UNPROCESSABLE_ENTITY)


def body_of(path: str, status: int, detail: str, hint: str = "", **more: Any) -> dict[str, Any]:
    """Return what a refusal says; ``detail`` and ``hint`` are for a person."""
    title = HTTPStatus(status).phrase
    if path.startswith(OPENAI):
        said = {"message": f"{detail} {hint}".strip(), "type": title.lower().replace(" ", "_"), "param": None}
        return {"error": {**said, "code": str(status)}}
    return {"type": "about:blank", "title": title, "status": status, "detail": detail, "hint": hint, **more}


def problem(
    path: str, status: int, detail: str, hint: str = "", headers: Mapping[str, str] | None = None, **more: Any
) -> JSONResponse:
    kind = "application/json" if path.startswith(OPENAI) else "application/problem+json"
    return JSONResponse(body_of(path, status, detail, hint, **more), status, headers, kind)
