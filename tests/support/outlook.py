"""Messages of Outlook (.msg) for tests: a compound file (MS-CFB) with the properties that a message has (MS-OXMSG)."""

import struct
from collections.abc import Mapping

_SECTOR, _MINI, _CUTOFF = 512, 64, 4096
_ENTRY = "<64sHBBIII36xIQ"
_SIGNATURE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_END, _FREE, _FAT = 0xFFFFFFFE, 0xFFFFFFFF, 0xFFFFFFFD
_TEXT, _BYTES = "001F", "0102"
Tree = dict[str, "bytes | Tree"]


def message(*, subject: str, sender: str, body: str, attached: Mapping[str, bytes]) -> bytes:
    texts = {"001A": "IPM.Note", "0037": subject, "0C1A": sender, "1000": body}
    tree: Tree = {f"__substg1.0_{tag}{_TEXT}": text.encode("utf-16-le") for tag, text in texts.items()}
    tree["__properties_version1.0"] = struct.pack("<8x4I8x", 0, len(attached), 0, len(attached)) + _properties(texts)
    for number, (name, content) in enumerate(attached.items()):
        tree[f"__attach_version1.0_#{number:08X}"] = {
            f"__substg1.0_3707{_TEXT}": name.encode("utf-16-le"),
            f"__substg1.0_3701{_BYTES}": content,
            "__properties_version1.0": b"\0" * 8 + _properties({"3707": name}) + struct.pack(
                "<HHIII", 0x0102, 0x3701, 6, len(content), 0
            ),
        }  # fmt: skip
    tree["__nameid_version1.0"] = {f"__substg1.0_000{at}{_BYTES}": b"" for at in (2, 3, 4)}
    return _compound(tree)


def _properties(texts: Mapping[str, str]) -> bytes:
    return b"".join(struct.pack("<HHIII", 0x001F, int(tag, 16), 6, 2 * len(text) + 2, 0) for tag, text in texts.items())


def _compound(tree: Tree) -> bytes:
    """Return a compound file; streams of less than 4,096 bytes are in its mini stream."""
    entries: list[tuple[str, int, bytes]] = [("Root Entry", 5, b"")]
    left, child = [_FREE], [_FREE]

    def add(inside: Tree, parent: int) -> None:
        before = _FREE
        for name, content in inside.items():
            is_stream = isinstance(content, bytes)
            entries.append((name, 2 if is_stream else 1, content if isinstance(content, bytes) else b""))
            left.append(before)
            child.append(_FREE)
            before = len(entries) - 1
            if not isinstance(content, bytes):
                add(content, before)
        child[parent] = before

    add(tree, 0)
    small, large = _Sectors(_MINI), _Sectors(_SECTOR)
    firsts = [(small if len(content) < _CUTOFF else large).store(content) for _, _, content in entries]
    root = large.store(b"".join(small.sectors))
    packed = b""
    for at, (name, kind, content) in enumerate(entries):
        letters = name.encode("utf-16-le") + b"\0\0"
        first, size = (root, _MINI * len(small.sectors)) if at == 0 else (firsts[at], len(content))
        packed += struct.pack(_ENTRY, letters, len(letters), kind, 1, left[at], _FREE, child[at], first, size)
    while len(packed) % _SECTOR:
        packed += struct.pack(_ENTRY, b"", 0, 0, 0, _FREE, _FREE, _FREE, 0, 0)
    directory = large.store(packed)
    mini = large.store(_table(small.chain))
    count = -(-(len(large.sectors) + 8) // 128)
    begun = len(large.sectors)
    head = struct.pack("<8s16x5H6x9I", _SIGNATURE, 0x3E, 3, 0xFFFE, 9, 6, 0, count, directory, 0, _CUTOFF, mini,
                       len(_table(small.chain)) // _SECTOR, _END, 0)  # fmt: skip
    head += struct.pack("<109I", *range(begun, begun + count), *[_FREE] * (109 - count))
    return head + b"".join(large.sectors) + _table([*large.chain, *[_FAT] * count])


class _Sectors:
    def __init__(self, size: int) -> None:
        self._size = size
        self.sectors, self.chain = list[bytes](), list[int]()

    def store(self, data: bytes) -> int:
        """Return the number of the first sector."""
        if not data:
            return _END
        first, parts = len(self.sectors), range(0, len(data), self._size)
        self.sectors += [data[at : at + self._size].ljust(self._size, b"\0") for at in parts]
        self.chain += [*range(first + 1, first + len(parts)), _END]
        return first


def _table(chain: list[int]) -> bytes:
    filled = [*chain, *[_FREE] * (-len(chain) % 128)]
    return struct.pack(f"<{len(filled)}I", *filled)
