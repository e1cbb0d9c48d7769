"""The notes of a conversation: quotations that were pinned, each found on its page, and what the user wrote."""

from collections.abc import Sequence
from dataclasses import replace

from pincite.core.domain.answers import Citation
from pincite.core.domain.codec import readable, to_json
from pincite.core.domain.errors import TurnError
from pincite.core.domain.turns import Notes, Pin, now
from pincite.core.store.database import Database
from pincite.core.store.library import Library
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
        rows = self._database.connection.execute(
            "SELECT id, citation, pinned_at, removed FROM pins WHERE session_id = ? ORDER BY id", (session_id,)
        ).fetchall()
        read = [(row, readable(Citation, row["citation"])) for row in rows]
        pins = [(Pin(row["id"], citation, row["pinned_at"]), row["removed"]) for row, citation in read if citation]
        removed = [pin for pin, is_removed in pins if is_removed]
        text = self._database.connection.execute(
            "SELECT text FROM notes WHERE session_id = ?", (session_id,)
        ).fetchone()
        kept = tuple(pin for pin, is_removed in pins if not is_removed)
        return Notes(text["text"] if text else "", kept, removed[-1] if removed else None)

    def pin(self, session_id: str, citations: Sequence[Citation]) -> None:
        """Keep these quotations together; one that is kept already, or is part of another of them, is left out."""
        kept, stamp = {_place(pin.citation) for pin in self.of_session(session_id).pins}, now()
        with self._database.transaction() as connection:
            for citation in citations:
                if _place(citation) not in kept and not any(_holds(other, citation) for other in citations):
                    kept.add(_place(citation))
                    connection.execute(
                        "INSERT INTO pins (session_id, document_id, citation, pinned_at) VALUES (?, ?, ?, ?)",
                        (session_id, citation.document_id, to_json(citation), stamp),
                    )

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
        removed = [(session_id, pin_id) for pin_id in pin_ids]
        with self._database.transaction() as connection:
            connection.execute("DELETE FROM pins WHERE session_id = ? AND removed = 1", (session_id,))
            connection.executemany("UPDATE pins SET removed = 1 WHERE session_id = ? AND id = ?", removed)

    def bring_back(self, session_id: str) -> None:
        with self._database.transaction() as connection:
            connection.execute("UPDATE pins SET removed = 0 WHERE session_id = ?", (session_id,))

    def write(self, session_id: str, text: str) -> None:
        with self._database.transaction() as connection:
            connection.execute(
                "INSERT INTO notes (session_id, text, updated_at) SELECT id, ?, ? FROM sessions WHERE id = ? "
                "ON CONFLICT (session_id) DO UPDATE SET text = excluded.text, updated_at = excluded.updated_at",
                (storable(text), now(), session_id),
            )

    def export_markdown(self, session_id: str) -> str:
        """What was written, and each quotation with its document and page."""
        notes = self.of_session(session_id)
        title = self._database.connection.execute("SELECT title FROM sessions WHERE id = ?", (session_id,)).fetchone()
        cited = (replace(pin.citation, number=number) for number, pin in enumerate(notes.pins, start=1))
        parts = [f"# Notes: {escape(title['title'] if title else '')}", notes.text.strip(),
                 "\n".join(citation_line(one, self._library.is_on_page(one)) for one in cited)]  # fmt: skip
        return shown("\n\n".join(part for part in parts if part) + "\n", lines=True)


def _holds(outer: Citation, inner: Citation) -> bool:
    """Return whether one quotation is a part of another, longer one of its page."""
    around = outer.page == inner.page and outer.start <= inner.start and inner.end <= outer.end
    return around and outer.end - outer.start > inner.end - inner.start


def _place(citation: Citation) -> tuple[str, int, int, int]:
    return citation.document_id, citation.page_index, citation.start, citation.end
