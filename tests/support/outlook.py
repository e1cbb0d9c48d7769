"""Messages of Outlook (.msg) for tests: a compound file (MS-CFB) with the properties that a message has (MS-OXMSG)."""

import struct
from collections.abc import Mapping

_SECTOR = 512
_END, _FREE, _FAT = 0xFFFFFFFE, 0xFFFFFFFF, 0xFFFFFFFD
_TEXT, _BYTES = "001F", "0102"
Tree = dict[str, "bytes | Tree"]


def message(*, subject: str, sender: str, body: str, attached: Mapping[str, bytes]) -> bytes:
    texts = {"001A": "IPM.Note", "0037": subject, "0C1A": sender, "1000": body}
    tree: Tree = {f"__substg1.0_{tag}{_TEXT}": text.encode("utf-16-le") for tag, text in texts.items()}
    tree["__properties_version1.0"] = b"\0" * 24 + struct.pack("<II", 0, len(attached)) + _properties(texts)
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
    """Return a compound file whose streams are all in ordinary sectors: none is as short as to go elsewhere."""
    entries: list[list[object]] = [["Root Entry", 5, _FREE, _FREE, _FREE, b""]]

    def add(inside: Tree, parent: int) -> None:
        before = _FREE
        for name, content in inside.items():
            entries.append([name, 2 if isinstance(content, bytes) else 1, _FREE, before, _FREE,
                            content if isinstance(content, bytes) else b""])  # fmt: skip
            before = len(entries) - 1
            if not isinstance(content, bytes):
                add(content, before)
        entries[parent][4] = before

    add(tree, 0)
    sectors, chain = list[bytes](), list[int]()

    def store(data: bytes) -> int:
        first, count = len(sectors), max(1, -(-len(data) // _SECTOR))
        sectors.extend(data[at * _SECTOR : (at + 1) * _SECTOR].ljust(_SECTOR, b"\0") for at in range(count))
        chain.extend([*range(first + 1, first + count), _END])
        return first

    packed = b""
    for name, kind, _, left, child, content in entries:
        assert isinstance(name, str) and isinstance(content, bytes)
        letters = name.encode("utf-16-le") + b"\0\0"
        first = store(content) if content else (_END if kind == 2 else 0)
        packed += struct.pack("<64sHBBIII16sIQQIQ", letters, len(letters), kind, 1, left, _FREE, child, b"", 0, 0, 0,
                              first if kind == 2 else _END, len(content))  # fmt: skip
    while len(packed) % _SECTOR:
        packed += struct.pack("<64sHBBIII16sIQQIQ", b"", 0, 0, 0, _FREE, _FREE, _FREE, b"", 0, 0, 0, 0, 0)
    directory = store(packed)
    count = -(-(len(sectors) + 8) // 128)
    tables = list(range(len(sectors), len(sectors) + count))
    table = [*chain, *[_FAT] * count]
    table += [_FREE] * (128 * count - len(table))
    head = struct.pack("<8s16sHHHHH6sIIIIIIIII", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", b"", 0x3E, 3, 0xFFFE, 9, 6, b"", 0,
                       count, directory, 0, 0, _END, 0, _END, 0)  # fmt: skip
    head += struct.pack("<109I", *tables, *[_FREE] * (109 - count))
    return head + b"".join(sectors) + struct.pack(f"<{len(table)}I", *table)
