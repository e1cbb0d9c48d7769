"""A format: calendars (.ics), one paragraph for each entry."""

from pathlib import Path

from pincite.core.documents.formats.content import Content, Paragraph, Run
from pincite.core.documents.formats.typeset import typeset

KIND = "a calendar (.ics)"
ENDINGS = (".ics",)
SHOWN = {"SUMMARY": "", "DTSTART": "Begins: ", "DTEND": "Ends: ", "LOCATION": "Place: ", "DESCRIPTION": ""}


def is_one(path: Path, name: str) -> bool:
    return path.read_bytes().lstrip().startswith(b"BEGIN:VCALENDAR")


def save_as_pdf(path: Path, target: Path) -> None:
    unfolded = path.read_text(encoding="utf-8").replace("\r\n", "\n").replace("\n ", "")
    paragraphs = []
    for line in unfolded.splitlines():
        name, _, value = line.partition(":")
        key = name.partition(";")[0]
        if key in SHOWN and value:
            text = value.replace("\\n", "\n").replace("\\,", ",").replace("\\;", ";")
            paragraphs.append(Paragraph((Run(SHOWN[key] + text),), level=1 if key == "SUMMARY" else 0))
    typeset(Content("a calendar", tuple(paragraphs)), path.name, target)
