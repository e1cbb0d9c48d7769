"""What other programs can ask of Pincite, with results that describe themselves; each call is one operation.

Documents and collections are named by their names or ids. Pages are counted from 1, as in the file.
"""

import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, Field

from pincite.core.domain.answers import Claim
from pincite.core.domain.documents import REFERENCE, Collection, Document
from pincite.core.domain.errors import AccessError, CollectionError, DocumentError, NoAnswerError, UnknownPageError
from pincite.core.domain.presentation import present
from pincite.core.domain.turns import Exchange, Turn, TurnStatus
from pincite.core.services.bootstrap import Pincite
from pincite.core.text.plain import flat
from pincite.web.grids import Grids
from pincite.web.places import Place, place_of

POLL_SECONDS = 0.1
ADDING_SECONDS = 600.0
"""Maximum time a call waits for a file to be read; reading goes on afterwards."""


class DocumentEntry(BaseModel):
    id: str
    name: str
    title: str
    pages: int
    status: str = Field(description="ready: read and searchable in full; other values: still being read, or failed")
    searchable: bool
    message: str = Field(description="the error and its remedy, or the current step")
    not_read: str = Field(description="parts of the file that were not read")
    collections: list[str]
    facts: dict[str, str] = Field(description="such as title, author, date, document type")


class DocumentList(BaseModel):
    documents: list[DocumentEntry]


class CollectionEntry(BaseModel):
    name: str
    documents: int = Field(description="number of documents in it")


class CollectionList(BaseModel):
    collections: list[CollectionEntry]


class Passage(BaseModel):
    document: str
    document_id: str
    page: int
    page_label: str = Field(description="the page number as printed")
    section: list[str] = Field(description="headings above the passage, the highest first")
    text: str


class Passages(BaseModel):
    passages: list[Passage] = Field(description="best first")


class FigureDescription(BaseModel):
    description: str
    described_by: str = Field(description="the model")
    not_read: list[str] = Field(description="numbers of the description that are not among the words of the figure")


class PageText(BaseModel):
    document: str
    document_id: str
    page: int
    page_label: str
    pages: int = Field(description="number of pages of the document")
    text: str = Field(description="the visible text; hidden text is left out")
    figures: list[FigureDescription] = Field(description="what models wrote about figures; not the document's words")


class NumberedPlace(Place):
    number: int = Field(description="as in the marks [1], [2] of the answer")


class Statement(BaseModel):
    text: str
    verdict: str = Field(description="supported, partly_supported, unsupported, contradicted, not_checked or searched")
    reason: str
    quotation: Place | None = Field(description="the words that decide it")
    citations: list[int]


class Answer(BaseModel):
    answer: str = Field(description="with marks such as [1] that refer to the citations")
    tier: Literal["answered", "check_the_page", "do_not_rely"]
    form: str = Field(description="answer, evidence (passages are listed instead of an answer) or declined")
    confidence: float | None = Field(description="calibrated probability that the answer is right, if known")
    warning: str
    reasons: list[str] = Field(description="why a person has to review it")
    statements: list[Statement]
    citations: list[NumberedPlace]
    notices: list[str]
    session_id: str = Field(description="pass it to ask a follow-up question")
    turn_id: str


class QuoteDifference(BaseModel):
    quotation: str = Field(description="words of the quotation")
    page: str = Field(description="words that the page has in their place")


class QuoteVerdict(BaseModel):
    status: Literal["verified", "partial", "not_found"] = Field(
        description="partial: similar words are there, or the same words on another page than named"
    )
    places: list[Place]
    differences: list[QuoteDifference] = Field(description="of a verified quotation: what an ellipsis leaves out")
    on_named_page: bool | None = Field(description="whether it is on the page that was named; null if none was")
    pages_searched: int
    pages_without_text: int = Field(description="pages that are empty, not yet read, or could not be read")


class ClaimVerdict(BaseModel):
    agreement: Literal["supported", "partly_supported", "contradicted", "not_there"]
    statements: list[Statement]


class Operations:
    """The operations on a library. All raise a PinciteError, whose message and hint are for the caller."""

    def __init__(self, pincite: Callable[[], Pincite]) -> None:
        """``pincite`` returns the library as the one who asks sees it."""
        self._library = pincite
        self.grids = Grids(pincite, self._scope)

    @property
    def _pincite(self) -> Pincite:
        return self._library()

    def list_documents(self, collection: str = "") -> DocumentList:
        within: dict[str, list[str]] = {one.id: [] for one in self._documents([], collection)}
        for each in self._pincite.collections.list():
            for identity in each.document_ids:
                within.get(identity, []).append(each.name)
        entries = [
            DocumentEntry(
                id=one.id,
                name=one.name,
                title=one.title,
                pages=one.page_count,
                status=one.status,
                searchable=one.searchable,
                message=one.message,
                not_read=one.not_read,
                collections=within[one.id],
                facts={field.name: field.value for field in one.metadata if field.name != REFERENCE},
            )
            for one in self._pincite.library.list()
            if one.id in within
        ]
        return DocumentList(documents=entries)

    def list_collections(self) -> CollectionList:
        found = self._pincite.collections.list()
        return CollectionList(
            collections=[CollectionEntry(name=one.name, documents=len(one.document_ids)) for one in found]
        )

    def document(self, document: str) -> DocumentEntry:
        wanted = self._pincite.library.find(document).id
        return next(one for one in self.list_documents().documents if one.id == wanted)

    def search_documents(self, query: str, documents: Sequence[str], collection: str, limit: int) -> Passages:
        names = {one.id: one.name for one in self._documents(documents, collection)}
        found = self._pincite.search.try_out(query, tuple(names))[1].rankings.get("reranked", ()) if names else ()
        return Passages(
            passages=[
                Passage(
                    document=names[one.document_id],
                    document_id=one.document_id,
                    page=one.page_index + 1,
                    page_label=one.page_label,
                    section=list(one.heading_path),
                    text=one.text,
                )
                for one in [candidate.passage for candidate in found[:limit]]
            ]
        )

    def read_page(self, document: str, page: int) -> PageText:
        found = self._pincite.library.find(document)
        read = self._pincite.library.page(found.id, self._page_index(found, page))
        return PageText(
            document=found.name,
            document_id=found.id,
            page=page,
            page_label=read.page_label,
            pages=found.page_count,
            text=read.text,
            figures=[
                FigureDescription(description=one.text, described_by=one.model, not_read=list(one.unsure))
                for _, one in self._pincite.illustrations.on_page(found.id, page - 1)
                if one
            ],
        )

    def page_picture(self, document: str, page: int) -> bytes:
        """Return a PNG."""
        found = self._pincite.library.find(document)
        return self._pincite.documents.page_image(found.id, self._page_index(found, page))

    def ask_documents(
        self,
        question: str,
        documents: Sequence[str],
        collection: str,
        session_id: str,
        seconds: float,
        progress: Callable[[int, str], None],
    ) -> Answer:
        """Return the answer with its citations; see `ask`."""
        return answer_of(self.ask(question, documents, collection, session_id, seconds, progress))

    def ask(
        self,
        question: str,
        documents: Sequence[str],
        collection: str,
        session_id: str,
        seconds: float,
        progress: Callable[[int, str], None],
        *,
        before: Sequence[tuple[str, str]] | None = None,
    ) -> Turn:
        """Return the finished turn. Raises TurnError if it has no answer.

        ``progress`` gets the number of steps so far and the newest one in words, every POLL_SECONDS. ``before``: the
        questions and answers of the conversation so far; None: those of the session.
        """
        app = self._pincite
        scope = self._scope(documents, collection) if documents else ()
        kept_in = self._collection(collection) if collection else None
        if session_id:
            session = app.sessions.get(session_id)
            if kept_in and session.collection_id != kept_in.id:
                raise CollectionError(f"The session is not in the collection {collection}.", hint="Begin a new one.")
        else:
            session = app.sessions.create(question[:60], list(scope), collection_id=kept_in.id if kept_in else "")
        history = None if before is None else self._history(session.id, before)
        turn_id = app.runner.ask(session.id, question, document_ids=tuple(scope), history=history)
        until = time.monotonic() + seconds
        try:
            while (snapshot := app.runner.wait(turn_id, POLL_SECONDS)).running:
                progress(len(snapshot.steps), "".join(snapshot.steps[-1:]))
                if time.monotonic() > until:
                    raise NoAnswerError(f"There was no answer within {seconds:.0f} seconds.", hint="Ask more narrowly.")
        except BaseException:  # also if the caller has gone, which ``progress`` raises
            app.runner.stop(turn_id)
            raise
        turn = app.verdicts.as_current(app.turns.without_trace(turn_id))
        if turn.status not in (TurnStatus.ANSWERED, TurnStatus.FLAGGED, TurnStatus.REVIEWED):
            raise NoAnswerError(turn.error or "The question was not answered.")
        return turn

    def verify_quote(self, quotation: str, document: str, page: int | None, collection: str) -> QuoteVerdict:
        documents = self._documents([document] if document else [], collection)
        page_index = self._page_index(documents[0], page) if page and document else None
        if page and not document:
            raise DocumentError("A page was named without its document.", hint="Name the document, too.")
        check = self._pincite.verification.quotation(quotation, documents, page_index)
        on_named = None if page_index is None else any(one.page_index == page_index for one in check.places)
        return QuoteVerdict(
            status=check.status.value,
            places=[place_of(one) for one in check.places],
            differences=[QuoteDifference(quotation=one.quotation, page=one.page) for one in check.differences],
            on_named_page=on_named,
            pages_searched=check.pages_searched,
            pages_without_text=check.pages_without_text,
        )

    def verify_claim(self, claim: str, documents: Sequence[str], collection: str) -> ClaimVerdict:
        check = self._pincite.verification.claim(claim, self._documents(documents, collection))
        return ClaimVerdict(agreement=check.agreement.value, statements=[_statement(one) for one in check.claims])

    def add_document(self, path: str, collection: str) -> DocumentEntry:
        app, file = self._pincite, Path(path)
        if app.user is not None:
            raise AccessError("No user adds files of the server.", hint="Send the file.")
        shared = path.startswith(("//", "\\\\"))  # Windows would log on to another machine
        if shared or not (file.is_absolute() and os.access(file, os.R_OK) and file.is_file()):
            raise DocumentError(f"{path} cannot be read.", hint="Give the whole path of a file that can be added.")
        added = self._add(file, file.name, collection)
        app.ingest.wait([added], timeout_seconds=ADDING_SECONDS)
        return self.document(added)

    def upload_document(self, file: Path, name: str, collection: str) -> DocumentEntry:
        """Add a file that was sent here; it is read afterwards."""
        return self.document(self._add(file, Path(name).name, collection))

    def _add(self, file: Path, name: str, collection: str) -> str:
        """Return the id of the new document. A collection that is not there is made."""
        app = self._pincite
        added = app.ingest.add(file, name)
        if collection.strip():
            with suppress(CollectionError):  # another request made it meanwhile
                app.collections.create(collection)
            app.collections.add(self._collection(collection).id, added.ids)
        return added.document.id

    def has_collection(self, name: str) -> bool:
        return self._pincite.collections.find(name) is not None

    def has_session(self, session_id: str, collection: str) -> bool:
        """Return whether a session is there and belongs to this collection; empty: to none."""
        session = self._pincite.sessions.find(session_id)
        return session is not None and session.collection_id == (self._collection(collection).id if collection else "")

    def _history(self, session_id: str, before: Sequence[tuple[str, str]]) -> tuple[Exchange, ...]:
        """Return what was said before: as the session keeps it, or the bare words of what it does not have."""
        kept = {flat(one.question): one for one in self._pincite.turns.exchanges(session_id)}
        return tuple(kept.get(flat(question)) or Exchange("", question, answer) for question, answer in before)

    def _documents(self, names: Sequence[str], collection: str) -> list[Document]:
        """Return the documents with these names or ids, else those of the collection, else all."""
        library = self._pincite.library
        kept = self._collection(collection).document_ids if collection else None
        if not names:
            return [one for one in library.list() if kept is None or one.id in kept]
        found = [library.find(name) for name in names]
        if kept is not None and (strange := [one for one in found if one.id not in kept]):
            raise CollectionError(f"{strange[0].name} is not in the collection {collection}.")
        return found

    def _scope(self, names: Sequence[str], collection: str) -> tuple[str, ...]:
        return tuple(one.id for one in self._documents(names, collection))

    def _collection(self, name: str) -> Collection:
        found = self._pincite.collections.find(name)
        if found is None:
            names = ", ".join(one.name for one in self._pincite.collections.list())
            raise CollectionError(f"There is no collection called {name!r}.", hint=f"There are: {names or 'none'}.")
        return found

    def _page_index(self, document: Document, page: int) -> int:
        if not 1 <= page <= document.page_count:
            raise UnknownPageError(f"{document.name} has no page {page}.", hint=f"It has {document.page_count} pages.")
        return page - 1


def answer_of(turn: Turn) -> Answer:
    shown, verdict = present(turn), turn.verdict
    return Answer(
        answer=turn.answer,
        tier=shown.tier.value,
        form=shown.form,
        confidence=shown.confidence,
        warning=shown.warning,
        reasons=list(turn.reasons),
        statements=[_statement(one) for one in verdict.claims] if verdict else [],
        citations=[NumberedPlace(number=one.number, **place_of(one).model_dump()) for one in turn.final_citations],
        notices=list(turn.notices),
        session_id=turn.session_id,
        turn_id=turn.id,
    )


def _statement(one: Claim) -> Statement:
    return Statement(
        text=one.text,
        verdict=one.status,
        reason=one.reason,
        quotation=place_of(one.quotation) if one.quotation else None,
        citations=list(one.citations),
    )
