"""Run the reviewed turns again and report what a change of model, settings or documents altered."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pincite.core.domain.turns import ReviewDecision, Turn, TurnStatus
from pincite.core.services.scope import scope_of
from pincite.core.services.turns import TurnRunner
from pincite.core.text.marks import plain_text
from pincite.core.text.numbers import quantities, same
from pincite.core.text.plain import flat

if TYPE_CHECKING:
    from pincite.core.store.library import Library
    from pincite.core.store.reviews import Reviews
    from pincite.core.store.sessions import Sessions
    from pincite.core.store.turns import Turns


@dataclass(frozen=True, slots=True)
class Reanswered:
    """A reviewed turn and the current answer to its question; ``changes`` is empty if the review is still valid."""

    reviewed: Turn
    now: Turn
    changes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Regression:
    runner: TurnRunner
    turns: "Turns"
    sessions: "Sessions"
    reviews: "Reviews"
    library: "Library"

    def run(self) -> Iterator[Reanswered]:
        """Ask every reviewed question again, each in a session of its own that is gone afterwards."""
        for turn_id, _ in self.reviews.decision_times():
            reviewed = self.turns.without_trace(turn_id)
            session = self.sessions.create(
                "Check of the reviewed answers", collection_id=self.sessions.get(reviewed.session_id).collection_id
            )
            try:
                turn_id = self.runner.ask(
                    session.id,
                    reviewed.question,
                    mode=reviewed.mode,
                    document_ids=scope_of(reviewed, self.library.list()),
                    fresh=True,
                    history=self.turns.exchanges(reviewed.session_id, before=reviewed.place),
                )
                now = self.runner.wait(turn_id).turn
                yield Reanswered(reviewed, now, compare(reviewed, now))
            finally:
                self.sessions.delete(session.id)


def compare(reviewed: Turn, now: Turn) -> tuple[str, ...]:
    """What a reviewer's answer had that the answer of now lacks; for a rejected draft, whether it came back."""
    review = reviewed.review
    if review is None:
        return ()
    if now.status is TurnStatus.FAILED:
        return (f"failed: {now.error}",)
    if review.decision is ReviewDecision.REJECTED:
        came_back = (
            now.status is TurnStatus.ANSWERED
            and flat(plain_text(now.parts)).casefold() == (flat(plain_text(reviewed.parts)).casefold()).casefold()
        )
        return ("gives the rejected answer",) if came_back else ()
    changes = []
    if now.status is TurnStatus.FLAGGED:
        changes.append(f"is flagged: {'; '.join(now.reasons)}")
    given = quantities(plain_text(now.parts))
    lost = [
        quantity.text.strip()
        for quantity in quantities(plain_text(review.parts))
        if not any(same(quantity, g) for g in given)
    ]
    if lost:
        changes.append(f"no longer says {', '.join(dict.fromkeys(lost))}")
    cited = {(citation.document_id, citation.page_index) for citation in now.citations}
    for citation in review.citations:
        if (citation.document_id, citation.page_index) not in cited:
            changes.append(f"no longer cites {citation.document_name}, page {citation.page_label}")
    return tuple(dict.fromkeys(changes))
