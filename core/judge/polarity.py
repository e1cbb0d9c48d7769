"""Whether a sentence says yes or no to a question: where it repeats what is asked, or repeats it with a change.

Where it does neither, nothing is decided. Whoever answers and whoever judges the answer ask here. How likely a decision
is right was fitted on labelled claims (`python -m benchmarks fit-yes-no`).
"""

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from core.judge.changed import OBLIGING, PERMITTING, changes, likeness
from core.judge.checks import FindingKind, check_claim
from core.judge.sources import Sources
from core.text.questions import as_statement, asks_yes_or_no

YES, NO = "Yes", "No"
REPEATED = 0.6
"""Share of the words of the question and of a clause, in order, from which on one repeats the other."""
_DUTY, _LEAVE = (re.compile(rf"\b(?:{words.replace(' ', '|')})\b", re.IGNORECASE) for words in (OBLIGING, PERMITTING))
_CLAUSE_ENDS = re.compile(r"[;:]\s|,\s(?=(?:and|but|or|which|while|whereas)\s)")


@dataclass(frozen=True, slots=True)
class Decision:
    """``probability``: that the word is the right answer."""

    word: str
    probability: float


def decide(question: str, sentence: str) -> Decision | None:
    """None where the question is not one of yes or no, or the sentence does not plainly say."""
    found = weighed(as_statement(question), sentence) if asks_yes_or_no(question) else None
    if found is None:
        return None
    word, measures = found
    if word == YES and _DUTY.match(question.strip()) and _LEAVE.search(sentence) and not _DUTY.search(sentence):
        return None  # what may be done need not be
    weights = shipped_weights()
    odds = weights["bias"] + sum(weights[name] * value for name, value in measures.items())
    return Decision(word, 1 / (1 + math.exp(-odds)))


def weighed(statement: str, sentence: str) -> tuple[str, dict[str, float]] | None:
    """Yes or no by the clause that is most like the statement, and what the probability is weighed by."""
    best = max(_clauses(sentence), key=lambda clause: likeness(statement, clause))
    changed = changes(statement, best, repeated=REPEATED)
    if changed is None or any(not change.binding for change in changed):
        return None
    word = NO if changed else YES
    findings = () if changed else check_claim(statement, Sources.of([sentence]))
    if any(finding.kind is not FindingKind.COMPUTED for finding in findings):
        return None
    return word, {"likeness": likeness(statement, best), "no": float(word == NO)}


def _clauses(sentence: str) -> Iterator[str]:
    plain = " ".join(sentence.split())
    yield plain
    yield from (clause for clause in _CLAUSE_ENDS.split(plain) if clause != plain)


@cache
def shipped_weights() -> Mapping[str, float]:
    written = json.loads(files("core.judge").joinpath("polarity.json").read_text(encoding="utf-8"))
    weights: Mapping[str, float] = written["weights"]
    return weights
