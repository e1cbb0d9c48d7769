"""Fit the model that finds orders to a language model in documents, on lines of our own and ordinary open text.

The weights of the letters are fitted on all lines but every tenth; how they are weighed with the checker, and the
thresholds, on those left out of both and on letters of lines left out in folds.
"""

import argparse
import gzip
import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pincite.core.domain.logistic import LogisticModel
from pincite.core.text import orders
from pincite.core.text.checker import ORDER_CLAIM, installed_checker
from pincite.core.text.orders import measured, packed, runs_of_letters
from pincite.core.text.sentences import split_sentences
from training.checker.examples import ORDER_PARTS, ORDERS_FILE, load_rows

OUTPUT = Path(orders.__file__).with_suffix(".json")
ORDINARY, ORDINARY_WEIGHT = 6_000, 0.15
"""Number of sentences of open text besides our own lines, and the weight of these and of the sentences of our docs."""
INVERSE_PENALTY = 30.0
FOLDS = 10
MAX_FLAGGED, MAX_FLAGGED_OPEN = 0.01, 0.0001
"""Share of left-out ordinary lines, which were written to look like orders, and of open text that may be flagged."""
CHECKED = 1_200
"""Number of sentences of open text, the most suspicious ones by their letters, that the checker reads for the fit."""
SEED = 20261128
Numbers = NDArray[np.float64]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("training", type=Path, help="the folder with the training data of the checker")
    parser.add_argument("--output", type=Path, default=OUTPUT)


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Fit, write the model, and return the figures of lines that were left out."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score
    from sklearn.model_selection import StratifiedKFold

    with gzip.open(ORDERS_FILE, "rt", encoding="utf-8") as lines:
        own = [json.loads(line) for line in lines]
    texts = [row["text"] for row in own] + _sentences_of_our_docs() + _ordinary(options.training)
    wanted = np.array([row["label"] == "order" for row in own] + [False] * (len(texts) - len(own)))
    weights = np.where(np.arange(len(texts)) < len(own), 1.0, ORDINARY_WEIGHT)
    table = np.stack([runs_of_letters(text) for text in texts]).astype(np.float32)

    def fitted(rows: NDArray[np.intp]) -> Any:
        model = LogisticRegression(C=INVERSE_PENALTY, max_iter=300)
        return model.fit(table[rows], wanted[rows], sample_weight=weights[rows])

    letters = np.zeros(len(texts))
    for train, test in StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(table, wanted):
        letters[test] = fitted(train).decision_function(table[test])
    model = fitted(np.arange(len(texts)))
    is_own = np.arange(len(texts)) < len(own)
    checker = installed_checker()
    assert checker is not None
    suspicious = len(own) + np.argsort(-letters[~is_own])[:CHECKED]
    left_out = np.array([*range(0, len(own), ORDER_PARTS), *suspicious])
    checked = [checker.check(ORDER_CLAIM, [texts[place]]).supported for place in left_out]
    measures = [measured(letters[place], value) for place, value in zip(left_out, checked, strict=True)]
    both = _fitted_on(measures, wanted[left_out], weights[left_out])
    odds = np.array([both.log_odds(one) for one in measures])
    lines = is_own[left_out] & ~wanted[left_out]
    open_share = 1 - MAX_FLAGGED_OPEN * (~is_own).sum() / CHECKED
    least = max(np.quantile(odds[lines], 1 - MAX_FLAGGED), np.quantile(odds[~is_own[left_out]], open_share))
    both = LogisticModel(both.bias - max(0.0, float(least)), both.weights)
    surest = measured(0.0, 1.0)  # with fewer letters than this even a sure checker finds no order
    screen = -both.log_odds(surest) / both.weights["letters"]
    alone = float(np.quantile(letters[is_own & ~wanted], 1 - MAX_FLAGGED))
    encoded, scale = packed(model.coef_[0])
    content = {
        "letters": encoded,
        "scale": scale,
        "bias": float(model.intercept_[0]),
        "screen": screen,
        "alone": alone,
        "both": both.to_json(6),
    }
    options.output.write_text(json.dumps(content) + "\n", encoding="utf-8")
    return {
        "written": str(options.output),
        "lines": len(own),
        "auroc_of_letters": float(roc_auc_score(wanted[is_own], letters[is_own])),
        "found_by_letters_alone": float((letters[wanted] >= alone).mean()),
        "left_out_lines": int(is_own[left_out].sum()),
        "auroc_of_both": float(roc_auc_score(wanted[left_out][is_own[left_out]], odds[is_own[left_out]])),
        "found_by_both": float((odds[wanted[left_out]] >= max(0.0, least)).mean()),
        "threshold": float(least),
        "screened": float((letters[~is_own] >= screen).mean()),
    }


def _fitted_on(measures: Sequence[Mapping[str, float]], wanted: NDArray[np.bool_], weights: Numbers) -> LogisticModel:
    from sklearn.linear_model import LogisticRegression

    table = np.array([list(one.values()) for one in measures])
    model = LogisticRegression(C=1.0, max_iter=300).fit(table, wanted, sample_weight=weights)
    return LogisticModel(float(model.intercept_[0]), dict(zip(measures[0], model.coef_[0].tolist(), strict=True)))


def _sentences_of_our_docs() -> list[str]:
    """Return sentences that speak of language models and of what a program does, and order nothing."""
    root = Path(__file__).parents[1]
    texts = [path.read_text(encoding="utf-8") for path in sorted([root / "README.md", *root.glob("docs/*.md")])]
    return [text[span.start : span.end].strip() for text in texts for span in split_sentences(text)]


def _ordinary(training: Path) -> list[str]:
    """Return sentences of the contexts of open data."""
    chance = random.Random(SEED)
    rows = chance.sample(load_rows(training, "tune", seed=SEED), ORDINARY)
    sentences = [
        chance.choice([row.context[span.start : span.end].strip() for span in split_sentences(row.context)] or [""])
        for row in rows
    ]
    return [sentence for sentence in sentences if len(sentence) > 15]
