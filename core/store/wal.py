"""Whether a write-ahead log still holds every transaction that was committed to it; SQLite itself stops without a word.

The formats are SQLite's, https://www.sqlite.org/walformat.html. What is torn after the last commit is no loss.
"""

import struct
import sys
from collections.abc import Iterator
from pathlib import Path

_HEAD, _FRAME_HEAD = 32, 24
_INDEX_HEAD = 48
_MAGIC = 0x377F0682
Sums = tuple[int, int]


def lost_from_log(database: Path) -> bool:
    """Say whether committed changes are missing from the log beside a database, by the log itself or by its index.

    A log in use is read between two looks at its index: while that changes, its writer lives and nothing is missing.
    """
    before = _committed(database)
    try:
        log = database.with_name(f"{database.name}-wal").read_bytes()
    except FileNotFoundError:
        log = b""
    if before != _committed(database):
        return False
    salts, whole, more = _read(log)
    return more or (before is not None and (before[0] != salts or before[1] > whole))


def _committed(database: Path) -> tuple[bytes, int] | None:
    """The log's salts and how many of its frames were committed, by its index; None where that says nothing is due."""
    try:
        index = database.with_name(f"{database.name}-shm").read_bytes()[: 2 * _INDEX_HEAD + 4]
    except (FileNotFoundError, IsADirectoryError):
        return None
    head = index[:_INDEX_HEAD]
    if len(index) < 2 * _INDEX_HEAD + 4 or head != index[_INDEX_HEAD : 2 * _INDEX_HEAD]:
        return None
    order = "<" if sys.byteorder == "little" else ">"
    if _sums(head[:40], (0, 0), order) != struct.unpack("=II", head[40:48]) or not head[12]:
        return None
    frames, moved = struct.unpack_from("=I", head, 16)[0], struct.unpack_from("=I", index, 2 * _INDEX_HEAD)[0]
    return (head[32:40], frames) if frames > moved else None


def _read(log: bytes) -> tuple[bytes, int, bool]:
    """The log's salts, its frames up to the last commit that can be read, and whether it has commits beyond those."""
    if len(log) < _HEAD:
        return b"", 0, bool(log)
    magic, _, page_size = struct.unpack_from(">III", log)
    order = ">" if magic & 1 else "<"
    sums = _sums(log[:24], (0, 0), order)
    salts = log[16:24]
    if magic & ~1 != _MAGIC or page_size < 512 or sums != struct.unpack_from(">II", log, 24):
        return salts, 0, any(log)
    whole, broken = 0, False
    for number, frame in enumerate(_frames(log, page_size), start=1):
        commits = frame[4:8] != bytes(4)
        if frame[8:16] != salts:
            broken = True
        elif broken and commits:
            return salts, whole, True
        elif not broken:
            sums = _sums(frame[_FRAME_HEAD:], _sums(frame[:8], sums, order), order)
            broken = sums != struct.unpack_from(">II", frame, 16)
            whole = number if commits and not broken else whole
    return salts, whole, False


def _frames(log: bytes, page_size: int) -> Iterator[bytes]:
    step = _FRAME_HEAD + page_size
    for at in range(_HEAD, len(log) - step + 1, step):
        yield log[at : at + step]


def _sums(words: bytes, sums: Sums, order: str) -> Sums:
    one, two = sums
    for first, second in struct.iter_unpack(f"{order}II", words):
        one = (one + first + two) & 0xFFFFFFFF
        two = (two + second + one) & 0xFFFFFFFF
    return one, two
