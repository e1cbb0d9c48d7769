"""Does a promise hold? Labelled answers of each kind, by models that have seen nothing of their source or table.

A promise made by one half of them is looked at on the other half, many times over, and one made by all other sources
on each source. ``--write`` keeps the answers, as what the settings promise by. The folders are those of `fit-quoting`,
and that of open training data.
"""

import argparse
import json
import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.measures import mean
from benchmarks.selective import risk_coverage_area
from core.domain.answers import AnswerKind
from core.judge.confidence import calibration_error
from core.judge.promise import CERTAINTY, Labelled, promise
from core.models.quoting import LEAST_ANSWERED
from core.models.selection import Skill

RISKS = (0.05, 0.1, 0.2, 0.3)
QUESTIONS_ABOUT_TABLES = 1600
"""Of each source, as `gates` is measured."""


@dataclass(frozen=True, slots=True)
class Label:
    kind: AnswerKind
    source: str
    said: float
    right: bool


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directory", type=Path, help="a folder with pdfs/ and questions.jsonl that names answers")
    parser.add_argument("languages", type=Path, help="such a folder in other languages")
    parser.add_argument("data", type=Path, help="the folder of open training data")
    parser.add_argument("--splits", type=int, default=400, help="how often the answers are parted in halves")
    parser.add_argument("--write", type=Path, help="where to keep the labelled answers")


def run(options: argparse.Namespace) -> dict[str, Any]:
    from benchmarks.fit_quoting import samples_of

    quoted = {
        Skill.ENGLISH: samples_of(options.directory, Skill.ENGLISH),
        Skill.ENGLISH_SMALL: samples_of(options.directory, Skill.ENGLISH_SMALL),
        Skill.LANGUAGES: samples_of(options.languages, Skill.LANGUAGES),
    }
    return labelled_and_measured(quoted, options)


def labelled_and_measured(quoted: Mapping[Skill, Sequence[Any]], options: argparse.Namespace) -> dict[str, Any]:
    """``quoted``: what `fit_quoting.samples_of` gives, by skill."""
    small = _of_quoting(quoted[Skill.ENGLISH_SMALL], Skill.ENGLISH_SMALL)
    large = [*_of_quoting(quoted[Skill.ENGLISH], Skill.ENGLISH), *_of_quoting(quoted[Skill.LANGUAGES], Skill.LANGUAGES)]
    figures = _of_tables(options.data)
    if options.write:
        content = {"any": _plain(figures), "large": _plain(large), "small": _plain(small)}
        options.write.write_text(json.dumps(content, separators=(",", ":")) + "\n", encoding="utf-8")
    return {
        "certainty": CERTAINTY,
        "splits": options.splits,
        "kinds": {kind.value: _measured(own, options.splits) for kind, own in _by_kind([*large, *figures]).items()},
        "with the small reader": {kind.value: _measured(own, options.splits) for kind, own in _by_kind(small).items()},
    }


def _of_quoting(samples: Sequence[Any], skill: Skill) -> list[Label]:
    from benchmarks.fit_quoting import weighed_elsewhere

    english = skill is not Skill.LANGUAGES
    quoted, not_found = (
        (AnswerKind.QUOTED, AnswerKind.NOT_FOUND) if english else (AnswerKind.QUOTED_ELSE, AnswerKind.NOT_FOUND_ELSE)
    )
    return [
        Label(not_found, source, 1 - answered, not asked.answers)
        if answered < LEAST_ANSWERED
        else Label(quoted, source, likely, right)
        for source, rows in weighed_elsewhere(samples).items()
        for asked, right, answered, likely in rows
    ]


def _of_tables(directory: Path) -> list[Label]:
    """One of each question, drawn by lot: asked of its table alone, of it among others, or of others."""
    from benchmarks.gates import labelled

    chance, found = random.Random(0), list[Label]()
    kinds = (AnswerKind.FIGURE, AnswerKind.COMPUTED)
    for kind, told in zip(kinds, labelled(directory, QUESTIONS_ABOUT_TABLES), strict=True):
        asked = defaultdict[tuple[str, str], list[Label]](list)
        for case, said in told:
            asked[case.key, case.question].append(Label(kind, case.source, said, case.right))
        found += [chance.choice(labels) for labels in asked.values()]
    return found


def _by_kind(labels: Iterable[Label]) -> dict[AnswerKind, list[Label]]:
    found = defaultdict[AnswerKind, list[Label]](list)
    for label in labels:
        found[label.kind].append(label)
    return found


def _plain(labels: Iterable[Label]) -> dict[str, list[list[float]]]:
    return {
        kind.name: sorted([round(one.said, 3), int(one.right)] for one in own) for kind, own in _by_kind(labels).items()
    }


def rows_of(labels: Iterable[Label]) -> Labelled:
    return [(one.said, one.right) for one in labels]


def _measured(labels: Sequence[Label], splits: int) -> dict[str, Any]:
    """``sources``: the calibration error on each source, by models that have seen nothing of it."""
    rows, sources = rows_of(labels), sorted({one.source for one in labels})
    said, right = [one.said for one in labels], [one.right for one in labels]
    return {
        "answers": len(labels),
        "right": mean(right),
        "ece": calibration_error(said, right),
        "aurc": risk_coverage_area(said, right),
        "risks": {risk: _kept(rows, risk, splits) for risk in RISKS},
        "sources": {source: _elsewhere(labels, source) for source in sources},
    }


def _kept(rows: Labelled, risk: float, splits: int) -> dict[str, Any]:
    """The promise by all of them; by halves, how often it was kept on the other half, and by draws on all of them.

    A half that shows few is wrong by chance more often than the promise allows; of draws with replacement the share
    of wrong answers is known, so that the promise must be kept in at least the promised share of them.
    """
    chance, told = random.Random(0), promise(rows, risk)
    halves, draws, shown = list[bool](), list[bool](), list[float]()
    for _ in range(splits):
        mixed = chance.sample(rows, len(rows))
        middle = len(rows) // 2
        half = promise(mixed[:middle], risk).threshold
        halves.append(_wrong(mixed[middle:], half) <= risk)
        shown.append(_share(mixed[middle:], half))
        drawn = promise(chance.choices(rows, k=len(rows)), risk).threshold
        draws.append(_wrong(rows, drawn) <= risk)
    return {
        "threshold": told.threshold,
        "coverage": told.coverage,
        "bound": told.bound,
        "kept on other halves": mean(halves),
        "coverage of other halves": mean(shown),
        "kept by draws": mean(draws),
    }


def _elsewhere(labels: Sequence[Label], source: str) -> dict[str, Any]:
    own, others = _parted(labels, lambda one: one.source == source)
    found: dict[str, Any] = {"answers": len(own), "ece": calibration_error(*zip(*rows_of(own), strict=True))}
    for risk in RISKS:
        threshold = promise(rows_of(others), risk).threshold
        shown = _share(rows_of(own), threshold)
        if shown:
            found[f"at {risk}"] = {"coverage": shown, "wrong": _wrong(rows_of(own), threshold)}
    return found


def _parted(labels: Iterable[Label], chosen: Callable[[Label], bool]) -> tuple[list[Label], list[Label]]:
    parts: tuple[list[Label], list[Label]] = ([], [])
    for label in labels:
        parts[not chosen(label)].append(label)
    return parts


def _shown(rows: Labelled, threshold: float | None) -> list[bool]:
    return [] if threshold is None else [right for said, right in rows if said >= threshold]


def _share(rows: Labelled, threshold: float | None) -> float:
    return len(_shown(rows, threshold)) / len(rows)


def _wrong(rows: Labelled, threshold: float | None) -> float:
    """The share of wrong answers among those that are shown; where none are, nothing is wrong."""
    shown = _shown(rows, threshold)
    return 1 - sum(shown) / len(shown) if shown else 0.0
