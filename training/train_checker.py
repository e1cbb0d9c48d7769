"""Train the claim checker (claim and passage → supported, contradicted, not there) from multilingual E5's weights.

Stop it when you like: the same command goes on from its checkpoints. Needs torch and onnx besides Pincite; with a
graphics card it takes minutes, without one days, so that `--cpu MINUTES` trains only the upper half, on our own rows
and a part of the others, from the shipped reader or from what an earlier training ended with (`--start`). With
`--teacher` (the folder of all-mpnet-base-v2) that larger network is trained first, and the checker learns from its
probabilities too. Writes `checker.onnx` and its card `checker.json` (data, left-out figures by source, checksum) into
the output folder.
"""

import argparse
import json
import pickle
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from pincite.core.text.e5_file import FILE as E5_FILE
from pincite.core.text.e5_file import WIDTH, E5File
from pincite.core.text.installed import verified_file
from pincite.core.text.networks import open_session
from training.checker import examples
from training.checker.examples import Example, Row
from training.train_reader import batches

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, slots=True)
class Course:
    rate: float
    """Learning rate of the head and the top layer."""
    lower: float
    """Ratio of each layer's rate to that of the layer above."""
    epochs: float
    seed: int
    seconds: float = float("inf")
    """Maximum length: the learning rate falls to zero by then, however many epochs are done."""
    tokens: int = 16_384
    """Tokens of a batch, padding included."""


COURSES = (Course(4e-4, 0.9, 6, 1), Course(5e-4, 0.88, 6, 2), Course(4e-4, 0.9, 6, 3))
"""The shipped weights are the mean of what these end with."""
CPU_SHARE, CPU_LAYERS = 0.03, 6
"""Share of the open rows, and number of trained layers, of a course on the processor."""
TEACHER_COURSE = Course(4e-5, 1.0, 3.5, 9)
WARMUP, WEIGHT_DECAY = 0.06, 0.01
FROM_TEACHER = 0.5
"""Weight of the teacher's probabilities in the loss, against that of the labels."""
SAVE_EVERY = 20
READER_FILE = Path(__file__).parents[1] / "core" / "models" / "reader_languages.onnx"
SEED = 20261128
Floats = NDArray[np.float32]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("data", type=Path, help="the folder with the training data")
    parser.add_argument("output", type=Path, help="where checkpoints and the finished checker go")
    parser.add_argument("--teacher", type=Path, metavar="FOLDER", help="all-mpnet-base-v2, to learn from as well")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="stop after this long; go on another time")
    parser.add_argument("--cpu", type=float, metavar="MINUTES", help="one short course that a processor can do")
    parser.add_argument(
        "--start", type=Path, metavar="PATH", help="begin with a checker.onnx, or weights of `packed train`"
    )
    parser.add_argument("--card", type=Path, metavar="ONNX", help="write the card of this checker, and train none")
    parser.add_argument("--measure", type=int, default=6_000, help="maximum number of examples of a part to measure on")


def run(options: argparse.Namespace) -> dict[str, Any]:
    stored = E5File(verified_file(*E5_FILE))
    options.output.mkdir(parents=True, exist_ok=True)
    if options.card:
        return write_card(options.card, stored, options)
    until = time.monotonic() + options.minutes * 60
    if options.cpu:
        rows = examples.load_rows(options.data, "train", seed=SEED, share=CPU_SHARE)
        course = Course(1.5e-4, 0.9, 1.5, 1, options.cpu * 60, 3_072)
        begun = from_weights(stored, options.start) if options.start else from_reader(stored)
        student, finished = train_student(rows, None, begun, stored, course, options.output, until, layers=CPU_LAYERS)
        if not finished:
            return {"finished": False, "course": "processor"}
        return write_card(export_mean([student], stored, options.output), stored, options)
    rows = examples.load_rows(options.data, "train", seed=SEED)
    soft = teach(rows, options.teacher, options.output, until) if options.teacher else None
    if options.teacher and soft is None:
        return {"finished": False, "course": "teacher"}
    ended = []
    for course in COURSES:
        student, finished = train_student(rows, soft, new_student(stored), stored, course, options.output, until)
        if not finished:
            return {"finished": False, "course": course.seed}
        ended.append(student)
    return write_card(export_mean(ended, stored, options.output), stored, options)


def teach(rows: Sequence[Row], folder: Path, output: Path, until: float) -> Floats | None:
    """Return the teacher's logits, shape (rows, 3), kept in `teacher.npy`; None when it is not yet trained."""
    from training.checker.teacher import Teacher, encoded_for_teacher

    kept = output / "teacher.npy"
    if kept.exists():
        logits: Floats = np.load(kept)
        return logits
    teacher = Teacher(folder)
    groups = [{"params": list(teacher.parameters()), "highest": TEACHER_COURSE.rate}]
    chosen = encoded_for_teacher(rows, folder)
    places = [(one, None) for one in chosen]
    if not _train(teacher, groups, places, TEACHER_COURSE, output / "teacher.pt", until):
        return None
    logits = predict(teacher, chosen)
    np.save(kept, logits)
    return logits


def train_student(
    rows: Sequence[Row],
    soft: Floats | None,
    student: Any,
    stored: E5File,
    course: Course,
    output: Path,
    until: float,
    *,
    layers: int | None = None,
) -> "tuple[torch.nn.Module, bool]":
    """Train one course; return the student and whether the course was finished by `until` (monotonic seconds).

    With `layers` only that number of upper layers is trained.
    """
    for layer in student.reader.layers[: -layers if layers else 0]:
        layer.requires_grad_(False)
    rates = [course.rate * course.lower**below for below in range(len(student.reader.layers))]
    parts = zip([student.reader.head, *reversed(student.reader.layers)], [course.rate, *rates], strict=True)
    groups: list[dict[str, Any]] = [
        {"params": kept, "highest": rate}
        for part, rate in parts
        if (kept := [one for one in part.parameters() if one.requires_grad])
    ]
    numbered = {id(row): number for number, row in enumerate(rows)}
    known = [(one, None if soft is None else soft[numbered[id(one.row)]]) for one in examples.encoded(rows, stored)]
    return student, _train(student, groups, known, course, output / f"course-{course.seed}.pt", until)


def from_reader(stored: E5File) -> Any:
    """Return a student with the layers of the shipped reader."""
    from training.reader.network import set_from_reader

    student = new_student(stored)
    set_from_reader(student.reader, READER_FILE)
    return student


def from_weights(stored: E5File, path: Path) -> Any:
    """Return a student with the weights of an exported file, or those that `packed train` wrote into a folder."""
    import torch

    from training.reader.network import set_from_reader

    student = new_student(stored)
    if path.is_file():
        set_from_reader(student.reader, path, head=True)
        return student
    weights = pickle.loads(b"".join(path.read_bytes() for path in sorted(path.glob("weights-*"))))
    state = {f"reader.{name}": torch.from_numpy(values.astype(np.float32)) for name, values in weights.items()}
    student.load_state_dict(state, strict=False)
    return student


def new_student(stored: E5File) -> Any:
    import torch

    from training.reader.network import start_from_e5

    class Student(torch.nn.Module):
        """(batch, length) token ids → (batch, 3) logits, read off the first token."""

        def __init__(self) -> None:
            super().__init__()
            self.reader = start_from_e5(stored, outputs=3)

        def forward(self, ids: Any, kinds: Any, attended: Any) -> Any:
            return self.reader(ids, kinds, attended)[:, 0]

    return Student()


@dataclass(frozen=True, slots=True)
class _Known:
    """An example as `batches` wants it, with the teacher's logits."""

    ids: tuple[int, ...]
    example: Example
    soft: Floats | None


def _train(
    network: "torch.nn.Module",
    groups: list[dict[str, Any]],
    known: Iterable[tuple[Example, Floats | None]],
    course: Course,
    checkpoint: Path,
    until: float,
    clock: Callable[[], float] = time.monotonic,
) -> bool:
    """Train until the course ends or the clock reaches `until`; go on from the checkpoint. True when it has ended."""
    import torch

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    network.to(device)
    optimizer = torch.optim.AdamW(groups, weight_decay=WEIGHT_DECAY)
    rows = [_Known(example.ids, example, soft) for example, soft in known]
    planned = list(batches(rows, course.epochs, SEED + course.seed, course.tokens))
    steps, done = len(planned), 0
    if checkpoint.exists():
        kept = torch.load(checkpoint, map_location=device, weights_only=True)
        if kept["steps"] == steps:
            network.load_state_dict(kept["network"], strict=False)
            optimizer.load_state_dict(kept["optimizer"])
            done = kept["done"]
    trained = [values for values in network.parameters() if values.requires_grad]
    network.train()
    torch.manual_seed(SEED + course.seed)
    recent: list[torch.Tensor] = []
    begun = clock()
    while done < steps and clock() < until:
        part = max(done / steps, (clock() - begun) / course.seconds)
        if part >= 1:
            done = steps
            break
        for group in optimizer.param_groups:
            group["lr"] = group["highest"] * min((done + 1) / (WARMUP * steps), (1 - part) / (1 - WARMUP))
        with torch.autocast(device.type, torch.bfloat16):
            loss = _loss(network, planned[done], device)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(trained, 1.0)
        optimizer.step()
        optimizer.zero_grad()
        recent.append(loss.detach())
        done += 1
        if done % SAVE_EVERY == 0 or done == steps:
            seen = torch.stack(recent).mean()
            print(f"{time.strftime('%H:%M:%S')} {checkpoint.stem} {done}/{steps} {seen:.3f}", flush=True)
            recent.clear()
        if done % (10 * SAVE_EVERY) == 0:
            _save(network, optimizer, done, steps, checkpoint)
    _save(network, optimizer, done, steps, checkpoint)
    return done == steps


def _save(
    network: "torch.nn.Module", optimizer: "torch.optim.Optimizer", done: int, steps: int, checkpoint: Path
) -> None:
    import torch

    trained = {name: values for name, values in network.named_parameters() if values.requires_grad}
    state = {"network": trained, "optimizer": optimizer.state_dict(), "done": done, "steps": steps}
    torch.save(state, checkpoint.with_suffix(".partial"))
    checkpoint.with_suffix(".partial").replace(checkpoint)


def tensors(batch: Sequence[Any], device: Any) -> Any:
    """Return token ids, kinds (0 claim, 1 passage) and what is attended to, each of shape (batch, length)."""
    import torch

    length = max(len(one.ids) for one in batch)
    ids = np.zeros((len(batch), length), np.int64)
    attended = np.zeros((len(batch), length), bool)
    for row, one in enumerate(batch):
        ids[row, : len(one.ids)] = one.ids
        attended[row, : len(one.ids)] = True
    found = torch.from_numpy(ids).to(device, non_blocking=True)
    return found, torch.zeros_like(found), torch.from_numpy(attended).to(device, non_blocking=True)


def _loss(network: "torch.nn.Module", batch: Sequence[_Known], device: Any) -> "torch.Tensor":
    """Cross entropy of the labels and of the teacher's probabilities; of two-way rows, of supported or not."""
    import torch
    from torch.nn import functional

    logits = network(*tensors(batch, device)).float()
    labels = torch.tensor([one.example.row.label for one in batch], device=device)
    likely = functional.log_softmax(logits, dim=1)
    unsupported = torch.logsumexp(likely[:, 1:], dim=1)
    two_way = torch.tensor([one.example.row.two_way and one.example.row.label != 0 for one in batch], device=device)
    hard = -torch.where(two_way, unsupported, likely.gather(1, labels[:, None])[:, 0]).mean()
    taught = [place for place, one in enumerate(batch) if one.soft is not None]
    if not taught:
        return hard
    wanted = torch.tensor(np.array([batch[place].soft for place in taught]), device=device).softmax(dim=1)
    soft = -(wanted * likely[taught]).sum(dim=1).mean()
    return FROM_TEACHER * soft + (1 - FROM_TEACHER) * hard


def predict(network: "torch.nn.Module", chosen: Sequence[Example]) -> Floats:
    """Return logits of shape (examples, 3), in their order."""
    import torch

    device = next(network.parameters()).device
    network.eval()
    found = np.zeros((len(chosen), 3), np.float32)
    order = sorted(range(len(chosen)), key=lambda place: len(chosen[place].ids))
    with torch.no_grad(), torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
        for at in range(0, len(order), 128):
            places = order[at : at + 128]
            found[places] = network(*tensors([chosen[place] for place in places], device)).float().cpu().numpy()
    return found


def export_mean(students: Sequence[Any], stored: E5File, output: Path) -> Path:
    """Write the int8 network with the mean of the students' weights; return its path."""
    from training.reader.network import export_e5, start_from_e5

    states = [student.cpu().reader.state_dict() for student in students]
    mean = start_from_e5(stored, outputs=3)
    mean.load_state_dict({name: sum(state[name] for state in states) / len(states) for name in states[0]})
    target = output / "checker.onnx"
    export_e5(mean, target)
    return target


def write_card(target: Path, stored: E5File, options: argparse.Namespace) -> dict[str, Any]:
    """Measure the exported file on left-out keys and on sources it never saw; write and return its card."""
    network = exported_network(target.read_bytes(), stored)
    chance = np.random.default_rng(SEED)
    card: dict[str, Any] = {"sha256": sha256(target.read_bytes()).hexdigest()}
    training = examples.load_rows(options.data, "train", seed=SEED)
    names = [row.source for row in training]
    card["licences"] = licences(options.data / "README.md", set(names))
    card["trained_on"] = {name: names.count(name) for name in sorted(set(names))}
    for part, shipped in (("left_out_keys", True), ("unseen_sources", False)):
        rows = examples.encoded(examples.load_rows(options.data, "test", seed=SEED, shipped=shipped), stored)
        chosen = [rows[place] for place in chance.permutation(len(rows))[: options.measure]]
        card[part] = summary(chosen, np.array([network(one.ids) for one in chosen]))
    (options.output / "checker.json").write_text(json.dumps(card, indent=2) + "\n", encoding="utf-8")
    return card


def licences(readme: Path, sources: set[str]) -> dict[str, str]:
    """Return the licences of the sources that the tables of the data's README name."""
    found = {"multilingual-e5-small (the weights it starts from)": "MIT", "our own claims and lines": "Apache-2.0"}
    for line in readme.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        name = cells[0].partition("`")[2].partition("`")[0]
        if name in sources and len(cells) > 4 and cells[4].startswith("ship"):
            found[name] = cells[3].partition(" (")[0].partition(";")[0]
    return found


def exported_network(model: bytes, stored: E5File) -> Callable[[Sequence[int]], Floats]:
    """Return a function from token ids to the three logits of an exported file."""
    session = open_session(model)

    def logits(ids: Sequence[int]) -> Floats:
        found: Floats = session.run(None, {"vectors": stored.rows("emb.word", ids, WIDTH)[None]})[0][0, 0]
        return found

    return logits


def summary(chosen: Sequence[Example], logits: Floats) -> dict[str, dict[str, float]]:
    """By source: examples, accuracy (of two-way rows, of supported or not) and AUROC of the probability of support."""
    likely = np.exp(logits - logits.max(axis=1, keepdims=True))
    likely /= likely.sum(axis=1, keepdims=True)
    right = np.array(
        [
            (best == 0) == (one.row.label == 0) if one.row.two_way else best == one.row.label
            for one, best in zip(chosen, likely.argmax(axis=1), strict=True)
        ]
    )
    supported = np.array([one.row.label == 0 for one in chosen])
    sources = np.array([one.row.source for one in chosen])
    found = {}
    for name in ["all", *sorted(set(sources.tolist()))]:
        mine = sources == name if name != "all" else np.ones(len(chosen), bool)
        found[name] = {"examples": int(mine.sum()), "accuracy": round(float(right[mine].mean()), 3)}
        if len(set(supported[mine].tolist())) == 2:
            found[name]["auroc"] = round(float(roc_auc_score(supported[mine], likely[mine, 0])), 3)
    return found
