"""Measure how much of the text of files in other formats than PDF is read.

DIR holds files, and for each a text file with the words that it shows: NAME.words.txt for NAME, or STEM.words.txt for
all with this stem. The figures are the shares of these words that are read, counted as often as they are there.
"""

import argparse
import tempfile
import time
from collections import Counter, defaultdict
from contextlib import closing
from pathlib import Path
from typing import Any

from pincite.core.documents.reader import ProcessReader
from pincite.core.domain.documents import ENDINGS
from pincite.core.domain.errors import DocumentError
from pincite.core.domain.settings import Settings


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directory", type=Path, metavar="DIR", help="a folder with files and their words")


def run(options: argparse.Namespace) -> dict[str, Any]:
    recalls, worst, seconds = defaultdict[str, list[float]](list), list[str](), list[float]()
    with tempfile.TemporaryDirectory(prefix="pincite-formats-") as scratch:
        settings = Settings(data_dir=Path(scratch))
        with closing(ProcessReader(settings)) as reader:
            for file in sorted(options.directory.rglob("*")):
                words = next(filter(Path.exists, _words_of(file)), None)
                if words is None or not file.name.casefold().endswith(ENDINGS) or file.name.endswith(".words.txt"):
                    continue
                begun = time.perf_counter()
                wanted = Counter(_tokens(words.read_text(encoding="utf-8")))
                read = Counter(_read(reader, file, scratch))
                seconds.append(time.perf_counter() - begun)
                recall = (wanted & read).total() / max(wanted.total(), 1)
                recalls[file.suffix.casefold()].append(recall)
                if recall < 1:
                    worst.append(f"{file.name} {recall:.3f}: {' '.join(list((wanted - read).elements())[:8])}")
    return {
        "files": {ending: len(found) for ending, found in recalls.items()},
        "recall": {ending: sum(found) / len(found) for ending, found in recalls.items()},
        "least": {ending: min(found) for ending, found in recalls.items()},
        "max_s": max(seconds, default=0.0),
        "incomplete": worst,
    }


def _words_of(file: Path) -> list[Path]:
    return [file.with_name(f"{file.name}.words.txt"), file.with_name(f"{file.stem}.words.txt")]


def _tokens(text: str) -> list[str]:
    return [token for token in text.split() if any(map(str.isalnum, token))]


def _read(reader: ProcessReader, file: Path, scratch: str) -> list[str]:
    target = Path(scratch) / "read.pdf"
    try:
        if file.suffix.casefold() == ".pdf":
            target = file
        else:
            reader.save_as_pdf(file, "", target)
        indexes = range(reader.open(target).page_count)
        pages = list(reader.read(target, indexes))
        unread = [page.page_index for page in pages if not page.text.strip()]
        pages += list(reader.recognise(target, unread)) if unread else []
        return [token for page in pages for token in _tokens(page.text)]
    except DocumentError as error:
        print(f"{file.name}: {error}")
        return []
