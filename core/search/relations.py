"""Find which documents amend or replace others: by their own sentence, their versions, or a person's statement.

The sentence is one of the first pages, found when a document is read (`core/models/changes.py`) and kept as a fact.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations

from pincite.core.domain.documents import (
    AMENDS,
    REPLACES,
    Document,
    MetadataField,
    MetadataSource,
    bare_name,
    comparable,
)
from pincite.core.text.dates import dates_in
from pincite.core.text.terms import content_terms
from pincite.core.text.years import YEAR

_VERSION = re.compile(
    r"(?<![^\W_])(?:version|ver|v|revision|rev)[ ._-]{0,2}(?P<number>\d{1,4}(?:\.\d{1,4}){0,3})(?![^\W_])"
    r"(?P<rest>.{0,40})$",
    re.I,
)
"""As names of files and titles end with a version: "rules-v2.1.pdf", "Rules, version 2.1"."""
_NUMBER = re.compile(r"\d+(?:[.,-]\d+)*")
_COUNTED = re.compile(
    r"(?:(?P<word>[^\W\d_]{1,40})[ ._-]{0,2})?(?<![\d.])(?P<number>\d{1,9}(?:\.\d{1,9}){0,5})(?!\w|\.\d)"
)
_OF_VERSIONS = frozenset("v ver version rev revision".split())
MIN_TERMS = 2
"""Number of words of a title that name its document; with fewer the sentence must also give its date."""


@dataclass(frozen=True, slots=True)
class Relation:
    """The newer document amends the older one, or replaces the ``whole`` of it."""

    newer: Document
    older: Document
    whole: bool


def relations_among(documents: Sequence[Document]) -> list[Relation]:
    """Return the relations that documents state, the newest first; two that state them of each other do not count."""
    statements = [one for newer in documents for one in _statements_of(newer, documents)]
    found = {(one.newer.id, one.older.id): one for one in [*_later_versions(documents), *statements]}
    kept = [one for (newer, older), one in found.items() if (older, newer) not in found]
    return sorted(kept, key=lambda one: _age(one.newer), reverse=True)


def names_older(question: str, relation: Relation) -> bool:
    """Return whether a question names the version or the year of the older document: "in version 1.0", "of 2019"."""
    older, newer = (" ".join(one.called) for one in (relation.older, relation.newer))
    return bool((_counted(older) - _counted(newer)) & _counted(question))


def _counted(text: str) -> set[str]:
    """Return what may distinguish versions: "1.0", "version 3", "edition 3", a year; no other number alone."""
    found = set[str]()
    for match in _COUNTED.finditer(text.casefold()):
        word, number = match["word"], match["number"]
        if "." in number or YEAR.fullmatch(number):
            found.add(number)
        elif word:
            found.add(f"{'version' if word in _OF_VERSIONS else word} {number}")
    return found


def _statements_of(newer: Document, documents: Sequence[Document]) -> Iterator[Relation]:
    fields = {field.name: field for field in newer.metadata if field.name in (AMENDS, REPLACES)}
    others = [one for one in documents if one.id != newer.id] if fields else []
    for name, field in fields.items():
        yield from (Relation(newer, older, name == REPLACES) for older in _meant(field, newer, others))


def _meant(field: MetadataField, newer: Document, others: Sequence[Document]) -> list[Document]:
    """Return the documents that a sentence names by title or date, or a person by id or name."""
    if field.source is MetadataSource.USER:
        wanted = {comparable(bare_name(part)) for part in (field.value, *field.value.split(", "))}
        return [one for one in others if wanted & {one.id, comparable(bare_name(one.name)), comparable(one.title)}]
    terms = frozenset(content_terms(field.value))
    dates = {date for _, date in dates_in(field.value)}
    titled = [one for one in others if terms.issuperset(content_terms(one.title))]
    dated = [one for one in titled if _date_of(one) in dates]
    named = dated or [one for one in titled if len(set(content_terms(one.title))) >= MIN_TERMS]
    if field.name == REPLACES:
        numbers = set(_NUMBER.findall(field.value))
        alike = [one for one in others if _plain(one.title) == _plain(newer.title) and one.title != newer.title]
        named += [one for one in alike if numbers.intersection(_NUMBER.findall(one.title)) and one not in named]
    several = len({comparable(one.title) for one in named}) < len(named)
    return [] if several else named


def _later_versions(documents: Sequence[Document]) -> Iterator[Relation]:
    """Yield pairs of documents that differ in name or title only by the version, unless a person decided otherwise."""
    versions = dict[str, list[tuple[tuple[int, ...], Document]]]()
    for one in documents:
        for text in {bare_name(one.name), one.title}:
            if (found := _VERSION.search(text)) and not any(map(str.isalpha, found["rest"])):
                numbers = tuple(map(int, found["number"].split(".")))
                versions.setdefault(comparable(text[: found.start()]), []).append((numbers, one))
    for group in versions.values():
        for (number, newer), (other, older) in permutations(group, 2):
            if number > other and not any(field.name == REPLACES for field in newer.metadata):
                yield Relation(newer, older, whole=True)


def _date_of(document: Document) -> str:
    return next((field.value for field in document.metadata if field.name == "date"), "")


def _plain(title: str) -> str:
    """Return a title without its numbers."""
    return comparable(_NUMBER.sub("#", title))


def _age(document: Document) -> tuple[str, tuple[int, ...], str]:
    """By the date that a document gives, then the numbers in its title, then when it was added."""
    numbers = tuple(int(number) for number in re.findall(r"\d{1,9}", document.title))
    return _date_of(document), numbers, document.added_at
