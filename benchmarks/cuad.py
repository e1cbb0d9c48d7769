"""Measure a grid over real contracts (CUAD) that the reader's training left out, beside plain keyword search.

FOLDER is the folder of training data. A contract is what its rows in ``reading.contracts.jsonl.gz`` quote of it: the
windows around the answers and around places without one.
"""

import argparse
import gzip
import hashlib
import json
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.baselines import Bm25
from pincite.core.domain.grids import CellState, Column
from pincite.core.domain.settings import load_settings
from pincite.core.services.bootstrap import open_pincite
from pincite.core.text.plain import flat
from pincite.core.text.sentences import split_sentences

FIELDS = {
    "Document Name": "What is the name of the contract?",
    "Parties": "Who are the parties to the contract?",
    "Agreement Date": "What is the date of the contract?",
    "Effective Date": "When does the contract take effect?",
    "Expiration Date": "When does the contract end?",
    "Renewal Term": "For how long is the contract renewed?",
    "Notice Period To Terminate Renewal": "What is the notice period for not renewing the contract?",
    "Governing Law": "Which law governs the contract?",
    "Warranty Duration": "How long is the warranty?",
}
"""The questions by category; those of the data were trained on with other contracts."""
LEAST_OVERLAP = 40
"""Characters that two windows of one contract share if they overlap."""


@dataclass(frozen=True, slots=True)
class Contract:
    text: str
    answers: Mapping[str, Sequence[str]]
    """By category; empty where the contract states none."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("data", type=Path, help="a folder with reading.contracts.jsonl.gz")
    parser.add_argument("--contracts", type=int, default=50, help="how many contracts at most (default 50)")


def run(options: argparse.Namespace) -> dict[str, Any]:
    contracts = list(_left_out(options.data))[: options.contracts]
    columns = [Column(category, category, question) for category, question in FIELDS.items()]
    with tempfile.TemporaryDirectory() as work, closing(open_pincite(load_settings(Path(work)).but(ocr=False))) as app:
        added = [app.ingest.add(one.text.encode(), f"contract-{at}.txt") for at, one in enumerate(contracts)]
        app.ingest.wait()
        grid = app.grids.create("Contracts", columns, [one.document.id for one in added])
        cells = app.grids.wait(grid.id).cells
    ids = [one.document.id for one in added]
    found = {
        category: [
            cells[document_id, category].value if cells[document_id, category].state is CellState.FOUND else ""
            for document_id in ids
        ]
        for category in FIELDS
    }
    searched = {
        category: [_best_sentence(one.text, question) for one in contracts] for category, question in FIELDS.items()
    }
    return {
        "contracts": len(contracts),
        "fields": {
            category: _measures(contracts, category, found[category])
            | {f"keywords_{name}": value for name, value in _measures(contracts, category, searched[category]).items()
               if name != "stated"}
            for category in FIELDS
        },
    }  # fmt: skip


def _left_out(data: Path) -> Iterator[Contract]:
    """Yield the contracts of the tenth of CUAD that neither training nor tuning saw."""
    rows = defaultdict[str, list[Mapping[str, Any]]](list)
    with gzip.open(data / "reading.contracts.jsonl.gz", "rt", encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            key = hashlib.sha1(row["split_key"].encode(), usedforsecurity=False).hexdigest()
            if row["source"] == "cuad" and int(key, 16) % 10 == 0:
                rows[row["split_key"]].append(row)
    for _, own in sorted(rows.items()):
        asked = [row for row in own if row["category"] in FIELDS]
        answers = defaultdict[str, list[str]](list)
        for row in asked:
            answers[row["category"]] += [one["text"] for one in row["answers"]]
        yield Contract("\n".join(_joined([row["context"] for row in own])), answers)


def _joined(windows: Sequence[str]) -> list[str]:
    """Return the windows, those that overlap as one."""
    joined: list[str] = []
    for window in sorted(dict.fromkeys(windows), key=len, reverse=True):
        for at, other in enumerate(joined):
            if merged := _merged(other, window) or _merged(window, other):
                joined[at] = merged
                break
        else:
            joined.append(window)
    return joined


def _merged(first: str, second: str) -> str:
    """Return both as one text if the second is in the first or begins in it; else nothing."""
    if second in first:
        return first
    at = first.find(second[:LEAST_OVERLAP])
    return first[:at] + second if at >= 0 and second.startswith(first[at:]) else ""


def _best_sentence(text: str, question: str) -> str:
    sentences = [text[span.start : span.end] for span in split_sentences(text)]
    scores = Bm25(sentences).scores(question)
    return sentences[int(scores.argmax())] if len(sentences) else ""


def _measures(contracts: Sequence[Contract], category: str, values: Sequence[str]) -> dict[str, float]:
    """Return precision, recall and F1 over the contracts with a row of the category."""
    known = [
        (one.answers[category], value) for one, value in zip(contracts, values, strict=True) if category in one.answers
    ]
    given = [(answers, value) for answers, value in known if value]
    right = sum(_is_right(value, answers) for answers, value in given)
    stated = sum(bool(answers) for answers, _ in known)
    precision, recall = right / max(len(given), 1), right / max(stated, 1)
    return {
        "stated": stated,
        "precision": round(precision, 3),
        "recall": round(recall, 3),
        "f1": round(2 * precision * recall / max(precision + recall, 1e-9), 3),
    }


def _is_right(value: str, answers: Sequence[str]) -> bool:
    """Return whether the value is words of an answer, or contains one."""
    own = flat(value).casefold()
    return any(own in wanted or wanted in own for wanted in (flat(one).casefold() for one in answers))
