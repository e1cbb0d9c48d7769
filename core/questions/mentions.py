"""Documents that a message names with "@"."""

import re
import unicodedata
from collections.abc import Sequence
from itertools import islice

from pincite.core.domain.documents import Document, bare_name, comparable

MAX_MENTIONS = 20
MAX_NAME_LENGTH = 300
_BEGINS_QUESTION = re.compile(r"[\s,;:]{1,20}+(?!(?:and|or|vs|versus|und|oder|et|ou|y|o)\b|&)\w", re.IGNORECASE)


def resolve_mentions(question: str, documents: Sequence[Document]) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """Return the question with plain names for @mentions, the ids of the documents meant, and notices.

    Names may hold spaces: the longest that fits wins, with or without its ending, in any case, also in quotes. A part
    of a name will do where only one document has it. A mention that opens the question only shows where to look.
    """
    question = unicodedata.normalize("NFC", question)
    names: dict[str, str] = {}
    for document in documents:
        for name in (document.name, bare_name(document.name)):
            names.setdefault(comparable(name), document.id)
    found: list[str] = []
    notices: list[str] = []
    pieces: list[str] = []
    position = 0
    for at in islice(re.finditer(r"(?<![\w.])@(?=\S)", question), MAX_MENTIONS):
        if at.start() < position:
            continue
        rest = question[at.end() : at.end() + MAX_NAME_LENGTH]
        quoted = re.match(r"[\"“'‘]([^\"”'’]{1,300})[\"”'’]", rest)
        name = quoted.group(1) if quoted else _match_longest(rest, names)
        pieces.append(question[position : at.start()])
        position = at.end()
        name = name or re.split(r"[\s,;:?!]", rest, maxsplit=1)[0]
        identity = names.get(comparable(name))
        if identity is None:
            like = [document for document in documents if _is_part(name, document.name)]
            if len(like) == 1:
                identity = like[0].id
                notices.append(f"“@{name}” was taken to mean “{like[0].name}”.")
            else:
                others = "; several documents have it in their name" if like else ""
                notices.append(f"No document here is called “{name}”{others}.")
        if identity is not None:
            found.append(identity)
            position = at.end() + (quoted.end() if quoted else len(name))
            if "".join(pieces).strip() or not _BEGINS_QUESTION.match(question, position):
                pieces.append(bare_name(name))
    text = " ".join("".join([*pieces, question[position:]]).split()).lstrip(",;: ")
    return text, tuple(dict.fromkeys(found)), tuple(notices)


def _is_part(part: str, name: str) -> bool:
    """Return whether a text is at least two letters or figures with which a word of the name begins."""
    part = part.rstrip(".")
    return len(part) > 1 and re.search(rf"(?<![^\W_]){re.escape(part)}", name, re.IGNORECASE) is not None


def _match_longest(rest: str, names: dict[str, str]) -> str:
    for name in sorted(names, key=len, reverse=True):
        following = rest[len(name) : len(name) + 1]
        if rest[: len(name)].casefold() == name and not (following.isalnum() or following == "_"):
            return rest[: len(name)]
    return ""
