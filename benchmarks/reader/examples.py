"""Rows of the training data as examples: token ids of question and context, where the answer stands, whether any does.

Data are split by the SHA-1 of a row's ``split_key``; sources that may not be shipped are for measuring alone.
"""

import gzip
import hashlib
import json
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tokenizers import Encoding, Tokenizer

from core.models.minilm import TOKENIZER_FILE, verified_file

MOST_TOKENS = 224
MOST_QUESTION_TOKENS = 48
CLS, SEP = 101, 102
MADE_NEGATIVES = 0.5
"""Share of answerable questions that are also put to another context of the same document."""
LEFT_OUT = frozenset({"clapnq-dev", "wtq-train", "wtq-test"})
"""Whole sentences from a collection that this project is measured on; tables of an encyclopedia, which `core.figures`
reads by their structure."""
MOST_TABLE_CHARACTERS = 1400
FILES = ("reading.jsonl.gz", "reading.contracts.jsonl.gz", "tables.jsonl.gz")


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
    """Whether the context bears on the question."""


@dataclass(frozen=True, slots=True)
class _Row:
    source: str
    key: str
    question: str
    context: str
    answer: tuple[int, int] | None
    """Characters; None where the context does not answer or nobody says where."""
    answerable: bool | None
    bears: bool | None


def open_tokenizer() -> Tokenizer:
    """MiniLM's, without the padding and cutting that its file asks for."""
    tokenizer = Tokenizer.from_file(str(verified_file(*TOKENIZER_FILE)))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def part_of(key: str) -> str:
    """``train``, ``tune`` or ``test``: eight, one and one of ten keys."""
    tenth = int(hashlib.sha1(key.encode(), usedforsecurity=False).hexdigest(), 16) % 10
    return {0: "test", 1: "tune"}.get(tenth, "train")


def load(folder: Path, part: str, tokenizer: Tokenizer, *, seed: int, shipped: bool = True) -> list[Example]:
    """All examples of a part; ``shipped`` false: those of sources that no shipped weights may learn from."""
    rows = [row for name in FILES for row in _rows(folder / name, shipped) if not shipped or part_of(row.key) == part]
    chance = random.Random(seed)
    rows += list(_made_negatives(rows, chance))
    examples = (example_of(row, tokenizer, chance) for row in rows)
    return [example for example in examples if example is not None]


def example_of(row: _Row, tokenizer: Tokenizer, chance: random.Random) -> Example | None:
    """None where the answer does not fit into a window."""
    question = tokenizer.encode(row.question, add_special_tokens=False).ids[:MOST_QUESTION_TOKENS]
    context = tokenizer.encode(row.context, add_special_tokens=False)
    room = MOST_TOKENS - len(question) - 3
    span = _token_span(context, row.answer) if row.answer else None
    if row.answer and (span is None or span[1] - span[0] >= room):
        return None
    first = _window(len(context.ids), room, span, chance)
    head = [CLS, *question, SEP]
    ids = (*head, *context.ids[first : first + room], SEP)
    if span is not None:
        start, end = (position - first + len(head) for position in span)
    elif row.answerable is False:
        start = end = 0
    else:
        start = end = None  # type: ignore[assignment]  # known to bear or not, and nothing else
    return Example(row.source, ids, len(head), start, end, row.answerable, row.bears)


def _window(count: int, room: int, span: tuple[int, int] | None, chance: random.Random) -> int:
    """The first token of a window that holds the answer, wherever in it."""
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
    return _Row(
        raw["source"], raw["split_key"], raw["question"], raw["context"], answer, bool(raw["answerable"]), bears
    )


def _table_row(raw: Mapping[str, Any]) -> _Row | None:
    """Lines of cells, headings first, as a page's text has them; questions that one cell or one span answers."""
    answers = raw["answer"] if isinstance(raw["answer"], list) else [raw["answer"]]
    if raw["answer_from"] not in ("cell", "span") or len(answers) != 1:
        return None
    wanted = str(answers[0])
    separator = (
        " | " if int(hashlib.sha1(raw["question"].encode(), usedforsecurity=False).hexdigest(), 16) % 2 else "  "
    )
    cell = tuple(raw["cells"][0]) if raw["answer_from"] == "cell" and len(raw.get("cells") or ()) == 1 else None
    text, found = _laid_out(raw["table"], separator, cell)
    if found is None:
        text = f"{text}\n{raw['text']}" if raw["text"] else text
        at = text.find(wanted)
        if at < 0 or text.count(wanted) > 1:
            return None
        found = (at, at + len(wanted))
    return _Row(raw["source"], raw["split_key"], raw["question"], text, found, True, True)


def _laid_out(
    table: Sequence[Sequence[str]], separator: str, cell: tuple[int, int] | None
) -> tuple[str, tuple[int, int] | None]:
    """The head line and the lines around the cell, with the cell's characters."""
    lines = [separator.join(map(str, row)) for row in table]
    first = last = cell[0] if cell else 0
    size = len(lines[first])
    while size < MOST_TABLE_CHARACTERS and (first > 0 or last + 1 < len(lines)):
        first, last = max(0, first - 1), min(len(lines) - 1, last + 1)
        size = sum(map(len, lines[first : last + 1]))
    shown = [0, *range(max(1, first), last + 1)]
    text = "\n".join(lines[row] for row in shown)
    if cell is None or cell[0] not in shown or cell[1] >= len(table[cell[0]]):
        return text, None
    before = "\n".join([*(lines[row] for row in shown[: shown.index(cell[0])]), ""])
    start = len(before) + len(separator.join([*map(str, table[cell[0]][: cell[1]]), ""]))
    return text, (start, start + len(str(table[cell[0]][cell[1]])))


def _made_negatives(rows: Iterable[_Row], chance: random.Random) -> Iterator[_Row]:
    """The same question before another context of the same document that does not hold the answer's words."""
    contexts: dict[tuple[str, str], list[str]] = {}
    asked = [row for row in rows if row.answer is not None]
    for row in asked:
        known = contexts.setdefault((row.source, row.key), [])
        if row.context not in known:
            known.append(row.context)
    for row in asked:
        others = contexts[row.source, row.key]
        if row.answer is None or len(others) < 2 or chance.random() > MADE_NEGATIVES:
            continue
        other = chance.choice(others)
        if other != row.context and row.context[slice(*row.answer)].casefold() not in other.casefold():
            yield _Row(row.source, row.key, row.question, other, None, False, False)
