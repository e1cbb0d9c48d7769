"""Read a question after the previous ones: alone, depending on the last one, or correcting it."""

import re
from collections.abc import Callable, Sequence
from itertools import dropwhile, takewhile
from typing import TypeAlias

from pincite.core.domain.questions import FollowUp
from pincite.core.domain.search import APART, CHOOSES_PASSAGE, FROM_THE_ANSWER, Intent
from pincite.core.domain.turns import Exchange
from pincite.core.questions.wording import OF_DOCUMENTS
from pincite.core.text.terms import FUNCTION_WORDS, QUESTION_WORDS, STOP_WORDS, content_terms, stem, words

MEASURES = frozenset("much many long often far exactly ago more".split())
MAX_REST_WORDS = 3
MAX_SLOT_WORDS = 6
MAX_ITEM_WORDS = 16
MAX_WORDS_CARRIED, MAX_WORDS_SO_FAR = 40, 80
"""Of what was asked before, and in all of the conversation: a chain of follow-ups drops its beginning."""
LEANS, SURELY_LEANS = 0.5, 0.9
"""Probability that a message needs the one before it, from which it is read with it, and from which it asks nothing by
itself."""
NAMES_LEAN = 0.2
"""The same of one of several questions in a message that names documents and has no other words than the first."""
_CORRECTION = re.compile(
    r"^\W*(?:(?:no+|nope|sorry|wait|actually|rather|oops|not that(?: one)?|wrong(?: one)?)\b[\s,.;:!–—-]*)*"
    r"(?:i (?:meant?|was (?:asking|talking) about|(?:want|need)(?:ed)?)\b|instead\b|make (?:that|it)\b)[\s,:–—-]*"
    r"|^\W*(?:(?:no+|nope|sorry|wait|actually|rather|oops)\b\s*[,.;:!–—-]+\s*|sorry\s+)+(?=\S)",
    re.IGNORECASE,
)
_ASKS_NEW_QUESTION = re.compile(
    r"\W{0,20}(?:what|who|whom|whose|when|where|which|how|why|is|are|was|were|does|do|did|can|could|list|tell|show|explain)\b",
    re.IGNORECASE,
)
_INSTEAD = re.compile(
    r"^not (?:the |in |for )?(?P<wrong>.{1,60}?)(?:,| but) (?:but )?(?P<right>.{1,60}?)\W*$"
    r"|^(?P<right_first>.{1,60}?)(?:, not|,? instead of|,? rather than) (?:the |in |for )?(?P<wrong_last>.{1,60}?)\W*$",
    re.IGNORECASE,
)
_LITTLE_OPENING = re.compile(
    r"^\W{0,20}(?:(?:and|but|or|also|then|so|now|ok|okay|what about|how about|what of|the same|same)\b[\s,:]*)*"
    r"(?:(?:for|in|of|at|on|with|by|from|during|about|the|instead)\b\s*)*",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W_]+")
_YEAR = re.compile(r"(?<![\w-])(?:FY\s?|Q[1-4]\s)?(?:19|20)\d{2}(?!\d)")
_COUNTED = re.compile(r"\b([^\W\d]{2,})\s+(?:no\.?\s*|#)?(\d[\w.-]*|[A-Z]|[IVX]{1,5})\b(?!\s+[a-z]+\s+(?:of|in)\b)")
_MEASURED = re.compile(r"(?<![\w,.])(\d[\d,.]{0,20}+)\s([^\W\d]{3,40})")
_NAMED = re.compile(r"\b[A-Z][\w&.'’-]*\w(?:\s+(?:of\s+|and\s+|the\s+)?[A-Z0-9][\w&.'’-]*\w)*")
_WHICH_ONE = re.compile(
    r"\b(?:the\s+)?(?P<place>first|second|third|fourth|fifth|sixth|last|former|latter)(?:\s+(?:one|of (?:them|these|"
    r"those)|item|point|option|reason))?\b(?=\W|$)",
    re.IGNORECASE,
)
_POINTS_INTO_ANSWER = re.compile(
    r"\b(?:(?:first|second|third|fourth|fifth|sixth|last) (?:one|of (?:them|these|those)|item|point|option|reason)"
    r"|the (?:former|latter))\b|^\W*(?:and |what about )?the (?:first|second|third|fourth|fifth|sixth|last)\W*$",
    re.IGNORECASE,
)
_BULLET = re.compile(r"^(?:[-*•–]|\(?\d{1,2}[.)]|\(?[a-z][.)])\s+")
_SERIES = re.compile(r"[^,.;:]{2,60}(?:, [^,.;:]{2,60}){0,8},? (?:and|or) [^,.;:]{2,60}")
_BETWEEN_ITEMS = re.compile(r",? (?:and|or) |, ")
_TOPIC = re.compile(
    r"(?:^|(?<=[.?!] ))(?:(?:and|but|so|then),? )?(?:what|which|who|how (?:much|many|high|large|big|long|old)) "
    r"(?:is|are|was|were|will be|has been|had been) (?P<topic>[^?.!,;]{3,80})\?\s*$",
    re.IGNORECASE,
)
"""What a question asks for, where it is the last that was asked: "AMD's net revenue in 2014"."""
_NO_TOPIC = re.compile(
    r"^\W*(?:for|in|of|at|on|with|by|from|during|about)\b"
    r"|\b(?:is|are|was|were|be|does|do|did|has|have|had|can|will|would|should|please)\b",
    re.IGNORECASE,
)
"""A correction that names no other thing: a place, or a sentence."""
_OWNER = re.compile(r"[A-Z0-9][\w&.-]{0,40}(?: [A-Z][\w&.-]{0,40}){0,4}['’]s? ")
_OF_YEAR = re.compile(r" (?:in|for|of|at the end of|by) (?:fiscal |the year )?(?:FY\s?|Q[1-4]\s)?(?:19|20)\d{2}$")
_PRONOUN = re.compile(r"\b(?:(?P<whose>its|their)|it|they|them)\b")
_PLACES = {"first": 0, "former": 0, "second": 1, "latter": 1, "third": 2, "fourth": 3, "fifth": 4, "sixth": 5}


Leaning: TypeAlias = Callable[[str], float]
"""Returns the probability that a message is understood only with the one before it."""
Replacing: TypeAlias = Callable[[str, str], str]
"""Returns the last question with what a follow-up names in place of one of its things; empty if that is not likely."""


def read_after(
    question: str, history: Sequence[Exchange], leaning: Leaning, replacing: Replacing = lambda before, question: ""
) -> FollowUp:
    """Read a question after those before it that were answered from documents.

    What it lacks is filled in from the last question, or that question's topic is put behind it in brackets. A question
    that lacks nothing is read alone, and is also searched with those topics.
    """
    earlier = [one for one in history if one.intent not in APART and one.understood.strip()]
    if not earlier:
        return FollowUp(question)
    last, before = earlier[-1], _shortened(earlier[-1].understood, MAX_WORDS_CARRIED)
    leans, repeats = leaning(question), f" {FROM_THE_ANSWER}" if _holds_answer(last) else ""
    if _names_one_of(last.listed, question, leans):
        place = _LITTLE_OPENING.sub("", question, count=1).strip(" ?!.")
        return FollowUp(f"{before.rstrip(' ?!.')} ({place})?", note=f"{CHOOSES_PASSAGE}{repeats}")
    if pointed := _pointed_at(question, history[-1] if history[-1].intent is Intent.REWORD else last):
        return FollowUp(pointed, note=FROM_THE_ANSWER)
    if corrected := _corrected(question, before):
        return FollowUp(corrected, note=f"Corrects the previous question.{repeats}")
    correction = _put_right(question)
    asks = bool(_ASKS_NEW_QUESTION.match(_LITTLE_OPENING.sub("", question, count=1)))
    needs = leans >= LEANS or bool(correction)
    topics = [_topic_of(one, read=False) for one in earlier]
    carried = (_topic_of(last, whole=not asks) if needs else topics[-1]) or _topic_of(last, whole=True)
    carried = _shortened(carried, MAX_WORDS_CARRIED)
    so_far = _shortened("; ".join(filter(None, topics)), MAX_WORDS_SO_FAR)
    joined, joined_so_far = (f"{question.strip()} ({topic})" if topic else question for topic in (carried, so_far))
    if not needs:
        return FollowUp(question, tuple(one for one in dict.fromkeys([joined, joined_so_far]) if one != question))
    last_leant = bool(last.plan and last.plan.carried)  # which of its things is replaced is not clear
    if not last_leant and (replaced := replacing(before, question) or with_slot(before, _rest_of(question))):
        return FollowUp(replaced, (joined,), f"Asks the previous question about something else.{repeats}")
    if named := _with_topic(question, before):
        return FollowUp(named, (joined, question), f"Filled in with the topic of the previous question.{repeats}")
    others = tuple(dict.fromkeys([question, joined_so_far]))
    note = f"Read with the topic of the previous question.{repeats}"
    return FollowUp(joined, tuple(one for one in others if one != joined), note, carried)


def _holds_answer(one: Exchange) -> bool:
    """Return whether a question, as it was read, contains words of an answer: they go when the document is deleted."""
    return one.plan is not None and any(FROM_THE_ANSWER in note for note in one.plan.notes)


def _topic_of(one: Exchange, *, whole: bool = False, read: bool = True) -> str:
    """Return the topic of an exchange: its question without opening function words, after the topic that it carried.

    The ``whole`` question, for a message that names another thing and no question about it: "And a full service?" As it
    was ``read``, or in the person's words where the reading contains words of an answer.
    """
    if not read and _holds_answer(one):
        return " ".join(one.question.split()).rstrip(" ?!.")
    carried = one.plan.carried if one.plan else ""
    own = (one.plan.question if carried and one.plan else one.understood).strip()
    small = frozenset[str]() if whole else FUNCTION_WORDS | MEASURES
    kept = list(dropwhile(lambda word: word.strip("?!.,;:").lower() in small, own.split()))
    return "; ".join(filter(None, [carried, " ".join(kept).rstrip(" ?!.")]))


def _names_one_of(listed: Sequence[str], question: str, leans: float) -> bool:
    """Return whether a message only names places of the passages listed: "harbour.pdf", "the one in Dunby"."""
    by_itself = bool(_ASKS_NEW_QUESTION.match(question)) and len(words(question)) > MAX_REST_WORDS
    if by_itself and leans < SURELY_LEANS:
        return False
    named = set(content_terms(question)) - OF_DOCUMENTS
    return bool(named) and any(named.issubset(content_terms(where)) for where in listed)


def _with_topic(question: str, before: str) -> str:
    """The question with what the last one asked about in place of its one pronoun; empty where that is not clear."""
    topic = _TOPIC.search(before)
    pronouns = list(_PRONOUN.finditer(question))
    if topic is None or len(pronouns) != 1:
        return ""
    name, [found] = topic["topic"].strip(" ,;"), pronouns
    if found["whose"]:
        if re.search(r"\b(?:of|in|for|at|on)\b", name):
            return ""
        name = f"{name}’" if name.endswith("s") else f"{name}’s"
    return f"{question[: found.start()]}{name}{question[found.end() :]}"


def with_slot(question: str, value: str) -> str:
    """Return the question with the one thing of its kind (year, "Span 1", "250 copies", name) replaced; else empty."""
    for kind in (_COUNTED, _MEASURED, _YEAR, _NAMED):
        given = [match for match in kind.finditer(value) if kind is not _NAMED or match.group() not in _FIRST_WORDS]
        if len(given) != 1 or set(content_terms(value)) - set(content_terms(given[0].group())):
            continue
        new = given[0].group()
        there = [match.span() for match in kind.finditer(question)]
        if kind is _COUNTED:
            there = [span for span in there if stem(question[slice(*span)].split()[0]) == stem(given[0].group(1))]
        elif kind is _MEASURED:
            there = [span for span in there if stem(question[slice(*span)].split()[-1]) == stem(given[0].group(2))]
        elif kind is _NAMED:
            new = re.sub(r"^the ", "", value.strip(" ?!.,;:"), flags=re.IGNORECASE)
            there = [found for span in there for found in _names_like(new, question, span)]
        if len({question[slice(*span)] for span in there}) == 1:
            return _replaced(question, there, new)
    return ""


def _names_like(value: str, question: str, span: tuple[int, int]) -> list[tuple[int, int]]:
    """The names in a run of capitals that are like another: without its first word at the beginning of a question.

    Of a period the one word of the same form ("Q3" of "Q3 2025" for "Q2"); a name with a figure is like none without.
    """
    parts = [(span[0] + word.start(), span[0] + word.end()) for word in re.finditer(r"\S+", question[slice(*span)])]
    form = _form_of(value)
    if "9" in form and (same := [part for part in parts if _form_of(question[slice(*part)]) == form]):
        return same
    while parts and (parts[0][0] == 0 or question[parts[0][0]].islower()):
        parts = parts[1:]
    if not parts or question[slice(*parts[0])] in _FIRST_WORDS:
        return []
    whole = (parts[0][0], span[0] + len(re.sub(r"['’]s$", "", question[slice(*span)])))
    return [whole] if ("9" in form) == ("9" in _form_of(question[slice(*whole)])) else []


def _form_of(word: str) -> str:
    return re.sub(r"\d", "9", re.sub(r"[^\W\d_]", "A", word))


_FIRST_WORDS = frozenset("What Who When Where Which Why How Is Are Was Were Do Does Did Can The And I".split())


def _replaced(text: str, spans: Sequence[tuple[int, int]], value: str) -> str:
    for start, end in reversed(spans):
        text = text[:start] + value + text[end:]
    return text


def _put_right(question: str) -> str:
    """Return the correction ("Span 3" in "no, I meant Span 3"); empty if nothing is corrected."""
    opening = _CORRECTION.match(question)
    correction = question[opening.end() :].strip() if opening else ""
    return "" if _ASKS_NEW_QUESTION.match(correction) else correction


def _corrected(question: str, before: str) -> str:
    """Return the last question with what is put right in its place; empty where it has no clear place."""
    correction = _put_right(question)
    if instead := _INSTEAD.match(correction):
        wrong = instead["wrong"] or instead["wrong_last"]
        right = instead["right"] or instead["right_first"]
        places = [match.span() for match in re.finditer(re.escape(wrong.strip(" ?!.")), before, re.IGNORECASE)]
        if places and len(words(right)) <= MAX_SLOT_WORDS:
            return _replaced(before, places, right.strip(" ?!."))
    bare = _LITTLE_OPENING.sub("", correction, count=1).strip()
    if not bare:
        return ""
    slot = with_slot(before, bare) if len(words(bare)) <= MAX_SLOT_WORDS else ""
    return slot or ("" if _NO_TOPIC.search(correction) else _with_other_topic(before, bare.rstrip(" ?!.")))


def _with_other_topic(before: str, topic: str) -> str:
    """Return the last question asked of another thing, of the same owner and year where the correction names none."""
    asked = _TOPIC.search(before)
    own = [word for word in words(topic) if word.lower() not in FUNCTION_WORDS]
    if asked is None or not own or len(words(topic)) > MAX_ITEM_WORDS or MEASURES.issuperset(own):
        return ""
    old_topic = asked["topic"].strip(" ,;")
    owner = _OWNER.match(old_topic)
    new = f"{owner.group()}{topic}" if owner and not _NAMED.search(topic) else f"the {topic}"
    if not _YEAR.search(topic) and (year := _OF_YEAR.search(old_topic)):
        new += year.group()
    return f"{before[: asked.start('topic')]}{new}{before[asked.end('topic') :]}"


def without_opening(question: str) -> str:
    """Return the follow-up without the little words that open it: "the supplier" of "And what about the supplier?"."""
    return _LITTLE_OPENING.sub("", question, count=1).strip()


def _rest_of(question: str) -> str:
    """What a short follow-up names, without its opening; empty where it asks a question of its own."""
    bare = _LITTLE_OPENING.sub("", question, count=1).strip()
    if _ASKS_NEW_QUESTION.match(bare):
        return ""
    opening = takewhile(lambda word: word.group().lower() in STOP_WORDS - QUESTION_WORDS, _WORD.finditer(bare))
    bare = bare[max((word.end() for word in opening), default=0) :].strip()
    own = [word for word in words(bare) if word.lower() not in FUNCTION_WORDS]
    return bare if own and len(words(bare)) <= MAX_SLOT_WORDS and len(own) <= MAX_REST_WORDS else ""


def _pointed_at(question: str, last: Exchange) -> str:
    """Return the question with "the second one" replaced by that item of the last answer; empty if there is none."""
    match = _WHICH_ONE.search(question) if _POINTS_INTO_ANSWER.search(question) else None
    items = items_of(last.answer) if match else []
    place = _PLACES.get(match["place"].lower(), len(items) - 1) if match else 0
    if match is None or len(items) < 2 or place >= len(items):
        return ""
    return f"{question[: match.start()]}{items[place]}{question[match.end() :]}".strip()


def items_of(answer: str) -> list[str]:
    """Return the items of an answer: its list, else the series in its first paragraph, else its paragraphs."""
    lines = [line.strip() for line in answer.splitlines() if line.strip()]
    listed = [_BULLET.sub("", line) for line in lines if _BULLET.match(line)]
    if len(listed) < 2 and lines:
        series = max((match.group() for match in _SERIES.finditer(lines[0])), key=len, default="")
        listed = [part for part in _BETWEEN_ITEMS.split(series) if part] or lines
    return [" ".join(item.strip(" .;,").split()[:MAX_ITEM_WORDS]) for item in listed]


def _shortened(text: str, max_words: int) -> str:
    """Return the end of what was asked before, cut where a question begins."""
    while len(text.split()) > max_words and (cut := re.search(r"[?.!]\s+(?=\S)", text)):
        text = text[cut.end() :]
    return " ".join(text.split()[-max_words:])
