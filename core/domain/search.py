"""Search plans and search results."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from pincite.core.domain.documents import Passage
from pincite.core.domain.keys import Key


class Intent(StrEnum):
    CHAT = "chat"
    DOCUMENT_SEARCH = "document_search"
    TARGETED_SEARCH = "targeted_search"
    SURVEY = "survey"
    ABOUT = "about"
    """The library or the program: answered from the known facts about it."""
    LAST_ANSWER = "last_answer"
    """The sources of the last answer: answered from it."""
    REWORD = "reword"
    """A request to write the last answer in another form."""


APART = frozenset((Intent.CHAT, Intent.ABOUT, Intent.LAST_ANSWER, Intent.REWORD))
"""Of exchanges that the next question is not read after."""


class Mode(StrEnum):
    AUTO = "auto"
    DOCUMENTS = "documents"
    CHAT = "chat"


FROM_THE_ANSWER = "What points into the last answer was replaced by what stands there."
CHOOSES_PASSAGE = "Says which of the passages listed is meant."
"""A note of plans that hold words of an answer, and so of its documents."""


@dataclass(frozen=True, slots=True)
class SubQuery:
    """One thing to look for, with other wordings of it."""

    text: str
    variations: tuple[str, ...] = ()
    document_ids: tuple[str, ...] = ()
    """Where it alone is looked for; empty: where all of the plan is."""


PIECE = "part "


def piece_score(number: int) -> str:
    """Return the name of the score of a passage's worth for one piece of a plan."""
    return f"{PIECE}{number + 1}"


@dataclass(frozen=True, slots=True)
class Piece:
    """One of several things that a question asks for: it is searched and answered separately."""

    asked: str
    """In the question's own words."""
    query: SubQuery
    """The piece as a question of its own, and in which documents to search."""
    name: str = ""
    """Name of the document, if the question is asked of several."""

    @property
    def readings(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((self.asked, self.query.text)))


@dataclass(frozen=True, slots=True)
class SearchPlan:
    """What the rewriter makes of a question."""

    question: str
    standalone_question: str
    sub_queries: tuple[SubQuery, ...]
    entities: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    time_ranges: tuple[str, ...] = ()
    document_ids: tuple[str, ...] = ()
    """Target documents (@mentioned or named); empty: every document of the scope."""
    wanted_sections: tuple[str, ...] = ()
    wanted_pages: tuple[str, ...] = ()
    """Printed labels or positions that the question names ("page 12", "slide 5")."""
    pieces: tuple[Piece, ...] = ()
    """What a question asks that asks several things, or one of several documents; empty where it asks one."""
    readings: tuple[SubQuery, ...] = ()
    """The whole question as it may be meant apart from the first sub-query; the reranker settles which fits."""
    carried: str = ""
    """What was asked before, in brackets behind the question that needs it."""
    selects: bool = False
    """The question asks which of several documents are within a limit: "leases that end before 2027"."""
    attempt: int = 0
    notes: tuple[str, ...] = ()
    """What was changed and why, for the trace."""

    @property
    def queries(self) -> tuple[SubQuery, ...]:
        """Return all that is searched: each piece, instead of the whole question, and what is also looked for."""
        return (*(piece.query for piece in self.pieces), *self.sub_queries[bool(self.pieces) :])


@dataclass(frozen=True, slots=True)
class Candidate:
    """A passage on its way through the retriever, with every score it got, by stage name."""

    passage: Passage
    scores: Mapping[str, float] = field(default_factory=dict)

    def scored(self, **scores: float) -> "Candidate":
        """Return the same with more scores."""
        return replace(self, scores={**self.scores, **scores})


class Reason(Key):
    """Why a passage was taken for an answer."""

    SEARCH = "search"
    NEIGHBOUR = "neighbour"
    OPENING = "opening_of_a_targeted_document"
    SUMMARY = "summary"
    SECTION = "beginning_of_a_section"
    COUNTED = "page_of_what_was_counted"
    NAMED = "place_that_the_question_names"
    CHANGE = "words_that_change_another_passage"
    BELOW_FLOOR = "below_the_score_floor"
    EXCERPT = "sentence_of_a_passage_that_did_not_fit"


@dataclass(frozen=True, slots=True)
class TableHead:
    """Where a table is in a passage's text, and where the rows of heads are with which it begins."""

    start: int
    end: int
    heads_start: int
    heads_end: int


@dataclass(frozen=True, slots=True)
class HeadedCell:
    """Where a cell is in a passage's text, and the words of the heads over it."""

    start: int
    end: int
    head: str


@dataclass(frozen=True, slots=True)
class TableRow:
    """The cells of a row in a passage, in order, and the groups that contain it.

    ``heads``: of all columns of its table, also of those with an empty cell.
    """

    groups: tuple[str, ...]
    cells: tuple[HeadedCell, ...]
    heads: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """The passage of ``passage_id`` changes these words of another, with the probability that it does."""

    passage_id: str
    start: int
    end: int
    probability: float


@dataclass(frozen=True, slots=True)
class Evidence:
    """A passage chosen for the answer; ``number`` is what citation markers like [2] point to (1-based)."""

    number: int
    passage: Passage
    document_name: str
    scores: Mapping[str, float] = field(default_factory=dict)
    reason: Reason = Reason.SEARCH
    called: tuple[str, ...] = ()
    """`Document.called`."""
    about: str = ""
    """`Document.about`, of a passage that represents its document."""
    table_heads: tuple[TableHead, ...] = ()
    table_rows: tuple[TableRow, ...] = ()
    """Of tables with a structure that is sure."""
    changes: tuple[Change, ...] = ()
    """What changes it, the newest first."""
    replaced_by: str = ""
    """Name of the document that replaces all of its document."""


@dataclass(frozen=True, slots=True)
class SearchResult:
    """What the retriever found: evidence in prompt order, the rankings it came from, and what was left out."""

    evidence: tuple[Evidence, ...]
    rankings: Mapping[str, tuple[Candidate, ...]] = field(default_factory=dict)
    """Stage name (keyword, dense, fused, reranked, packed) → candidates, best first."""
    left_out: tuple[str, ...] = ()
    reranker: str = ""
    embedder: str = ""
    score_floor: float = 0.0
    notes: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()
    """What people read about this search: what it could not do, and how the question was taken."""
    absent: tuple[str, ...] = ()
    """Words of the question that are in no passage searched; none where it asks several things."""


def spread(count: int) -> list[int]:
    """0 to ``count`` - 1 so that every beginning of the list lies evenly over the whole (van der Corput's order)."""
    return sorted(range(count), key=lambda number: int(f"{number:032b}"[::-1], 2))
