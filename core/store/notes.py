"""The notes of a conversation: quotations that were pinned, each found on its page, and what the user wrote."""

from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy import delete, insert, select, update

from pincite.core.domain.answers import Citation
from pincite.core.domain.codec import readable, to_json
from pincite.core.domain.errors import TurnError
from pincite.core.domain.turns import Notes, Pin, now
from pincite.core.store.database import Database
from pincite.core.store.library import Library
from pincite.core.store.schema import notes, pins, sessions
from pincite.core.store.sessions import citation_line
from pincite.core.text.markdown import escape
from pincite.core.text.plain import shown, storable
from pincite.core.text.quotations import locate


class NoteStore:
    """The rows of ``notes`` and ``pins``; they go with their session."""

    def __init__(self, database: Database, library: Library) -> None:
        self._database = database
        self._library = library

    def of_session(self, session_id: str) -> Notes:
        rows = self._database.rows(select(pins).where(pins.c.session_id == session_id).order_by(pins.c.id))
        read = [(row, readable(Citation, row["citation"])) for row in rows]
        found = [(Pin(row["id"], citation, row["pinned_at"]), row["removed"]) for row, citation in read if citation]
        removed = [pin for pin, is_removed in found if is_removed]
        written = self._database.row(select(notes.c.text).where(notes.c.session_id == session_id))
        kept = tuple(pin for pin, is_removed in found if not is_removed)
        return Notes(written["text"] if written else "", kept, removed[-1] if removed else None)

    def pin(self, session_id: str, citations: Sequence[Citation]) -> None:
        """Keep these quotations together; one that is kept already, or is part of another of them, is left out."""
        kept, stamp = {_place(pin.citation) for pin in self.of_session(session_id).pins}, now()
        new = []
        for citation in citations:
            if _place(citation) not in kept and not any(_holds(other, citation) for other in citations):
                kept.add(_place(citation))
                new.append({"session_id": session_id, "document_id": citation.document_id,
                            "citation": to_json(citation), "pinned_at": stamp})  # fmt: skip
        if new:
            with self._database.transaction():
                self._database.run(insert(pins), new)

    def pin_words(self, session_id: str, document_id: str, page_index: int, words: str) -> None:
        """Keep words that were selected on a page. Raises TurnError where the page does not have them in one piece."""
        page = self._library.page(document_id, page_index)
        span = locate(words, page.text)
        if span is None:
            raise TurnError("These words are not in one piece on the page, so they were not pinned.",
                            hint="Select one sentence, or the words of one column.")  # fmt: skip
        name, quotation = self._library.get(document_id).name, page.text[span.start : span.end]
        self.pin(session_id, [Citation(0, document_id, name, page_index, page.page_label, quotation,
                                       span.start, span.end)])  # fmt: skip

    def unpin(self, session_id: str, *pin_ids: int) -> None:
        """Take these away; until others are taken away they can be brought back."""
        own = pins.c.session_id == session_id
        with self._database.transaction():
            self._database.run(delete(pins).where(own, pins.c.removed))
            self._database.run(update(pins).where(own, pins.c.id.in_(pin_ids)).values(removed=True))

    def bring_back(self, session_id: str) -> None:
        self._database.run(update(pins).where(pins.c.session_id == session_id).values(removed=False))

    def write(self, session_id: str, text: str) -> None:
        """Keep the text, unless the session is gone."""
        new = {"text": storable(text), "updated_at": now()}
        with self._database.transaction():
            if self._database.row(select(sessions.c.id).where(sessions.c.id == session_id)):
                self._database.put(notes, {"session_id": session_id}, new)

    def export_markdown(self, session_id: str) -> str:
        """What was written, and each quotation with its document and page."""
        own = self.of_session(session_id)
        title = self._database.row(select(sessions.c.title).where(sessions.c.id == session_id))
        cited = (replace(pin.citation, number=number) for number, pin in enumerate(own.pins, start=1))
        parts = [f"# Notes: {escape(title['title'] if title else '')}", own.text.strip(),
                 "\n".join(citation_line(one, self._library.is_on_page(one)) for one in cited)]  # fmt: skip
        return shown("\n\n".join(part for part in parts if part) + "\n", lines=True)


def _holds(outer: Citation, inner: Citation) -> bool:
    """Return whether one quotation is a part of another, longer one of its page."""
    around = outer.page == inner.page and outer.start <= inner.start and inner.end <= outer.end
    return around and outer.end - outer.start > inner.end - inner.start


def _place(citation: Citation) -> tuple[str, int, int, int]:
    return citation.document_id, citation.page_index, citation.start, citation.end
