"""From which likeness on is a question one to the documents? Fits the bounds of each built-in embedder.

Libraries are made of the passages of one source, asked their own questions and those of other sources. ``far`` is the
likeness that all but ``LOST`` of the own questions reach, ``near`` one that all but ``TAKEN`` of the others stay under.
"""

import argparse
import gzip
import json
import random
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pincite.core.domain.ports import Embedder
from pincite.core.models.e5 import E5Embedder
from pincite.core.models.minilm import MiniLmEmbedder
from pincite.core.search.rankings import SPREADS

FILES = ("reading.jsonl.gz", "reading.contracts.jsonl.gz", "reading.languages.jsonl.gz")
LOST, TAKEN = 1.0, 2.0
"""Per cent."""
DOCUMENTS, PASSAGES_EACH, QUESTIONS, LIBRARIES = 12, 6, 40, 2
"""Of a library, and libraries of a source."""
CHARACTERS = 800
Likenesses = NDArray[np.float64]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("data", type=Path, help="a folder with reading*.jsonl.gz")
    parser.add_argument("--write", type=Path, help="where to write the bounds")


def run(options: argparse.Namespace) -> dict[str, Any]:
    libraries = _libraries(options.data)
    embedders: tuple[Embedder, ...] = (MiniLmEmbedder(workers=2), E5Embedder(workers=2))
    bounds, measured = dict[str, Any](), dict[str, Any]()
    for embedder in embedders:
        likenesses = {source: [_likenesses(embedder, *one) for one in own] for source, own in libraries.items()}
        bounds[embedder.name] = _bounds(likenesses)
        measured[embedder.name] = bounds[embedder.name] | _left_out(likenesses)
    if options.write:
        options.write.write_text(json.dumps(bounds) + "\n", encoding="utf-8")
    return measured


def _libraries(data: Path) -> dict[str, list[tuple[list[str], list[str], list[str]]]]:
    """Return by source its libraries: passages, questions to them, questions of other sources."""
    rows: dict[str, dict[str, list[Any]]] = defaultdict(lambda: defaultdict(list))
    for name in FILES:
        with gzip.open(data / name, "rt", encoding="utf-8") as lines:
            for row in map(json.loads, lines):
                if row["use"] == "ship" and row["answerable"]:
                    rows[row["source"]][row["split_key"]].append(row)
    drawn = random.Random(3)
    sources = [source for source, documents in rows.items() if len(documents) >= 2 * DOCUMENTS]
    made: dict[str, list[tuple[list[str], list[str], list[str]]]] = defaultdict(list)
    for source in sources:
        for _ in range(LIBRARIES):
            documents = drawn.sample(sorted(rows[source]), DOCUMENTS)
            own = {
                row["context"][:CHARACTERS]: row["question"]
                for d in documents
                for row in rows[source][d][:PASSAGES_EACH]
            }
            others = drawn.choices([other for other in sources if other != source], k=QUESTIONS)
            strange = [drawn.choice(rows[other][drawn.choice(sorted(rows[other]))])["question"] for other in others]
            made[source].append((list(own), list(own.values())[:QUESTIONS], strange))
    return made


def _likenesses(
    embedder: Embedder, passages: Sequence[str], own: Sequence[str], strange: Sequence[str]
) -> tuple[Likenesses, Likenesses]:
    """Return how near the nearest passage is to each question of the library, and to each other one."""
    cosines = embedder.embed_queries([*own, *strange]) @ embedder.embed(passages).T
    likenesses = 1 - SPREADS.get(embedder.name, 1.0) * (1 - cosines.max(axis=1).astype(np.float64))
    return likenesses[: len(own)], likenesses[len(own) :]


def _bounds(likenesses: dict[str, list[tuple[Likenesses, Likenesses]]]) -> dict[str, float]:
    own, strange = (np.concatenate([pair[at] for pairs in likenesses.values() for pair in pairs]) for at in (0, 1))
    far, near = float(np.percentile(own, LOST)), float(np.percentile(strange, 100 - TAKEN))
    return {"far": round(far, 3), "near": round(max(near, far), 3)}


def _left_out(likenesses: dict[str, list[tuple[Likenesses, Likenesses]]]) -> dict[str, float]:
    """Return shares by bounds that were fitted on the other sources."""
    counts = np.zeros(6)
    for source, pairs in likenesses.items():
        bounds = _bounds({name: other for name, other in likenesses.items() if name != source})
        for own, strange in pairs:
            counts[:3] += (own < bounds["far"]).sum(), (own >= bounds["near"]).sum(), len(own)
            counts[3:] += (strange < bounds["far"]).sum(), (strange >= bounds["near"]).sum(), len(strange)
    own_far, own_near, owns, strange_far, strange_near, stranges = counts.tolist()
    return {
        "own_far": own_far / owns, "own_near": own_near / owns,
        "others_far": strange_far / stranges, "others_near": strange_near / stranges,
    }  # fmt: skip
