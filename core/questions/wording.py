"""What a question asks for, and whether two ask the same: by their words in order, not by how near they mean.

With vectors "the first quarter" and "the second quarter" are nearer than most rewordings of one question.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pincite.core.domain.questions import Kind
from pincite.core.text.terms import FUNCTION_WORDS, STOP_WORDS, content_terms, specificity, stem, words

_PUNCTUATION = '.,;:!?…"“”„‘’«»()[]—–¿¡。？！'
_TURNING = re.compile(
    r"\b(?:not|no|never|without|except|before|after|above|below|under|over|up|down|out|more|less|most|least|"
    r"between|during|through|off)\b(?=\s+\w)|n['’]t\b",
    re.IGNORECASE,
)
_ASKED_FOR = re.compile(r"\b(?:who|when|where|why|how)\b", re.IGNORECASE)
_OF_DEGREE = "many|much|long|often|old|far|large|big|high|tall|deep|wide|fast|heavy|late|early|soon"
_HOW_MUCH = re.compile(r"\bhow (?:much|many)\b", re.IGNORECASE)
_HOW_MANY = re.compile(r"\bhow many\b", re.IGNORECASE)
_SIGNS = re.compile(r"[%$€£¥]")
_ONE_FACT = re.compile(rf"\b(?:who|whom|whose|when|where|which|what|how (?:{_OF_DEGREE}))\b", re.IGNORECASE)
_MORE = re.compile(
    rf"\b(?:why|how (?!(?:{_OF_DEGREE})\b)|wh(?:at|o|ich) (?:are|were)|list|explain|describe|summari[sz]e|compare|"
    r"differences?|steps|reasons|all|every|each)\b",
    re.IGNORECASE,
)
_AUXILIARY = r"\b(?:is|are|was|were|do|does|did|has|have|had|can|could|may|must|shall|will|would|should)\b"
_YES_NO = re.compile(rf"\W{{0,9}}{_AUXILIARY}", re.IGNORECASE)
_LIST = re.compile(
    r"^\W*(?:please )?(?:list|enumerate|name)\b|\bwh(?:at|o|ich) (?:\w+ )?(?:are|were)\b|\ball (?:of )?the\b",
    re.IGNORECASE,
)
_NAME_WITHIN = re.compile(r"(?<=[^\s.?!:“\"(][ \u00a0])[A-Z][\w’'&-]*\w")
_DATE = re.compile(r"\bwhen\b|\b(?:what|which)(?: \w+)? (?:date|day|month|year)\b|\bdate of\b", re.IGNORECASE)
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
OF_DOCUMENTS = frozenset(
    content_terms(
        "summary summarise summarize overview gist tldr document documents file files pdf paper report contract "
        "agreement book letter article presentation text content whole list compare main points key short brief "
        "please give sentence paragraph page many name all library uploaded have about tell say"
    )
)
"""Words that make up a question about whole documents."""


PARTS = ("section", "clause", "chapter", "article", "paragraph", "appendix", "annex", "schedule")
"""Of a document, that have titles."""
NOT_FOUND = "I found no answer in these documents."
TELLING = 0.8
"""Minimum specificity of a missing word that is worth a mention."""
MAX_MISSING = 2
"""Missing words that are mentioned."""


def is_english(question: str) -> bool:
    """By its little words; without any, by its letters."""
    spoken = {word.lower() for word in words(question)}
    english, other = spoken & FUNCTION_WORDS, spoken & (STOP_WORDS - FUNCTION_WORDS)
    return len(english) > len(other) or (not other and question.isascii())


def in_english(question: str, texts: Sequence[str]) -> bool:
    """Return whether the question and most of the texts that it is asked of are English."""
    return is_english(question) and 2 * sum(map(is_english, texts)) >= len(texts)


def in_another_language(question: str, texts: Sequence[str]) -> bool:
    """Return whether the question is English and most of the texts are not, or the other way round."""
    return bool(texts) and is_english(question) != (2 * sum(map(is_english, texts)) >= len(texts))


def missing_words(absent: Sequence[str]) -> str:
    """Return a sentence that names the most specific of the words that no passage has; empty if none is specific.

    Running heads and text that is set apart are in no passage, so that it must not read "in no document".
    """
    worth = {word: specificity(stem(word)) for word in absent}
    telling = sorted((word for word in worth if worth[word] >= TELLING), key=lambda word: -worth[word])[:MAX_MISSING]
    named = " and ".join(f"“{word}”" for word in worth if word in telling)
    return f"{named} do{'es' if len(telling) == 1 else ''} not appear in any passage searched." if named else ""


def strange_names(question: str, absent: Sequence[str]) -> list[str]:
    """Return the words of a question that are in no passage searched and have a capital within a sentence of it."""
    names = set(_NAME_WITHIN.findall(question))
    return [word for word in absent if word in names]


def kind_of(question: str) -> Kind:
    """Return the kind of answer that an English question asks for; others mostly ask for a fact, or "how many"."""
    if not is_english(question):
        return Kind.COUNT if _HOW_MANY.search(question) else Kind.FACT
    if _asks_yes_or_no(question):
        return Kind.YES_OR_NO
    if _HOW_MANY.search(question):
        return Kind.COUNT
    if _DATE.search(question):
        return Kind.DATE
    if _LIST.search(question):
        return Kind.LIST
    return Kind.FACT if _ONE_FACT.search(question) and not _MORE.search(question) else Kind.EXPLANATION


def asks_for_one_fact(question: str) -> bool:
    """Return whether a name, a date, a figure or a few words answer, rather than sentences, a list, yes or no.

    Other languages than English are not parsed; in them a fact is what people mostly ask for.
    """
    more = _MORE.search(question) or _asks_yes_or_no(question)
    return not is_english(question) or (bool(_ONE_FACT.search(question)) and not more)


def normalised_words(question: str) -> tuple[str, ...]:
    """Return the words of a question in order, whatever their case and the punctuation around them."""
    return tuple(filter(None, (word.strip(_PUNCTUATION) for word in question.casefold().split())))


def other_terms(question: str, names: str) -> set[str]:
    """Return the terms of a question that are none of these names, nor words for asking about whole documents."""
    return set(content_terms(question)) - OF_DOCUMENTS - set(content_terms(names))


def asks_only_for(title: str, question: str, names: str) -> bool:
    """Return whether a question contains a title whole and asks for no more of documents of these names.

    "What about late payment in the contract?" asks for "5 Late payment"; who, when or how much asks for more, and a
    title that is only the document's name asks for none of its sections.
    """
    terms = {term for term in content_terms(title) if not term[0].isdigit()}
    if terms.issubset(content_terms(names)) or not terms.issubset(content_terms(question)):
        return False
    return asks_openly(question) and not other_terms(question, f"{names} {title} {' '.join(PARTS)}")


def asks_openly(question: str) -> bool:
    """Return whether a question asks neither for yes or no nor who, when, where, why or how."""
    return not _ASKED_FOR.search(question) and not _asks_yes_or_no(question)


def without_how_much(question: str) -> str:
    """Return the question without the words that ask for an amount."""
    return _HOW_MUCH.sub("", question)


def has_turning_words(question: str, *, but_question_words: bool = False) -> bool:
    """Return whether small words make it ask for something else than what it names: "before 2023", "most of", "why"."""
    asks = not but_question_words and _ASKED_FOR.search(without_how_much(question))
    return bool(_TURNING.search(question) or asks or _SIGNS.search(question))


def _asks_yes_or_no(question: str) -> bool:
    """Return whether an English question begins as one that is answered with yes or no, and leaves no other choice."""
    return bool(_YES_NO.match(question)) and not _ALTERNATIVES.search(question) and is_english(question)


def as_statement(question: str) -> str:
    """Return a question of yes or no as what it asks about: "Is the fee 5 %?" as "the fee 5 %"."""
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
    if not _asks_yes_or_no(question):
        return None
    statement = as_statement(question)
    if match := _COMPARED.match(statement):
        return Comparison(">" if match["more"] else "<", match["a"], match["b"])
    if match := _DEVELOPED.search(statement):
        rest = f"{statement[: match.start()]} {statement[match.end() :]}"
        return Comparison(">" if match["more"] else "<", " ".join(rest.split()))
    return None
