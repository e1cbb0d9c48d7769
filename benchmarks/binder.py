"""Measure whether binders of real pages verify, and whether every change is detected.

Stretches of the pages of a folder's PDFs are cited and bound. Each binder is proved unchanged, then changed once in
many ways, sealed again where an attacker could do so, and proved again with the same sources.
"""

import argparse
import io
import json
import random
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pypdf import PdfReader, PdfWriter
from pypdf.generic import ArrayObject, FloatObject, NameObject
from pypdfium2 import PdfDocument

from pincite.core.documents.reader import ProcessReader
from pincite.core.domain.documents import Page, PageStatus
from pincite.core.domain.errors import DocumentError
from pincite.core.domain.ports import PageReader, PdfInfo
from pincite.core.domain.settings import Settings
from pincite.core.domain.turns import now
from pincite.core.export.binder import MANIFEST, SEAL, bind, sealed
from pincite.core.export.manifest import (
    Exhibit,
    Exhibits,
    Manifest,
    PinCite,
    SourceFile,
    ToldAnswer,
    ToldClaim,
    ToldPart,
    from_manifest,
)
from pincite.core.export.proof import prove
from pincite.core.store.library import sha256_of

MIN_LENGTH, MAX_LENGTH = 30, 300
MIN_TEXT, CITED_OF_A_PAGE = 200, 3
SCANNED = 10
"""Pages without a text layer that are recognised and cited, at most: each takes seconds."""


@dataclass(frozen=True, slots=True)
class Bound:
    content: bytes
    sources: tuple[Path, ...]
    citations: int


Change = Callable[[Bound, random.Random], tuple[bytes, Sequence[Path]]]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directory", type=Path, help="a folder; the PDFs below it are cited")
    parser.add_argument("--citations", type=int, default=500, help="stretches that are cited (default 500)")
    parser.add_argument("--binders", type=int, default=200, help="binders that hold them (default 200)")
    parser.add_argument("--mutations", type=int, default=1000, help="single changes (default 1000)")


class Remembering:
    """Reads each page of a file once, whatever its name; what is proved is proved with the same eyes."""

    def __init__(self, reader: ProcessReader) -> None:
        self._reader = reader
        self._pages: dict[tuple[str, str, int], Page] = {}

    def open(self, path: Path) -> PdfInfo:
        return self._reader.open(path)

    def render(self, path: Path, page_index: int, *, width: int) -> bytes:
        return self._reader.render(path, page_index, width=width)

    def lines(self, path: Path, page_index: int, boxes: Sequence[Sequence[float]]) -> list[str]:
        return self._reader.lines(path, page_index, boxes)

    def own_text(self, path: Path) -> list[str]:
        return self._reader.own_text(path)

    def save_as_pdf(self, path: Path, password: str, target: Path, name: str = "") -> list[tuple[str, bytes]]:
        return self._reader.save_as_pdf(path, password, target, name)

    def close(self) -> None:
        self._reader.close()

    def read(self, path: Path, page_indexes: Sequence[int]) -> Iterator[Page]:
        return self._remembered("read", path, page_indexes)

    def recognise(self, path: Path, page_indexes: Sequence[int]) -> Iterator[Page]:
        return self._remembered("recognise", path, page_indexes)

    def _remembered(self, how: str, path: Path, page_indexes: Sequence[int]) -> Iterator[Page]:
        digest = sha256_of(path)
        for index in page_indexes:
            key = (how, digest, index)
            if key not in self._pages:
                self._pages[key] = next(iter(getattr(self._reader, how)(path, [index])))
            yield self._pages[key]


def run(options: argparse.Namespace) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="pincite-binder-") as folder:
        scratch = Path(folder)
        reader = ProcessReader(Settings(data_dir=scratch, page_seconds=60))
        try:
            return _measured(options, Remembering(reader), scratch)
        finally:
            reader.close()


def _measured(options: argparse.Namespace, reader: PageReader, scratch: Path) -> dict[str, Any]:
    chance = random.Random(1)
    pages = list(_pages(sorted(options.directory.rglob("*.pdf")), reader, options.citations, chance))
    if not pages:
        raise DocumentError(f"No PDF below {options.directory} can be cited.", hint="Give a folder that holds PDFs.")
    chance.shuffle(pages)
    cited = [(path, page, *_stretch(page, chance)) for path, page in _again(pages, options.citations)]
    bounds = [_bound(cited[at :: options.binders]) for at in range(min(options.binders, len(cited)))]
    with_text, found, alarms, unknown = 0, 0, list[str](), list[str]()
    for bound in bounds:
        file = _file(scratch, bound.content)
        seen = list(_found(file))
        with_text, found = with_text + len(seen), found + sum(seen)
        findings = list(prove(file, bound.sources, reader))
        alarms += [one.sentence for one in findings if one.holds is False]
        unknown += [one.sentence for one in findings if one.holds is None]
    missed = Counter[str]()
    for number in range(options.mutations):
        name, change = CHANGES[number % len(CHANGES)]
        content, sources = change(bounds[number % len(bounds)], chance)
        missed[name] += not _caught(_file(scratch, content), sources, reader)
    return {
        "pdfs": len({path for path, *_ in cited}),
        "citations": len(cited),
        "with_text": with_text,
        "found": found,
        "binders": len(bounds),
        "false_alarms": len(alarms),
        "alarms": alarms[:10],
        "unknown": unknown[:10],
        "mutations": options.mutations,
        "caught": options.mutations - missed.total(),
        "missed": {name: count for name, count in missed.items() if count},
    }


def _pages(
    files: Sequence[Path], reader: PageReader, wanted: int, chance: random.Random
) -> Iterator[tuple[Path, Page]]:
    """Pages with text, a few of each document; some that are recognised."""
    each, scanned = max(wanted // max(CITED_OF_A_PAGE * len(files), 1), 1), 0
    for path in files:
        try:
            count = reader.open(path).page_count
        except DocumentError:
            continue
        for page in reader.read(path, sorted(chance.sample(range(count), min(each, count)))):
            if page.status is PageStatus.EMPTY and scanned < SCANNED:
                scanned += 1
                page = next(iter(reader.recognise(path, [page.page_index])))
            if page.status in (PageStatus.TEXT, PageStatus.OCR) and len(page.text) >= MIN_TEXT and page.words:
                yield path, page


def _again(pages: Sequence[tuple[Path, Page]], wanted: int) -> list[tuple[Path, Page]]:
    return [pages[at % len(pages)] for at in range(wanted)]


def _stretch(page: Page, chance: random.Random) -> tuple[int, int]:
    """From the beginning of a word to the end of one."""
    first = chance.randrange(len(page.words))
    start, most = page.words[first].start, chance.randint(MIN_LENGTH, MAX_LENGTH)
    return start, max(word.end for word in page.words[first:] if word.end <= max(start + most, page.words[first].end))


def _bound(cited: Sequence[tuple[Path, Page, int, int]]) -> Bound:
    digests = {path: sha256_of(path) for path, *_ in cited}
    exhibits: Exhibits = {
        (digests[path], page.page_index): Exhibit(path.name, None, path, page) for path, page, *_ in cited
    }
    places = tuple(
        PinCite(number, SourceFile(path.name, digests[path]), page.page_index, page.page_label, start, end,
                page.text[start:end])
        for number, (path, page, start, end) in enumerate(cited, start=1)
    )  # fmt: skip
    quoted = (ToldPart(one.quotation, "verbatim", (one.number,)) for one in places)
    answer = ToldAnswer(
        question="What do these pages say?",
        asked_at=now(),
        engine="quoting",
        status="answered",
        finding="Claims: all supported. Not reviewed by a person.",
        parts=(ToldPart("They say:\n", "prose"), *quoted),
        citations=places,
        claims=tuple(ToldClaim(one.quotation, "supported", "it stands there") for one in places),
        confidence=0.9,
    )
    content = bind(Manifest(now(), {"pincite": "1"}, "plain", (answer,)), exhibits)
    return Bound(content, tuple(digests), len(places))


def _found(file: Path) -> Iterator[bool]:
    """Yield for each citation with text on its page whether pdfium has its letters and digits under a highlight.

    Their order is ignored, because a table or a map can be read in more than one order.
    """
    reader, document = PdfReader(file), PdfDocument(file)
    for place in from_manifest(reader.attachments[MANIFEST][0]).answers[0].citations:
        if place.binder_page_index is None:
            continue
        text = document[place.binder_page_index].get_textpage()
        notes = [note.get_object() for note in reader.pages[place.binder_page_index].get("/Annots", ())]
        under = [_under(text, note["/QuadPoints"]) for note in notes if note.get("/Subtype") == "/Highlight"]
        if any(under):
            wanted = _letters(place.quotation)
            yield any(wanted <= held for held in under)


def _under(text: Any, quads: Sequence[Any]) -> Counter[str]:
    corners = [float(value) for value in quads]
    lines = [corners[at : at + 8] for at in range(0, len(corners), 8)]
    edges = [(min(line[::2]), min(line[1::2]), max(line[::2]), max(line[1::2])) for line in lines]
    return _letters("".join(text.get_text_bounded(*edge) for edge in edges))


def _letters(text: str) -> Counter[str]:
    return Counter(character for character in text.casefold() if character.isalnum())


def _caught(file: Path, sources: Sequence[Path], reader: PageReader) -> bool:
    try:
        return any(one.holds is False for one in prove(file, sources, reader))
    except DocumentError:
        return True


def _file(scratch: Path, content: bytes) -> Path:
    file = scratch / "binder.pdf"
    file.write_bytes(content)
    return file


def _byte(bound: Bound, chance: random.Random) -> tuple[bytes, Sequence[Path]]:
    return _flipped(bound.content, chance), bound.sources


def _flipped(content: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(content))
    return content[:at] + bytes([content[at] ^ chance.randrange(1, 256)]) + content[at + 1 :]


def _source_byte(bound: Bound, chance: random.Random) -> tuple[bytes, Sequence[Path]]:
    changed = Path(tempfile.gettempdir()) / "pincite-binder-source.pdf"
    changed.write_bytes(_flipped(bound.sources[0].read_bytes(), chance))
    return bound.content, (changed, *bound.sources[1:])


def _manifest_change(change: Callable[[dict[str, Any], random.Random], None]) -> Change:
    """Return a change of the manifest that is sealed again."""

    def changed(bound: Bound, chance: random.Random) -> tuple[bytes, Sequence[Path]]:
        manifest = json.loads(PdfReader(io.BytesIO(bound.content)).attachments[MANIFEST][0])
        change(manifest["answers"][0], chance)
        return _resealed(bound.content, manifest=manifest), bound.sources

    return changed


def _one_character(text: str, chance: random.Random) -> str:
    at = chance.choice([at for at, character in enumerate(text) if character.isalnum()] or [0])
    other = "7" if text[at : at + 1] != "7" else "3"
    return text[:at] + other + text[at + 1 :]


def _quotation(answer: dict[str, Any], chance: random.Random) -> None:
    quote = chance.choice(answer["citations"])["annotation"]["target"]["selector"]["refinedBy"][0]
    quote["exact"] = _one_character(quote["exact"], chance)


def _claim(answer: dict[str, Any], chance: random.Random) -> None:
    claim = chance.choice(answer["claims"])
    claim["text"] = _one_character(claim["text"], chance)


def _part(answer: dict[str, Any], chance: random.Random) -> None:
    part = chance.choice(answer["parts"])
    part["text"] = _one_character(part["text"], chance)


def _finding(answer: dict[str, Any], chance: random.Random) -> None:
    answer["finding"] = "Reviewed and approved by local on 2026-01-01."


def _page(answer: dict[str, Any], chance: random.Random) -> None:
    selector = chance.choice(answer["citations"])["annotation"]["target"]["selector"]
    selector["value"] = f"page={int(selector['value'].removeprefix('page=')) + 1}"


def _digest(answer: dict[str, Any], chance: random.Random) -> None:
    source = chance.choice(answer["citations"])["annotation"]["target"]["source"]
    at = len(source["id"]) - chance.randint(2, 40)
    source["id"] = source["id"][:at] + ("A" if source["id"][at] != "A" else "B") + source["id"][at + 1 :]


def _swapped(bound: Bound, chance: random.Random) -> tuple[bytes, Sequence[Path]]:
    """Swap the last page with the one before it."""
    pages = list(range(len(PdfReader(io.BytesIO(bound.content)).pages)))
    pages[-1], pages[-2] = pages[-2], pages[-1]
    return _resealed(bound.content, pages=pages), bound.sources


def _moved_mark(bound: Bound, chance: random.Random) -> tuple[bytes, Sequence[Path]]:
    """Move a highlight to an empty place."""
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(bound.content)))
    notes = [note.get_object() for page in writer.pages for note in page.get("/Annots", ())]
    marks = [note for note in notes if note.get("/Subtype") == "/Highlight"]
    chosen = chance.choice(marks)
    moved = ArrayObject(FloatObject(-2000 + float(value)) for value in chosen["/QuadPoints"])
    same = [mark for mark in marks if mark["/QuadPoints"] == chosen["/QuadPoints"]]
    for mark in same:
        mark[NameObject("/QuadPoints")] = moved
    return _written(writer), bound.sources


def _resealed(content: bytes, *, manifest: Any = None, pages: Sequence[int] | None = None) -> bytes:
    reader, writer = PdfReader(io.BytesIO(content)), PdfWriter()
    for at in range(len(reader.pages)) if pages is None else pages:
        writer.add_page(reader.pages[at])
    attached = reader.attachments[MANIFEST][0] if manifest is None else json.dumps(manifest).encode()
    writer.add_attachment(MANIFEST, attached)
    return _written(writer)


def _written(writer: PdfWriter) -> bytes:
    out = io.BytesIO()
    writer.write(out)
    return sealed(out.getvalue().rpartition(SEAL)[0] or out.getvalue())


CHANGES: tuple[tuple[str, Change], ...] = (
    ("a byte of the binder", _byte),
    ("a character of a quotation", _manifest_change(_quotation)),
    ("a character of a claim", _manifest_change(_claim)),
    ("a character of the answer", _manifest_change(_part)),
    ("the finding", _manifest_change(_finding)),
    ("the page of a citation", _manifest_change(_page)),
    ("the hash of a source", _manifest_change(_digest)),
    ("two pages swapped", _swapped),
    ("a mark moved", _moved_mark),
    ("a byte of a source", _source_byte),
)
