"""Documents from a reference manager: their files, with what it knows of them as CSL JSON."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pincite.core.domain.documents import (
    MAX_COLLECTION_NAME_LENGTH,
    REFERENCE,
    Document,
    MetadataField,
    MetadataSource,
    all_endings,
)
from pincite.core.domain.errors import DocumentError
from pincite.core.services.ingest import Documents

if TYPE_CHECKING:
    from pincite.core.store.collections import Collections

PDF = ".pdf"


@dataclass(frozen=True, slots=True)
class Reference:
    """``item``: CSL JSON; empty for a file that belongs to no item. ``files``: its attachments, also missing ones."""

    item: dict[str, Any]
    files: tuple[Path, ...]

    @property
    def name(self) -> str:
        return str(self.item.get("title") or next((path.name for path in self.files), ""))

    @property
    def to_add(self) -> tuple[Path, ...]:
        """Return its PDFs, else its other files of known formats."""
        readable = [path for path in self.files if path.suffix.lower() in all_endings()]
        return tuple([path for path in readable if path.suffix.lower() == PDF] or readable)


@dataclass(frozen=True, slots=True)
class Imported:
    """What became of one reference: its documents, or why there are none."""

    reference: Reference
    documents: tuple[Document, ...] = ()
    problems: tuple[str, ...] = field(default=())


class ReferenceImport:
    def __init__(self, documents: Documents, collections: "Collections") -> None:
        self._documents, self._collections = documents, collections

    def add(self, references: Iterable[Reference], *, collection: str = "") -> Iterator[Imported]:
        """Add the files of each reference, with what is known of it; a collection that is not there is made.

        Files that are in the library already get the facts too. What a person has entered there stays.
        """
        collection = collection[:MAX_COLLECTION_NAME_LENGTH]
        for reference in references:
            added, problems = list[Document](), list[str]()
            for path in reference.to_add:
                try:
                    outcome = self._documents.ingest.add(path, path.name)
                except (DocumentError, OSError) as error:
                    problems.append(f"{path.name}: {error}")
                else:
                    self._documents.ingest.add_metadata(outcome.document.id, _facts(reference.item))
                    self._put_into(collection, outcome.ids)
                    added.append(outcome.document)
            if not reference.files:
                problems.append("It has no file.")
            elif not reference.to_add:
                problems.append(f"{reference.files[0].name}: its format is not read.")
            yield Imported(reference, tuple(added), tuple(problems))

    def _put_into(self, collection: str, document_ids: Sequence[str]) -> None:
        if collection:
            found = self._collections.find(collection) or self._collections.create(collection)
            self._collections.add(found.id, document_ids)


def _facts(item: dict[str, Any]) -> Iterator[MetadataField]:
    facts = {
        "title": str(item.get("title", "")),
        "author": ", ".join(filter(None, map(_full_name, item.get("author", ())))),
        "date": _iso(item.get("issued", {})),
        REFERENCE: json.dumps(item, ensure_ascii=False) if item else "",
    }
    for name, value in facts.items():
        if value:
            yield MetadataField(name, value, MetadataSource.REFERENCE)


def _full_name(name: dict[str, str]) -> str:
    parts = ("given", "non-dropping-particle", "family", "suffix")
    return name.get("literal") or " ".join(filter(None, (name.get(part) for part in parts)))


def _iso(date: dict[str, Any]) -> str:
    """Return a date of CSL JSON to the day, the month or the year, of a range its beginning; else its words."""
    for parts in date.get("date-parts", ()):
        return "-".join(f"{int(part):02}" for part in parts if str(part).isdecimal())
    return str(date.get("literal", ""))


def checked(items: Iterable[object]) -> list[dict[str, Any]]:
    """Return the items that citeproc-py reads, each with the fields of CSL JSON that have the right form."""
    return [_checked(item) for item in items if isinstance(item, dict)]


def _date(date: dict[str, Any]) -> dict[str, Any]:
    """Return a date, or a range of two, as citeproc-py reads them."""
    parts = [[int(part) for part in one if str(part).isdecimal()] for one in date.get("date-parts", ())]
    if parts and all(parts):
        years_only = all(len(one) == 1 for one in parts[:2])
        return {"date-parts": parts[: 2 if years_only else 1]}  # citeproc-py prints no range of months
    return {"literal": str(date["literal"])} if date.get("literal") else {}


def _checked(item: dict[str, Any]) -> dict[str, Any]:
    from citeproc import DATES, NAMES, VARIABLES

    kept: dict[str, Any] = {"type": str(item.get("type") or "document")}
    for name, value in item.items():
        variable = name.replace("-", "_")
        if variable in NAMES:
            kept[name] = [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
        elif variable in DATES:
            kept[name] = _date(value) if isinstance(value, dict) else {}
        elif variable in VARIABLES and isinstance(value, str | int | float):
            kept[name] = str(value)
    return {name: value for name, value in kept.items() if value}
