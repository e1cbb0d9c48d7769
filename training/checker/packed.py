"""Train the claim checker on another machine: pack what it needs into 100 MB, train there, bring back its weights.

    python -m training.checker.packed pack DATA OUT --teacher FOLDER   writes OUT/teacher and OUT/student
    python -m training.checker.packed train OUT WORK RESULT            on the machine with the graphics card
    python -m training.checker.packed unpack RESULT OUTPUT             writes checker.onnx

The teacher (all-mpnet-base-v2) travels with four bits a weight, of multilingual E5's words only those that occur.
Training takes about ten minutes: the teacher, then the courses side by side, and the mean of what they end with.
"""

import argparse
import json
import lzma
import pickle
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import astuple, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pincite.core.text.e5_file import BLOCK, BLOCK_BYTES, FILE, WIDTH, E5File
from pincite.core.text.installed import verified_file
from training import train_checker
from training.checker import examples
from training.checker.examples import Row

GROUP, LEVELS = 64, 6
"""Values of a teacher's matrix that share a scale, and steps on either side of zero."""
OF_A_SOURCE, OF_LEFT_OUT = 150, 8_000
"""Maximum number of examples to measure on: of each source that is never learned from, and of the left-out keys."""
OURS = (*examples.OWN_LEFT_OUT, "orders")
PIECES = 3
"""Files that the weights come back in."""
TEACHER_SECONDS, COURSE_SECONDS = 170.0, 265.0
TOKENIZER_FILES = ("config.json", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.txt")


def pack(data: Path, target: Path, teacher: Path | None) -> None:
    """Write the rows, E5's file and the teacher, compressed."""
    student = target / "student"
    student.mkdir(parents=True, exist_ok=True)
    stored, used = E5File(verified_file(*FILE)), set[int]()
    for name, rows in _parts(data).items():
        chosen = examples.encoded(rows, stored)
        used.update(token for one in chosen for token in one.ids)
        plain = [astuple(one.row) for one in chosen]
        (student / f"{name}.xz").write_bytes(lzma.compress(json.dumps(plain).encode()))
    (student / "e5.xz").write_bytes(lzma.compress(_without_words(stored, used), preset=1))
    if teacher:
        _pack_teacher(teacher, target / "teacher")


def _parts(data: Path) -> dict[str, list[Row]]:
    chance = np.random.default_rng(train_checker.SEED)

    def some(rows: list[Row], most: int) -> list[Row]:
        return [rows[place] for place in chance.permutation(len(rows))[:most]]

    test = examples.load_rows(data, "test", seed=train_checker.SEED)
    own = [row for row in test if row.source in OURS]
    unseen: dict[str, list[Row]] = {}
    for row in examples.load_rows(data, "test", seed=train_checker.SEED, shipped=False):
        unseen.setdefault(row.source, []).append(row)
    return {
        "train": examples.load_rows(data, "train", seed=train_checker.SEED),
        "test": own + some([row for row in test if row.source not in OURS], OF_LEFT_OUT),
        "unseen": [row for rows in unseen.values() for row in some(rows, OF_A_SOURCE)],
    }


def _without_words(stored: E5File, used: set[int]) -> bytes:
    """E5's file with zeros for the words that do not occur, which compress to nothing."""
    raw = bytearray(verified_file(*FILE).read_bytes())
    count, at = stored._places["emb.word"]
    width = WIDTH // BLOCK * BLOCK_BYTES
    words = np.frombuffer(raw, np.uint8, count // BLOCK * BLOCK_BYTES, at).reshape(-1, width).copy()
    absent = np.ones(len(words), bool)
    absent[sorted(used)] = False
    words[absent] = 0
    raw[at : at + words.size] = words.tobytes()
    return bytes(raw)


def _pack_teacher(folder: Path, target: Path) -> None:
    from safetensors.numpy import load_file

    target.mkdir(parents=True, exist_ok=True)
    whole, rest, places = bytearray(), bytearray(), list[tuple[str, list[int], bool]]()
    for name, values in sorted(load_file(folder / "model.safetensors").items()):
        if name.endswith("position_ids"):
            continue
        matrix = values.ndim == 2 and values.size % GROUP == 0
        places.append((name, list(values.shape), matrix))
        if not matrix:
            rest += values.astype(np.float16).tobytes()
            continue
        groups = values.astype(np.float32).reshape(-1, GROUP)
        scale = np.maximum(np.abs(groups).max(axis=1, keepdims=True) / LEVELS, 1e-8).astype(np.float16)
        rest += scale.tobytes()
        whole += (np.rint(groups / scale.astype(np.float32)).clip(-LEVELS, LEVELS) + LEVELS).astype(np.uint8).tobytes()
    (target / "places.json").write_text(json.dumps(places), encoding="utf-8")
    (target / "whole.xz").write_bytes(lzma.compress(bytes(whole), preset=1))
    (target / "rest.xz").write_bytes(lzma.compress(bytes(rest)))
    for name in TOKENIZER_FILES:
        (target / name).write_bytes((folder / name).read_bytes())


def _unpack_teacher(packed: Path, folder: Path) -> None:
    from safetensors.numpy import save_file

    folder.mkdir(parents=True, exist_ok=True)
    whole = np.frombuffer(lzma.decompress((packed / "whole.xz").read_bytes()), np.uint8).astype(np.float32) - LEVELS
    rest, at, behind = lzma.decompress((packed / "rest.xz").read_bytes()), 0, 0
    tensors: dict[str, NDArray[np.float32]] = {}
    for name, shape, matrix in json.loads((packed / "places.json").read_text(encoding="utf-8")):
        size = int(np.prod(shape))
        count = size // GROUP if matrix else size
        values = np.frombuffer(rest, np.float16, count, behind).astype(np.float32)
        behind += 2 * count
        if matrix:
            values = (whole[at : at + size].reshape(-1, GROUP) * values[:, None]).ravel()
            at += size
        tensors[name] = np.ascontiguousarray(values.reshape(shape))
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    for name in TOKENIZER_FILES:
        (folder / name).write_bytes((packed / name).read_bytes())


def train(packed: Path, work: Path, result: Path, course: int | None = None) -> None:
    """Train teacher and students, measure them, and write the best weights with the figures into `result`."""
    import torch

    work.mkdir(parents=True, exist_ok=True)
    e5 = work / "e5.bin"
    if not e5.exists():
        e5.write_bytes(lzma.decompress((packed / "student" / "e5.xz").read_bytes()))
    stored, rows = E5File(e5), _rows(packed, "train")
    courses = {one.seed: replace(one, seconds=COURSE_SECONDS) for one in train_checker.COURSES}
    kept = work / "teacher.npy"
    if course is not None:
        soft = np.load(kept) if kept.exists() else None
        student = train_checker.new_student(stored)
        train_checker.train_student(rows, soft, student, stored, courses[course], work, float("inf"))
        return
    if (packed / "teacher").exists():
        _unpack_teacher(packed / "teacher", work / "teacher")
        train_checker.TEACHER_COURSE = replace(train_checker.TEACHER_COURSE, seconds=TEACHER_SECONDS)
        train_checker.teach(rows, work / "teacher", work, float("inf"))
    command = [sys.executable, "-m", "training.checker.packed", "train", str(packed), str(work), str(result)]
    for process in [subprocess.Popen([*command, "--course", str(number)]) for number in courses]:
        if process.wait():
            raise SystemExit("A course ended with an error.")
    students = {str(number): train_checker.new_student(stored) for number in courses}
    for number, student in students.items():
        saved = torch.load(work / f"course-{number}.pt", map_location="cpu", weights_only=True)
        student.load_state_dict(saved["network"], strict=False)
    states = [student.state_dict() for student in students.values()]
    mean = train_checker.new_student(stored)
    mean.load_state_dict({name: sum(state[name] for state in states) / len(states) for name in states[0]})
    figures = {name: _measured(one, packed, stored) for name, one in {**students, "mean": mean}.items()}
    best = max(figures, key=lambda name: sum(figures[name][part]["all"]["auroc"] for part in ("test", "unseen")))
    _write_weights({**students, "mean": mean}[best], result)
    (result / "figures.json").write_text(json.dumps({"best": best, "figures": figures}, indent=1), encoding="utf-8")


def _measured(student: Any, packed: Path, stored: E5File) -> dict[str, Any]:
    import torch

    student.to("cuda" if torch.cuda.is_available() else "cpu")
    parts = {name: examples.encoded(_rows(packed, name), stored) for name in ("test", "unseen")}
    found = {name: train_checker.summary(one, train_checker.predict(student, one)) for name, one in parts.items()}
    student.to("cpu")
    return found


def _rows(packed: Path, name: str) -> list[Row]:
    plain = json.loads(lzma.decompress((packed / "student" / f"{name}.xz").read_bytes()))
    return [Row(*values) for values in plain]


def _write_weights(student: Any, result: Path) -> None:
    weights = {name: one.detach().numpy().astype(np.float16) for name, one in student.reader.learned().items()}
    blob = pickle.dumps(weights)
    size = -(-len(blob) // PIECES)
    for number in range(PIECES):
        (result / f"weights-{number}").write_bytes(blob[number * size : (number + 1) * size])


def unpack(result: Path, output: Path) -> Path:
    """Write checker.onnx from the weights that were brought back; return its path."""
    stored = E5File(verified_file(*FILE))
    student = train_checker.from_weights(stored, result)
    output.mkdir(parents=True, exist_ok=True)
    return train_checker.export_mean([student], stored, output)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("do", choices=["pack", "train", "unpack"])
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--teacher", type=Path)
    parser.add_argument("--course", type=int)
    options = parser.parse_args(arguments)
    if options.do == "pack":
        data, target = options.folders
        pack(data, target, options.teacher)
    elif options.do == "train":
        packed, work, result = options.folders
        train(packed, work, result, options.course)
    else:
        result, output = options.folders
        print(unpack(result, output))


if __name__ == "__main__":
    main()
