"""Is prose right that explains at length? It must state the reference and come to nothing else; graded by rule.

Serves to compare `grading` with people's grades of other systems' answers; a headline of ours is held to more.
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
    polarity,
    read_reference,
    stands,
)
from benchmarks.stated import FALLING, asked_of, figures, is_year, states
from pincite.core.judge.claims import declines
from pincite.core.text.sentences import split_sentences
from pincite.core.text.terms import content_terms

MIN_TERMS = 0.45
"""Of what a phrase adds to the question, prose that says the same in its own words holds so much."""
MANY_NAMES = 3
"""A reference that adds so many names is one of names; the rest of it is how it puts them."""
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
            return sum(stands(item, answer) for item in wanted.items) >= MIN_F1 * len(wanted.items)
        case _:
            return _says(question, wanted.text, sentences)


def _states_figures(question: str, wanted: Reference, sentences: Sequence[str]) -> bool:
    """One figure where the answer comes to something: in the first or one of the last sentences that give any."""
    asked = asked_of(question)
    stating = [sentence for sentence in sentences if any(not is_year(one) for one in figures(sentence))]
    if len(wanted.figures) > 1:
        return all(states([one], " ".join(stating), asked, singled_out=False) for one in wanted.figures)
    return any(states(wanted.figures, part, asked, singled_out=False) for part in [*stating[:1], *stating[-2:]])


def _refuses(sentence: str) -> bool:
    """Whether a sentence says that there is no answer; a last one may only say so of a part of what was asked."""
    return declines(sentence) or bool(_REFUSING.search(sentence))


def _denies(question: str, reference: str) -> bool:
    """Return whether a reference says no more than that what is asked for does not exist."""
    added = {term for term in content_terms(reference) if not term[0].isdigit()} - set(content_terms(question))
    return bool(DENIES.search(reference)) and len(added) <= FEW_TERMS


def _comes_out(question: str, sentences: Sequence[str]) -> str:
    """Yes or no, in so many words or by what the sentence says that is about the question; "" where none is."""
    if said := next((found for sentence in sentences if (found := polarity(sentence))), ""):
        return said
    asked = set(content_terms(question))
    about = [one for one in sentences if 2 * len(asked & set(content_terms(one))) >= len(asked)]
    if not about or any(map(_refuses, sentences)):
        return ""
    told = about[-1]
    turned = bool(_RISING.search(question)) and not _RISING.search(told) and bool(FALLING.search(told))
    turned = turned or (bool(FALLING.search(question)) and not FALLING.search(told) and bool(_RISING.search(told)))
    return "no" if turned != bool(DENIES.search(told)) else "yes"


def _fits(question: str, reference: str, answer: str) -> bool:
    """Return whether the figures that prose gives for its yes or no hold one of those that the reference gives."""
    asked = asked_of(question)
    said = reference[: split_sentences(reference)[0].end]
    because, given = ([one for one in figures(text) if not is_year(one)] for text in (said, answer))
    if len(because) < REASON_FIGURES or len(given) < REASON_FIGURES:
        return True
    return any(states([one], answer, asked, singled_out=False) for one in because)


def _says(question: str, reference: str, sentences: Sequence[str]) -> bool:
    """Return whether prose says most of what the reference adds to the question; of a choice, what it names alone."""
    asked, said = set(content_terms(question)), {term for term in content_terms(reference) if not term[0].isdigit()}
    choice = alternatives(question)
    if said & choice and choice - said:
        return _chooses(said & choice, choice - said, sentences)
    answer = " ".join(sentences)
    given = set(content_terms(answer))
    if named := names_given(question, reference):
        return len(named & given) >= MIN_F1 * len(named)
    names = _names_of(reference) - asked
    if len(names) >= MANY_NAMES:
        return len(names & given) >= MIN_F1 * len(names)
    core = reference[: split_sentences(reference)[0].end]
    wanted = {term for term in content_terms(core) if not term[0].isdigit()} - asked or said - asked
    amounts = [one for one in figures(core) if not is_year(one) and one.value not in asked_of(question).values]
    held = sum(states([one], answer, asked_of(question), singled_out=False) for one in amounts)
    return len(wanted & given) >= MIN_TERMS * len(wanted) and 2 * held >= len(amounts)


def _names_of(text: str) -> set[str]:
    """Return the terms of words with a capital that do not open a sentence."""
    return {term for match in _NAME.finditer(text) for term in content_terms(match.group())}


def _chooses(chosen: set[str], others: set[str], sentences: Sequence[str]) -> bool:
    """Return whether the last sentence that names one of the alternatives alone names the right one."""
    named = [(bool(terms & chosen), bool(terms & others)) for terms in map(set, map(content_terms, sentences))]
    return next((right for right, other in reversed(named) if right != other), False)
