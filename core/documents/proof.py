"""Prove an evidence binder: is it as it was made, and do its quotations stand where it says? Needs no library."""

import hashlib
import io
import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pypdf import PdfReader
from pypdf.errors import PyPdfError

from core.documents.binder import FORMAT, MANIFEST, SEAL
from core.domain.documents import Page, PageStatus
from core.domain.errors import DocumentError, PinciteError
from core.domain.ports import PageReader


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the proof; ``holds`` None: it could not be checked."""

    holds: bool | None
    sentence: str


def prove(binder: Path, sources: Sequence[Path], reader: PageReader) -> Iterator[Finding]:
    """Check seal, manifest, each quotation in the given sources (else in the binder's copy), and each mark.

    Raises DocumentError where the file is no binder.
    """
    content = binder.read_bytes()
    yield _seal(content)
    answers = _manifest(content)["answers"]
    given = {hashlib.sha256(path.read_bytes()).hexdigest(): path for path in sources}
    places = [place for answer in answers for place in answer["citations"]]
    for digest, path in given.items():
        if digest not in {place["sha256"] for place in places}:
            yield Finding(False, f"{path.name} is none of the documents that this binder cites.")
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "binder.pdf"
        copy.write_bytes(content.rpartition(SEAL)[0] or content)
        for answer in answers:
            yield from _quotes(answer)
            for place in answer["citations"]:
                yield _in_source(place, given.get(place["sha256"]), reader)
                yield _in_binder(place, copy)


def _seal(content: bytes) -> Finding:
    body, found, digest = content.rpartition(SEAL)
    whole = bool(found) and digest == hashlib.sha256(body).hexdigest().encode() + b"\n"
    return Finding(whole, "The seal holds: no byte was changed since the binder was made." if whole else
                   "The seal is broken or missing: the file was changed after it was made.")  # fmt: skip


def _manifest(content: bytes) -> Mapping[str, Any]:
    with suppress(PyPdfError, ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError):
        attached = PdfReader(io.BytesIO(content)).attachments.get(MANIFEST, [b""])[0]
        told = json.loads(attached)
        if told["format"] == FORMAT and isinstance(told["answers"], list):
            for answer in told["answers"]:
                _ = answer["question"], answer["parts"]
                for place in answer["citations"]:
                    _ = [place[name] for name in ("number", "document", "sha256", "quotation", "binder_page_index")]
                    _ = int(place["page_index"]) + int(place["start"]) + int(place["end"])
            return dict(told)
    raise DocumentError("This file is no evidence binder, or its manifest cannot be read.",
                        hint="Give a PDF that Pincite exported as a binder.")  # fmt: skip


def _quotes(answer: Mapping[str, Any]) -> Iterator[Finding]:
    """What is copied in the answer is one of its citations' quotations."""
    quotations = [_flat(place["quotation"]) for place in answer["citations"]]
    for part in answer["parts"]:
        if part["kind"] in ("headline", "verbatim") and _flat(part["text"]) not in quotations:
            yield Finding(False, f"“{_short(part['text'])}” is told as a quotation, but no citation has it.")


def _in_source(place: Mapping[str, Any], path: Path | None, reader: PageReader) -> Finding:
    what = f"[{place['number']}] “{_short(place['quotation'])}”"
    where = f"{place['document']}, page {place['page_index'] + 1}"
    if path is None:
        return Finding(None, f"{what}: {where} was not given, so it is held against the binder's copy alone.")
    text = _page(path, place["page_index"], reader).text
    if text[place["start"] : place["end"]] == place["quotation"]:
        return Finding(True, f"{what} stands word for word on {where}, whose hash is right.")
    if _flat(place["quotation"]) in _flat(text):
        return Finding(True, f"{what} stands on {where}, though not at the place that was noted; the hash is right.")
    return Finding(False, f"{what} does not stand on {where}.")


def _in_binder(place: Mapping[str, Any], copy: Path) -> Finding:
    """Whether the words under the highlight annotations of the copied page hold the quotation."""
    what = f"[{place['number']}] “{_short(place['quotation'])}”"
    position = place["binder_page_index"]
    if position is None:
        return Finding(None, f"{what}: its page is not in the binder, because the source was gone when it was made.")
    holds = any(_flat(place["quotation"]) in marked for marked in _marked(copy, int(position)))
    return Finding(holds, f"{what} is {'' if holds else 'not '}what is marked on page {position + 1} of the binder.")


def _marked(copy: Path, position: int) -> list[str]:
    """What stands under each highlight of a page, line by line."""
    from pypdfium2 import PdfDocument, PdfiumError

    marked = []
    with suppress(PyPdfError, PdfiumError, ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError):
        text = PdfDocument(copy)[position].get_textpage()
        for note in PdfReader(copy).pages[position].get("/Annots", ()):
            if note.get_object().get("/Subtype") == "/Highlight":
                corners = [float(value) for value in note.get_object()["/QuadPoints"]]
                quads = [corners[at : at + 8] for at in range(0, len(corners), 8)]
                marked.append(_flat("".join(_under(text, quad) for quad in quads)))
    return marked


def _under(text: Any, quad: Sequence[float]) -> str:
    across, up = quad[::2], quad[1::2]
    return str(text.get_text_bounded(min(across), min(up), max(across), max(up)))


def _page(path: Path, page_index: int, reader: PageReader) -> Page:
    """Empty where it cannot be read."""
    with suppress(PinciteError, OSError):
        for page in reader.read(path, [page_index]):
            return page
    return Page(page_index, "", "", (), (), PageStatus.FAILED)


def _flat(text: str) -> str:
    return "".join(text.split())


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= 80 else f"{flat[:79]}…"
