"""Finds on pages all that a question wants counted or listed, by form alone: captions, headings, dates, mentions.

A thing with a label ("Figure 3", "Chapter IV", "Annex B") is known by its name and label at the beginning of a line,
whatever its name. What has none is known by its own form.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from core.documents.tables import find_tables
from core.domain.answers import Place
from core.domain.documents import BlockKind, Page
from core.text.numbers import quantities
from core.text.sentences import split_sentences
from core.text.terms import stem

LONGEST_SHOWN = 160
"""Characters of a caption or heading that are quoted."""
MOST_PLACES = 2_000
_LABEL = r"(?P<label>(?:[A-Z]{1,2}[.-]?)?\d{1,4}(?:[.-]\d{1,3}){0,3}|[IVXLC]{1,7}|[A-Z])"
_CAPTION_GOES_ON = re.compile(r"[ \t]{0,4}(?:[:.|)–—-](?!\d)|\n|$)|[ \t]{1,8}[A-Z0-9“\"(]")
_LEADER = re.compile(r"(?<![.·…\s])[.·…\s]{3,}+\d+[ \t]*+$")
_NUMBERED = ("section", "chapter", "clause", "article", "part")
"""What a numbered heading begins."""
_NUMBER = re.compile(r"(?<!\w)(?P<label>\d{1,2})\.?[ \t]{1,8}(?=[^\W\d_])")
_ABBREVIATED = {"figure": "fig"}
_REFERENCES = re.compile(
    r"\W{0,9}(?:\d{1,2}\W{1,3})?(?:references|bibliography|works cited|literature)\W{0,3}$", re.IGNORECASE
)
_REFERENCE = re.compile(r"^[ \t]*(?:\[(?P<a>\d{1,3})\]|(?P<b>\d{1,3})\.)[ \t]+(?=\S)", re.MULTILINE)
_DEFINED = re.compile(
    r"[“\"](?P<term>[^”\"\n]{2,80})[”\"][,\s]{1,3}(?:(?:shall|will) )?"
    r"(?:means?|has the meaning|is defined as|refers to)\b"
    r"|\((?:the |each,? an? |collectively,? (?:the )?)?[“\"](?P<short>[^”\"\n]{2,80})[”\"]\)"
)
_DEADLINE = re.compile(
    r"\b(?:within|no later than|not later than|at the latest|until|by|before|prior to|after|notice of)\b"
    r"[^.;\n]{0,60}?\b(?:hours?|days?|weeks?|months?|years?)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Found:
    """``sure``: how complete it is, as far as labels or words tell; None where no form tells surely."""

    places: tuple[Place, ...]
    sure: float | None = None


Pages = Sequence[tuple[str, Page]]
"""The documents' ids with their pages, in order."""


def find_all(noun: str, pages: Pages) -> Found | None:
    """All that the noun names; None where nothing has its form, and it has none of its own."""
    kind = stem(noun)
    labelled = _labelled(noun, pages)
    if not labelled and kind in map(stem, _NUMBERED):
        labelled = _numbered_headings(pages)
    own = {stem(name): find for name, find in _OWN_FORMS.items()}.get(kind)
    if labelled:
        return Found(tuple(labelled.values())[:MOST_PLACES], _complete(labelled))
    if own is _each:
        return Found(tuple(_each(pages)), len(pages) / (len(pages) + 1))
    return Found(tuple(own(pages))[:MOST_PLACES]) if own else None


def find_mentions(term: str, pages: Pages) -> Found:
    """Every place where the words stand so, in any case."""
    said = r"\s+".join(map(re.escape, term.split()))
    pattern = re.compile(rf"(?<!\w){said}(?!\w)", re.IGNORECASE)
    places = (
        _place(of, page, match.start(), match.end()) for of, page in pages for match in pattern.finditer(page.text)
    )
    return Found(tuple(places)[:MOST_PLACES], len(pages) / (len(pages) + 1))


def _labelled(noun: str, pages: Pages) -> dict[tuple[str, str], Place]:
    """The captions by document and label, in the order of their pages; those of a list of them where no other is."""
    name = _singular(noun)
    names = "|".join(filter(None, [re.escape(name), _ABBREVIATED.get(name.lower(), "")]))
    pattern = re.compile(rf"^[ \t]*(?P<all>(?i:{names})\.?[ \t]{{1,3}}{_LABEL}(?!\w))", re.MULTILINE)
    found: dict[tuple[str, str], Place] = {}
    listed: dict[tuple[str, str], Place] = {}
    for of, page in pages:
        for match in pattern.finditer(page.text):
            if not match["all"][0].isupper() or not _CAPTION_GOES_ON.match(page.text, match.end()):
                continue
            place = _line(of, page, match.start("all"))
            where = listed if _LEADER.search(_whole_line(page, match.start())) else found
            where.setdefault((of, match["label"]), place)
    every = {**{key: place for key, place in listed.items() if key not in found}, **found}
    order = {of: at for at, of in enumerate(dict.fromkeys(of for of, _ in pages))}
    return dict(sorted(every.items(), key=lambda pair: (order[pair[0][0]], pair[1].page_index, pair[1].start)))


def _numbered_headings(pages: Pages) -> dict[tuple[str, str], Place]:
    """The headings that begin with a number of one level, each number once."""
    found: dict[tuple[str, str], Place] = {}
    for of, page in pages:
        for block in page.blocks:
            start = block.end - len(page.text[block.start : block.end].lstrip())
            match = _NUMBER.match(page.text, start, block.end) if block.kind is BlockKind.HEADING else None
            if match and not _LEADER.search(_whole_line(page, block.start)):
                found.setdefault((of, match["label"]), _line(of, page, match.start("label")))
    return found


def _complete(labelled: Iterable[tuple[str, str]]) -> float | None:
    """How many of the plain numbers up to the one behind the highest were found, at the least of all documents.

    That nothing comes behind the highest, the rule of succession says: surer the more there are.
    """
    by_document: dict[str, set[int]] = {}
    for of, label in labelled:
        if label.isdecimal():
            by_document.setdefault(of, set()).add(int(label))
    shares = [len(numbers) / (max(numbers) + 1) for numbers in by_document.values()]
    return min(shares, default=None)


def _singular(noun: str) -> str:
    lower = noun.lower()
    if lower.endswith("ies"):
        return f"{noun[:-3]}y"
    return noun[:-2] if lower.endswith(("xes", "ches", "sses")) else noun[:-1] if lower.endswith("s") else noun


def _headings(pages: Pages) -> Iterator[Place]:
    """Every heading but those that run over pages."""
    said: dict[tuple[str, str], int] = {}
    for of, page in pages:
        for block in page.blocks:
            text = page.text[block.start : block.end].strip()
            if block.kind is BlockKind.HEADING and text and (of, text) not in said:
                said[of, text] = page.page_index
                yield _line(of, page, block.start)


def _tables(pages: Pages) -> Iterator[Place]:
    for of in dict.fromkeys(of for of, _ in pages):
        own = {page.page_index: page for other, page in pages if other == of}
        for table in find_tables(of, own.values()):
            cells = [cell for cell in table.cells if cell.end > cell.start]
            if not table.continued and cells:
                yield _line(of, own[table.page_index], min(cell.start for cell in cells))


def _each(pages: Pages) -> Iterator[Place]:
    return (_line(of, page, 0) for of, page in pages)


def _references(pages: Pages) -> Iterator[Place]:
    """The numbered entries behind the heading, as long as their numbers run on."""
    for of in dict.fromkeys(of for of, _ in pages):
        last: int | None = None
        for page in (page for other, page in pages if other == of):
            start = 0
            if last is None:
                begins = [b.end for b in page.blocks if _REFERENCES.match(page.text[b.start : b.end].strip())]
                if not begins:
                    continue
                last, start = 0, begins[0]
            for match in _REFERENCE.finditer(page.text, start):
                if int(match["a"] or match["b"]) == last + 1:
                    last += 1
                    yield _line(of, page, match.start() + len(match.group()) - len(match.group().lstrip()))


def _of_kind(kind: str) -> Callable[[Pages], Iterator[Place]]:
    def find(pages: Pages) -> Iterator[Place]:
        seen = set()
        for of, page in pages:
            for quantity in quantities(page.text):
                whole = kind != "date" or (quantity.date[0] and quantity.date[1])
                value = quantity.date if kind == "date" else (quantity.value, quantity.unit)
                if quantity.kind == kind and whole and value not in seen:
                    seen.add(value)
                    text = page.text[quantity.start : quantity.end]
                    start = quantity.start + len(text) - len(text.lstrip())
                    yield _place(of, page, start, start + len(text.strip()))

    return find


def _definitions(pages: Pages) -> Iterator[Place]:
    seen = set()
    for of, page in pages:
        for match in _DEFINED.finditer(page.text):
            term = (match["term"] or match["short"]).strip()
            if term not in seen:
                seen.add(term)
                yield _place(of, page, *match.span("term" if match["term"] else "short"))


def _deadlines(pages: Pages) -> Iterator[Place]:
    for of, page in pages:
        for span in split_sentences(page.text):
            text = page.text[span.start : span.end]
            if _DEADLINE.search(text) and (any(map(str.isdigit, text)) or any(q.step for q in quantities(text))):
                yield _place(of, page, span.start, span.end)


_OWN_FORMS: dict[str, Callable[[Pages], Iterator[Place]]] = {
    "page": _each, "table": _tables, "heading": _headings, "reference": _references,
    "date": _of_kind("date"), "amount": _of_kind("money"), "sum": _of_kind("money"), "definition": _definitions,
    "term": _definitions, "deadline": _deadlines,
}  # fmt: skip


def _whole_line(page: Page, at: int) -> str:
    end = page.text.find("\n", at)
    return page.text[at : end if end >= 0 else len(page.text)]


def _line(document_id: str, page: Page, at: int) -> Place:
    """The line from a place on, as far as it is shown."""
    line = _whole_line(page, at).rstrip()
    shown = line if len(line) <= LONGEST_SHOWN else line[:LONGEST_SHOWN].rsplit(" ", 1)[0]
    return _place(document_id, page, at, at + len(shown))


def _place(document_id: str, page: Page, start: int, end: int) -> Place:
    return Place(page.text[start:end], document_id, page.page_index, page.page_label, start, end)
