"""How likely what was found answers the question at all: logistic models over how the best cell agrees with it.

Their weights were fitted on open questions, with questions about other tables, and such as no cell answers, among them
(`python -m training gates`).
"""

import json
import math
import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from pincite.core.domain.logistic import LogisticModel, log_odds
from pincite.core.figures.agreement import NAMES
from pincite.core.figures.cells import Ranking
from pincite.core.questions.operations import Form
from pincite.core.text.terms import words

TAKEN = (
    "row_asked", "row_said", "row_both", "label_said", "others_asked", "column_asked", "column_said", "head_said",
    "covered", "period_agrees", "period_differs", "latest", "total", "nameless", "percent", "dated",
    "most_in_column", "least_in_column",
)  # fmt: skip
"""The measures of the best cell that the gates weigh; of captions not, which tables of open questions hardly have."""
FEATURES = (*TAKEN, "share", "lead", "of_figures", "undated", "asks", "several", "cells", "computes")
FORMS = tuple(f"is {form}" for form in Form)
OPERANDS = (*FEATURES, *FORMS, "skipped", "apart", "told")
"""What a computed figure is weighed by: the features of the operand that was chosen least surely, and its form."""
_SMALLEST = 1e-4
_DIGITS = re.compile(r"\d")


@dataclass(frozen=True, slots=True)
class Gates:
    """``kinds``: whether a question asks for a figure, by its words; ``cell`` and ``computed``: whether one is it."""

    kinds: LogisticModel
    cell: LogisticModel
    computed: LogisticModel

    def asks_for_figure(self, question: str) -> float:
        """Return the probability that a question asks for a figure, by its words alone."""
        return self.kinds.probability(dict.fromkeys(kind_words(question), 1.0))


@cache
def shipped_gates() -> Gates:
    written = json.loads(files("pincite.core.figures").joinpath("gates.json").read_text(encoding="utf-8"))
    return Gates(**{name: LogisticModel.from_json(model) for name, model in written.items()})


def kind_words(question: str) -> frozenset[str]:
    """Return the words that distinguish kinds of questions, figures as one, the first two also together."""
    spoken_words = [_DIGITS.sub("0", word.lower()) for word in words(question)]
    return frozenset(["", *spoken_words, " ".join(spoken_words[:2])])


def features_of(
    ranking: Ranking, *, asks: float, several: bool, computes: bool = False, best: int | None = None
) -> dict[str, float]:
    """Return the gate's features of the best cell, or of another.

    ``asks``: `Gates.asks_for_figure`; ``several`` cells answer together; the question ``computes`` by its form.
    """
    best = ranking.order[0] if best is None else best
    row = ranking.measures[best]
    share = float(ranking.shares[best])
    text = ranking.places[best].cell.text
    others = (float(ranking.shares[at]) for at in ranking.order[1:] if ranking.places[at].cell.text != text)
    second = next(others, 0.0)
    named = {name: float(row[NAMES.index(name)]) for name in TAKEN}
    return named | {
        "share": log_odds(share, least=_SMALLEST),
        "lead": math.log(max(share, _SMALLEST) / max(second, _SMALLEST)),
        "of_figures": log_odds(ranking.figures_share, least=_SMALLEST),
        "undated": float(bool(ranking.asked.years) and not row[NAMES.index("period_agrees")]),
        "asks": log_odds(asks, least=_SMALLEST),
        "several": float(several),
        "computes": float(computes),
        "cells": math.log(len(ranking.places)),
    }
