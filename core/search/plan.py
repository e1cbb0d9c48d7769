"""Deterministic question analysis: from a question and its conversation to a SearchPlan, without a language model.

Owns what is looked for and in which wordings. Which documents a question names is `core.retrieval.library`'s business;
searching is `core.retrieval.search`'s.
"""

import re
from collections.abc import Sequence
from functools import cache

from core.domain.ports import Message
from core.domain.search import SearchPlan, SubQuery
from core.search.lexicon import SECTION_NAMES, SECTIONS, TERMS, Term
from core.text.terms import FUNCTION_WORDS, words

MOST_SUB_QUERIES = 4

_SENTENCE = re.compile(r"(?<=[?!])\s*(?=[A-Z])|(?<=[a-z0-9)\"”']\.)\s+(?=[A-Z])|\n+")
_INSTRUCTION = re.compile(
    r"^\W*(?:please|answer|respond|reply|round|return|write|give|express|report|calculate what|compute what|"
    r"address|use|utili[sz]e|provide|directly answer|the (?:answer|output)|your answer|output|format|do not|don't|"
    r"we want to|enumerate|"
    r"an\w{1,3}er in|if .* not (?:a )?(?:useful|relevant|meaningful))\b",
    re.IGNORECASE,
)
_FORMAT_WORDS = re.compile(
    r"\b(?:answers?|respond|round(?:ed)?|decimals?|format|integer|float|string|units?|percents?|list|order|shown|"
    r"line items?|information|perspective|names?|all of them|"
    r"in (?:millions|billions|thousands)|question|calculat\w+|concise\w*|sentences?|words?|explain why|compute)\b",
    re.IGNORECASE,
)
_LEAD_IN = re.compile(
    r"^\W*(?:here'?s the question:|question:|(?:according to|based on|from|in|per|as (?:per|stated in)|using|among)\b"
    r"[^,?]{0,140}?\b(?:report|paper|document|article|slides?|presentation|survey|manual|guide|handbook|deck|study|text|"
    r"statements?|sheet|filing|details|information|10-?k|pdf|file|data|p&l)\b[^,?]{0,80},"
    r"|(?:hi|hello|hey|ok|okay)[,!]|so(?:,|\s+(?=(?-i:what|who|which|when|where|why|how|is|are|does|do)\b)))\s*",
    re.IGNORECASE,
)
_PLACE = re.compile(
    r"\s{0,4},?\s{0,4}\b(?:according to|based on|in|from|mentioned in|shown in|given in) (?:the|this|that) "
    r"(?:document|pdf|file)\b(?=\s{0,4}(?:[?.,;:!)]|$))",
    re.IGNORECASE,
)
"""Not in "in the pdf format section"."""
_FORMAT_TAIL = re.compile(
    r"[,(]?\s{0,4}\b(?:e\.g\.?,?\s{0,4}\[.*|in (?:units? of [^?.)]*|"
    r"(?:the |an? )?(?:list|string|integer|float|int) form(?:at)?)|round(?:ed)?(?: your answer)? to [^?.]*)\)?",
    re.IGNORECASE,
)
_PAGE = r"(?:\d{1,4}|[ivxlc]{1,7}|[IVXLC]{2,7}|[A-Z]{1,2}-?\d{1,3})(?!\w|\.\d)"
_BETWEEN = (
    r"\s{0,3}(?:(?i:to|through|until|and|or)\b|[-–—&,;/])\s{0,3}(?:(?i:and|or)\s{1,3})?"
    r"(?i:pages?|slides?|pp?\.)?\s{0,3}"
)
_PAGES = re.compile(
    rf"\b(?P<kind>(?i:pages?|pp?\.|pgs?\.?|slides?|pp))\s{{0,3}}(?i:no\.?|numbers?|#)?\s{{0,3}}\(?"
    rf"(?P<list>{_PAGE}(?:{_BETWEEN}{_PAGE}){{0,30}})"
)
_ONE_PAGE = re.compile(_PAGE)
_ENDS = re.compile(r"\)?\s{0,3}(?:[?.!:;,]|$)")
_ROMAN = dict(zip("c xc l xl x ix v iv i".split(), (100, 90, 50, 40, 10, 9, 5, 4, 1), strict=True))
MOST_PAGES_OF_A_RANGE = 40
_NUMBERS = "one two three four five six seven eight nine ten".split()
_ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth".split()
_PLACES = {
    **{word: str(number) for number, word in enumerate(_NUMBERS, start=1)},
    **{word: str(number) for number, word in enumerate(_ORDINALS, start=1)},
    **{"first": "first", "cover": "first", "last": "last", "final": "last"},
}
_ORDINAL_PAGE = re.compile(
    rf"\b(?:({'|'.join(_ORDINALS)}|last|final|cover|\d{{1,3}}(?=st|nd|rd|th))(?:st|nd|rd|th)?\s+(?:cover\s+)?(?:page|slide)"
    rf"|(?:page|slide)\s+(?:number\s+)?({'|'.join(_NUMBERS)}))\b",
    re.IGNORECASE,
)
_NAMED_SECTION = re.compile(
    r"\b(?i:tables?|figures?|fig\.?|charts?|exhibit|sections?|chapter|appendix|part|item|unit|note|step|article|annex|equation|"
    r"algorithm|schedule|case study)\s{0,4}-?\s{0,4}(?:\d+(?:[.-]\d+)*[A-Za-z]?|[A-Z]\b|[IVX]+\b)"
)
_YEAR = re.compile(r"(?:\b|(?<=FY)|(?<=fy)|(?<=Q[1-4]))(?:19|20)\d{2}(?!\d)")
_YEAR_SPAN = re.compile(r"((?:19|20)\d{2})\s*(?:-|–|to|through|and)\s*(?:FY\s?)?((?:19|20)\d{2})", re.IGNORECASE)
_FISCAL_YEAR = re.compile(r"\bFY\s?['’]?((?:19|20)?\d{2})\b")
_SHORT_YEAR = re.compile(r"\bFY\s?['’]?(\d{2})\b")
_QUOTED = re.compile(r"[\"“”]([^\"“”]{2,80})[\"“”]|(?<!\w)['‘]([^'‘’]{2,60})['’](?!\w)")
_NAME = re.compile(r"\b(?:[A-Z][\w&.'’-]*[\w]|[A-Z]{2,})(?:\s+(?:(?:of|and|the|for|de|&)\s+)?[A-Z0-9][\w&'’-]*)*")
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
_NOUN_PHRASE = re.compile(r"\b(?i:the|an?|each|every|all|which|what|of|our|my)\s+\w{3,}|(?<=\s)[A-Z]\w+")
_MEASURES = frozenset(
    "much many long often far exactly ago more else happened sure yes no ok okay please again explain elaborate detail "
    "details clarify continue".split()
)
MOST_WORDS_OF_A_REST = 3
_ABOUT_PLACE = frozenset(
    "here question according based using among stated given report paper document article slide slides presentation "
    "survey manual guide handbook deck study text statement statements sheet filing details information pdf file data "
    "in per from as use shown okay ok hi hello hey so".split()
)
"""Words that only say where to look."""
_ABOUT_FORM = _ABOUT_PLACE | frozenset(
    "please answer answers respond reply round rounded return write give express provide output format formatted "
    "calculate compute use utilize utilise directly decimal decimals place places percent percents percentage integer "
    "float string number numbers unit units list order shown line item items names name million millions billion "
    "billions thousand thousands usd dollars concise concisely sentence sentences word words explain one two three "
    "enumerate address perspective".split()
)
"""Words that only say how to answer."""
_ASKING_VERB = re.compile(
    r"^\W*(?:give|report|provide|use|utili[sz]e|address|enumerate|list|we want to)\b", re.IGNORECASE
)


def plan_question(
    question: str, *, history: Sequence[Message] = (), gaps: Sequence[str] = (), attempt: int = 0
) -> SearchPlan:
    """Return what to look for. ``gaps`` are what the judge found missing: they become sub-queries of a retry."""
    notes: list[str] = []
    standalone = resolve_follow_up(question, history)
    if standalone != question:
        notes.append("Joined with the previous question, which it refers to.")
    core = core_question(standalone)
    if core != standalone:
        notes.append("Left out how the answer should be written.")
    terms = terms_in(standalone)
    sections = sections_in(standalone, terms)
    sub_queries = [SubQuery(core, _variations(core, terms))]
    sub_queries += [SubQuery(part, ()) for part in parts_of(core)]
    sub_queries += [SubQuery(text, ()) for text in _section_queries(standalone, terms)]
    sub_queries += [SubQuery(gap, ()) for gap in gaps]
    if terms:
        notes.append("Added what documents print for: " + ", ".join(term.names[0] for term in terms) + ".")
    return SearchPlan(
        question=question,
        standalone_question=standalone,
        sub_queries=tuple(sub_queries[: MOST_SUB_QUERIES + len(gaps)]),
        entities=entities_in(core),
        constraints=tuple(" ".join(match.group().split()) for match in _QUOTED.finditer(core)),
        time_ranges=years_in(standalone),
        wanted_sections=sections,
        wanted_pages=pages_in(standalone),
        attempt=attempt,
        notes=tuple(notes),
    )


def resolve_follow_up(question: str, history: Sequence[Message]) -> str:
    """Put the previous question of the person before one that cannot be understood without it."""
    earlier = [message.text for message in history if message.role == "user" and message.text.strip()]
    if not earlier or not leans_on_the_last(question):
        return question
    return f"{earlier[-1].strip()} {question.strip()}"


def leans_on_the_last(question: str) -> bool:
    """Say whether a question points back (pronouns, openings) or leaves out what it is about."""
    own_words = _content(question)
    if all(word.lower() in _MEASURES or word.isdigit() for word in own_words):
        return True  # "Why?", "How long?", "And 2019?"
    if _BACK_POINTING.search(question):
        return True
    few = len(own_words) <= MOST_WORDS_OF_A_REST
    if (few and _REST.search(question)) or _OPENING.search(question):
        return True
    pronoun = _PRONOUN.search(question)
    return pronoun is not None and (len(own_words) < 3 or not _NOUN_PHRASE.search(question, 0, pronoun.start()))


def core_question(question: str) -> str:
    """Drop sentences and clauses that say how to answer, keeping what is asked."""
    kept = []
    for sentence in _SENTENCE.split(question):
        for _ in range(2):
            lead = _LEAD_IN.match(sentence)
            sentence = sentence[lead.end() :] if lead and _says_only_where(lead.group()) else sentence
        if _says_only_how(sentence):
            continue
        sentence = _without(_PLACE, _without(_FORMAT_TAIL, sentence)).strip()
        if words(sentence):
            kept.append(sentence)
    return _FISCAL_YEAR.sub(_plain_year, " ".join(kept) or question.strip())


def _without(pattern: re.Pattern[str], text: str) -> str:
    """Leave out what a pattern finds, but nothing of what is quoted."""
    quoted = bytearray(len(text))
    for match in _QUOTED.finditer(text):
        quoted[match.start() : match.end()] = b"\1" * len(match.group())

    def kept(match: re.Match[str]) -> str:
        return match.group() if any(quoted[match.start() : match.end()]) else ""

    return pattern.sub(kept, text)


def _content(text: str) -> list[str]:
    return [word for word in words(text) if word.lower() not in FUNCTION_WORDS]


def _says_only_how(sentence: str) -> bool:
    if "?" in sentence or not (_INSTRUCTION.search(sentence) and _FORMAT_WORDS.search(sentence)):
        return False
    return not _ASKING_VERB.search(sentence) or _is_said_elsewhere(sentence, _ABOUT_FORM)


def _says_only_where(lead: str) -> bool:
    """A lead-in that names something ("In the 2019 report of Acme, ...") is part of what is asked."""
    return _is_said_elsewhere(lead, _ABOUT_PLACE)


def _is_said_elsewhere(text: str, known: frozenset[str]) -> bool:
    """Say whether all words of a text say how or where only, or name a section that the plan looks under anyway."""
    left = " ".join(text.lower().split())
    for name in SECTION_NAMES:
        left = left.replace(name, " ")
    return all(word in known for word in _content(left))


def _plain_year(match: re.Match[str]) -> str:
    """ "FY2018" and "FY18" are printed as 2018 in most documents."""
    year = match.group(1)
    return year if len(year) == 4 else f"20{year}"


def parts_of(core: str) -> tuple[str, ...]:
    """The separate questions of a multi-part question; empty when there is only one."""
    parts = [
        part.strip() for part in re.split(r"(?<=\?)\s+|,?\s{1,4}and (?=(?:what|who|when|where|which|how|why)\b)", core)
    ]
    parts = [part for part in parts if part.endswith("?") or "?" not in core]
    parts = [part for part in parts if _content(part)]
    return tuple(parts) if len(parts) > 1 else ()


def terms_in(question: str) -> tuple[Term, ...]:
    """The lexicon's terms that a question uses; of names inside one another only the longest counts."""
    text = f" {question.lower()} "
    found: list[Term] = []
    for pattern, term in _name_patterns():
        if pattern.search(text):
            text = pattern.sub(" ", text)
            if term not in found:
                found.append(term)
    return tuple(found)


@cache
def _name_patterns() -> tuple[tuple[re.Pattern[str], Term], ...]:
    """Each name of the lexicon's terms, longest first."""
    names = sorted(((name, term) for term in TERMS for name in term.names), key=lambda pair: -len(pair[0]))
    ending = "(?:s|es|ies|ity|ing|ed|e)?(?![a-z])"
    return tuple((re.compile(f"(?<![a-z]){re.escape(name)}{ending}"), term) for name, term in names)


def sections_in(question: str, terms: Sequence[Term] = ()) -> tuple[str, ...]:
    """Headings to prefer: those that the question names, and those under which its terms stand."""
    headings = [heading for section in _everyday_sections(question, terms) for heading in SECTIONS[section]]
    named = [" ".join(match.group().split()) for match in _NAMED_SECTION.finditer(question)]
    return tuple(dict.fromkeys([*named, *headings]))


def _everyday_sections(question: str, terms: Sequence[Term]) -> tuple[str, ...]:
    text = " ".join(question.lower().replace("statements", "statement").split())
    named = [section for name, section in SECTION_NAMES.items() if name.replace("statements", "statement") in text]
    return tuple(dict.fromkeys([*named, *(section for term in terms for section in term.sections)]))


def _section_queries(question: str, terms: Sequence[Term]) -> list[str]:
    """One query per section that holds a part of the answer: its heading and the lines to find there."""
    return [
        " ".join([SECTIONS[section][0], *(term.wordings for term in terms if section in term.sections)])
        for section in _everyday_sections(question, terms)
    ]


def pages_in(question: str) -> tuple[str, ...]:
    """Pages that a question names, as printed or as ``first``, ``last``; ranges filled in."""
    found: list[str] = []
    for match in _PAGES.finditer(question):
        listed, rest = match["list"], question[match.end("list") :]
        previous: re.Match[str] | None = None
        for page in _ONE_PAGE.finditer(listed):
            between = listed[previous.end() : page.start()] if previous else ""
            if previous and "," in between and match["kind"].lower() in ("page", "slide") and not _ENDS.match(rest):
                break  # "On page 3, 5 people sign"
            if previous and not re.search(r"[,;/&]|\b(?:and|or)\b", between, re.IGNORECASE):
                found += _pages_between(previous.group(), page.group())
            if not page.group().isalpha() or _is_counted(page.group()):
                found.append(page.group())
            previous = page
    for match in _ORDINAL_PAGE.finditer(question):
        word = (match.group(1) or match.group(2)).lower()
        found.append(_PLACES.get(word, word))
    return tuple(dict.fromkeys(found))


def _pages_between(first: str, last: str) -> list[str]:
    """The pages between the ends of a range: 3 to 5, iv to vi, A-1 to A-3; none where the ends do not match."""
    (style, low), (other, high) = _counted(first), _counted(last)
    if style != other or not low < high <= low + MOST_PAGES_OF_A_RANGE:
        return []
    between = range(low + 1, high)
    if style == "roman":
        return [_as_roman(number) for number in between]
    return [f"{style}{number}" for number in between]


def _counted(page: str) -> tuple[str, int]:
    """Part a page's name into what is counted and the number."""
    digits = page.lstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZ-")
    if digits.isdigit():
        return page[: len(page) - len(digits)], int(digits)
    values = [_ROMAN[letter] for letter in page.lower()]
    return "roman", sum(
        -value if value < after else value for value, after in zip(values, [*values[1:], 0], strict=True)
    )


def _is_counted(page: str) -> bool:
    """Letters alone name a page only as a number in Roman figures; "civil" is none."""
    return _as_roman(_counted(page)[1]) == page.lower()


def _as_roman(number: int) -> str:
    text = ""
    for letters, value in _ROMAN.items():
        text += letters * (number // value)
        number %= value
    return text


def years_in(question: str) -> tuple[str, ...]:
    """The years that a question names, spans filled in."""
    found = [match.group() for match in _YEAR.finditer(question)]
    found += [f"20{match.group(1)}" for match in _SHORT_YEAR.finditer(question)]
    for match in _YEAR_SPAN.finditer(question):
        first, last = int(match.group(1)), int(match.group(2))
        if first < last <= first + 10:
            found += [str(year) for year in range(first, last + 1)]
    return tuple(sorted(dict.fromkeys(found)))


def entities_in(core: str) -> tuple[str, ...]:
    """Quoted strings and capitalised names, without the word that opens the question."""
    quoted = [match.group(1) or match.group(2) for match in _QUOTED.finditer(core)]
    names = []
    for match in _NAME.finditer(core):
        name = match.group()
        while name and name.split()[0].lower() in FUNCTION_WORDS:
            name = " ".join(name.split()[1:])
        if len(name) > 1 and not (match.start() == 0 and name.istitle() and " " not in name and len(core.split()) > 1):
            names.append(name)
    return tuple(dict.fromkeys([*quoted, *names]))


def _variations(core: str, terms: Sequence[Term]) -> tuple[str, ...]:
    """The words that carry meaning alone, and those with what documents print for the question's terms."""
    content = " ".join(_content(core))
    printed = " ".join(term.wordings for term in terms)
    return tuple(dict.fromkeys(text for text in (content, f"{content} {printed}".strip()) if text))
