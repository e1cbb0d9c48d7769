"""The REST API at /api/v1, with its description at /api/docs, and the OpenAI protocol at /v1; one operation a route.

FastAPI takes half a second to import: only what serves a request imports this module.
"""

import logging
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import anyio.to_thread
from fastapi import APIRouter, Depends, FastAPI, File, Form, Request, UploadFile
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.docs import get_swagger_ui_html
from fastapi.responses import Response
from fastapi.security import HTTPBearer
from fastapi.sse import EventSourceResponse, ServerSentEvent
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException as StarletteHTTPException
from starlette.staticfiles import StaticFiles

from pincite.core.domain.errors import PinciteError, StorageError
from pincite.core.domain.tokens import Permission
from pincite.core.services.bootstrap import Pincite
from pincite.web import inputs
from pincite.web.asking import Asking, Progress
from pincite.web.gate import DOCS
from pincite.web.grids import GridList, GridTable
from pincite.web.openai_protocol import add_openai
from pincite.web.operations import (
    Answer,
    ClaimVerdict,
    CollectionList,
    DocumentEntry,
    DocumentList,
    Operations,
    PageText,
    Passages,
    QuoteVerdict,
)
from pincite.web.permissions import may
from pincite.web.problems import body_of, problem, status_of

logger = logging.getLogger(__name__)

MAX_BODY = 1 << 20
"""Bytes of a request that is no file."""
MAX_UPLOAD = 4100 << 20
"""Bytes of one with a file, whatever the setting."""
DESCRIPTION = (
    "Search, read and question the documents of this Pincite, and have quotations and claims checked against their "
    "pages. Requests need a token, which is made in the settings, under *Other programs*, and permits reading, asking "
    "or adding. Errors are problem+json (RFC 9457): `detail` says what happened, `hint` what to do."
)


class Problem(BaseModel):
    type: str
    title: str
    status: int
    detail: str = Field(description="what happened")
    hint: str = Field(description="what to do")


class Scope(BaseModel):
    documents: inputs.Documents = []
    collection: inputs.InCollection = ""


class Search(Scope):
    query: inputs.Query
    limit: inputs.Limit = 8


class Question(Scope):
    question: inputs.Query
    session_id: inputs.SessionId = ""
    timeout_seconds: inputs.TimeoutSeconds = 300


class NewGrid(Scope):
    template: inputs.Template = ""
    questions: inputs.Questions = []
    timeout_seconds: inputs.TimeoutSeconds = 60


class QuotedWords(BaseModel):
    quotation: inputs.Quotation
    document: inputs.QuotedDocument = ""
    page: inputs.QuotedPage = None
    collection: inputs.InCollection = ""


class StatedClaim(Scope):
    claim: inputs.Query


def make_api(pincite: Callable[[], Pincite], version: str) -> FastAPI:
    """Return the application behind the gate. ``pincite`` returns the library as the user of a request sees it."""
    operations = Operations(pincite)
    bearer = HTTPBearer(auto_error=False, description="A token from *Settings*, *Other programs*")
    api = FastAPI(
        title="Pincite", version=version, description=DESCRIPTION, openapi_url="/api/openapi.json", docs_url=None,
        redoc_url=None, swagger_ui_oauth2_redirect_url=None, max_body_size=MAX_BODY, redirect_slashes=False,
        responses={"4XX": {"model": Problem, "content": {"application/problem+json": {}}}},
        dependencies=[Depends(bearer)],
    )  # fmt: skip
    _add_errors(api)
    for router in (_reading(operations), _asking(operations), _adding(operations)):
        api.include_router(router, prefix="/api/v1")
    add_openai(api, operations)
    _add_docs(api)
    return api


def _add_docs(api: FastAPI) -> None:
    """Serve Swagger UI from this machine; a token that is entered there is forgotten when the page is closed."""
    api.mount(f"{DOCS}/files", StaticFiles(packages=[("fastapi_swagger", "resources")]))

    @api.get(DOCS, include_in_schema=False)
    def docs() -> Response:
        return get_swagger_ui_html(
            openapi_url="/api/openapi.json",
            title="Pincite: REST API",
            swagger_js_url=f"{DOCS}/files/swagger-ui-bundle.js",
            swagger_css_url=f"{DOCS}/files/swagger-ui.css",
            swagger_favicon_url=f"{DOCS}/files/favicon-32x32.png",
            swagger_ui_parameters={"tryItOutEnabled": True, "defaultModelsExpandDepth": 0},
        )


def _reading(operations: Operations) -> APIRouter:
    router = APIRouter(tags=["Read and verify"], dependencies=[may(Permission.READ)])

    @router.get("/documents", summary="List documents")
    def list_documents(collection: inputs.InCollection = "") -> DocumentList:
        return operations.list_documents(collection)

    @router.get("/collections", summary="List collections")
    def list_collections() -> CollectionList:
        return operations.list_collections()

    @router.get("/documents/{document}", summary="Read what is known of a document, such as its state")
    def document(document: inputs.OneDocument) -> DocumentEntry:
        return operations.document(document)

    @router.get("/documents/{document}/pages/{page}", summary="Read the visible text of a page")
    def read_page(document: inputs.OneDocument, page: inputs.PageNumber) -> PageText:
        return operations.read_page(document, page)

    @router.get(
        "/documents/{document}/pages/{page}/picture", summary="Get a picture of a page", response_class=Response,
        responses={200: {"content": {"image/png": {}}}},
    )  # fmt: skip
    def page_picture(document: inputs.OneDocument, page: inputs.PageNumber) -> Response:
        return Response(operations.page_picture(document, page), media_type="image/png")

    @router.get("/grids", summary="List grids, and the templates of their columns")
    def list_grids() -> GridList:
        return operations.grids.list()

    @router.get("/grids/{name}", summary="Read the values of a grid, with their quotations")
    def read_grid(name: inputs.GridName) -> GridTable:
        return operations.grids.read(name)

    @router.post("/search", summary="Find the most relevant passages")
    def search(given: Search) -> Passages:
        return operations.search_documents(given.query, given.documents, given.collection, given.limit)

    @router.post("/verify/quote", summary="Check whether a quotation is on a page, word for word")
    def verify_quote(given: QuotedWords) -> QuoteVerdict:
        return operations.verify_quote(given.quotation, given.document, given.page, given.collection)

    @router.post("/verify/claim", summary="Check whether the documents support a sentence")
    def verify_claim(given: StatedClaim) -> ClaimVerdict:
        return operations.verify_claim(given.claim, given.documents, given.collection)

    return router


def _asking(operations: Operations) -> APIRouter:
    router = APIRouter(tags=["Ask"], dependencies=[may(Permission.ASK)])

    def asking(given: Question) -> Asking[Answer]:
        return Asking(
            partial(
                operations.ask_documents, given.question, given.documents, given.collection, given.session_id,
                given.timeout_seconds,
            )
        )  # fmt: skip

    @router.post("/ask", summary="Ask the documents, and wait for the answer")
    async def ask(given: Question, request: Request) -> Answer:
        """The answer is kept as a session in Pincite, and waits for review there if it is doubtful."""
        return await asking(given).answer(request)

    @router.post("/grids", summary="Put the same questions to several documents")
    def run_grid(given: NewGrid) -> GridTable:
        """What is not answered within the time is answered afterwards: read the grid again."""
        return operations.grids.run(
            given.template, given.questions, given.documents, given.collection, given.timeout_seconds
        )

    @router.post("/ask/stream", summary="Ask the documents, with progress", response_class=EventSourceResponse)
    async def ask_stream(given: Question) -> AsyncIterator[ServerSentEvent]:
        """Server-sent events: each `step` says what is being done; last comes the `answer`, or a `problem`."""
        try:
            async for one in asking(given).events():
                if one is not None:
                    yield ServerSentEvent(data=one, event="step" if isinstance(one, Progress) else "answer")
        except PinciteError as error:
            yield ServerSentEvent(data=_said("/api", error), event="problem")

    return router


def _adding(operations: Operations) -> APIRouter:
    router = APIRouter(tags=["Add"], dependencies=[may(Permission.ADD)])

    @router.post("/documents", summary="Add a file", status_code=202, max_body_size=MAX_UPLOAD)
    async def add_document(
        file: Annotated[UploadFile, File(description="a PDF, or a file of another format that can be added")],
        collection: Annotated[str, Form(description="Put it into this collection; made if it is new.")] = "",
    ) -> DocumentEntry:
        """The file is read afterwards: its `status` says how far it is."""

        def add() -> DocumentEntry:
            with tempfile.TemporaryDirectory(prefix="pincite-") as folder:
                copy = Path(folder) / "upload"
                try:
                    with copy.open("wb") as writing:
                        shutil.copyfileobj(file.file, writing)
                except OSError as error:
                    hint = "Check that the disk has space."
                    raise StorageError(f"The file could not be kept ({error.strerror}).", hint=hint) from error
                return operations.upload_document(copy, file.filename or "", collection)

        return await anyio.to_thread.run_sync(add)

    return router


def _add_errors(api: FastAPI) -> None:
    @api.exception_handler(PinciteError)
    async def refuse(request: Request, error: PinciteError) -> Response:
        return problem(request.url.path, status_of(error), error.message, error.hint)

    @api.exception_handler(StarletteHTTPException)
    async def refuse_request(request: Request, error: StarletteHTTPException) -> Response:
        return problem(request.url.path, error.status_code, error.detail, headers=error.headers)

    @api.exception_handler(RequestValidationError)
    async def refuse_values(request: Request, error: RequestValidationError) -> Response:
        wrong = [{"at": ".".join(map(str, one["loc"])), "message": one["msg"]} for one in error.errors()]
        said = "; ".join(f"{one['at']}: {one['message']}" for one in wrong[:3])
        return problem(request.url.path, 422, "The request has wrong or missing values.", said, errors=wrong)

    @api.exception_handler(Exception)
    async def fail(request: Request, error: Exception) -> Response:
        logger.exception("A request of a program failed", exc_info=error)
        return problem(request.url.path, 500, "Something went wrong inside Pincite.", "Its log says what.")


def _said(path: str, error: PinciteError) -> dict[str, Any]:
    return body_of(path, status_of(error), error.message, error.hint)
