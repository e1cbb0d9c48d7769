"""References of a BibTeX or BibLaTeX file, such as Zotero with Better BibTeX writes, with the files that it names."""

import logging
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from pincite.core.domain.errors import DocumentError
from pincite.core.export.manifest import csl_date
from pincite.core.services.references import Reference, checked

MAX_MIB = 64
_TYPES = {
    "article": "article-journal", "book": "book", "mvbook": "book", "collection": "book", "proceedings": "book",
    "inbook": "chapter", "incollection": "chapter", "inproceedings": "paper-conference",
    "conference": "paper-conference", "phdthesis": "thesis", "mastersthesis": "thesis", "thesis": "thesis",
    "techreport": "report", "report": "report", "unpublished": "manuscript", "online": "webpage",
    "electronic": "webpage", "www": "webpage", "patent": "patent", "dataset": "dataset", "software": "software",
    "legislation": "legislation", "jurisdiction": "legal_case", "legal": "legislation",
}  # fmt: skip
"""Types of CSL by those of BibTeX and BibLaTeX, after Better BibTeX; any other is a document."""
_TEXTS = {
    "title": "title", "shorttitle": "title-short", "journal": "container-title", "journaltitle": "container-title",
    "booktitle": "container-title", "series": "collection-title", "publisher": "publisher",
    "institution": "publisher", "school": "publisher", "organization": "publisher", "address": "publisher-place",
    "location": "publisher-place", "edition": "edition", "volume": "volume", "chapter": "chapter-number",
    "type": "genre", "eventtitle": "event", "isbn": "ISBN", "issn": "ISSN",
}  # fmt: skip
_NAMES = {"author": "author", "editor": "editor", "translator": "translator"}
_AS_IT_STANDS = {"doi": "DOI", "url": "URL"}
MONTHS = 12
_PERCENT = re.compile(r"(?<!\\)%")
_APART = re.compile(r"(?<!\\);")
_PARTS = re.compile(r"(?<!\\):")
_EXTENDED = re.compile(r"\b([a-z]{1,20})=([^,]{1,200})")
"""A part of a name in BibLaTeX's extended format: "family=Dyck, given=Jan, prefix=van"."""
_NAME_PARTS = {"given": "given", "prefix": "non-dropping-particle", "family": "family", "suffix": "suffix"}
_ESCAPED = re.compile(r"\\([\\:;{}_&%#$])")


def read_bibtex(path: Path) -> list[Reference]:
    """Return the entries of a file. Raises DocumentError."""
    from bibtexparser.entrypoint import parse_string  # loaded only where such a file is read
    from bibtexparser.library import Library
    from bibtexparser.middlewares import MonthIntMiddleware
    from bibtexparser.middlewares.parsestack import default_parse_stack
    from bibtexparser.model import Entry

    logging.getLogger("bibtexparser").setLevel(logging.ERROR)  # what it complains about is reported below
    try:
        if path.stat().st_size > MAX_MIB * 2**20:
            raise DocumentError(f"{path.name} is larger than {MAX_MIB} MiB.", hint="Export a smaller collection.")
        content = path.read_bytes()
    except OSError as error:
        raise DocumentError(f"{path} cannot be read ({error.strerror}).", hint="Check the path.") from error
    raw = parse_string(_decoded(content), parse_stack=[])
    doubled = [block.ignore_error_block for block in raw.failed_blocks]  # such as a key or a field that is there twice
    library = Library(list(raw.strings))
    for number, entry in enumerate([*raw.entries, *(block for block in doubled if isinstance(block, Entry))]):
        first = {field.key.lower(): field for field in reversed(entry.fields)}
        library.add(Entry(entry.entry_type, f"{number}", list(first.values())))
    for step in (*default_parse_stack(), MonthIntMiddleware()):
        library = step.transform(library)
    references = [
        Reference(_item(entry.entry_type, fields), tuple(_files(fields.get("file", ""), path.parent)))
        for entry in library.entries
        for fields in [{field.key.lower(): str(field.value) for field in entry.fields}]
    ]
    unread = len(raw.entries) + len(doubled) - len(references)
    references += [Reference({"title": f"{path.name}, invalid entries: {unread}"}, ())] * bool(unread)
    if not library.entries:
        raise DocumentError(f"{path.name} holds no entries of BibTeX.", hint="Export the collection as Better BibTeX.")
    return references


def _decoded(content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("cp1252", errors="replace")


def _item(kind: str, fields: Mapping[str, str]) -> dict[str, Any]:
    item: dict[str, Any] = {"type": _TYPES.get(kind.lower(), "document")}
    for name, variable in _TEXTS.items():
        if name in fields:
            item.setdefault(variable, _plain(fields[name]))
    for name, variable in _NAMES.items():
        if name in fields:
            item[variable] = list(_people(fields[name]))
    for name, variable in _AS_IT_STANDS.items():
        if name in fields:
            item[variable] = _ESCAPED.sub(r"\1", fields[name])
    if "subtitle" in fields:
        item["title"] = f"{item.get('title', '')}: {_plain(fields['subtitle'])}"
    if "pages" in fields:
        item["page"] = re.sub("-+", "-", _plain(fields["pages"]).replace("–", "-"))
    if number := fields.get("number") or fields.get("issue"):
        item["issue" if item["type"] == "article-journal" else "number"] = _plain(number)
    if date := fields.get("date", "").partition("/")[0] or "-".join(_of_parts(fields)):
        item["issued"] = csl_date(date)
    [read] = checked([item])
    return read


def _of_parts(fields: Mapping[str, str]) -> Iterator[str]:
    if year := fields.get("year"):
        yield _plain(year)
        if (month := fields.get("month", "")).isdecimal() and 1 <= int(month) <= MONTHS:
            yield month


def _people(names: str) -> Iterator[dict[str, str]]:
    from bibtexparser.middlewares.names import parse_single_name_into_parts, split_multiple_persons_names

    for name in split_multiple_persons_names(names):
        if name == "others":
            continue
        if _is_one_group(name):
            yield {"literal": _plain(name)}
            continue
        if extended := dict(_EXTENDED.findall(name)):
            yield {part: _plain(extended[given]) for given, part in _NAME_PARTS.items() if given in extended}
            continue
        parts = parse_single_name_into_parts(name, strict=False)
        read = {"given": parts.first, "non-dropping-particle": parts.von, "family": parts.last, "suffix": parts.jr}
        yield {part: _plain(" ".join(words)) for part, words in read.items() if words}


def _is_one_group(name: str) -> bool:
    """Return whether braces enclose all of a name, which is then no person's."""
    depth = 0
    for at, letter in enumerate(name):
        depth += (letter == "{") - (letter == "}")
        if not depth:
            return letter == "}" and at == len(name) - 1
    return False


def _plain(latex: str) -> str:
    from pylatexenc.latex2text import LatexNodes2Text

    text: str = LatexNodes2Text().latex_to_text(_PERCENT.sub(r"\\%", latex))
    return " ".join(text.split())


def _files(value: str, folder: Path) -> Iterator[Path]:
    """Yield the files of a ``file`` field: paths, or title, path and type between colons, between semicolons."""
    for one in _APART.split(value.replace(r"$\backslash$:", r"\:")):
        parts = _PARTS.split(one)
        named = parts[1] if len(parts) == len(("title", "path", "type")) else one
        if path := _ESCAPED.sub(r"\1", named).strip():
            yield folder / (
                Path(url2pathname(urlsplit(path).path)) if path.startswith("file:") else Path(path).expanduser()
            )
