"""What a message asks, read once per turn."""

from dataclasses import dataclass
from enum import StrEnum


class Wish(StrEnum):
    """What a person wants with a message."""

    CHAT = "chat"
    """Small talk, code to be written, and other things that no document answers."""
    PROGRAM = "program"
    LIBRARY = "library"
    DOCUMENTS = "documents"
    OVERVIEW = "overview"
    """About whole documents: a summary, the gist, a comparison."""
    CHART = "chart"
    """Of figures of the documents."""
    SOURCE = "source"
    """What the last answer rests on: its page, its proof, whether it is sure."""
    REWORD = "reword"
    """The last answer in another form: shorter, in a table, translated."""


class Kind(StrEnum):
    """The kind of answer that a question asks for."""

    YES_OR_NO = "yes or no"
    LIST = "list"
    COUNT = "count"
    DATE = "date"
    FACT = "fact"
    """A name, a figure or a few words; also each question in another language than English."""
    EXPLANATION = "explanation"
    """Sentences, or a kind that the wording does not show."""


@dataclass(frozen=True, slots=True)
class FollowUp:
    """How a question is read after the previous ones: what it means standing alone, and what else it may mean."""

    standalone: str
    others: tuple[str, ...] = ()
    note: str = ""
    carried: str = ""
    """What was asked before, as it was added to the question."""


@dataclass(frozen=True, slots=True)
class Question:
    """A message as it is read: every later step uses these fields instead of its wording."""

    text: str
    """The message with plain names for @mentions, without a greeting."""
    read: FollowUp
    kind: Kind = Kind.EXPLANATION
    wish: Wish = Wish.DOCUMENTS
    wish_probability: float = 1.0
    english: bool = True
    mentioned: tuple[str, ...] = ()
    """Ids of @mentioned documents."""
    names_document: bool = False
    """Whether the name of a document in it was written in small letters."""
    pages: tuple[str, ...] = ()
    """Printed labels or positions of pages: "page 12", "slide 5"."""
    numbered: tuple[str, ...] = ()
    """Sections, tables and other things with a number: "Table 2"."""
    title: str = ""
    """The title of a section in quotation marks, where no page or number is named."""
    notices: tuple[str, ...] = ()
    """Remarks for the reader on how mentions were understood."""

    @property
    def leans(self) -> bool:
        """Return whether it is understood only after the previous question."""
        return self.read.standalone != self.text

    @property
    def names_place(self) -> bool:
        return bool(self.pages or self.numbered)
