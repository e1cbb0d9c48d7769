"""Measure whether quotations are verified rightly: true, changed in a word, on another page, and of another document.

DIR/pdfs holds PDFs; every second one is added to a library of its own, and quotations are sentences that are on one
page of them only, or of the PDFs that were left out.
"""

import argparse
import random
import re
import statistics
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from pincite.core.domain.documents import Document
from pincite.core.domain.settings import Settings
from pincite.core.services.bootstrap import Pincite, open_pincite
from pincite.core.services.verification import QuoteCheck, QuoteStatus
from pincite.core.text.plain import flat
from pincite.core.text.sentences import split_sentences

MIN_LENGTH, MAX_LENGTH = 50, 300
"""Characters of a quotation."""
MIN_WORDS = 8
_WORD = re.compile(r"[^\W\d_]{3,}")
KINDS = ("true", "changed", "other page", "not in the library")
Place = tuple[Document, int, str]
"""A document, a page, and a sentence that is on this page only."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directory", type=Path, metavar="DIR", help="a folder with the folder pdfs")
    parser.add_argument("--files", type=int, default=30, help="number of PDFs (default 30)")
    parser.add_argument("--quotations", type=int, default=500, help="number of quotations (default 500)")
    parser.add_argument("--seed", type=int, default=1)


def run(options: argparse.Namespace) -> dict[str, Any]:
    chosen = random.Random(options.seed)
    files = sorted((options.directory / "pdfs").glob("*.pdf"))
    files = chosen.sample(files, min(options.files, len(files)))
    with tempfile.TemporaryDirectory(prefix="pincite-quotes-") as scratch:
        inside, outside = (_sentences(Path(scratch) / name, files[at::2]) for at, name in enumerate(("in", "out")))
        with closing(open_pincite(Settings(data_dir=Path(scratch) / "in", engine="quoting"))) as app:
            return _measured(app, inside, outside, options.quotations, chosen)


def _sentences(data: Path, files: list[Path]) -> list[Place]:
    """Read the files into a library and return their quotable sentences."""
    with closing(open_pincite(Settings(data_dir=data, engine="quoting", ocr=False))) as app:
        for file in files:
            app.ingest.add(file, file.name)
        app.ingest.wait(timeout_seconds=3600)
        found, pages = list[Place](), list[str]()
        for document in app.library.list():
            for at in range(document.page_count):
                text = app.library.page_text(document.id, at)
                pages.append(flat(text))
                spans = (flat(text[span.start : span.end]) for span in split_sentences(text))
                found += [(document, at, one) for one in spans if _is_quotable(one)]
        whole = "\n".join(pages)
        return [place for place in found if whole.count(place[2]) == 1]


def _is_quotable(sentence: str) -> bool:
    return MIN_LENGTH <= len(sentence) <= MAX_LENGTH and len(_WORD.findall(sentence)) >= MIN_WORDS


def _measured(
    app: Pincite, inside: list[Place], outside: list[Place], quotations: int, chosen: random.Random
) -> dict[str, Any]:
    documents, words = app.library.list(), sorted({word for _, _, text in inside for word in _WORD.findall(text)})
    right, wrong, seconds = dict.fromkeys(KINDS, 0), list[str](), list[float]()
    each = quotations // len(KINDS)
    for kind in KINDS:
        for document, at, text in chosen.sample(outside if kind == KINDS[-1] else inside, each):
            named, quoted, word = None, text, ""
            if kind == "changed":
                match = chosen.choice(list(_WORD.finditer(text)))
                word = chosen.choice([one for one in words if one != match[0]])
                quoted = f"{text[: match.start()]}{word}{text[match.end() :]}"
            elif kind == "other page":
                named = (at + 1) % document.page_count if document.page_count > 1 else 1
            begun = time.perf_counter()
            searched = [document] if named is not None else documents
            check = app.verification.quotation(quoted, searched, named)
            seconds.append(time.perf_counter() - begun)
            if _is_right(kind, check, document, at, word):
                right[kind] += 1
            else:
                wrong.append(f"{kind}: {check.status} {quoted}")
    return {
        "documents": len(documents),
        "pages": sum(document.page_count for document in documents),
        "quotations": each * len(KINDS),
        "right": {kind: count / each for kind, count in right.items()},
        "p50_ms": round(1000 * statistics.median(seconds), 1),
        "max_ms": round(1000 * max(seconds), 1),
        "wrong": wrong,
    }


def _is_right(kind: str, check: QuoteCheck, document: Document, page_index: int, word: str) -> bool:
    places = [(place.document_id, place.page_index) for place in check.places]
    if kind == "not in the library":
        return check.status is QuoteStatus.NOT_FOUND
    status = QuoteStatus.VERIFIED if kind == "true" else QuoteStatus.PARTIAL
    names_change = not word or any(word in one.quotation for one in check.differences)
    return check.status is status and places == [(document.id, page_index)] and names_change
