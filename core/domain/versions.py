"""Two versions of a document compared: what was added, removed, moved and changed."""

from collections.abc import Iterable
from dataclasses import dataclass

from pincite.core.domain.answers import Span
from pincite.core.domain.keys import Key, in_words


class DifferenceKind(Key):
    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"
    MOVED = "moved"
    """To another place, with the same words."""


class Concern(Key):
    """What a changed sentence says otherwise."""

    FIGURE = "figure"
    DATE = "date"
    NAME = "name"
    """A capitalised word within a sentence: a party, a place, a defined term."""
    REFERENCE = "reference"
    """The number of a clause, section or page, where it does not just follow a renumbering."""
    MEANING = "duty_or_meaning"
    """The checker does not hold both sentences for the same: a duty, a condition, a right."""
    WORDING = "wording"
    """Other words with the same meaning, as far as the checker can tell."""


@dataclass(frozen=True, slots=True)
class Extract:
    """A stretch of a page: ``page.text[start:end]``."""

    page_index: int
    page_label: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Side:
    """What one version has at a difference."""

    text: str
    """With white space drawn together."""
    heading: str
    """The innermost heading above it."""
    extracts: tuple[Extract, ...]
    """Where the text is on its pages."""
    differing: tuple[Span, ...] = ()
    """The words of ``text`` that the other version does not have."""
    marks: tuple[Extract, ...] = ()
    """Where these words are; where no words differ, the same as ``extracts``."""


@dataclass(frozen=True, slots=True)
class Difference:
    kind: DifferenceKind
    old: Side | None
    new: Side | None
    concerns: tuple[Concern, ...] = ()
    """Of a changed sentence, the weightiest first."""
    moved: bool = False
    """A changed sentence is also at another place."""
    near: Extract | None = None
    """Of what only one version has: the end of what stands before its place in the other one."""

    @property
    def matters(self) -> bool:
        """Return whether it may change what the document says: neither just moved nor just put in other words."""
        return self.kind is not DifferenceKind.MOVED and self.concerns != (Concern.WORDING,)

    @property
    def title(self) -> str:
        """For example "changed and moved"."""
        return in_words(self.kind) + " and moved" * self.moved

    @property
    def about(self) -> str:
        """For example "figure, date"."""
        return ", ".join(map(in_words, self.concerns))

    @property
    def heading(self) -> str:
        return next((side.heading for side in (self.new, self.old) if side and side.heading), "")


@dataclass(frozen=True, slots=True)
class Comparison:
    """The differences in the order of the newer version; those removed are where they were."""

    older_id: str
    newer_id: str
    differences: tuple[Difference, ...]
    compared: tuple[int, int]
    """Number of sentences, headings, list items and table rows of each version."""
    renumbered: int = 0
    """Number of statements of which only the numbering changed."""
    unread: tuple[int, int] = (0, 0)
    """Number of pages of each version without text, blank ones left out: what changed there is not known."""


def pages_in_words(extracts: Iterable[Extract]) -> str:
    """For example "3" or "3, 4": labels as printed on the pages."""
    return ", ".join(dict.fromkeys(one.page_label or str(one.page_index + 1) for one in extracts))
