"""What was left out of a file's pages, carried in the fields of the PDF made of it."""

import json
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import astuple

from pincite.core.domain.documents import Box, HiddenReason, HiddenText

_FIELD, _NOT_READ = "PinciteLeftOut", "PinciteNotRead"
_MAX_LENGTH, _MAX_FIELDS = 30_000, 64
"""pdfium cuts strings off at 32,767 bytes."""
_MAX_TEXT_LENGTH = 4_000
Field = Callable[[str], str]
"""The value of a PDF's field."""


class LeftOut:
    """Takes up what is hidden as the pages are set; the repeated heads of a table only once."""

    def __init__(self) -> None:
        self._found = dict[int, tuple[int, HiddenText]]()

    def add(self, identity: int, page_index: int, hidden: HiddenText) -> None:
        self._found.setdefault(identity, (page_index, hidden))

    def as_fields(self) -> dict[str, str]:
        fields, entries = dict[str, str](), list[str]()
        for page_index, one in self._found.values():
            box = [round(edge, 4) for edge in astuple(one.box)]
            entry = json.dumps([page_index, one.text[:_MAX_TEXT_LENGTH], box, one.reason.value])
            if entries and sum(map(len, entries)) + len(entries) + len(entry) > _MAX_LENGTH:
                fields[f"/{_FIELD}{len(fields)}"] = f"[{','.join(entries)}]"
                entries = []
            entries.append(entry)
        if entries:
            fields[f"/{_FIELD}{len(fields)}"] = f"[{','.join(entries)}]"
        if len(fields) > _MAX_FIELDS:
            page_index, one = next(reversed(self._found.values()))
            more = [page_index, "… and more, too long to list", [0, 0, 1, 1], one.reason.value]
            fields[f"/{_FIELD}{_MAX_FIELDS - 1}"] = json.dumps([more])
        return dict(list(fields.items())[:_MAX_FIELDS])


def not_read_field(kinds: Sequence[str]) -> dict[str, str]:
    return {f"/{_NOT_READ}": ", ".join(kinds)} if kinds else {}


def not_read(field: Field) -> str:
    """Return the kinds of what was not read, in words."""
    return field(_NOT_READ)


def by_page(field: Field) -> dict[int, tuple[HiddenText, ...]]:
    """Return what was left out of each page; nothing from fields with other content."""
    found = defaultdict[int, list[HiddenText]](list)
    for number in range(_MAX_FIELDS):
        if not (told := field(f"{_FIELD}{number}")):
            break
        try:
            for page_index, text, box, reason in json.loads(told):
                found[int(page_index)].append(HiddenText(str(text), Box(*map(float, box)), HiddenReason(reason)))
        except (ValueError, TypeError):
            break
    return {page_index: tuple(items) for page_index, items in found.items()}
