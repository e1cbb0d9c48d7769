"""Domain-specific terms: the names of a term in documents, and the sections that contain its parts.

They are data that a user can edit: TOML files, those shipped in data/terms and the user's own. Planning applies them.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path

from pincite.core.domain.edited_files import read_edited
from pincite.core.domain.settings import PACKAGE_ROOT

SHIPPED = PACKAGE_ROOT / "data" / "terms"


@dataclass(frozen=True, slots=True)
class Section:
    """The names that questions use for a section, and the headings that it goes under."""

    names: tuple[str, ...]
    headings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Term:
    """The names that questions use for a term, the words that documents print, and the sections that hold its parts."""

    names: tuple[str, ...]
    printed: str
    sections: tuple[str, ...] = ()


@dataclass(frozen=True)
class Lexicon:
    """Terms and sections by name; ``problems`` lists files that could not be used."""

    terms: Mapping[str, Term] = field(default_factory=dict)
    sections: Mapping[str, Section] = field(default_factory=dict)
    problems: tuple[str, ...] = ()

    def terms_in(self, question: str) -> tuple[Term, ...]:
        """Return the terms that a question uses; of names inside one another only the longest counts."""
        text, found = question.casefold(), dict[str, Term]()
        for pattern, name in self._patterns:
            text, times = pattern.subn(" ", text)
            if times:
                found.setdefault(name, self.terms[name])
        return tuple(found.values())

    def sections_in(self, question: str, terms: Iterable[Term]) -> tuple[Section, ...]:
        """Return the sections that a question names, and those that hold the parts of its terms."""
        named = [name for name, section in self.sections.items() if _pattern(*section.names).search(question)]
        parts = [name for term in terms for name in term.sections if name in self.sections]
        return tuple(self.sections[name] for name in dict.fromkeys([*named, *parts]))

    @cached_property
    def _patterns(self) -> list[tuple[re.Pattern[str], str]]:
        """Each name of each term, longest first."""
        names = sorted(((own, key) for key, term in self.terms.items() for own in term.names), key=lambda p: -len(p[0]))
        return [(_pattern(own), key) for own, key in names]


@dataclass(frozen=True, slots=True)
class _LexiconFile:
    terms: dict[str, Term] = field(default_factory=dict)
    sections: dict[str, Section] = field(default_factory=dict)


@cache
def _pattern(*names: str) -> re.Pattern[str]:
    spelled = "|".join(re.escape(" ".join(name.casefold().split())) for name in names) or r"(?!)"
    return re.compile(rf"(?<!\w)(?:{spelled})(?:s|es)?(?!\w)", re.IGNORECASE)


@cache
def shipped_lexicon() -> Lexicon:
    return read_lexicon(SHIPPED)


def users_lexicon(data_dir: Path) -> Lexicon:
    """Return the shipped terms with the user's own, read again so that an edit applies to the next question."""
    return read_lexicon(SHIPPED, data_dir / "terms")


def read_lexicon(*folders: Path) -> Lexicon:
    """Read every file of the folders; later ones win by name; a file that cannot be used is reported and skipped."""
    terms, sections, problems = dict[str, Term](), dict[str, Section](), list[str]()
    for _, found in read_edited(_LexiconFile, folders, problems):
        terms |= found.terms
        sections |= found.sections
    return Lexicon(terms, sections, tuple(problems))
