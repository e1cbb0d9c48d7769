"""Fit the weights of quoting on a folder that the reader was not trained on, and measure them on left-out sources.

``python -m training training-folder DATA DIR --left-out`` makes the folder, ``--languages FONTS`` the one of other
languages; the questions for yes or no lie in ``training/yes_no``. Which sentence answers is learned from open data
alone; whether any does, and whether it is right, as much from what people ask of ordinary documents of our own
(``training/ordinary``). Writes quoting.json with ``--write``.
"""

import argparse
import json
import random
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import StandardScaler

from benchmarks.corpus import Corpus, open_corpus
from benchmarks.grading import grade
from benchmarks.measures import Question, mean, read_questions
from pincite.core.answers.quoting import MIN_ANSWERED
from pincite.core.answers.selection import Measured, Models, Scored, Skill, measure_answer, measure_units, reader_of
from pincite.core.domain.logistic import LogisticModel
from pincite.core.judge.confidence import calibration_error, reliability, threshold_effects
from pincite.core.questions.plan import plan_question
from pincite.core.questions.wording import asks_for_one_fact, is_english
from pincite.core.text.terms import content_terms, words
from training.training_folder import ONE_DOCUMENT

Matrix = NDArray[np.float64]
_SPACELESS = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u4e00-\u9fff]")
"""Thai, Japanese and Chinese letters."""
READ_MEASURES = ("span", "answerable", "behind")
STRENGTH = 0.1
"""Inverse of the penalty on standardised measures."""
SHARE_UNANSWERABLE = 0.25
"""Target share of unanswerable questions. A folder has fewer of them than people ask, so that questions are also asked
of every document but their own, up to this share; if there are more, they count less."""
SHARE_UNDECIDED = 0.4
"""The same share for yes/no questions, in the model of whether the best unit is right: 42 % of the statements about
contracts in ContractNLI are neither supported nor denied. Declining when a line would answer is the worse mistake."""
YES_NO = Path(__file__).parent / "yes_no"
"""Our own: half of the questions are decided by a sentence of their document, half by none, though it speaks of it."""
ORDINARY = Path(__file__).parent / "ordinary"
"""Also our own: letters, leases, leaflets, price lists and similar documents, with people's questions about them."""
ORDINARY_OF_ANSWERED = 0.35
"""Their weight, relative to open data, in the model of whether anything answers: questions that no document of ours
answers are at least near its subject; only open data contain questions unrelated to the documents."""
OF_YES_NO = frozenset(("best", "ahead", "any", "answerable", "most answerable"))
"""Measures used for these few questions: shared words are no evidence, since the texts were written to share them."""
MIN_AGREEMENT = 0.6
"""Minimum share of an answer's new terms, or minimum token F1, for a text that contains the answer."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One question's units with their measures, and which of them hold its answer."""

    question: str
    source: str
    answers: tuple[str, ...]
    """None: its document does not answer."""
    measured: tuple[Measured, ...]
    holds: tuple[bool, ...]
    moved: bool = False
    """It was asked of every document but its own."""
    skill: Skill = Skill.ENGLISH
    ordinary: bool = False
    """It is asked of our own documents."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "directory", type=Path, nargs="?", help="a folder with pdfs/ and questions.jsonl that names answers"
    )
    parser.add_argument("languages", type=Path, nargs="?", help="such a folder in other languages")
    parser.add_argument("--only", type=Skill, help="fit this alone, and keep the rest as it is shipped")
    parser.add_argument("--write", type=Path, help="where to write what was learned from everything")


def run(options: argparse.Namespace) -> dict[str, Any]:
    folders = {
        Skill.ENGLISH: options.directory,
        Skill.ENGLISH_SMALL: options.directory,
        Skill.YES_NO: YES_NO,
        Skill.LANGUAGES: options.languages,
    }
    samples = {skill: samples_of(folder, skill) for skill, folder in folders.items() if options.only in (None, skill)}
    if english := samples.get(Skill.ENGLISH):
        samples[Skill.UNREAD] = [_unread(one) for one in english if not one.ordinary]
    written = json.loads(files("pincite.core.answers").joinpath("quoting.json").read_text(encoding="utf-8"))
    report = written["measured"]
    for skill, own in samples.items():
        report[skill.value] = left_out(own)
        models = fit(own)
        written[skill.value] = {part: getattr(models, part).to_json(4) for part in ("unit", "answered", "right")}
    if options.write:
        options.write.write_text(f"{json.dumps(written, separators=(',', ':'))}\n", encoding="utf-8")
    return {
        "questions": sum(map(len, samples.values())),
        "sources left out": {skill.value: report[skill.value] for skill in samples},
    }


def samples_of(directory: Path, skill: Skill) -> list[Asked]:
    """Return a folder's questions, and for English those that people ask of ordinary documents."""
    english = skill in (Skill.ENGLISH, Skill.ENGLISH_SMALL)
    ordinary = asked_of(ORDINARY, skill) if english else []
    return [*asked_of(directory, skill), *(replace(one, ordinary=True) for one in ordinary)]


def asked_of(directory: Path, skill: Skill) -> list[Asked]:
    corpus = open_corpus(directory)
    lines = (directory / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    answers = {row["id"]: tuple(row["answers"]) for row in map(json.loads, lines)}
    questions = read_questions(directory)
    asked = (ask(corpus, question, answers[question.id], skill) for question in questions)
    found = [one for one in asked if one]
    return [*found, *elsewhere(corpus, questions, found, skill)]


def elsewhere(corpus: Corpus, questions: Sequence[Question], found: Sequence[Asked], skill: Skill) -> list[Asked]:
    """Return questions asked of all other documents, which are unlikely to answer them, as many as are lacking.

    If there are already enough unanswerable questions on a document's subject, some are asked elsewhere too.
    """
    answerable = sum(bool(one.answers) for one in found)
    lacking = round(answerable * SHARE_UNANSWERABLE / (1 - SHARE_UNANSWERABLE)) - (len(found) - answerable)
    lacking = lacking if lacking > 0 else answerable // 2
    movable = [one for one in questions if one.answerable and ONE_DOCUMENT not in one.tags]
    random.Random(5).shuffle(movable)
    asked = (ask(corpus, one, (), skill, moved=True) for one in movable[:lacking])
    return [one for one in asked if one]


def ask(
    corpus: Corpus, question: Question, answers: tuple[str, ...], skill: Skill, *, moved: bool = False
) -> Asked | None:
    """Search in the question's document as the graph does, ``moved``: in all others; None where nothing is found."""
    scope = [identity for name, identity in corpus.ids.items() if (name in question.documents) is not moved]
    plan = plan_question(question.text)
    result = corpus.retriever.search(plan, corpus.documents, context_characters=corpus.context_characters, scope=scope)
    measured = measure_units(question.text, result.evidence, reader_of(skill))
    if not measured:
        return None
    pages = {(corpus.ids[name], index) for name, index in question.evidence if name in corpus.ids}
    holds = [one.unit.item.passage.page in pages and _holds(one.unit.text, answers, question.text) for one in measured]
    given = answers if question.answerable else ()
    source = next(tag for tag in question.tags if tag != ONE_DOCUMENT)
    return Asked(question.text, source, given, tuple(measured), tuple(holds), moved, skill)


def _unread(asked: Asked) -> Asked:
    """As it is in languages that the reader does not know."""
    bare = (
        replace(one, answer=None, measures={k: v for k, v in one.measures.items() if k not in READ_MEASURES})
        for one in asked.measured
    )
    return replace(asked, measured=tuple(bare), skill=Skill.UNREAD)


def _holds(text: str, answers: Iterable[str], question: str) -> bool:
    """Return whether a text contains what an answer adds to the question, or is most of a long answer."""
    text_terms, known = set(content_terms(text)), set(content_terms(question))
    for answer in answers:
        answer_terms = set(content_terms(answer))
        new = answer_terms - known or answer_terms
        if new and (len(new & text_terms) >= MIN_AGREEMENT * len(new) or agreement(text, answer) >= MIN_AGREEMENT):
            return True
    return False


def agreement(text: str, answer: str) -> float:
    """Token F1; of letters where words are written without spaces."""
    ours, theirs = _tokens(text), _tokens(answer)
    common = sum(min(ours.count(word), theirs.count(word)) for word in set(ours))
    return 2 * common / (len(ours) + len(theirs)) if common else 0.0


def _tokens(text: str) -> list[str]:
    if _SPACELESS.search(text):
        return [letter for letter in text if letter.isalnum()]
    return [word.casefold() for word in words(text)]


def _right(asked: Asked, best: Scored, holds: bool) -> bool:
    """As it is shown: the headline where one fact is asked for, graded as answers are, else the sentence."""
    if best.answer is None or not asks_for_one_fact(asked.question):
        return holds
    headline = best.unit.item.passage.text[best.answer.start : best.answer.end]
    return any(
        grade(asked.question, answer, headline)
        if is_english(asked.question)
        else agreement(headline, answer) >= MIN_AGREEMENT
        for answer in asked.answers
    )


def fit(samples: Sequence[Asked]) -> Models:
    """Fit the model of single units on open data only, and the models of all units also on our own documents."""
    taught = [one for one in samples if not one.ordinary]
    unit = _logistic(
        [one.measures for asked in taught for one in asked.measured],
        [holds for asked in taught for holds in asked.holds],
        [1 / len(asked.measured) for asked in taught for _ in asked.measured],
    )
    answers = [_answer(asked, unit) for asked in samples]
    rows, of_yes_no = [measures for measures, _ in answers], samples[0].skill is Skill.YES_NO
    kept = OF_YES_NO if of_yes_no else rows[0].keys()
    answerable, found = [bool(asked.answers) for asked in samples], [right for _, right in answers]
    share = SHARE_UNDECIDED if of_yes_no else SHARE_UNANSWERABLE
    answered_counts = _counts(samples, SHARE_UNANSWERABLE, ORDINARY_OF_ANSWERED)
    answered = _logistic(_only(rows, kept - {"candidates"}), answerable, answered_counts)
    right = _logistic(_only(rows, kept - {"nearest"}), found, _counts(samples, share, 1.0))
    return Models(unit, answered, right)


def _counts(samples: Sequence[Asked], share: float, ordinary: float) -> list[float]:
    """How much each question counts, so that no greater share than this is unanswerable.

    ``ordinary``: how much those to our own documents count together, against all others.
    """
    own = sum(asked.ordinary for asked in samples)
    answerable = sum(bool(asked.answers) for asked in samples)
    few = min(1.0, answerable * share / (1 - share) / (len(samples) - answerable))
    each = ordinary * (len(samples) - own) / max(1, own)
    return [(1.0 if one.answers else few) * (each if one.ordinary else 1.0) for one in samples]


def _only(rows: Iterable[Mapping[str, float]], names: Collection[str]) -> list[Mapping[str, float]]:
    """Without what is no help on sources left out."""
    return [{measure: value for measure, value in row.items() if measure in names} for row in rows]


def _answer(asked: Asked, unit: LogisticModel) -> tuple[Mapping[str, float], bool]:
    scored = [Scored(one.unit, unit.probability(one.measures), one.answer, one.measures) for one in asked.measured]
    order = sorted(range(len(scored)), key=lambda place: -scored[place].probability)
    measures = measure_answer([scored[place] for place in order], asked.question)
    return measures, _right(asked, scored[order[0]], asked.holds[order[0]])


def _logistic(rows: Sequence[Mapping[str, float]], labels: Sequence[bool], counts: Sequence[float]) -> LogisticModel:
    names = tuple(rows[0])
    table = np.array([[row[name] for name in names] for row in rows])
    scaler = StandardScaler().fit(table)
    model = LogisticRegression(C=STRENGTH, max_iter=1000)
    model.fit(scaler.transform(table), labels, sample_weight=np.array(counts) / np.mean(counts))
    weights: Matrix = model.coef_[0] / scaler.scale_
    bias = float(model.intercept_[0] - weights @ scaler.mean_)
    return LogisticModel(bias, dict(zip(names, weights.tolist(), strict=True)))


def weighed_elsewhere(samples: Sequence[Asked]) -> dict[str, list[tuple[Asked, bool, float, float]]]:
    """By source: whether the answer is right, and by other sources the probabilities that any is and that it is."""
    by_source: dict[str, list[tuple[Asked, bool, float, float]]] = {}
    for source in sorted({asked.source for asked in samples}):
        models = fit([asked for asked in samples if asked.source != source])
        for asked in (asked for asked in samples if asked.source == source):
            measures, right = _answer(asked, models.unit)
            row = (asked, right, models.answered.probability(measures), models.right.probability(measures))
            by_source.setdefault(source, []).append(row)
    return by_source


def left_out(samples: Sequence[Asked], least: float = MIN_ANSWERED) -> dict[str, Any]:
    """Return each source's measures by models not fitted on it, and confidence against correctness over all sources."""
    by_source = weighed_elsewhere(samples)
    everything = [row for rows in by_source.values() for row in rows]
    shown, correct = _as_shown(everything, least)
    effects = threshold_effects(shown, correct)
    return {
        **{name: _summary(rows, least) for name, rows in (("all", everything), *by_source.items())},
        "reliability": [[part.count, part.confidence, part.faithful] for part in reliability(shown, correct)],
        "thresholds": [[threshold, effect.flagged, effect.caught] for threshold, effect in effects.items()],
    }


def _as_shown(rows: Sequence[tuple[Asked, bool, float, float]], least: float) -> tuple[list[float], list[bool]]:
    """Return the confidence of each answer or decline, and whether it is right."""
    shown = [1 - answered if answered < least else right for _, _, answered, right in rows]
    correct = [not asked.answers if answered < least else right for asked, right, answered, _ in rows]
    return shown, correct


def _summary(rows: Sequence[tuple[Asked, bool, float, float]], least: float) -> dict[str, float]:
    answerable = [row for row in rows if row[0].answers]
    others, moved = ([row for row in rows if not row[0].answers and row[0].moved is away] for away in (False, True))
    shown, correct = _as_shown(rows, least)
    summary = {
        "questions": len(rows),
        "found": mean([any(row[0].holds) for row in answerable]),
        "right if all were answered": mean([row[1] for row in answerable]),
        "right": mean([row[1] and row[2] >= least for row in answerable]),
        "declined wrongly": mean([row[2] < least for row in answerable]),
        "declined unanswerable": mean([row[2] < least for row in others]),
        "declined elsewhere": mean([row[2] < least for row in moved]),
        "calibration error": calibration_error(shown, correct),
    }
    for name, labels, column in (
        ("answered AUROC", [bool(r[0].answers) for r in rows], 2),
        ("right AUROC", [r[1] for r in rows], 3),
    ):
        if len(set(labels)) == 2:
            summary[name] = float(roc_auc_score(labels, [row[column] for row in rows]))
    for threshold in (0.5, 0.55, 0.6, 0.65, 0.7, 0.8):
        sure = [r for r, c, row in zip(correct, shown, rows, strict=True) if c >= threshold and row[2] >= least]
        summary[f"shown at {threshold}"] = len(sure) / len(rows)
        summary[f"right of shown at {threshold}"] = mean(sure)
    for threshold in (0.6, 0.65, 0.7, 0.8, 0.9):
        sure = [r for r, c, row in zip(correct, shown, rows, strict=True) if c >= threshold and row[2] < least]
        summary[f"declined at {threshold}"] = len(sure) / len(rows)
        summary[f"right of declined at {threshold}"] = mean(sure)
    return {name: round(value, 3) for name, value in summary.items()}
