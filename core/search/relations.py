"""Which documents amend or replace others: by the sentence of theirs that says so, their versions, or what people said.

The sentence is one of the first pages, found when a document is read (`core/models/changes.py`) and kept as a fact.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from core.domain.documents import AMENDS, REPLACES, Document, MetadataField, MetadataSource, bare_name, comparable
from core.text.numbers import quantities
from core.text.terms import content_terms

_VERSION = re.compile(
    r"(?<![^\W_])(?:version|ver|v|revision|rev)[ ._-]{0,2}(?P<number>\d{1,4}(?:\.\d{1,4}){0,3})(?![^\W_])", re.I
)
"""As names of files and titles give a version: "rules-v2.1", "Rules, version 2.1"."""
_NUMBER = re.compile(r"\d+(?:[.,-]\d+)*")
MIN_TERMS = 2
"""Number of words of a title that name its document; with fewer the sentence must also give its date."""


@dataclass(frozen=True, slots=True)
class Relation:
    """The newer document amends the older one, or replaces the ``whole`` of it."""

    newer: Document
    older: Document
    whole: bool


def relations_among(documents: Sequence[Document]) -> list[Relation]:
    """Return what documents say of each other, the newest first; of two that say it of each other neither counts."""
    found = {(one.newer.id, one.older.id): one for newer in documents for one in _said_by(newer, documents)}
    kept = [one for (newer, older), one in found.items() if (older, newer) not in found]
    return sorted(kept, key=lambda one: _age(one.newer), reverse=True)


def _said_by(newer: Document, documents: Sequence[Document]) -> Iterator[Relation]:
    others = [one for one in documents if one.id != newer.id]
    fields = {field.name: field for field in newer.metadata}
    for name in (AMENDS, REPLACES):
        if name in fields:
            yield from (Relation(newer, older, name == REPLACES) for older in _meant(fields[name], newer, others))
    if REPLACES not in fields:
        yield from (Relation(newer, older, True) for older in others if _is_later_version(newer, older))


def _meant(field: MetadataField, newer: Document, others: Sequence[Document]) -> list[Document]:
    """Return the documents that a sentence names by title or date, or a person by name."""
    if field.source is MetadataSource.USER:
        wanted = comparable(bare_name(field.value))
        return [one for one in others if wanted in (comparable(bare_name(one.name)), comparable(one.title))]
    said = frozenset(content_terms(field.value))
    dates = {one.date for one in quantities(field.value) if one.kind == "date"}
    titled = [one for one in others if said.issuperset(content_terms(one.title))]
    dated = [one for one in titled if dates & _dates_of(one)]
    named = dated or [one for one in titled if len(set(content_terms(one.title))) >= MIN_TERMS]
    if field.name == REPLACES:
        numbers = set(_NUMBER.findall(field.value))
        alike = [one for one in others if _plain(one.title) == _plain(newer.title) and one.title != newer.title]
        named += [one for one in alike if not numbers or numbers.intersection(_NUMBER.findall(one.title))]
    several = len({comparable(one.title) for one in named}) < len(named)
    return [] if several else list({one.id: one for one in named}.values())


def _dates_of(document: Document) -> set[tuple[int, int, int]]:
    told = (field.value for field in document.metadata if field.name == "date")
    return {one.date for value in told for one in quantities(value) if one.kind == "date"}


def _is_later_version(newer: Document, older: Document) -> bool:
    pairs = ((newer.name, older.name), (newer.title, older.title))
    return any(
        (new := _VERSION.search(one))
        and (old := _VERSION.search(other))
        and comparable(_VERSION.sub("", one)) == comparable(_VERSION.sub("", other))
        and _numbers(new["number"]) > _numbers(old["number"])
        for one, other in pairs
    )


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(".")))


def _plain(title: str) -> str:
    """A title without its numbers."""
    return comparable(_NUMBER.sub("#", title))


def _age(document: Document) -> tuple[tuple[int, int, int], tuple[int, ...], str]:
    """By the date that a document gives, then the numbers in its title, then when it was added."""
    numbers = tuple(int(number) for number in re.findall(r"\d{1,9}", document.title))
    return max(_dates_of(document), default=(0, 0, 0)), numbers, document.added_at
