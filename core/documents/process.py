"""The reading process: takes requests on its standard input, answers on its standard output, dies alone.

Started by reader. It watches its own memory and its parent, since a parser that hangs or swells watches nothing.
"""

import gc
import os
import pickle
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import astuple
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from pincite.core.domain.documents import Page
from pincite.core.domain.errors import DocumentError
from pincite.core.domain.page_layout import PackedWords, plain_block

if TYPE_CHECKING:
    from pincite.core.documents.formats.pdf.reading import OpenPdf

OVER_MEMORY = 77
"""The exit status of a reader that went over its memory limit."""

_WATCH_SECONDS = 0.1
_FEW_COLLECTIONS = (50_000, 20, 20)
"""A page makes thousands of values and hardly a cycle; looking for cycles every 700 values costs a twentieth."""
_STEPS_BACK = 10
_MAX_DEPTH = 8_000
"""Calls within each other: elements of a web page are."""
_STATM = Path("/proc/self/statm")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096

Message = tuple[Any, ...]


def main() -> None:
    channel = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a library prints must not reach the channel
    memory_mib = int(sys.argv[-1])
    _limit_memory(memory_mib)
    gc.set_threshold(*_FEW_COLLECTIONS)
    sys.setrecursionlimit(_MAX_DEPTH)
    threading.Thread(target=_watch, args=(memory_mib, os.getppid()), daemon=True).start()
    serve(sys.stdin.buffer, channel)


def serve(requests: BinaryIO, channel: BinaryIO) -> None:
    """Answer requests until there are no more. The last document stays open: requests about one follow each other."""
    # The parsers: not for the application, which imports this module too.
    from pincite.core.documents.formats import save_as_pdf
    from pincite.core.documents.formats.pdf.reading import OpenPdf

    def send(*message: Any) -> None:
        channel.write(pickle.dumps(message, protocol=5))
        channel.flush()

    send("ready")
    at_start = _resident_mib()
    document: OpenPdf | None = None
    identity: tuple[Any, ...] = ()
    while True:
        try:
            request = pickle.load(requests)
        except EOFError:
            return
        path: Path = request["path"]
        try:
            if request["do"] == "save_as_pdf":
                attached = save_as_pdf(path, request["name"], request["password"], request["target"])
                send("attached", attached)
            else:
                if document is None or identity != _identity(path):
                    if document is not None:
                        document.close()
                    document, identity = None, _identity(path)
                    document = OpenPdf(path, lambda page_index, what: send(what, page_index))
                for message in _answer(request, document):
                    send(*message)
            send("done", _resident_mib() - at_start)
        except DocumentError as error:
            send("refused", type(error).__name__, error.message, error.hint)


def _identity(path: Path) -> tuple[Any, ...]:
    status = path.stat()
    return (path, status.st_ino, status.st_size, status.st_mtime_ns)


def _answer(request: Mapping[str, Any], document: "OpenPdf") -> Iterator[Message]:
    """Yield plain values only (strings, numbers, bytes): the application trusts no other values from here."""
    from pincite.core.documents.formats.own_text import attached

    work = request["do"]
    if work == "open":
        info = document.describe()
        outline = [astuple(entry) for entry in info.outline]
        yield ("info", (info.page_count, outline, dict(info.fields), info.notes))
    elif work == "read":
        for page_index in request["page_indexes"]:
            yield ("page", _plain(document.page(page_index, request["stopped"])))
    elif work == "recognise":
        if hasattr(os, "nice"):
            os.nice(_STEPS_BACK)  # as far as embedding does: a hundred scans must not keep other documents from it
        for page_index in request["page_indexes"]:
            yield ("working", page_index)
            yield ("page", _plain(document.recognise(page_index, request["stopped"])))
    elif work == "render":
        yield ("image", document.image(request["page_index"], request["width"]))
    elif work == "own_text":
        yield ("own_text", attached(request["path"]))
    elif work == "lines":
        yield ("lines", document.lines(request["page_index"], request["boxes"]))


def _plain(page: Page) -> tuple[Any, ...]:
    words = PackedWords.of(page.words)
    layout = (words.packed_spans, words.packed_boxes, list(map(plain_block, page.blocks)))
    hidden = [(item.text, astuple(item.box), item.reason.value) for item in page.hidden]
    head = (page.page_index, page.page_label, page.text)
    illustrations = list(map(astuple, page.illustrations))
    return (*head, *layout, page.status.value, str(page.reason), page.seconds, hidden, illustrations)


def _limit_memory(memory_mib: int) -> None:
    """Set a hard stop above the watched limit, for what swells faster than the watch looks."""
    try:
        import resource
    except ImportError:  # Windows has no such limits; the watch and the parent's clock remain
        return
    ceiling = (2 * memory_mib + 2048) * 1024 * 1024
    resource.setrlimit(resource.RLIMIT_AS, (ceiling, ceiling))


def _watch(memory_mib: int, parent: int) -> None:
    """End the process once it is over its memory limit or its parent is gone."""
    while os.getppid() == parent:
        if _resident_mib() > memory_mib:
            os._exit(OVER_MEMORY)
        time.sleep(_WATCH_SECONDS)
    os._exit(0)


def _resident_mib() -> float:
    """Return the memory in use now where the system reports it, else the maximum so far."""
    if _STATM.exists():
        return int(_STATM.read_text().split()[1]) * _PAGE_BYTES / 1024 / 1024
    try:
        import resource
    except ImportError:
        return 0.0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024 / 1024
