"""Which documents of a library a question is about, from names, years and other metadata alone."""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

from rapidfuzz import process
from rapidfuzz.distance import JaroWinkler

from pincite.core.domain.documents import AMENDS, Document, bare_name
from pincite.core.questions.places import years_in
from pincite.core.text.terms import FUNCTION_WORDS, content_terms, stem
from pincite.core.text.years import YEAR

_PARTS = re.compile(r"[A-Z]{2,}(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+[A-Za-z]{1,2}\b|\d+|[^\W\d_]+")
_WORDS = re.compile(r"[^\W_]+")
_OF_PROSE = re.compile(r"(?<![\w@./-])[^\W_]+(?![\w@/]|\.\w)")
"""Words but for those of an e-mail's or a site's address, which are in small letters whatever they name."""
_APART = r"[\W_]{1,5}"
_NUMBER = re.compile(r" \(\d{1,4}\)$")
_NAME_OF_SEVERAL = re.compile(r"(?<![.?!] )(?<!^)(?<![\w-])[A-Z][\w-]{0,40}+(?:(?: & | )[A-Z][\w-]{0,40}+){1,8}")
_GENERIC = frozenset(
    "pdf report document doc file version copy draft final annual quarterly page new inc ltd llc plc corp corporation "
    "company co group holdings untitled microsoft word powerpoint presentation slides".split()
)
"""Words of file names and titles that name nothing."""
_NAMED_FIELDS = ("title", "company", "author", "document type")
_NAMED_BY_A_WORD = ("company", "author")
NAME_WEIGHT = 0.75
WORD_WEIGHT = 0.3
LIKENESS_OF_NAMES = 0.9
"""By Jaro and Winkler, who give weight to the beginning: "Activision" is like "activisionblizzard"."""
MIN_SIMILAR_LENGTH = 5
MIN_NUMBER_LENGTH = 4
"""Of a form, an invoice or a file, that is a name; years are none."""
FEW_CALLED = 5
"""Maximum number of documents to read the first words of, to distinguish a name from a common word."""
DECISIVE_MATCH = 0.6
"""From here on a document counts as named by the question."""


def match_documents(question: str, years: Sequence[str], documents: Sequence[Document]) -> dict[str, float]:
    """Return how well a question matches each document's metadata, from 0 to 1. Words of all documents do not count."""
    named = {document.id: _names_of(document.name, _values(document, _NAMED_FIELDS)) for document in documents}
    spread = Counter(word for names in named.values() for word in names)
    worths = _worths(list(spread), _spoken_forms(question))
    scores = {}
    for document in documents:
        doubt = 1.0
        for word in sorted(named[document.id] & worths.keys()):
            doubt *= 1 - worths[word] * (1 - spread[word] / len(documents)) ** 0.25
        own_years = _years_of(document.name, _values(document, ("year", "date")))
        scores[document.id] = round(min((1 - doubt) * _year_factor(years, own_years), 1.0), 4)
    return scores


def named_documents(
    question: str, documents: Sequence[Document], *, surely: bool = False, beside: frozenset[int] = frozenset()
) -> tuple[str, ...]:
    """Return the ids of documents that a question names, as far as names distinguish them; years do not count here.

    A name that is a common word ("letter") counts if it is the whole name, unless it must be named ``surely``. If
    several documents differ only in the year, those of the year that is asked for, if there are any, and of the
    additional years that the caller gives are returned, unless one of them amends another. "Ferry Lane" names no
    document of Copper Lane, "Ash Hill Nursery" none of another nursery. Who writes a whole name, such as
    "ash-hill.pdf" or "the Ash Hill lease", means no other document by its words.
    """
    called, rest = _called_in_full(question, documents)
    in_part = _named_in_part(rest, documents, surely, beside)
    sure = {one.id for one in documents if called.get(one.id)}
    ids = sure | {one.id for one in in_part if one.id not in called}
    if ids == sure and (sure or not surely):  # "service agreement" names none in "the service agreement with Acme"
        ids |= called.keys()
    return tuple(one.id for one in documents if one.id in ids)


def _called_in_full(question: str, documents: Sequence[Document]) -> tuple[dict[str, bool], str]:
    """Return the documents whose names of several words are in a question, and the question without these names.

    For each it is said whether that is sure: the name is written with its ending or a capital letter. Names with a year
    are left: who asks for one year's report may compare it with another's.
    """
    spoken, groups = _in_words(question), dict[str, list[Document]]()
    for document in documents:
        own = _in_words(_bare(document.name))
        if own.count(" ") > 2 and own in spoken and _is_called(document.name, spoken) and not YEAR.search(own):
            groups.setdefault(own, []).append(document)
    called, rest = dict[str, bool](), question
    for own in sorted(groups, key=len, reverse=True):
        words = _APART.join(map(re.escape, own.split()))
        for match in re.finditer(rf"(?<![^\W_]){words}(?P<ending>\.[^\W_]{{2,5}})?(?![^\W_])", rest, re.IGNORECASE):
            ending = (match["ending"] or "").casefold()
            meant = [one for one in groups[own] if ending and one.name.casefold().endswith(ending)]
            name = match.group().lstrip()
            capitals = any(word[0].isupper() for word in _WORDS.findall(name)[match.start() == 0 :])
            for one in meant or groups[own]:
                called[one.id] = called.get(one.id, False) or bool(meant) or capitals
        rest = re.sub(rf"(?<![^\W_]){words}(?:\.[^\W_]{{2,5}})?(?![^\W_])", " … ", rest, flags=re.IGNORECASE)
    return called, rest


def _named_in_part(
    question: str, documents: Sequence[Document], surely: bool, beside: frozenset[int]
) -> list[Document]:
    scores = match_documents(_without_strangers(question, documents), (), documents)
    spoken = _in_words(question)
    named = [
        document
        for document in documents
        if scores[document.id] >= DECISIVE_MATCH or (not surely and _is_called(document.name, spoken))
    ]
    names = {word for word, worth in _spoken_forms(question).items() if worth == NAME_WEIGHT}
    called = {one.id: names & _names_of(one.name, _values(one, _NAMED_FIELDS)) for one in documents}
    if named and (others := names.difference(*(called[one.id] for one in named))):  # however many documents these call
        ids = {one.id for one in named}
        named = [one for one in documents if one.id in ids or others & called[one.id]]
    named = [one for one in named if not any(called[one.id] < called[other.id] for other in named)]
    asked = set(map(int, years_in(question)))
    years = {one.id: _years_of(one.name, _values(one, ("year", "date"))) for one in named}
    amending = any(_values(one, (AMENDS,)) for one in named)  # then the others say what it leaves as it was
    if not amending and any(asked & own for own in years.values()):
        named = [one for one in named if (asked | beside) & years[one.id]]
    return named


def kind_meant(question: str, documents: Sequence[Document]) -> tuple[str, ...]:
    """Return the id of the one document of the type, and of the year if there is one, in a question; else none.

    "The 2023 report", "the policy", not "the notice period". Documents of unknown type may be of it as well, so
    that none is meant then.
    """
    kinds = {one.id: [words[-1] for kind in _values(one, ("document type",)) if (words := _WORDS.findall(kind))]
             for one in documents}  # fmt: skip
    matching = [one for one in documents if any(_names_kind(kind, question) for kind in kinds[one.id])]
    if asked := set(map(int, years_in(question))):
        of_year = [one for one in matching if asked & _years_of(one.name, _values(one, ("year", "date")))]
        matching = of_year or matching
    alone = len(matching) == 1 and len(documents) > 1 and all(kinds.values())
    return (matching[0].id,) if alone else ()


def _names_kind(kind: str, question: str) -> bool:
    """Return whether a word is used alone, not in front of the word that it belongs to."""
    pattern = (
        r"\b(?P<does>do(?:es)?\s|did\s)?(?:the|this|our)\s(?:[^\W_]{1,30}\s){0,2}?"
        rf"{re.escape(kind)}\b(?:\s(?P<next>[^\W_]{{1,30}}))?"
    )
    return any(
        bool(found["does"]) or not found["next"] or found["next"].lower() in FUNCTION_WORDS
        for found in re.finditer(pattern, question, re.IGNORECASE)
    )


def with_capitals(question: str, documents: Sequence[Document], opening: Callable[[str], str]) -> str:
    """Return the question with capitals for names of documents that were typed without ("orlan" for "Orlan 2023.pdf").

    ``opening``: the first words of a document, which separate names from common words: names always have capitals.
    Words all in capitals ("PURSUANT TO SECTION 13") prove nothing, unless the file is called so ("BASF 2023.pdf"). A
    word of a title alone is none: "residential capacity" does not name "The Limes Residential Home".
    """
    names = {one.id: _names_of(one.name, _values(one, _NAMED_BY_A_WORD)) for one in documents}

    def as_written(match: re.Match[str]) -> str:
        word, bare = match.group(), stem(match.group())
        if not word.islower() or len(word) < MIN_SIMILAR_LENGTH - 1 or word in FUNCTION_WORDS:
            return word
        called = [document_id for document_id, own in names.items() if not own.isdisjoint((word, bare))][:FEW_CALLED]
        texts = " ".join(map(opening, called))
        forms = {form for form in _OF_PROSE.findall(texts) if stem(form) == bare}
        if not any(word in _names_of(one.name, ()) for one in documents if one.id in called):
            forms = {form for form in forms if not form.isupper()}
        return word.capitalize() if forms and not any(map(str.islower, forms)) else word

    return _WORDS.sub(as_written, question)


def named_apart(question: str, documents: Sequence[Document]) -> tuple[tuple[str, ...], ...]:
    """Return the ids of documents in groups, each called by a word that names no other group, in the question's order.

    Documents of one name, such as a company's reports, are one group; what is called by less than another is none
    ("Orlan in Q2" is no other report of Orlan). Nothing where two groups cannot be distinguished.
    """
    spoken = _spoken_forms(question).keys()
    groups: dict[frozenset[str], list[str]] = {}
    for one in documents:
        called = _names_of(one.name, _values(one, _NAMED_FIELDS)).intersection(spoken)
        groups.setdefault(called, []).append(one.id)
    groups = {words: ids for words, ids in groups.items() if not any(words < other for other in groups)}
    spread = Counter(word for words in groups for word in words)
    folded = question.casefold()
    places = {words: [folded.find(word) for word in words if spread[word] == 1 and word in folded] for words in groups}
    if not all(places.values()):
        return ()
    return tuple(tuple(groups[words]) for words in sorted(groups, key=lambda words: min(places[words])))


def only_names(question: str, documents: Sequence[Document], *, and_of: str = "") -> bool:
    """Return whether a question names these documents and asks for no more, except what ``and_of`` asks."""
    names = {stem(word) for one in documents for word in _names_of(one.name, _values(one, _NAMED_FIELDS))}
    return bool(names) and names.union(content_terms(and_of)).issuperset(content_terms(question))


def _without_strangers(question: str, documents: Sequence[Document]) -> str:
    """Return the question without the names of several words that no document has all words of."""
    known = [_names_of(one.name, _values(one, _NAMED_FIELDS)) | _GENERIC | FUNCTION_WORDS for one in documents]

    def kept(match: re.Match[str]) -> str:
        words = [word.casefold() for word in _WORDS.findall(match.group())]
        return match.group() if any(all(_is_among(word, own) for word in words) for own in known) else "…"

    return _NAME_OF_SEVERAL.sub(kept, question)


def _is_among(word: str, names: frozenset[str]) -> bool:
    return word in names or (
        len(word) >= MIN_SIMILAR_LENGTH
        and process.extractOne(word, names, scorer=JaroWinkler.similarity, score_cutoff=LIKENESS_OF_NAMES) is not None
    )


def _bare(name: str) -> str:
    """Return a document's name without its ending and without the number that distinguishes duplicates."""
    return _NUMBER.sub("", bare_name(name))


def _is_called(name: str, spoken: str) -> bool:
    """Return whether a text contains a document's whole name, with a word that can be a name."""
    own = _in_words(_bare(name))
    telling = set(own.split()) - _GENERIC - FUNCTION_WORDS
    return own in spoken and any(len(word) >= MIN_SIMILAR_LENGTH - 1 for word in telling)


def _in_words(text: str) -> str:
    return f" {' '.join(_WORDS.findall(unicodedata.normalize('NFC', text))).casefold()} "


def _spoken_forms(question: str) -> dict[str, float]:
    """Return the lower-case words of a question, alone and joined ("Best Buy" is also "bestbuy"), with their weights.

    A name (capital or figure within the sentence) weighs much more than a common word.
    """
    words = _WORDS.findall(re.sub(r"['’]s\b", "", question))
    worth: dict[str, float] = {}
    for size in (3, 2, 1):
        for start in range(len(words) - size + 1):
            part = words[start : start + size]
            form = "".join(part).lower()
            if size == 1 and form in FUNCTION_WORDS:
                continue
            name = all(word[0].isupper() or word[0].isdigit() for word in part) and (start > 0 or size > 1)
            value = NAME_WEIGHT if name else WORD_WEIGHT
            for key in {form, stem(form)} if size == 1 else {form}:
                worth[key] = max(worth.get(key, 0.0), value)
    return worth


def _worths(names: Sequence[str], spoken: Mapping[str, float]) -> dict[str, float]:
    """Return the evidence that the question contains these words: verbatim, by stem, or as similar names."""
    worths = {name: worth for name in names if (worth := max(spoken.get(name, 0.0), spoken.get(stem(name), 0.0))) > 0}
    others = [name for name in names if name not in worths and len(name) >= MIN_SIMILAR_LENGTH]
    forms = [form for form, worth in spoken.items() if worth == NAME_WEIGHT and len(form) >= MIN_SIMILAR_LENGTH]
    if others and forms:
        likeness = process.cdist(others, forms, scorer=JaroWinkler.similarity, score_cutoff=LIKENESS_OF_NAMES)
        worths |= {
            name: NAME_WEIGHT * float(best) for name, best in zip(others, likeness.max(axis=1), strict=True) if best
        }
    return worths


def _values(document: Document, fields: Sequence[str]) -> tuple[str, ...]:
    return tuple(entry.value for entry in document.metadata if entry.name in fields)


@lru_cache(maxsize=16384)
def _names_of(name: str, values: tuple[str, ...]) -> frozenset[str]:
    texts = [unicodedata.normalize("NFC", text) for text in (_bare(name), *values)]
    words = {word.lower() for text in texts for pattern in (_WORDS, _PARTS) for word in pattern.findall(text)}
    return frozenset(
        word
        for word in words - _GENERIC - FUNCTION_WORDS
        if 2 <= len(word) <= 24
        and (len(word) > 2 or any(map(str.isdigit, word)))
        and not (word.isdigit() and (len(word) < MIN_NUMBER_LENGTH or YEAR.fullmatch(word)))
    )


def _years_of(name: str, values: Sequence[str]) -> frozenset[int]:
    """Return the years in the name or, failing that, in the metadata."""
    return frozenset(map(int, YEAR.findall(name) or [year for value in values for year in YEAR.findall(value)]))


def _year_factor(asked: Sequence[str], printed: frozenset[int]) -> float:
    """Return 1 without years, more if they agree, and the minimum if the document is too old."""
    if not asked or not printed:
        return 1.0
    newest, own = max(map(int, asked)), max(printed)
    if newest == own:
        return 1.15
    return 0.8 if own == newest + 1 else 0.6 if own > newest else 0.4
