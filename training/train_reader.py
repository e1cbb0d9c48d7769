"""Train a reader on open data, from MiniLM's installed weights or with ``--languages`` from multilingual E5's.

Stop it when you like, the same command goes on. Needs torch and onnx besides Pincite; with a graphics card it takes
minutes, without one days. Writes ``reader.onnx`` (or ``reader_languages.onnx``) with its card (data, figures by source,
checksum) into the output folder, measured on split keys left out of the training and on sources it never saw.
"""

import argparse
import json
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np
from sklearn.metrics import roc_auc_score

from pincite.core.models.minilm import MODEL_FILE
from pincite.core.models.reader import Network, english_network, languages_network, likeliest
from pincite.core.text.e5_file import FILE as E5_FILE
from pincite.core.text.e5_file import E5File
from pincite.core.text.installed import verified_file
from training.reader import examples
from training.reader.examples import Example, Wording

if TYPE_CHECKING:
    import torch

    from training.reader.network import Reader


class HasTokens(Protocol):
    @property
    def ids(self) -> tuple[int, ...]: ...


Tokens = TypeVar("Tokens", bound=HasTokens)


@dataclass(frozen=True, slots=True)
class Course:
    rate: float
    """Of learning, of the head and the highest layer."""
    lower: float
    """Each layer's rate in the measure of the one above it."""
    epochs: float
    order: int
    """Which one of the examples."""


COURSES = (Course(4e-4, 0.9, 1.2, 1), Course(5e-4, 0.88, 1.2, 2), Course(4e-4, 0.9, 1.2, 3), Course(6e-4, 0.85, 1.2, 4))
"""The mean of what they end with reads better than any of them, but for one (5e-4, 0.9) that ended elsewhere."""
WARMUP, WEIGHT_DECAY = 0.06, 0.01
TOKENS_AT_ONCE = 16_384
"""Of one step, padding included."""
SHUFFLED_TOGETHER = 200
"""Batches' worth of examples among which those of a like length are put together."""
SAVED_EVERY = 100
SEED = 20261122
LICENCES = {
    "afriqa": "CC BY 4.0",
    "contract-nli": "CC BY 4.0",
    "covid-qa": "Apache-2.0, of papers under CC BY",
    "cuad": "CC BY 4.0",
    "ordinary (written for this)": "Apache-2.0",
    "qamr": "MIT",
    "qed": "CC BY-SA 3.0",
    "squad": "CC BY-SA 4.0",
    "tathqa": "Apache-2.0",
    "tatqa": "CC BY 4.0",
    "wtq": "CC BY-SA 4.0",
}
OF_MINILM = {"all-MiniLM-L6-v2 (the weights it starts from)": "Apache-2.0"}
OF_E5 = {
    "multilingual-e5-small (the weights it starts from)": "MIT",
    "arcd": "MIT",
    "cmrc2018": "CC BY-SA 4.0",
    "drcd": "CC BY-SA 3.0",
    "iapp-wiki-qa": "MIT",
    "jaquad": "CC BY-SA 3.0",
    "norquad": "CC0 1.0",
    "squad-it": "CC BY-SA 4.0",
    "xquad": "CC BY-SA 4.0",
}
"""Licences of the training data, as the cards state them."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("data", type=Path, help="the folder with the training data")
    parser.add_argument("output", type=Path, help="where checkpoints and the finished reader go")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="stop after this long; go on another time")
    parser.add_argument("--languages", action="store_true", help="a reader of many languages, from multilingual E5")
    parser.add_argument("--card", type=Path, metavar="ONNX", help="write the card of this reader, and train none")
    parser.add_argument("--measure", type=int, default=4_000, help="examples of a part to measure on, at most")


def run(options: argparse.Namespace) -> dict[str, Any]:
    wording = examples.many_languages(_e5()) if options.languages else examples.english()
    options.output.mkdir(parents=True, exist_ok=True)
    training = examples.load(options.data, "train", wording, seed=SEED)
    if options.card:
        return _card(options.card, training, wording, options)
    until, ended = time.monotonic() + options.minutes * 60, []
    for course in COURSES:
        reader, done, steps = _train(training, course, options.output / f"course-{course.order}.pt", until, options)
        if done < steps:
            return {"finished": False, "course": course.order, "steps": done, "of": steps}
        ended.append(reader)
    return _card(_exported(_mean(ended), options), training, wording, options)


def _e5() -> E5File:
    return E5File(verified_file(*E5_FILE))


def _train(
    training: Sequence[Example], course: Course, checkpoint: Path, until: float, options: argparse.Namespace
) -> "tuple[Reader, int, int]":
    """Return the reader, the steps done and the steps that it takes; it goes on from the checkpoint."""
    import torch

    from training.reader.network import start_from_e5, start_from_minilm

    torch.manual_seed(SEED)
    reader = start_from_e5(_e5()) if options.languages else start_from_minilm(verified_file(*MODEL_FILE))
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    reader.to(device)
    trained = list(reader.learned().values())
    rates = [course.rate * course.lower**below for below in range(len(reader.layers))]
    groups: list[dict[str, Any]] = [
        {"params": list(part.parameters()), "highest": rate}
        for part, rate in zip([reader.head, *reversed(reader.layers)], [course.rate, *rates], strict=True)
    ]
    optimizer = torch.optim.AdamW(groups, weight_decay=WEIGHT_DECAY)
    planned = list(batches(training, course.epochs, SEED + course.order))
    steps, done = len(planned), 0
    if checkpoint.exists():
        kept = torch.load(checkpoint, map_location=device, weights_only=True)
        if kept["steps"] == steps:
            reader.load_state_dict(kept["reader"], strict=False)
            optimizer.load_state_dict(kept["optimizer"])
            done = kept["done"]
    reader.train()
    torch.manual_seed(SEED + course.order)
    recent: list[torch.Tensor] = []
    while done < steps and time.monotonic() < until:
        for group in optimizer.param_groups:
            group["lr"] = group["highest"] * min((done + 1) / (WARMUP * steps), (steps - done) / ((1 - WARMUP) * steps))
        with torch.autocast(device.type, torch.bfloat16):
            loss = _loss(reader, planned[done])
        loss.backward()
        torch.nn.utils.clip_grad_norm_(trained, 1.0)
        optimizer.step()
        optimizer.zero_grad()
        recent.append(loss.detach())
        done += 1
        if done % SAVED_EVERY == 0 or done == steps or time.monotonic() >= until:
            state = {"reader": reader.learned(), "optimizer": optimizer.state_dict(), "done": done, "steps": steps}
            torch.save(state, checkpoint.with_suffix(".partial"))
            checkpoint.with_suffix(".partial").replace(checkpoint)
            print(
                f"{time.strftime('%H:%M:%S')} step {done} of {steps}, loss {torch.stack(recent).mean():.3f}", flush=True
            )
            recent.clear()
    return reader.to("cpu"), done, steps


def _mean(readers: "Sequence[Reader]") -> "Reader":
    """Return the first of them, with the mean of their weights."""
    states = [reader.state_dict() for reader in readers]
    readers[0].load_state_dict({name: sum(state[name] for state in states) / len(states) for name in states[0]})
    return readers[0]


def batches(
    training: Sequence[Tokens], epochs: float, seed: int, tokens: int = TOKENS_AT_ONCE
) -> Iterator[list[Tokens]]:
    """Yield batches of about ``tokens`` tokens, in an order fixed by the seed, so that a stopped run resumes in it."""
    chance = random.Random(seed)
    left = round(epochs * len(training))
    while left > 0:
        order = chance.sample(training, min(left, len(training)))
        left -= len(order)
        mean = sum(len(example.ids) for example in order) / len(order)
        chunk = max(1, round(SHUFFLED_TOGETHER * tokens / mean))
        for at in range(0, len(order), chunk):
            gathered: list[list[Tokens]] = [[]]
            for example in sorted(order[at : at + chunk], key=lambda one: len(one.ids)):
                if (len(gathered[-1]) + 1) * len(example.ids) > tokens:
                    gathered.append([])
                gathered[-1].append(example)
            yield from chance.sample(gathered, len(gathered))


def _numbers(reader: "Reader", batch: Sequence[Example]) -> "torch.Tensor":
    """(batch, length, OUTPUTS); starts and ends that cannot be, in question and padding, are far below the others."""
    import torch

    length = max(len(example.ids) for example in batch)
    ids = torch.zeros((len(batch), length), dtype=torch.long)
    kinds, attended = torch.zeros_like(ids), torch.zeros((len(batch), length), dtype=torch.bool)
    possible = torch.zeros((len(batch), length), dtype=torch.bool)
    for row, example in enumerate(batch):
        ids[row, : len(example.ids)] = torch.tensor(example.ids)
        attended[row, : len(example.ids)] = True
        kinds[row, example.question_tokens : len(example.ids)] = 1
        possible[row, example.question_tokens : len(example.ids) - 1] = True
        possible[row, 0] = True
    device = reader.head.weight.device
    numbers: torch.Tensor = reader(ids.to(device), kinds.to(device), attended.to(device))
    spans = numbers[:, :, :2].masked_fill(~possible.to(device)[:, :, None], -1e4)
    return torch.cat([spans, numbers[:, :, 2:]], dim=2)


def _loss(reader: "Reader", batch: Sequence[Example]) -> "torch.Tensor":
    """Cross entropy of start and end where they are known, and of the two statements where they are."""
    import torch
    from torch.nn import functional

    numbers = _numbers(reader, batch)
    total = numbers.new_zeros(())
    known = [row for row, example in enumerate(batch) if example.start is not None]
    if known:
        for column, places in enumerate(([batch[row].start for row in known], [batch[row].end for row in known])):
            total = (
                total
                + functional.cross_entropy(numbers[known, :, column], torch.tensor(places, device=numbers.device)) / 2
            )
    for column, told in ((2, [example.answerable for example in batch]), (3, [example.bears for example in batch])):
        rows = [row for row, value in enumerate(told) if value is not None]
        if rows:
            wanted = numbers.new_tensor([float(bool(told[row])) for row in rows])
            total = total + functional.binary_cross_entropy_with_logits(numbers[rows, 0, column], wanted) / 2
    return total


def _exported(reader: "Reader", options: argparse.Namespace) -> Path:
    from training.reader.network import export_e5, export_minilm

    target: Path = options.output / f"{_name(options)}.onnx"
    if options.languages:
        export_e5(reader, target)
    else:
        export_minilm(reader, verified_file(*MODEL_FILE), target)
    return target


def _name(options: argparse.Namespace) -> str:
    return "reader_languages" if options.languages else "reader"


def _card(target: Path, training: Sequence[Example], wording: Wording, options: argparse.Namespace) -> dict[str, Any]:
    """What it was taught with and how it reads, also written into the output folder."""
    model = target.read_bytes()
    network = languages_network(model, _e5()) if options.languages else english_network(model)
    chance = random.Random(SEED)
    left_out = examples.load(options.data, "test", wording, seed=SEED)
    unseen = examples.load(options.data, "", wording, seed=SEED, shipped=False)
    card = {
        "sha256": sha256(model).hexdigest(),
        "licences": {**(OF_E5 if options.languages else OF_MINILM), **LICENCES},
        "trained_on": dict(sorted(_counts(training).items())),
        "left_out_keys": _measure(network, chance.sample(left_out, min(options.measure, len(left_out)))),
        "unseen_sources": _measure(network, chance.sample(unseen, min(options.measure, len(unseen)))),
    }
    (options.output / f"{_name(options)}.json").write_text(json.dumps(card, indent=2) + "\n", encoding="utf-8")
    return card


def _counts(rows: Sequence[Example]) -> dict[str, int]:
    return {source: sum(row.source == source for row in rows) for source in {row.source for row in rows}}


def _measure(network: Network, rows: Sequence[Example]) -> dict[str, dict[str, float]]:
    """By source, as the exported file reads: token F1 and exact match of spans, AUROC of the two statements."""
    measured: dict[str, list[tuple[Example, float, float, float, float]]] = {}
    for example in rows:
        numbers = network.numbers(list(example.ids), example.question_tokens)
        text = numbers[example.question_tokens : -1]
        first, last, _ = likeliest(text[:, 0], text[:, 1], np.zeros(len(text), np.int64))
        start, end = first + example.question_tokens, last + example.question_tokens
        truth = set(range(example.start or 0, (example.end or 0) + 1))
        found = 2 * len(truth & set(range(start, end + 1))) / (end - start + 1 + len(truth))
        exact = float((start, end) == (example.start, example.end))
        row = (example, found, exact, float(numbers[0, 2]), float(numbers[0, 3]))
        for name in (example.source, "all"):
            measured.setdefault(name, []).append(row)
    return {name: _summary(entries) for name, entries in sorted(measured.items())}


def _summary(entries: Sequence[tuple[Example, float, float, float, float]]) -> dict[str, float]:
    spans = [entry for entry in entries if entry[0].start]
    summary: dict[str, float] = {"examples": len(entries)}
    if spans:
        summary |= {
            "f1": round(float(np.mean([entry[1] for entry in spans])), 3),
            "exact": round(float(np.mean([entry[2] for entry in spans])), 3),
        }
    for name, column in (("answerable", 3), ("bears", 4)):
        labelled = [
            (getattr(entry[0], name), entry[column]) for entry in entries if getattr(entry[0], name) is not None
        ]
        if len({value for value, _ in labelled}) == 2:
            summary[f"{name}_auroc"] = round(float(roc_auc_score(*zip(*labelled, strict=True))), 3)
    return summary
