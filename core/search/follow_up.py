"""Does a question lean on the one before it? By pronouns, openings, and what it leaves out."""

import re
from collections.abc import Sequence

from core.domain.ports import Message
from core.text.terms import FUNCTION_WORDS, words

_OPENING = re.compile(
    r"^\W*(?:and|but|or|also|then|what about|how about|what else|anything else|who else|why not)\b", re.I
)
_PRONOUN = re.compile(
    r"\b(?:it|its|they|them|their|theirs|he|him|his|she|her|hers)\b|^\W*(?:It|Its|They|Their|He|His|She|Her)\b"
)
"""Not IT, nor Her Majesty."""
_BACK_POINTING = re.compile(
    r"\b(?:the former|the latter|(?:the|that) (?:same|other|previous|above)|the (?:first|second|other) ones?)\b"
    r"|(?-i:\b(?:this|these|those)\b|^\W*(?:This|These|Those)\b)"
    r"(?! (?:documents?|files?|pdfs?|reports?|papers?|contracts?|agreements?|manuals?|years?|quarters?|months?|"
    r"weeks?)\b)"
    r"|\b(?:in|of|for|at|on|by|with|from|about|to|is|was|does|did|why|how) that\b",
    re.IGNORECASE,
)
_REST = re.compile(
    r"^\W*(?:in|for|of|by|per|with|without|at|on|from|under|during|after|before|since|until|yes|no|sure|ok)\b"
    r"(?! (?:which|what|whom|whose)\b)",
    re.I,
)
"""With few words of its own such an opening leaves out what the question before said ("For the second year?")."""
_NAME_AND_MORE = re.compile(r"^\W*[A-Z][a-z]+(?: [A-Z][\w&.'’-]*)+ [a-z]")
"""A name that begins with a little word, and what is asked of it: "On Semiconductor revenue?"."""
_NOUN_PHRASE = re.compile(r"\b(?i:the|an?|each|every|all|which|what|of|our|my)\s+\w{3,}|(?<=\s)[A-Z]\w+")
_MEASURES = frozenset(
    "much many long often far exactly ago more else happened sure yes no ok okay please again explain elaborate detail "
    "details clarify continue".split()
)
MOST_WORDS_OF_A_REST = 3


def resolve_follow_up(question: str, history: Sequence[Message]) -> str:
    """Put the previous question of the person before one that cannot be understood without it."""
    earlier = [message.text for message in history if message.role == "user" and message.text.strip()]
    if not earlier or not leans_on_the_last(question):
        return question
    return f"{earlier[-1].strip()} {question.strip()}"


def leans_on_the_last(question: str) -> bool:
    """Say whether a question points back (pronouns, openings) or leaves out what it is about."""
    own_words = [word for word in words(question) if word.lower() not in FUNCTION_WORDS]
    if all(word.lower() in _MEASURES or word.isdigit() for word in own_words):
        return True  # "Why?", "How long?", "And 2019?"
    if _BACK_POINTING.search(question):
        return True
    few = len(own_words) <= MOST_WORDS_OF_A_REST
    if ((few and _REST.search(question)) or _OPENING.search(question)) and not _NAME_AND_MORE.search(question):
        return True
    pronoun = _PRONOUN.search(question)
    return pronoun is not None and (len(own_words) < 3 or not _NOUN_PHRASE.search(question, 0, pronoun.start()))
