"""Answers that are carried away: as an evidence binder, a Word document or JSON, and marked in a copy of their PDF."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING

from pincite.core.domain.documents import Document, PageKey
from pincite.core.domain.errors import DocumentError, GridError, PinciteError, TurnError
from pincite.core.domain.grids import FilledGrid
from pincite.core.domain.plugins import Group, plugins
from pincite.core.domain.turns import Turn, TurnFilter, TurnStatus
from pincite.core.export.grids import as_answers
from pincite.core.export.manifest import Exhibit, Export, manifest_of, manifest_with
from pincite.core.export.marks import marked_copy
from pincite.core.export.styles import style_names
from pincite.core.services.reviews import Verdicts
from pincite.core.services.settings import SettingsInForce

if TYPE_CHECKING:
    from pincite.core.store.library import Library
    from pincite.core.store.turns import Turns

FINISHED = (TurnStatus.ANSWERED, TurnStatus.FLAGGED, TurnStatus.REVIEWED)
MAX_TURNS = 10_000


class ExportForm(StrEnum):
    """Endings of the forms that Pincite comes with."""

    BINDER = ".pdf"
    WORD = ".docx"
    JSON = ".json"


def export_forms() -> dict[str, Export]:
    """Return all forms by the ending of their files."""
    found: Iterable[Export] = plugins(Group.EXPORTS).values()
    return {one.ENDING: one for one in found}


def citation_styles() -> tuple[str, ...]:
    """Return the names of the styles of the Citation Style Language."""
    return style_names()


class Exports:
    def __init__(self, settings: SettingsInForce, library: "Library", turns: "Turns", verdicts: Verdicts) -> None:
        self._settings, self._library, self._turns, self._verdicts = settings, library, turns, verdicts

    def of(self, turns: Sequence[Turn], form: str = ExportForm.BINDER, style: str = "") -> bytes:
        """``style``: of the citations; empty: as the settings have it. Raises TurnError where no answer is finished."""
        chosen = [self._as_reported(turn) for turn in turns if turn.status in FINISHED and turn.final_parts]
        if not chosen:
            raise TurnError("There is no finished answer here.", hint="Ask a question first.")
        names = {place.page: place.document_name for turn in chosen for place in turn.final_citations}
        exhibits = {key: self._exhibit(key, name) for key, name in names.items()}
        manifest = manifest_of(chosen, exhibits, style or self._settings.current.citation_style)
        return export_forms()[form].write(manifest, exhibits)

    def _as_reported(self, turn: Turn) -> Turn:
        """Return the turn with the current verdict of the answer that is shown."""
        current = self._verdicts.as_current(turn)
        return replace(current, verdict=self._verdicts.of_review(turn)) if turn.review else current

    def of_turn(self, turn_id: str, form: str = ExportForm.BINDER) -> bytes:
        return self.of([self._turns.get(turn_id)], form)

    def of_session(self, session_id: str, form: str = ExportForm.BINDER) -> bytes:
        return self.of(self._turns.conversation(session_id), form)

    def of_grid(self, filled: FilledGrid) -> bytes:
        """Return the values of a grid as a sealed binder, with the pages that they cite. Raises GridError."""
        documents = {one.id: one for one in self._library.list()}
        names = {place.page: place.document_name for cell in filled.cells.values() for place in cell.citations}
        exhibits = {key: self._exhibit(key, name) for key, name in names.items()}
        answers = as_answers(filled, documents, exhibits)
        if not answers:
            raise GridError("No cell of this grid has been answered yet.", hint="Wait until some are.")
        manifest = manifest_with(answers, self._settings.current.citation_style)
        return export_forms()[ExportForm.BINDER].write(manifest, exhibits)

    def marked(self, document: Document) -> bytes:
        """Return the document's PDF with everything marked that a finished answer cites of it. Raises DocumentError."""
        lines = self._turns.lines(TurnFilter(document_id=document.id), most=MAX_TURNS)
        turns = [self._turns.without_trace(line.id) for line in lines if line.status in FINISHED]
        cited = {
            (place.page, place.start, place.end): (place, turn.question)
            for turn in reversed(turns)
            for place in map(self._library.located, turn.final_citations)
            if place and place.document_id == document.id
        }
        if not cited:
            raise DocumentError(f"No answer cites {document.name} yet.", hint="Ask a question about it first.")
        return marked_copy([(place, question, self._exhibit(place.page, document.name))
                            for place, question in cited.values()])  # fmt: skip

    def _exhibit(self, key: PageKey, name: str) -> Exhibit:
        try:
            path, page = self._library.file(key[0]), self._library.page(*key)
            return Exhibit(name, self._library.get(key[0]), path if path.exists() else None, page)
        except PinciteError:
            return Exhibit(name, None, None, None)
