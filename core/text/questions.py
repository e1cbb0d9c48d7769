"""What a question asks for, and whether two ask the same: by their words, not by how near they mean.

With vectors "the first quarter" and "the second quarter" are nearer than most rewordings of one question.
"""

import re
from functools import lru_cache

from core.text.terms import content_terms

_FIGURE = re.compile(r"\d[\d.,]*")
_TURNING = re.compile(
    r"\b(?:not|no|never|without|except|before|after|above|below|under|over|up|down|out|more|less|most|least|"
    r"between|during|through|off)\b(?=\s+\w)|n['’]t\b",
    re.IGNORECASE,
)
_ASKED_FOR = re.compile(r"\b(?:who|when|where|why|how)\b", re.IGNORECASE)
_OF_DEGREE = "many|much|long|often|old|far|large|big|high|tall|deep|wide|fast|heavy|late|early|soon"
_ONE_FACT = re.compile(rf"\b(?:who|whom|whose|when|where|which|what|how (?:{_OF_DEGREE}))\b", re.IGNORECASE)
_MORE = re.compile(
    rf"\b(?:why|how (?!(?:{_OF_DEGREE})\b)|wh(?:at|o|ich) (?:are|were)|list|explain|describe|summari[sz]e|compare|"
    r"differences?|steps|reasons|all|every|each)\b",
    re.IGNORECASE,
)
_YES_NO = re.compile(
    r"\W{0,9}(?:is|are|was|were|do|does|did|has|have|had|can|could|may|must|shall|will|would|should)\b", re.IGNORECASE
)
_COURTESY = frozenset(content_terms("please tell give show"))


@lru_cache(maxsize=4096)
def telling_words(question: str) -> frozenset[str]:
    """What two questions share that ask the same: terms, figures, what is asked for, and what turns the sense round."""
    figures = {figure.rstrip(".,") for figure in _FIGURE.findall(question)}
    small = {word.lower() for word in (*_TURNING.findall(question), *_ASKED_FOR.findall(question))}
    terms = {term for term in content_terms(question) if not term[0].isdigit()} - _COURTESY
    return frozenset(figures | small | terms)


def asks_for_a_fact(question: str) -> bool:
    """Whether a name, a date, a figure or a few words answer an English question, rather than sentences or a list."""
    return bool(_ONE_FACT.search(question)) and not _MORE.search(question)


def asks_yes_or_no(question: str) -> bool:
    """Whether an English question begins as one that is answered with yes or no."""
    return bool(_YES_NO.match(question))
