"""Sessions in SQLite: create, find, rename, delete, and export as Markdown."""

import re
import uuid
from collections.abc import Callable, Sequence

from sqlalchemy import RowMapping, delete, insert, or_, select, update

from pincite.core.domain.answers import AnswerPart, Citation
from pincite.core.domain.codec import readable, to_json
from pincite.core.domain.documents import NO_DOCUMENTS
from pincite.core.domain.errors import UnknownSessionError
from pincite.core.domain.keys import in_words
from pincite.core.domain.presentation import Standing, Tier, present
from pincite.core.domain.turns import Session, Turn, TurnStatus, now
from pincite.core.store.database import Database
from pincite.core.store.schema import removals, reviews, sessions, turn_lines, turns
from pincite.core.store.turns import Turns, contains, delete_turns
from pincite.core.text.markdown import escape, verbatim
from pincite.core.text.marks import markdown_pieces
from pincite.core.text.plain import shown, storable

NEW_TITLE = "New session"
MAX_TITLE_LENGTH = 60
TEXT = "text"
"""Kind of a removal: the text of a session."""


Scrubs = list[str]


class Sessions:
    """The rows of ``sessions``; turns, traces and reviews go with them.

    The callable passed to the constructor returns whether the words of a citation are still on their page.
    """

    def __init__(self, database: Database, *, is_on_page: Callable[[Citation], bool] = lambda citation: True) -> None:
        self._database = database
        self._is_on_page = is_on_page

    def create(self, title: str = NEW_TITLE, document_ids: Sequence[str] = (), *, collection_id: str = "") -> Session:
        moment, name = now(), storable(title).strip() or NEW_TITLE
        session = Session(uuid.uuid4().hex, name, moment, moment, tuple(document_ids), collection_id)
        row = {"id": session.id, "title": session.title, "created_at": moment, "updated_at": moment,
               "document_ids": ids_json(document_ids), "collection_id": collection_id}  # fmt: skip
        self._database.run(insert(sessions).values(row))
        return session

    def list(self, search: str = "", *, most: int | None = None, collection_id: str | None = None) -> list[Session]:
        """Return the most recently used first, all or at most ``most``; ``search`` looks in titles, questions, answers.

        ``collection_id``: only those of that collection; empty: only those of none.
        """
        query = select(sessions).order_by(sessions.c.updated_at.desc()).limit(most)
        if collection_id is not None:
            query = query.where(sessions.c.collection_id == collection_id)
        if search.strip():
            answered = select(turn_lines.c.turn_id).where(contains(turn_lines.c.answer, search))
            decided = select(reviews.c.turn_id).where(contains(reviews.c.final_answer, search))
            found = or_(contains(turns.c.question, search), turns.c.id.in_(answered), turns.c.id.in_(decided))
            in_turns = sessions.c.id.in_(select(turns.c.session_id).where(found))
            query = query.where(contains(sessions.c.title, search) | in_turns)
        return [_session(row) for row in self._database.rows(query)]

    def get(self, session_id: str) -> Session:
        """Raises UnknownSessionError when there is no such session."""
        session = self.find(session_id)
        if session is None:
            raise UnknownSessionError("This session is no longer stored.", hint="Choose another, or begin a new one.")
        return session

    def find(self, session_id: str) -> Session | None:
        row = self._database.row(select(sessions).where(sessions.c.id == session_id))
        return _session(row) if row else None

    def rename(self, session_id: str, title: str) -> None:
        if title.strip():
            self._set(session_id, title=" ".join(storable(title).split()))

    def title_after(self, session_id: str, question: str) -> None:
        """Name a session that nobody named after its first question."""
        if self.get(session_id).title != NEW_TITLE:
            return
        self.rename(session_id, title_of(question))

    def set_documents(self, session_id: str, document_ids: Sequence[str]) -> None:
        self._set(session_id, document_ids=ids_json(document_ids))

    def add_documents(self, session_id: str, document_ids: Sequence[str]) -> None:
        """Search these too; a session that searches all documents goes on doing so."""
        with self._database.transaction():
            chosen = self.get(session_id).document_ids
            if chosen:
                self.set_documents(session_id, tuple(dict.fromkeys([*chosen, *document_ids])))

    def delete(self, session_id: str) -> None:
        """Delete the session with its turns, traces and reviews; their text leaves the files with ``scrubbed``."""
        to_scrub = self._database.insert(removals).values(subject=session_id, kind=TEXT).on_conflict_do_nothing()
        with self._database.transaction():
            delete_turns(self._database, turns.c.session_id == session_id)
            self._database.run(delete(sessions).where(sessions.c.id == session_id))
            self._database.run(to_scrub)

    def to_scrub(self) -> Scrubs:
        """Return ids of deleted sessions with text that may still be in unused parts of the files."""
        return list(self._database.run(select(removals.c.subject).where(removals.c.kind == TEXT)).scalars())

    def scrubbed(self, session_ids: Sequence[str]) -> None:
        self._database.run(delete(removals).where(removals.c.subject.in_(session_ids), removals.c.kind == TEXT))

    def export_markdown(self, session_id: str) -> str:
        """Return the conversation with, under each answer, its citations: document, page and quotation."""
        session = self.get(session_id)
        parts = [
            f"# {escape(session.title)}",
            f"Exported from Pincite. Session started {session.created_at[:16].replace('T', ' ')} UTC.",
        ]
        for turn in Turns(self._database).conversation(session_id):
            parts += _turn_markdown(turn, self._is_on_page)
        return shown("\n\n".join(parts) + "\n", lines=True)

    def _set(self, session_id: str, **values: str) -> None:
        self._database.run(update(sessions).where(sessions.c.id == session_id).values(**values))


def title_of(question: str) -> str:
    """What a session is called that begins with this question."""
    title = " ".join(storable(question).split())
    return title if len(title) <= MAX_TITLE_LENGTH else title[: MAX_TITLE_LENGTH - 1].rsplit(" ", 1)[0] + "…"


def _turn_markdown(turn: Turn, is_on_page: Callable[[Citation], bool]) -> list[str]:
    review = turn.review if turn.status is TurnStatus.REVIEWED else None
    said, citations = (review.parts, review.citations) if review else (turn.parts, turn.citations)
    text = _answer_markdown(said) or f"*{in_words(turn.status).capitalize()}.* {escape(turn.error)}".strip()
    parts, shown = [f"## {escape(turn.question)}", text], present(turn)
    if review:
        parts.append(f"*Reviewed ({review.decision}) by {escape(review.reviewer)}, {review.decided_at[:10]}.*")
    elif shown.standing is Standing.WAITS:
        parts.append("*Flagged for review, do not rely on it yet:* " + escape(" ".join(turn.reasons)))
    elif turn.verdict and turn.status is TurnStatus.ANSWERED:
        sure = f"Confidence {shown.confidence:.0%}." if shown.confidence is not None else ""
        check = escape(shown.warning) if shown.tier is Tier.CHECK else ""
        parts += [f"*{' '.join(filter(None, [sure, check]))}*"] if sure or check else []
    if citations:
        parts.append("\n".join(citation_line(citation, is_on_page(citation)) for citation in citations))
    return parts


def _answer_markdown(parts: Sequence[AnswerPart]) -> str:
    """Return the answer in a block, which nothing in it can leave: it forges no heading, review or source."""
    said = "".join(piece for piece, _ in markdown_pieces(parts)).strip()
    return "\n".join(f"> {line}".rstrip() for line in said.splitlines())


def _name(text: str) -> str:
    """Return a name or label that cannot be taken for more than that."""
    flat = " ".join(text.split())
    plain = re.fullmatch(r"[\w .()&+,'’–-]*", flat) is not None and ", page" not in flat.lower()
    return escape(flat) if plain else verbatim(flat, always=True)


def citation_line(citation: Citation, on_page: bool) -> str:
    position = (
        "" if citation.page_label == str(citation.page_index + 1) else f" (page {citation.page_index + 1} of the file)"
    )
    note = "" if on_page else " (source removed)"
    return (
        f"- [{citation.number}] {_name(citation.document_name)}, page {_name(citation.page_label)}{position}{note}: "
        f"“{verbatim(citation.quotation)}”"
    )


def _session(row: RowMapping) -> Session:
    chosen = readable(tuple[str, ...], row["document_ids"])
    return Session(
        id=row["id"],
        title=row["title"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
        document_ids=NO_DOCUMENTS if chosen is None else chosen,
        collection_id=row["collection_id"],
    )


def ids_json(document_ids: Sequence[str]) -> str:
    return to_json(tuple(document_ids), tuple[str, ...])
