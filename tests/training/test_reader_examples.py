"""Promise: the reader learns from the very characters that answer, and no document is in two parts of the data."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from pincite.core.models.reader import CELL_BORDER
from training.reader import examples
from training.reader.examples import Wording

LONG = " ".join(f"Clause {number} speaks of matter {number}." for number in range(200))


@pytest.fixture(scope="module")
def wording() -> Wording:
    return examples.english()


@pytest.fixture(autouse=True)
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of passages of our own, without any."""
    path = tmp_path / "own.jsonl.gz"
    path.write_bytes(gzip.compress(b""))
    monkeypatch.setattr(examples, "OF_OUR_OWN", path)
    return path


def _write(folder: Path, **files: list[dict[str, Any]]) -> None:
    for name in examples.FILES:
        with gzip.open(folder / name, "wt", encoding="utf-8") as out:
            for row in files.get(name.split(".jsonl")[0].replace(".", "_"), []):
                out.write(json.dumps({"source": "ours", "language": "en", "use": "ship", **row}) + "\n")


def _reading(key: str, question: str, context: str, answer: str) -> dict[str, Any]:
    answers = [{"text": answer, "start": context.index(answer)}] if answer else []
    return {
        "split_key": key, "question": question, "context": context, "answers": answers, "answerable": bool(answer)
    }  # fmt: skip


def _key(part: str) -> str:
    return next(f"key {number}" for number in range(100) if examples.part_of(f"key {number}") == part)


def _answer(wording: Wording, example: examples.Example) -> str:
    assert example.start is not None and example.end is not None
    return wording.tokenizer.decode(list(example.ids[example.start : example.end + 1]))


def test_span_contains_the_answer_anywhere_in_a_long_context(tmp_path: Path, wording: Wording) -> None:
    rows = [_reading(_key("train"), f"What of {n}?", LONG, f"matter {n}.") for n in (0, 77, 199)]
    _write(tmp_path, reading=rows)
    found = examples.load(tmp_path, "train", wording, seed=1)
    answered = {_answer(wording, example) for example in found if example.answerable}
    assert answered == {"matter 0.", "matter 77.", "matter 199."}
    assert all(len(example.ids) <= examples.MAX_TOKENS for example in found)


def test_some_are_also_put_to_their_text_without_the_sentence_that_answers(tmp_path: Path, wording: Wording) -> None:
    text = f"The bridge was built in 1871. {' '.join(f'It is painted in colour {n}.' for n in range(8))} It is long."
    rows = [_reading(_key("train"), f"When was it built, {n}?", text, "1871") for n in range(40)]
    _write(tmp_path, reading=rows)
    cut = [one for one in examples.load(tmp_path, "train", wording, seed=1) if not one.answerable]
    assert 0 < len(cut) < len(rows)
    for one in cut:
        words = wording.tokenizer.decode(list(one.ids[one.question_tokens :]))
        assert "1871" not in words and "bridge" not in words and "colour 0" in words and "long" in words
        assert (one.start, one.end, one.bears) == (0, 0, None)


def test_table_rows_are_also_read_as_records(tmp_path: Path, wording: Wording) -> None:
    table = [["Ship", "Length"], ["Ada", "12 m"], ["Bee", "15 m"]]
    rows = [
        {"question": f"How long is Bee, {n}?", "table": table, "text": "", "answer": ["15 m"], "answer_from": "cell",
         "cells": [[2, 1]], "split_key": _key("train")} for n in range(30)
    ]  # fmt: skip
    _write(tmp_path, tables=rows)
    found = [one for one in examples.load(tmp_path, "train", wording, seed=1) if one.answerable]
    texts = {wording.tokenizer.decode(list(one.ids[one.question_tokens :])) for one in found}
    assert any("length : 15 m" in text for text in texts) and any("bee | 15 m" in text for text in texts)
    assert {_answer(wording, one) for one in found} == {"15 m"}


def test_what_nothing_answers_points_at_the_first_token(tmp_path: Path, wording: Wording) -> None:
    _write(tmp_path, reading=[_reading(_key("train"), "Who pays?", LONG, "")])
    (example,) = examples.load(tmp_path, "train", wording, seed=1)
    assert (example.start, example.end, example.answerable) == (0, 0, False)


def test_table_cell_is_found_among_equal_ones(tmp_path: Path, wording: Wording) -> None:
    table = [["Year", "Sales", "Costs"], *([str(2000 + n), "17", "17"] for n in range(60))]
    row = {"question": "Costs in 2041?", "table": table, "text": "", "answer": ["17"], "answer_from": "cell"}
    _write(tmp_path, tables=[{**row, "split_key": _key("train"), "cells": [[42, 2]]}])
    (example,) = examples.load(tmp_path, "train", wording, seed=1)
    assert _answer(wording, example) == "17"
    assert example.end is not None
    assert wording.tokenizer.decode(list(example.ids[: example.end + 1])).split("2041")[-1].count("17") == 2


def test_parts_share_no_document(tmp_path: Path, wording: Wording) -> None:
    rows = [_reading(f"key {number}", f"What of {number}?", LONG, f"matter {number}.") for number in range(60)]
    _write(tmp_path, reading=rows)
    parts = {
        part: [one for one in examples.load(tmp_path, part, wording, seed=1) if one.answerable]
        for part in ("train", "tune", "test")
    }
    assert sum(map(len, parts.values())) == len(rows)
    assert len(parts["train"]) > len(parts["test"]) > 0


def test_passage_questions_are_also_asked_about_the_whole_document(tmp_path: Path, wording: Wording, own: Path) -> None:
    _write(tmp_path)
    number = next(n for n in range(1, 40, 2) if examples.part_of(f"t{(n + 1) // 2}") == "train")
    asked = [{"ask": "When is rent due?", "answer": "on the third"}, {"ask": "Who cleans?", "answer": None}]
    others = {f"t{number}": "Pets are welcome in the yard.", f"t{number + 1}": "The twin: rent is due on the ninth."}
    passages = [
        {"doc": f"t{number}", "text": "Rent is due on the third of a month.", "questions": asked},
        *({"doc": document, "text": text, "questions": []} for document, text in others.items()),
    ]
    own.write_bytes(gzip.compress("\n".join(map(json.dumps, passages)).encode()))
    found = examples.load(tmp_path, "train", wording, seed=1)
    texts = [wording.tokenizer.decode(list(one.ids[one.question_tokens : -1])) for one in found]
    assert {_answer(wording, one) for one in found if one.answerable} == {"on the third"}
    assert any("third" in text and "pets" in text for text, one in zip(texts, found, strict=True) if one.answerable)
    nothing = [text for text, one in zip(texts, found, strict=True) if not one.answerable]
    assert any("pets" in text for text in nothing) and not any("twin" in text for text in texts)
    assert examples.load(tmp_path, "test", wording, seed=1) == []


def test_our_own_answers_are_in_their_passages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    with gzip.open(examples.OF_OUR_OWN, "rt", encoding="utf-8") as lines:
        passages = [json.loads(line) for line in lines]
    assert len({one["doc"] for one in passages}) == 1_100
    for one in passages:
        assert all(asked["answer"] is None or asked["answer"] in one["text"] for asked in one["questions"])
    rows = list(examples._own_rows())
    assert sum(CELL_BORDER in row.context for row in rows) > 20_000, "tables are read as the product reads them"
    assert not any(row.answer and row.context[slice(*row.answer)].strip(" |") == "" for row in rows)


def test_what_may_not_be_shipped_is_never_trained_on(tmp_path: Path, wording: Wording) -> None:
    rows = [{**_reading(f"key {n}", "What of 3?", LONG, "matter 3."), "use": "measure"} for n in range(20)]
    _write(tmp_path, reading=rows)
    assert examples.load(tmp_path, "train", wording, seed=1) == []
    unseen = examples.load(tmp_path, "", wording, seed=1, shipped=False)
    assert sum(bool(one.answerable) for one in unseen) == len(rows)
