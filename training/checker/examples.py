"""Rows of open data and of our own passages as examples for the claim checker.

The data are split by `split_key`; rows with a `use` other than `ship` only measure. `own.jsonl.gz` contains passages
written for this, with true claims in other words and false ones in nearly the same; one part of it is left out for
testing. `orders.jsonl.gz` contains lines that give orders to a language model and ordinary ones that look like them;
each is a passage for the claim `ORDER_CLAIM`, so that one network learns both.
"""

import gzip
import json
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pincite.core.text.checker import MAX_CLAIM_TOKENS, MAX_TOKENS, ORDER_CLAIM
from pincite.core.text.e5_file import E5File
from pincite.core.text.sentences import split_sentences
from training.reader.examples import part_of

FILES = ("claims.jsonl.gz", "support.jsonl.gz")
OWN_FILE = Path(__file__).parent / "own.jsonl.gz"
LABELS = {"supported": 0, "contradicted": 1, "unsupported": 2, "not there": 2}
"""Positions of the checker's logits; `unsupported` of the open data is what our own call `not there`."""
ORDERS_FILE = OWN_FILE.with_name("orders.jsonl.gz")
ORDER_PARTS, ORDER_REPEATS, ORDINARY = 10, 3, 4_000
"""Every tenth line is left out for testing; number of rows per line, and of added sentences of other passages.
A short course sees a quarter of these sentences, and each line in one other passage."""
OWN_REPEATS = 3
SECOND_PASSAGE_SHARE = 0.25
"""Share of our own claims that a short course also sees with a second passage next to theirs."""
OWN_LEFT_OUT = frozenset({"own-7", "own-14"})
JOINED = 4
"""Number of pairs of a passage's own claims that are joined to one claim, which holds only if both hold."""
JOINTS = {
    "en": (", and ", " and ", "; ", ", but ", ", while ", ": ", " – "),
    "de": (", und ", " und ", "; ", ", aber ", ": ", " – "),
    "fr": (", et ", " et ", " ; ", ", mais ", " : ", " – "),
    "es": (", y ", " y ", "; ", ", pero ", ": ", " – "),
    "it": (", e ", " e ", "; ", ", ma ", ": ", " – "),
    "nl": (", en ", " en ", "; ", ", maar ", ": ", " – "),
}
SHARES = {
    "clcd": 0.5,
    "conjnli-adversarial": 0.3,
    "help-part": 0.4,
    "infotabs": 0.5,
    "janli": 0.3,
    "jnli-valid": 0.5,
    "logicbench": 0.4,
    "med": 0.4,
    "snli-train-part": 0.6,
    "tabfact": 0.4,
    "tabfact-more": 0.4,
    "tabfact-pairs": 0.4,
}
"""Share of a source's rows that are used: captions, generated sentences and Wikipedia tables are far from documents."""
VERBATIM_SHARE = 0.05
"""Share of rows that also give a sentence of their context, as a claim that is supported or, elsewhere, not there."""


@dataclass(frozen=True, slots=True)
class Row:
    source: str
    key: str
    claim: str
    context: str
    label: int
    """Index in LABELS."""
    two_way: bool = False
    """Whether `unsupported` may also mean contradicted."""


@dataclass(frozen=True, slots=True)
class Example:
    row: Row
    ids: tuple[int, ...]
    claim_tokens: int
    """Number of leading tokens that belong to the claim, with the tokens around it."""


def load_rows(folder: Path, part: str, *, seed: int, shipped: bool = True, share: float = 1.0) -> list[Row]:
    """Return the rows of `part` (train, tune, test), or with `shipped` false those of sources that only measure.

    `share` of the open rows are used for training, and for less than all of them our own are not repeated.
    """
    chance = random.Random(seed)
    rows = [
        row for name in FILES for row in _open_rows(folder / name, shipped) if not shipped or part_of(row.key) == part
    ]
    if part == "train" and shipped:
        rows = [row for row in rows if chance.random() < share * SHARES.get(row.source, 1.0)]
        rows += list(_verbatim(rows, chance))
        own = [
            row
            for row in own_rows(chance, SECOND_PASSAGE_SHARE if share < 1 else 1.0)
            if row.source not in OWN_LEFT_OUT
        ]
        whole = share == 1
        orders = [*order_rows(rows, chance, ORDER_REPEATS if whole else 1, ORDINARY if whole else ORDINARY // 4)]
        return rows + orders + own * (OWN_REPEATS if whole else 1)
    if part == "test" and shipped:
        rows += order_rows(rows, chance, 0, ORDINARY // 8, left_out=True)
        rows += [row for row in own_rows(chance) if row.source in OWN_LEFT_OUT]
    return rows


def _open_rows(path: Path, shipped: bool) -> Iterator[Row]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for raw in map(json.loads, lines):
            if (raw["use"] == "ship") == shipped and raw["label"] in LABELS:
                two_way = bool(raw.get("two_way") or raw.get("dialogue"))
                yield Row(raw["source"], raw["split_key"], raw["claim"], raw["context"], LABELS[raw["label"]], two_way)


def own_rows(chance: random.Random, second_passage_share: float = 1.0, *, joined: bool = True) -> Iterator[Row]:
    """Yield our own claims with their passage, with a second passage added, and with another one alone.

    With `joined` pairs of a passage's claims are also yielded as one sentence.
    """
    with gzip.open(OWN_FILE, "rt", encoding="utf-8") as lines:
        passages = [json.loads(line) for line in lines]
    by_writer: dict[str, list[dict[str, Any]]] = {}
    for one in passages:
        by_writer.setdefault(one["source"], []).append(one)
    for source, own in by_writer.items():
        for number, one in enumerate(own):
            others = [other["passage"] for other in own if other is not one and other["language"] == one["language"]]
            for claim, label, *_ in one["claims"]:
                row = Row(source, f"{source}:{number}", claim, one["passage"], LABELS[label])
                yield row
                if source not in OWN_LEFT_OUT and others and chance.random() < second_passage_share:
                    both_passages = [one["passage"], chance.choice(others)]
                    chance.shuffle(both_passages)
                    yield replace(row, context="\n".join(both_passages))
                    if chance.random() < 0.3:
                        yield replace(row, context=chance.choice(others), label=LABELS["not there"])
            for claim, label in _joined(one, chance) if joined else ():
                yield Row(source, f"{source}:{number}", claim, one["passage"], label)


def _joined(passage: dict[str, Any], chance: random.Random) -> Iterator[tuple[str, int]]:
    """Yield pairs of a passage's claims as one sentence: half of them with two true claims, the others with one."""
    true = [one for one in passage["claims"] if one[1] == "supported"]
    false = [one for one in passage["claims"] if one[1] != "supported"]
    if len(true) < 2 or not false:
        return
    for number in range(JOINED):
        first, second = chance.sample(true, 2) if number < JOINED // 2 else (chance.choice(true), chance.choice(false))
        label = LABELS[second[1]]
        pair = [first[0], second[0]]
        chance.shuffle(pair)
        joint = chance.choice(JOINTS[passage["language"]])
        yield f"{pair[0].rstrip('.')}{joint}{_continued(pair[1])}", label


def _continued(sentence: str) -> str:
    """Return a sentence as it goes on within another: in lower case, unless a name or an abbreviation opens it."""
    word = sentence.split(maxsplit=1)[0]
    return sentence if word[1:] != word[1:].lower() or len(word) == 1 else sentence[0].lower() + sentence[1:]


def order_rows(
    rows: Sequence[Row], chance: random.Random, repeats: int, ordinary: int, *, left_out: bool = False
) -> Iterator[Row]:
    """Yield our lines alone and inside `repeats` passages of `rows`, and `ordinary` other texts, with ORDER_CLAIM."""
    supported, elsewhere = LABELS["supported"], LABELS["not there"]

    def row(key: str, text: str, label: int) -> Row:
        return Row("orders", key, ORDER_CLAIM, text, label, two_way=True)

    with gzip.open(ORDERS_FILE, "rt", encoding="utf-8") as lines:
        known = [json.loads(line) for line in lines]
    for number, one in enumerate(known):
        if (number % ORDER_PARTS == 0) != left_out:
            continue
        label = supported if one["label"] == "order" else elsewhere
        yield row(f"orders:{number}", one["text"], label)
        for _ in range(repeats):
            context = chance.choice(rows).context
            sentences = [context[span.start : span.end].strip() for span in split_sentences(context)]
            sentences.insert(chance.randrange(len(sentences) + 1), one["text"])
            yield row(f"orders:{number}", chance.choice(" \n").join(sentences), label)
    for number, other in enumerate(chance.sample(rows, min(len(rows), ordinary))):
        text = other.context if number % 2 else other.claim
        yield row(other.key, text, elsewhere)


def _verbatim(rows: Sequence[Row], chance: random.Random) -> Iterator[Row]:
    """Yield sentences of contexts as claims, with their own context and with another one."""
    for row in chance.sample(rows, round(VERBATIM_SHARE * len(rows))):
        sentences = [row.context[span.start : span.end].strip() for span in split_sentences(row.context)]
        long = [sentence for sentence in sentences if len(sentence) > 30]
        if len(sentences) > 1 and long:
            claim = chance.choice(long)
            yield Row("verbatim", row.key, claim, row.context, LABELS["supported"])
            other = chance.choice(rows)
            if other.key != row.key:
                yield Row("verbatim", row.key, claim, other.context, LABELS["not there"])


def encoded(rows: Iterable[Row], stored: E5File) -> list[Example]:
    """Return the rows as token ids of multilingual E5; those that are too long are left out, not cut."""
    tokenizer, chosen = stored.tokenizer, list(rows)
    claims = tokenizer.encode_batch_fast([row.claim for row in chosen], add_special_tokens=False)
    contexts = tokenizer.encode_batch_fast([row.context for row in chosen], add_special_tokens=False)
    examples = []
    for row, claim, context in zip(chosen, claims, contexts, strict=True):
        head = (stored.first, *claim.ids[:MAX_CLAIM_TOKENS], stored.between)
        ids = (*head, *context.ids, stored.between)
        if len(ids) <= MAX_TOKENS:
            examples.append(Example(row, ids, len(head)))
    return examples
