"""What a document states about itself: title, author, date, language, type, company, year, each with its source.

Deterministic and cautious: a field that nothing supports is left out, so that filters never hide a document by a guess.
"""

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from pincite.core.domain.documents import CONTRACT, BlockKind, MetadataField, MetadataSource, Page
from pincite.core.domain.ports import PdfInfo
from pincite.core.text.dates import dates_in
from pincite.core.text.language import detect_language
from pincite.core.text.years import YEAR

_FIRST_PAGES = 3
_OPENING = 5000
"""Number of characters in which a document states what it is."""
_NEAR_THE_TOP = 1500
_MAX_LENGTH = 200
_BY_A_PROGRAM = re.compile(r"^microsoft \w+\s*-\s*", re.I)
_NO_TITLE = re.compile(
    r"^(?:untitled|\(?(?:anonymous|unspecified)\)?|document\d*|slide \d+|print|form \S+|(?:table of )?contents|index"
    r"|abstract|inhalt\w*)$"
    r"|^(?:.{0,3}|[\W\d_]*)$|\.(?:docx?|pptx?|xlsx?|indd|pdf|tex|rtf|odt|qxd|dvi|html?)$|^\S*[\\/]\S*$",
    re.I,
)
_NOBODY = re.compile(
    r"^(?:user|admin\w*|owner|author|unknown|\(?anonymous\)?|default|root|.{0,2}|\W*|[^@\n]*+@.*)$", re.I
)
_PERIOD_END = re.compile(r"(?:year|quarter(?:ly)?|period)(?:\s{1,9}\w{1,40})?\s{1,9}ended:?\s{0,9}", re.I)
_PERIOD_CHARACTERS = 40
_PDF_DATE = re.compile(r"^(?:D:)?((?:19|20)\d\d)(\d\d)?(\d\d)?")
_FILE_DATE = re.compile(r"(?<!\d)((?:19|20)\d\d)[-_.]?(0[1-9]|1[0-2])[-_.]?(0[1-9]|[12]\d|3[01])(?!\d)")
_COMPANY = re.compile(
    r"\b((?:[A-Z0-9][\w&’'.-]{0,40}+[ ,]{1,4}+(?:(?:of|and|the|&|de|für|und)[ ]{1,4}+)?){1,5}?"
    r"(?:(?:Inc|INC|Corp|CORP|Ltd|LTD)\b\.?|Incorporated|INCORPORATED|Corporation|CORPORATION|Company|COMPANY|LLC|L\.L\.C\."
    r"|Limited|LIMITED|GmbH|AG|SE|plc|PLC|S\.A\.|S\.p\.A\.|N\.V\.|B\.V\.|LLP|L\.P\.))(?!\w)"
)
_TYPES = tuple(
    (name, re.compile(pattern, re.I | re.S))
    for name, pattern in (
        ("earnings release", r"\bearnings (?:release|call)\b|(?:quarter|year)\w{0,9} (?:financial )?results"),
        ("annual report", r"\bannual report\b|\bgeschäftsbericht\b|\brapport annuel\b|\binforme anual\b"),
        (
            CONTRACT,
            r"^.{0,600}\b(?:agreement|contract|vertrag|contrato?)\b.{0,200}\b(?:between|by and|zwischen|entre)\b",
        ),
        ("court opinion", r"\bopinion of the court\b|\bplaintiffs?\b.{0,300}\bdefendants?\b"),
        ("invoice", r"^\W*(?:invoice|rechnung|facture|factura)\b|\b(?:invoice|rechnung)\s*(?:no|nr|number)"),
        ("paper", r"\barxiv:|\A(?>.*?\babstract\b).{200,}\bintroduction\b|\bproceedings of\b|\bdoi\.org/10\."),
        ("thesis", r"\b(?:thesis|dissertation)\b"),
        ("handbook", r"\bhandbook\b|\bhandbuch\b"),
        (
            "manual",
            r"\b(?:user|owner|operating|service|instruction|reference)(?:[’']?s)? (?:manual|guide)\b"
            r"|\bbedienungsanleitung\b",
        ),
        ("policy", r"^.{0,200}\bpolicy\b"),
        ("press release", r"\bpress release\b|\bfor (?:immediate )?release\b"),
        ("report", r"^.{0,400}\breport\b"),
    )
)
_FORM = re.compile(r"^[^\w\n]*form ((?=\S*\d)[\w-]{1,9})\s*$", re.I | re.M)
"""Number of a form, on a line of its own: above it is the form's issuer, below it what the form is about."""


def describe(info: PdfInfo, first_pages: Sequence[Page], file_name: str) -> tuple[MetadataField, ...]:
    """Return one value per field that something supports. ``first_pages`` are the document's first few, as read."""
    pages = list(first_pages)[:_FIRST_PAGES]
    text = "\n".join(page.text for page in pages)
    stem = Path(file_name).stem
    spaced = " ".join(re.sub(r"[_+]+|(?<=\w)-(?=[A-Za-z]{2})", " ", stem).split())
    pdf, first, file = MetadataSource.PDF, MetadataSource.FIRST_PAGES, MetadataSource.FILE_NAME
    period = _period(text)
    dates = (
        (_first_date(period), first),
        (_first_date(text), first),
        (_joined(_FILE_DATE.search(stem)), file),
        (_joined(_PDF_DATE.match(info.fields.get("created", ""))), pdf),
    )
    dated = next(((date[:4], source) for date, source in dates if date), (None, pdf))
    supported = (
        ("title", (_own_title(info), pdf), (_page_title(pages), first), (spaced, file)),
        ("author", (_author(info), pdf)),
        ("date", *dates),
        ("language", (detect_language(text), first)),
        ("document type", (_type(spaced), file), (_type(text), first)),
        ("company", (_company(text), first)),
        ("year", (_year(period), first), (_year(stem), file), dated),
    )
    found = ((name, next((value for value in values if value[0]), None)) for name, *values in supported)
    return tuple(MetadataField(name, value[0], value[1]) for name, value in found if value and value[0])


def _own_title(info: PdfInfo) -> str | None:
    title = " ".join(_BY_A_PROGRAM.sub("", info.fields.get("title", "")).split())
    return None if _NO_TITLE.search(title) else title[:_MAX_LENGTH]


def _page_title(pages: Sequence[Page]) -> str | None:
    """Return the largest heading of the first page that has one."""
    for page in pages:
        form = _FORM.search(page.text)
        about = form.end() if form else 0
        headings = [b for b in page.blocks if b.kind is BlockKind.HEADING and 1 <= b.level <= 3 and b.start >= about]
        for block in sorted(headings, key=lambda block: block.level):
            title = " ".join(page.text[block.start : block.end].split())
            if not _NO_TITLE.search(title):
                return title[:_MAX_LENGTH]
    return None


def _author(info: PdfInfo) -> str | None:
    author = " ".join(info.fields.get("author", "").split())
    return None if _NOBODY.match(author) else author[:_MAX_LENGTH]


def _period(text: str) -> str:
    """What follows where the pages name the end of the reported period."""
    ends = (text[match.end() : match.end() + _PERIOD_CHARACTERS] for match in _PERIOD_END.finditer(text))
    return next((end for end in ends if YEAR.search(end)), "")


def _first_date(text: str) -> str | None:
    return min(dates_in(text), default=(0, None))[1]


def _joined(match: re.Match[str] | None) -> str | None:
    return "-".join(part for part in match.groups() if part) if match else None


def _year(text: str) -> str | None:
    found = YEAR.search(text)
    return found.group() if found else None


def _type(text: str) -> str | None:
    opening = text[:_OPENING]
    if form := _FORM.search(opening):
        return f"Form {form[1].upper()}"
    return next((name for name, pattern in _TYPES if pattern.search(opening)), None)


def _company(text: str) -> str | None:
    """Return the organisation named first near the top of the pages, else the one named most often, twice or more."""
    names: Counter[str] = Counter()
    for match in _COMPANY.finditer(text):
        name = " ".join(match.group(1).split()).strip(" ,")
        if len(name.lower().removeprefix("the ").split()) > 1:  # "the Company" is whichever was named
            if match.start() < _NEAR_THE_TOP:
                return name
            names[name] += 1
    name, count = max(names.items(), key=lambda entry: entry[1], default=("", 0))
    return name if count >= 2 else None
