"""Make examples from the training data: token ids of question and context, the answer's place, and if it is there.

Data are split by the SHA-1 of a row's ``split_key``; sources that must not be shipped only serve for measuring.
"""

import gzip
import hashlib
import json
import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tokenizers import Encoding, Tokenizer

from pincite.core.models.reader import CELL_BORDER, CLS, SEP
from pincite.core.text.e5_file import E5File
from pincite.core.text.installed import TOKENIZER_FILE, verified_file
from pincite.core.text.terms import content_terms

MAX_TOKENS = 224
MAX_QUESTION_TOKENS = 48
ELSEWHERE, CUT = 0.5, 0.35
"""Shares of answerable questions that are also asked of another context of the same document, and to their own without
the sentence or line that answers."""
MIN_LEFT = 80
"""Characters of a context without its answer."""
LEFT_OUT = frozenset({"clapnq-dev", "wtq-test"})
"""Whole sentences from a collection that this project is measured on; tables that quoting is measured on."""
ENDS = (". ", "! ", "? ", "。", "！", "？", "\n")
"""Of sentences and lines."""
RECORDS = ": "
FORMS = (CELL_BORDER, CELL_BORDER, "  ", RECORDS)
"""What parts a row's cells; of records each cell has a line, behind its column's heading."""
_BORDER = re.compile(r"(?<=\S)(?: {2,}| \| )(?=\S)")
"""Between the cells of what was written for this."""
MAX_TABLE_CHARACTERS = 1400
FILES = ("reading.jsonl.gz", "reading.contracts.jsonl.gz", "tables.jsonl.gz")
OF_LANGUAGES = ("reading.languages.jsonl.gz", "reading.japanese.jsonl.gz")
OF_OUR_OWN = Path(__file__).parent / "ordinary.jsonl.gz"
"""Leases, leaflets, minutes, price lists and similar documents, invented for this, one line per passage; in pairs
they are of one kind and of different parties."""
OFTEN = 2
"""How often they are learned from, while all else is once."""
MAX_PER_LANGUAGE = 3_000
"""Of each source in another language than English."""


@dataclass(frozen=True, slots=True)
class Wording:
    """How a network's texts become tokens, and the data that it learns from."""

    tokenizer: Tokenizer
    first: int
    """The token that a window begins with."""
    between: int
    """The one that ends a question and a text."""
    files: tuple[str, ...]
    max_rows_per_language: int | None


@dataclass(frozen=True, slots=True)
class Example:
    """``start`` and ``end`` are token positions, 0 (the first token) where nothing answers; None: not known."""

    source: str
    ids: tuple[int, ...]
    question_tokens: int
    """With the tokens that enclose it."""
    start: int | None
    end: int | None
    answerable: bool | None
    bears: bool | None
    """Whether the context is relevant to the question."""


@dataclass(frozen=True, slots=True)
class _Row:
    source: str
    language: str
    key: str
    question: str
    context: str
    answer: tuple[int, int] | None
    """Character positions; None if the context does not answer or the place is not known."""
    answerable: bool | None
    bears: bool | None


def english() -> Wording:
    """MiniLM's, without the padding and cutting that its tokenizer's file asks for."""
    tokenizer = Tokenizer.from_file(str(verified_file(*TOKENIZER_FILE)))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return Wording(tokenizer, CLS, SEP, FILES, None)


def many_languages(stored: E5File) -> Wording:
    """Multilingual E5's; each source in another language than English counts up to MAX_PER_LANGUAGE."""
    return Wording(stored.tokenizer, stored.first, stored.between, (*FILES, *OF_LANGUAGES), MAX_PER_LANGUAGE)


def part_of(key: str) -> str:
    """``train``, ``tune`` or ``test``: eight, one and one of ten keys."""
    tenth = int(hashlib.sha1(key.encode(), usedforsecurity=False).hexdigest(), 16) % 10
    return {0: "test", 1: "tune"}.get(tenth, "train")


def load(folder: Path, part: str, wording: Wording, *, seed: int, shipped: bool = True) -> list[Example]:
    """Return all examples of a part; ``shipped`` false: those of sources that no shipped weights may learn from."""
    rows = [
        row
        for name in wording.files
        for row in _rows(folder / name, shipped)
        if not shipped or part_of(row.key) == part
    ]
    own = [row for row in _own_rows() if shipped and part_of(row.key) == part] * (OFTEN if part == "train" else 1)
    chance = random.Random(seed)
    if wording.max_rows_per_language is not None:
        rows = _fewer(rows, wording.max_rows_per_language, chance) + list(_crossed(rows))
    rows += [*_elsewhere(rows, chance), *own, *_cut([*rows, *own], chance)]
    examples = (example_of(row, wording, chance) for row in rows)
    return [example for example in examples if example is not None]


def _fewer(rows: Iterable[_Row], most: int, chance: random.Random) -> list[_Row]:
    groups: dict[tuple[str, str], list[_Row]] = {}
    for row in rows:
        groups.setdefault((row.source, row.language), []).append(row)
    return [
        row
        for (_, language), group in groups.items()
        for row in (group if language == "en" else chance.sample(group, min(most, len(group))))
    ]


def _crossed(rows: Iterable[_Row]) -> Iterator[_Row]:
    """Yield questions with the same text in another language, for questions with a figure as answer.

    They are from XQuAD, which is parallel. A figure that occurs once in a document's answers identifies the same
    question in each language.
    """
    by_answer: dict[tuple[str, str], dict[str, list[_Row]]] = {}
    for row in rows:
        if row.source == "xquad" and row.answer is not None:
            words = row.context[slice(*row.answer)]
            if words.isdecimal() and words.isascii():
                by_answer.setdefault((row.key, words), {}).setdefault(row.language, []).append(row)
    for by_language in by_answer.values():
        alone = [group[0] for _, group in sorted(by_language.items()) if len(group) == 1]
        for asked, read in zip(alone, [*alone[1:], *alone[:1]], strict=True):
            if asked is not read:
                yield replace(read, source="xquad-crossed", question=asked.question)


def example_of(row: _Row, wording: Wording, chance: random.Random) -> Example | None:
    """None where the answer does not fit into a window."""
    question = wording.tokenizer.encode(row.question, add_special_tokens=False).ids[:MAX_QUESTION_TOKENS]
    context = wording.tokenizer.encode(row.context, add_special_tokens=False)
    room = MAX_TOKENS - len(question) - 3
    span = _token_span(context, row.answer) if row.answer else None
    if row.answer and (span is None or span[1] - span[0] >= room):
        return None
    first = _window(len(context.ids), room, span, chance)
    head = [wording.first, *question, wording.between]
    ids = (*head, *context.ids[first : first + room], wording.between)
    if span is not None:
        start, end = (position - first + len(head) for position in span)
    elif row.answerable is False:
        start = end = 0
    else:
        start = end = None  # type: ignore[assignment]  # only the relevance is known
    return Example(row.source, ids, len(head), start, end, row.answerable, row.bears)


def _window(count: int, room: int, span: tuple[int, int] | None, chance: random.Random) -> int:
    """Return the first token of a window that holds the answer, wherever in it."""
    if count <= room:
        return 0
    if span is None:
        return chance.randint(0, count - room)
    return chance.randint(max(0, span[1] + 1 - room), min(span[0], count - room))


def _token_span(encoding: Encoding, answer: tuple[int, int]) -> tuple[int, int] | None:
    inside = [
        at for at, (start, end) in enumerate(encoding.offsets) if start < answer[1] and end > answer[0] and end > start
    ]
    return (inside[0], inside[-1]) if inside else None


def _rows(path: Path, shipped: bool) -> Iterator[_Row]:
    make = _table_row if path.name.startswith("tables") else _reading_row
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            raw = json.loads(line)
            if (raw["use"] == "ship") == shipped and raw["source"] not in LEFT_OUT:
                row = make(raw)
                if row is not None:
                    yield row


def _reading_row(raw: Mapping[str, Any]) -> _Row | None:
    answers = raw["answers"]
    if raw["answerable"] and not answers:
        return None
    answer = (answers[0]["start"], answers[0]["start"] + len(answers[0]["text"])) if raw["answerable"] else None
    bears = True if raw["answerable"] else (False if raw.get("made") else None)
    place = (raw["source"], raw["language"], raw["split_key"])
    return _Row(*place, raw["question"], raw["context"], answer, bool(raw["answerable"]), bears)


def _table_row(raw: Mapping[str, Any]) -> _Row | None:
    """Questions that one cell or one span answers, in one of the forms that tables have on pages."""
    answers = raw["answer"] if isinstance(raw["answer"], list) else [raw["answer"]]
    if raw["answer_from"] not in ("cell", "span") or len(answers) != 1:
        return None
    wanted = str(answers[0])
    form = FORMS[int(hashlib.sha1(raw["question"].encode(), usedforsecurity=False).hexdigest(), 16) % len(FORMS)]
    cell = tuple(raw["cells"][0]) if raw["answer_from"] == "cell" and len(raw.get("cells") or ()) == 1 else None
    text, found = _laid_out(raw["table"], form, cell)
    if found is None:
        text = f"{text}\n{raw['text']}" if raw["text"] else text
        at = text.find(wanted)
        if at < 0 or text.count(wanted) > 1:
            return None
        found = (at, at + len(wanted))
    return _Row(raw["source"], "en", raw["split_key"], raw["question"], text, found, True, True)


def _own_rows() -> Iterator[_Row]:
    """Yield a passage's questions with the passage, with it and a neighbour, and with the document's other passages."""
    with gzip.open(OF_OUR_OWN, "rt", encoding="utf-8") as lines:
        passages = [_with_borders(json.loads(line)) for line in lines]
    for at, passage in enumerate(passages):
        document = passage["doc"]
        key = f"{document[0]}{(int(document[1:]) + 1) // 2}"
        near = [
            one["text"] for one in passages[max(0, at - 2) : at + 3] if one["doc"] == document and one is not passage
        ]
        for asked in passage["questions"]:
            row = _Row("ordinary", "en", key, asked["ask"], passage["text"], None, False, None)
            if asked["answer"] is None:
                yield from (replace(row, context=text) for text in (passage["text"], *near))
                continue
            start = passage["text"].index(asked["answer"])
            found = replace(row, answer=(start, start + len(asked["answer"])), answerable=True, bears=True)
            yield found
            yield from (replace(found, context=f"{passage['text']}\n{text}") for text in near[-1:])
            yield from (replace(row, context=text, bears=False) for text in near if asked["answer"] not in text)


def _with_borders(passage: dict[str, Any]) -> dict[str, Any]:
    """Return the passage with or without cell borders: two of three documents have them, as the reader gets them."""
    border = " " if (int(passage["doc"][1:]) + 1) // 2 % 3 == 0 else CELL_BORDER
    questions = [
        asked | {"answer": asked["answer"] and _BORDER.sub(border, asked["answer"])} for asked in passage["questions"]
    ]
    return passage | {"text": _BORDER.sub(border, passage["text"]), "questions": questions}


def _laid_out(
    table: Sequence[Sequence[str]], form: str, cell: tuple[int, int] | None
) -> tuple[str, tuple[int, int] | None]:
    """Return the head line and the lines around the cell, with the cell's characters."""
    lines = [_line(table[0], row, form) for row in table]
    first = last = cell[0] if cell else 0
    size = len(lines[first][0])
    while size < MAX_TABLE_CHARACTERS and (first > 0 or last + 1 < len(lines)):
        first, last = max(0, first - 1), min(len(lines) - 1, last + 1)
        size = sum(len(line) for line, _ in lines[first : last + 1])
    shown = [*(() if form == RECORDS else (0,)), *range(max(1, first), last + 1)]
    text = "\n".join(lines[row][0] for row in shown)
    if cell is None or cell[0] not in shown or cell[1] >= len(table[cell[0]]):
        return text, None
    start = sum(len(lines[row][0]) + 1 for row in shown[: shown.index(cell[0])]) + lines[cell[0]][1][cell[1]]
    return text, (start, start + len(str(table[cell[0]][cell[1]])))


def _line(head: Sequence[str], row: Sequence[str], form: str) -> tuple[str, list[int]]:
    """Return a row as text, and where its cells begin."""
    text, places = "", []
    for number, cell in enumerate(row):
        if form == RECORDS:
            text += f"{head[number]}: " if number < len(head) else ""
        elif number:
            text += form
        places.append(len(text))
        text += f"{cell}\n" if form == RECORDS else str(cell)
    return text, places


def _elsewhere(rows: Iterable[_Row], chance: random.Random) -> Iterator[_Row]:
    """Yield the same question before another context of the same document that does not hold the answer's words.

    Of a few drawn by lot it is the one that shares most words with the question.
    """
    contexts: dict[tuple[str, str, str], dict[str, frozenset[str]]] = {}
    asked = [row for row in rows if row.answer is not None]
    for row in asked:
        contexts.setdefault((row.source, row.language, row.key), {})[row.context] = frozenset(
            content_terms(row.context)
        )
    for row in asked:
        others = contexts[row.source, row.language, row.key]
        if row.answer is None or len(others) < 2 or chance.random() > ELSEWHERE:
            continue
        words = content_terms(row.question)
        drawn = chance.sample(sorted(others), min(3, len(others)))
        other = max((text for text in drawn if text != row.context), key=lambda text: len(others[text] & set(words)))
        if row.context[slice(*row.answer)].casefold() not in other.casefold():
            yield replace(row, context=other, answer=None, answerable=False, bears=False)


def _cut(rows: Iterable[_Row], chance: random.Random) -> Iterator[_Row]:
    """The same question before its context without the sentence or line that answers: about it, and yet no answer."""
    for row in rows:
        if row.answer is None or chance.random() > CUT:
            continue
        start, end = row.answer
        before = max(
            (row.context.rfind(mark, 0, start) + len(mark) for mark in ENDS if mark in row.context[:start]), default=0
        )
        after = min((at for mark in ENDS if (at := row.context.find(mark, end)) >= 0), default=len(row.context))
        left = f"{row.context[:before]}{row.context[after:].lstrip('.!?。！？')}"
        if len(left) >= MIN_LEFT and row.context[start:end].casefold() not in left.casefold():
            yield replace(row, context=left, answer=None, answerable=False, bears=None)
