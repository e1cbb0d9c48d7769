"""Evidence binders of answers, with the pages that they cite as the library has them."""

from collections.abc import Sequence

from core.documents.binder import Exhibit, bind
from core.domain.documents import PageKey
from core.domain.errors import PinciteError, TurnError
from core.domain.ports import Library, TurnStore
from core.domain.turns import Turn, TurnStatus
from core.services.reviews import Verdicts

FINISHED = (TurnStatus.ANSWERED, TurnStatus.FLAGGED, TurnStatus.REVIEWED)


class Binders:
    def __init__(self, library: Library, turns: TurnStore, verdicts: Verdicts) -> None:
        self._library, self._turns, self._verdicts = library, turns, verdicts

    def of(self, turns: Sequence[Turn]) -> bytes:
        """A sealed PDF. Raises TurnError where none of the turns is a finished answer that cites."""
        chosen = [
            self._verdicts.as_it_stands(turn) for turn in turns if turn.status in FINISHED and turn.final_citations
        ]
        if not chosen:
            raise TurnError("There is no finished answer with a citation here.", hint="Ask a question first.")
        names = {place.page: place.document_name for turn in chosen for place in turn.final_citations}
        return bind(chosen, {key: self._exhibit(key, name) for key, name in names.items()})

    def of_turn(self, turn_id: str) -> bytes:
        return self.of([self._turns.get(turn_id)])

    def of_session(self, session_id: str) -> bytes:
        return self.of(self._turns.of_session(session_id))

    def _exhibit(self, key: PageKey, name: str) -> Exhibit:
        try:
            path, page = self._library.file_path(key[0]), self._library.page(*key)
        except PinciteError:
            return Exhibit(name, None, None)
        return Exhibit(name, path if path.exists() else None, page)
