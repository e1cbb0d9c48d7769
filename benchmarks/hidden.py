"""Measure whether text that no reader sees is extracted, on newly made attacks and honest PDFs, and a folder's PDFs.

Extracted text can be quoted; a word that is in no page's text cannot.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from pincite.core.documents.read_back import read_back
from pincite.core.documents.reader import ProcessReader
from pincite.core.domain.answers import Likeness
from pincite.core.domain.documents import Page, hidden_summary
from pincite.core.domain.errors import DocumentError
from pincite.core.domain.settings import Settings
from tests.support.hidden_pdfs import HONEST, Made, attacks, changed_maps, honest
from tests.support.hidden_words import honest_words, word_attacks


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directory", type=Path, help="a folder; every PDF below it is looked through")
    parser.add_argument("--attacks", type=int, default=230, help="files that hide words (default 230)")
    parser.add_argument("--honest", type=int, default=204, help="files that do not (default 204)")
    parser.add_argument("--maps", type=int, default=100, help="files whose character map is changed (default 100)")
    parser.add_argument("--words", type=int, default=64, help="Word files that hide words, and so many that do not")
    parser.add_argument("--pages", type=int, default=20, help="pages of each PDF of the folder (default 20)")


def run(options: argparse.Namespace) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="pincite-hidden-") as scratch:
        settings = Settings(data_dir=Path(scratch) / "data", page_seconds=60)
        reader = ProcessReader(settings)
        try:
            return _measured(options, reader, Path(scratch) / "made.pdf")
        finally:
            reader.close()


def _measured(options: argparse.Namespace, reader: ProcessReader, path: Path) -> dict[str, Any]:
    hostile, plain = list(attacks(options.attacks)), list(honest(options.honest))
    times: list[float] = []
    passed = [made.kind for made in hostile if _passes(reader, path, made, times)]
    flagged, agree = [], []
    for made in plain:
        page = _read(reader, path, made)
        if _wrong(made, page):
            flagged.append(made.kind)
        if made.text in page.text:
            agree.append(_looked_at(reader, path, page, made, times))
    maps = [_passes(reader, path, made, times) for made in changed_maps(options.maps)]
    return {
        "attacks": len(hostile),
        "mechanisms": len({made.kind for made in hostile}),
        "quoted_unflagged": len(passed),
        "missed": sorted(set(passed)),
        "read_back_p50_ms": round(1000 * statistics.median(times or [0.0]), 1),
        "read_back": {kind.value: agree.count(kind) for kind in Likeness},
        "read_back_agree": round(agree.count(Likeness.AGREES) / max(len(agree), 1), 4),
        "changed_maps": len(maps),
        "read_back_caught": round(1 - sum(maps) / max(len(maps), 1), 4),
        "honest": len(plain),
        "honest_kinds": len(HONEST),
        "false_flags": len(flagged) / max(len(plain), 1),
        "flagged": sorted(set(flagged)),
        **_of_words(reader, path.with_suffix(".docx"), options.words),
        "folder": _folder(reader, sorted(options.directory.rglob("*.pdf")), options.pages),
    }


def _of_words(reader: ProcessReader, path: Path, number: int) -> dict[str, Any]:
    """Word files: how many hidden sentences are read as text, and how many honest ones are not, or count as hidden."""
    hostile, plain = list(word_attacks(number)), list(honest_words(number))
    quoted = [made.kind for made in hostile if made.text in _set(reader, path, made).text]
    flagged = [made.kind for made in plain if _wrong(made, _set(reader, path, made))]
    return {
        "word_attacks": len(hostile),
        "word_ways": len({made.kind for made in hostile}),
        "word_quoted": len(quoted),
        "word_missed": sorted(set(quoted)),
        "word_false_flags": len(flagged) / max(len(plain), 1),
        "word_flagged": sorted(set(flagged)),
    }


def _set(reader: ProcessReader, path: Path, made: Made) -> Page:
    target = path.with_suffix(".set.pdf")
    target.unlink(missing_ok=True)
    path.write_bytes(made.content)
    reader.save_as_pdf(path, "", target)
    return next(iter(reader.read(target, [0])))


def _read(reader: ProcessReader, path: Path, made: Made) -> Page:
    path.unlink(missing_ok=True)
    path.write_bytes(made.content)
    return next(iter(reader.read(path, [0])))


def _passes(reader: ProcessReader, path: Path, made: Made, times: list[float]) -> bool:
    """Return whether what is hidden is read as text, and its picture does not gainsay it."""
    page = _read(reader, path, made)
    return made.text in page.text and _looked_at(reader, path, page, made, times) is not Likeness.DIFFERS


def _looked_at(reader: ProcessReader, path: Path, page: Page, made: Made, times: list[float]) -> Likeness:
    """Read a quotation back; what that takes a line is added to the times."""
    start, asked = page.text.index(made.text), 0

    def lines(boxes: Sequence[Sequence[float]]) -> list[str]:
        nonlocal asked
        asked += len(boxes)
        return reader.lines(path, page.page_index, boxes)

    started = time.perf_counter()
    seen = read_back(page, start, start + len(made.text), lines)
    if asked:
        times.append((time.perf_counter() - started) / asked)
    return seen.likeness


def _wrong(made: Made, page: Page) -> bool:
    return bool(page.hidden) or not set(made.text.split()) <= set(page.text.split())


def _folder(reader: ProcessReader, files: Iterable[Path], most: int) -> dict[str, Any]:
    """How much is hidden in real files; each page is named, so that it can be looked at."""
    pages, seconds, found = 0, list[float](), list[str]()
    for path in files:
        started = time.perf_counter()
        try:
            count = min(reader.open(path).page_count, most)
            for page in reader.read(path, range(count)):
                pages += 1
                seconds.append(page.seconds)
                if page.hidden:
                    found.append(f"{path.name} page {page.page_index + 1}: {hidden_summary(page.hidden)}")
        except DocumentError as error:
            found.append(f"{path.name}: not read after {time.perf_counter() - started:.1f} s ({error.message})")
    return {"pages": pages, "page_p50_ms": round(1000 * statistics.median(seconds or [0.0]), 1), "found": found}
