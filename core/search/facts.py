"""Filters by facts about documents: company, year and type."""

from collections.abc import Mapping, Sequence

from pincite.core.domain.documents import Document
from pincite.core.domain.errors import DocumentError

FACTS = {"company": "company", "year": "year", "type": "document type"}
"""What can be filtered by, and the name that a document's metadata has for it."""


def values_of(documents: Sequence[Document]) -> dict[str, list[str]]:
    """Return the values that distinguish these documents, by fact, in their order."""
    known = {fact: [_value(document, fact) for document in documents] for fact in FACTS}
    return {fact: sorted({*values} - {""}) for fact, values in known.items() if len({*values}) > 1}


def with_facts(documents: Sequence[Document], wanted: Mapping[str, Sequence[str]]) -> list[Document]:
    """Return those that have, of every fact that is wanted, one of its values; case makes no difference.

    Raises DocumentError where there is none.
    """
    chosen = {fact: {value.casefold() for value in values} for fact, values in wanted.items() if values}
    found = [
        document
        for document in documents
        if all(_value(document, fact).casefold() in values for fact, values in chosen.items())
    ]
    if found:
        return found
    asked = "; ".join(f"{fact} {' or '.join(values)}" for fact, values in wanted.items() if values)
    known = "; ".join(f"{fact}: {', '.join(values)}" for fact, values in values_of(documents).items())
    raise DocumentError(
        f"No document has {asked}.",
        hint=f"Available: {known}." if known else "You can correct a document's details under Documents.",
    )


def _value(document: Document, fact: str) -> str:
    return next((field.value for field in document.metadata if field.name == FACTS[fact]), "")
