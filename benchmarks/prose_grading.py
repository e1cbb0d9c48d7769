"""Grade long explanations by rule: prose must state the reference and reach no other conclusion.

Serves to compare `grading` with people's grades of other systems' answers; our headlines are graded more strictly.
"""

import re
from collections.abc import Sequence

from benchmarks.grading import (
    FEW_TERMS,
    MIN_F1,
    Reference,
    ReferenceKind,
    alternatives,
    dates_agree,
    names_given,
    occurs_in,
    polarity,
    read_reference,
)
from benchmarks.stated import FALLING, asked_of, figures, is_year, states
from pincite.core.judge.claims import declines
from pincite.core.text.sentences import split_sentences
from pincite.core.text.terms import content_terms

MIN_TERMS = 0.45
"""Minimum share of the terms a phrase adds to the question that prose with the same meaning contains."""
MANY_NAMES = 3
"""Minimum number of added names for a reference of names; the rest of such a reference is only wording."""
REASON_FIGURES = 2
_NAME = re.compile(r"(?<=[\w,;:)-] )[A-Z][\w’'&-]{1,60}")
_RISING = re.compile(
    r"\b(?:ris(?:e|es|en|ing)|rose|increas\w{1,4}|gr[eo]w\w{0,3}|improv\w{1,6}|higher|gain\w{0,3}|positive|up)\b",
    re.IGNORECASE,
)
DENIES = re.compile(
    r"\b(?:not?|never|neither|nor|none|without|cannot|unless|lacks?|fail(?:s|ed)? to|den(?:y|ies|ied)|false|untrue|"
    r"wrong(?:ly)?|kein\w*|nicht|ohne)\b|n['’]t\b",
    re.IGNORECASE,
)
_REFUSING = re.compile(
    r"\bas an ai\b|\b(?:i|we)(?: a|['’])m (?:unable|sorry)|\b(?:i|we) (?:cannot|can['’]t|don['’]t have|do not have)\b"
    r"|\bcannot be (?:\w{1,20} )?(?:determined|confirmed|calculated|identified)\b|\bwould need to\b",
    re.IGNORECASE,
)


def grade_prose(question: str, reference: str, answer: str) -> bool:
    """Return whether an answer of many sentences states the reference, and does not end with something else."""
    wanted = read_reference(question, reference)
    sentences = [answer[span.start : span.end] for span in split_sentences(answer)]
    if not sentences:
        return False
    if wanted.kind is ReferenceKind.FIGURE:
        return _states_figures(question, wanted, sentences)
    if wanted.kind is ReferenceKind.NAME and _denies(question, wanted.text):
        return any(DENIES.search(one) and not _REFUSING.search(one) for one in (sentences[0], sentences[-1]))
    if _refuses(sentences[0]) or (wanted.kind is ReferenceKind.YES_NO and _refuses(sentences[-1])):
        return False
    match wanted.kind:
        case ReferenceKind.DATE:
            return dates_agree(wanted.text, answer)
        case ReferenceKind.YES_NO:
            return _comes_out(question, sentences) == polarity(wanted.text) and _fits(question, wanted.text, answer)
        case ReferenceKind.LIST:
            return sum(occurs_in(item, answer) for item in wanted.items) >= MIN_F1 * len(wanted.items)
        case _:
            return _covers_reference(question, wanted.text, sentences)


def _states_figures(question: str, wanted: Reference, sentences: Sequence[str]) -> bool:
    """One figure where the answer comes to something: in the first or one of the last sentences that give any."""
    asked = asked_of(question)
    stating = [sentence for sentence in sentences if any(not is_year(one) for one in figures(sentence))]
    if len(wanted.figures) > 1:
        return all(states([one], " ".join(stating), asked, singled_out=False) for one in wanted.figures)
    return any(states(wanted.figures, part, asked, singled_out=False) for part in [*stating[:1], *stating[-2:]])


def _refuses(sentence: str) -> bool:
    """Return whether a sentence declines to answer; a last sentence may decline only a part of the question."""
    return declines(sentence) or bool(_REFUSING.search(sentence))


def _denies(question: str, reference: str) -> bool:
    """Return whether a reference states only that the subject of the question does not exist."""
    added = {term for term in content_terms(reference) if not term[0].isdigit()} - set(content_terms(question))
    return bool(DENIES.search(reference)) and len(added) <= FEW_TERMS


def _comes_out(question: str, sentences: Sequence[str]) -> str:
    """Return yes or no, explicit or implied by the last sentence about the question; "" if there is none."""
    if stated := next((found for sentence in sentences if (found := polarity(sentence))), ""):
        return stated
    asked = set(content_terms(question))
    about = [one for one in sentences if 2 * len(asked & set(content_terms(one))) >= len(asked)]
    if not about or any(map(_refuses, sentences)):
        return ""
    last = about[-1]
    turned = bool(_RISING.search(question)) and not _RISING.search(last) and bool(FALLING.search(last))
    turned = turned or (bool(FALLING.search(question)) and not FALLING.search(last) and bool(_RISING.search(last)))
    return "no" if turned != bool(DENIES.search(last)) else "yes"


def _fits(question: str, reference: str, answer: str) -> bool:
    """Return whether the figures that prose gives for its yes or no hold one of those that the reference gives."""
    asked = asked_of(question)
    first_sentence = reference[: split_sentences(reference)[0].end]
    because, given = ([one for one in figures(text) if not is_year(one)] for text in (first_sentence, answer))
    if len(because) < REASON_FIGURES or len(given) < REASON_FIGURES:
        return True
    return any(states([one], answer, asked, singled_out=False) for one in because)


def _covers_reference(question: str, reference: str, sentences: Sequence[str]) -> bool:
    """Return whether prose states most of what a reference adds; for a choice, whether it names only the right one."""
    asked = set(content_terms(question))
    reference_terms = {term for term in content_terms(reference) if not term[0].isdigit()}
    choice = alternatives(question)
    if reference_terms & choice and choice - reference_terms:
        return _chooses(reference_terms & choice, choice - reference_terms, sentences)
    answer = " ".join(sentences)
    given = set(content_terms(answer))
    if named := names_given(question, reference):
        return len(named & given) >= MIN_F1 * len(named)
    names = _names_of(reference) - asked
    if len(names) >= MANY_NAMES:
        return len(names & given) >= MIN_F1 * len(names)
    core = reference[: split_sentences(reference)[0].end]
    wanted = {term for term in content_terms(core) if not term[0].isdigit()} - asked or reference_terms - asked
    amounts = [one for one in figures(core) if not is_year(one) and one.value not in asked_of(question).values]
    amounts_stated = sum(states([one], answer, asked_of(question), singled_out=False) for one in amounts)
    return len(wanted & given) >= MIN_TERMS * len(wanted) and 2 * amounts_stated >= len(amounts)


def _names_of(text: str) -> set[str]:
    """Return the terms of words with a capital that do not open a sentence."""
    return {term for match in _NAME.finditer(text) for term in content_terms(match.group())}


def _chooses(chosen: set[str], others: set[str], sentences: Sequence[str]) -> bool:
    """Return whether the last sentence that names one of the alternatives alone names the right one."""
    named = [(bool(terms & chosen), bool(terms & others)) for terms in map(set, map(content_terms, sentences))]
    return next((right for right, other in reversed(named) if right != other), False)
