"""What a question asks for, and whether two ask the same: by their words, not by how near they mean.

With vectors "the first quarter" and "the second quarter" are nearer than most rewordings of one question.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from core.text.terms import FUNCTION_WORDS, STOP_WORDS, content_terms, words

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
_AUXILIARY = r"\b(?:is|are|was|were|do|does|did|has|have|had|can|could|may|must|shall|will|would|should)\b"
_YES_NO = re.compile(rf"\W{{0,9}}{_AUXILIARY}", re.IGNORECASE)
_ALTERNATIVES = re.compile(r"\bor\b", re.IGNORECASE)
_MORE_WORDS = r"(?:higher|greater|larger|bigger|more|longer|above|over|exceed\w{0,3})"
_LESS_WORDS = r"(?:lower|less|smaller|fewer|shorter|below|under)"
_UP = r"(?:increas\w{1,3}|gr[eo]w\w{0,3}|ris(?:e|en|ing)|rose|improv\w{1,3}|expand\w{0,3}|go(?:ne)? up|went up)"
_DOWN = (
    r"(?:decreas\w{1,3}|declin\w{1,3}|drop\w{0,4}|f[ae]ll(?:en|ing|s)?|reduc\w{1,3}|shr[aiu]nk|worsen\w{0,3}|deteriorat\w{1,3}|"
    r"go(?:ne)? down|went down)"
)
_COMPARED = re.compile(
    rf"^(?P<a>.{{2,200}}?)\s(?:(?P<more>{_MORE_WORDS})|(?P<less>{_LESS_WORDS}))\b(?:\s(?:than|to))?\s(?P<b>.{{1,200}})$",
    re.IGNORECASE,
)
_DEVELOPED = re.compile(rf"\b(?:(?P<more>{_UP})|(?P<less>{_DOWN}))\b", re.IGNORECASE)
_HOW_MANY = re.compile(
    r"^\W*how many (?:different |distinct )?(?P<noun>[a-z]{3,30})\b(?P<rest>.*)$", re.IGNORECASE | re.DOTALL
)
_LIST_ALL = re.compile(
    r"^\W*(?:(?:please|can you|could you)\W+)?(?:list|name|enumerate|show|give|what are|which are)(?: me| us)?"
    r"(?: (?:all|the|every|each|of)){1,3} (?P<noun>[a-z]{3,30})\b(?P<rest>.*)$",
    re.IGNORECASE | re.DOTALL,
)
_MENTIONED = (
    r"(?:is|are|does|do|was|were)?\s?(?P<term>.{2,120}?) (?:(?:is|are|was|were) )?"
    r"(?:mention|occur|appear|used|named|cited|come up|found|referred to|referenced)\w{0,4}\b(?P<rest>.*)$"
)
_HOW_OFTEN = re.compile(rf"^\W*how (?:many times|often) {_MENTIONED}", re.IGNORECASE | re.DOTALL)
_WHICH_PAGES = re.compile(rf"^\W*(?:on|in|at)?\s?(?:which|what) pages? {_MENTIONED}", re.IGNORECASE | re.DOTALL)
_QUOTES = "\"'“”‘’«» "
_ARTICLE = re.compile(r"^(?:the (?:word|term|name|phrase)s?|the|a|an) (?=\S)", re.IGNORECASE)
OF_DOCUMENTS = frozenset(
    content_terms(
        "summary summarise summarize overview gist tldr document documents file files pdf paper report contract "
        "agreement book letter article presentation text content whole list compare main points key short brief "
        "please give sentence paragraph page many name all library uploaded have about tell"
    )
)
"""Words of which a question about whole documents is made."""
_STANDING = frozenset(content_terms("contain contained include included appear occur stand shown present found listed"))
_COURTESY = frozenset(content_terms("please tell give show"))


class Kind(StrEnum):
    """What a question asks for, told by its form and its function words, in this order where several fit."""

    COUNT = "how many"
    LIST = "list"
    YES_NO = "yes or no"
    SUMMARY = "summary"
    COMPARE = "compare"
    WHY_HOW = "why or how"
    DEFINITION = "definition"
    DATE = "date"
    FIGURE = "figure"
    FACT = "fact"


_KINDS: tuple[tuple[Kind, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(pattern, re.IGNORECASE))
    for kind, pattern in (
        (Kind.COUNT, r"\bhow many\b"),
        (
            Kind.LIST,
            r"^\W*(?:please )?(?:list|enumerate|name)\b|\bwh(?:at|o|ich) (?:\w+ )?(?:are|were)\b|\ball (?:of )?the\b",
        ),
        (Kind.SUMMARY, r"\bsummar(?:y|i[sz]e)|\boverview\b|\bmain points\b"),
        (Kind.COMPARE, r"\bcompare|\bdifferences? between\b|\bversus\b|\bvs\b"),
        (Kind.WHY_HOW, rf"\bwhy\b|\bhow (?!(?:{_OF_DEGREE})\b)"),
        (
            Kind.DEFINITION,
            r"\bdefin(?:e|ed|ition)\b|\bwhat (?:does|do)\b.{0,80}?\bmean\b|\bwhat is meant by\b|\bmeaning of\b",
        ),
        (Kind.DATE, r"\bwhen\b|\b(?:what|which)(?: \w+)? (?:date|day|month|year)\b|\bdate of\b"),
        (Kind.FIGURE, rf"\bhow (?:{_OF_DEGREE})\b|\b(?:amount|percentage|number|rate|share) of\b"),
    )
)
NOT_FOUND = "I found no answer in these documents."
_NOT_FOUND = {
    Kind.COUNT: "nothing that says how many",
    Kind.LIST: "no such list",
    Kind.YES_NO: "nothing that says yes or no",
    Kind.COMPARE: "nothing to compare",
    Kind.WHY_HOW: "no explanation",
    Kind.DEFINITION: "no definition of this",
    Kind.DATE: "no date for this",
    Kind.FIGURE: "no figure for this",
}


def is_english(question: str) -> bool:
    """By its little words; without any, by its letters."""
    spoken = {word.lower() for word in words(question)}
    english, other = spoken & FUNCTION_WORDS, spoken & (STOP_WORDS - FUNCTION_WORDS)
    return len(english) > len(other) or (not other and question.isascii())


def in_english(question: str, texts: Sequence[str]) -> bool:
    """Whether the question and most of the texts that it is asked of are English."""
    return is_english(question) and 2 * sum(map(is_english, texts)) >= len(texts)


def in_another_language(question: str, texts: Sequence[str]) -> bool:
    """Whether the question is English and most of the texts are not, or the other way round."""
    return bool(texts) and is_english(question) != (2 * sum(map(is_english, texts)) >= len(texts))


@lru_cache(maxsize=4096)
def kind_of(question: str) -> Kind:
    """What an English question asks for; a fact where nothing tells."""
    if asks_yes_or_no(question):
        return Kind.YES_NO
    fitting = (kind for kind, pattern in _KINDS if pattern.search(question))
    return next(fitting, Kind.FACT) if is_english(question) else Kind.FACT


def not_found(question: str) -> str:
    """What is said where nothing answers: by what was asked for."""
    lacking = _NOT_FOUND.get(kind_of(question))
    return f"I found {lacking} in these documents." if lacking else NOT_FOUND


@lru_cache(maxsize=4096)
def telling_words(question: str) -> frozenset[str]:
    """What two questions share that ask the same: terms, figures, what is asked for, and what turns the sense round."""
    figures = {figure.rstrip(".,") for figure in _FIGURE.findall(question)}
    small = {word.lower() for word in (*_TURNING.findall(question), *_ASKED_FOR.findall(question))}
    terms = {term for term in content_terms(question) if not term[0].isdigit()} - _COURTESY
    return frozenset(figures | small | terms)


def asks_for_a_fact(question: str) -> bool:
    """Whether a name, a date, a figure or a few words answer a question, rather than sentences or a list.

    Of other languages than English nothing tells what else is asked for, and a fact is what people mostly ask.
    """
    return not is_english(question) or (bool(_ONE_FACT.search(question)) and not _MORE.search(question))


def asks_yes_or_no(question: str) -> bool:
    """Whether an English question begins as one that is answered with yes or no, and leaves no other choice."""
    return bool(_YES_NO.match(question)) and not _ALTERNATIVES.search(question) and is_english(question)


def as_statement(question: str) -> str:
    """A question of yes or no as what it asks about: "Is the fee 5 %?" as "the fee 5 %"."""
    return _YES_NO.sub("", question, count=1).strip(" \t?.")


@dataclass(frozen=True, slots=True)
class Comparison:
    """What a question of yes or no compares: two things, or (``b`` is empty) one at two times, the later one first."""

    sign: str
    """">" or "<": of ``a`` to ``b``, or of the later to the earlier."""
    a: str
    b: str = ""


def comparison(question: str) -> Comparison | None:
    """None where a question is not one of yes or no, or does not ask whether something is more or less."""
    if not asks_yes_or_no(question):
        return None
    statement = as_statement(question)
    if match := _COMPARED.match(statement):
        return Comparison(">" if match["more"] else "<", match["a"], match["b"])
    if match := _DEVELOPED.search(statement):
        rest = f"{statement[: match.start()]} {statement[match.end() :]}"
        return Comparison(">" if match["more"] else "<", " ".join(rest.split()))
    return None


@dataclass(frozen=True, slots=True)
class Census:
    """What a question wants found on every page: what ``noun`` names, or else the mentions of ``term``."""

    noun: str = ""
    term: str = ""
    by_page: bool = False
    """The pages are asked for."""
    rest: frozenset[str] = frozenset()
    """What else the question speaks of, beside documents as such and pages; a census knows nothing of it."""


def census(question: str) -> Census | None:
    """None where a question does not ask for all of something, or for the mentions of a term."""
    text = " ".join(question.split())
    for pattern, by_page in ((_HOW_OFTEN, False), (_WHICH_PAGES, True)):
        if match := pattern.match(text):
            term = _ARTICLE.sub("", match["term"].strip(_QUOTES)).strip(_QUOTES)
            return Census(term=term, by_page=by_page, rest=_beside(match["rest"]))
    match = _HOW_MANY.match(text) or _LIST_ALL.match(text)
    return Census(noun=match["noun"], rest=_beside(match["rest"])) if match else None


def _beside(rest: str) -> frozenset[str]:
    return frozenset(term for term in content_terms(rest) if not term[0].isdigit()) - OF_DOCUMENTS - _STANDING
