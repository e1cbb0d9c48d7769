"""Deterministic question analysis: from a question and its conversation to a SearchPlan, without a language model.

Owns what is looked for and in which wordings. Which documents a question names is left to `matching`, searching to
`retriever`.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from pincite.core.domain.documents import Document
from pincite.core.domain.questions import FollowUp, Question
from pincite.core.domain.search import Piece, SearchPlan, SubQuery
from pincite.core.questions.follow_up import LEANS, NAMES_LEAN, Leaning
from pincite.core.questions.lexicon import Lexicon, Term, shipped_lexicon
from pincite.core.questions.matching import named_apart, named_documents, only_names
from pincite.core.questions.places import numbered_in, pages_in, with_plain_years, years_in
from pincite.core.text.sentences import split_sentences
from pincite.core.text.terms import FUNCTION_WORDS, content_terms, words

MAX_SUB_QUERIES, MAX_PIECES = 4, 12
"""Limits of a plan: queries for one question, and questions that are asked apart, such as one of each document."""

_HOW_TO_ANSWER = re.compile(
    r"\W{0,9}(?:(?:please|kindly)\s{1,9})?(?:answer|respond|reply|round|format|express|write|return|output)\b(?!\s+(?-i:[A-Z]))",
    re.IGNORECASE,
)
_PARTS = re.compile(
    r"(?<=[?.;])\s+(?=\S)|,?\s{1,4}and (?:also )?(?=(?:what|who|when|where|which|how|why|is|are|does|do|did|can)\b)"
)
_LISTED = re.compile(r",\s{1,4}(?=(?:what|how|why)\b)")
"""Between questions in a row, where no other comma is; "who", "which", "when" and "where" may go on with a clause."""
_ASKS = re.compile(
    r"\W{0,20}(?:what|who|whom|whose|when|where|which|how|why|is|are|was|were|does|do|did|can|could|may|must|shall|should|"
    r"will|list|name|give|tell|show|explain|describe|compare|summari[sz]e|find)\b",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"[\"“”]([^\"“”]{2,80})[\"“”]|(?<!\w)['‘]([^'‘’]{2,60})['’](?!\w)")
_NAME = re.compile(r"\b(?:[A-Z][\w&.'’-]*[\w]|[A-Z]{2,})(?:\s+(?:(?:of|and|the|for|de|&)\s+)?[A-Z0-9][\w&'’-]*)*")


def plan_question(
    question: str | Question,
    *,
    gaps: Sequence[str] = (),
    attempt: int = 0,
    lexicon: Lexicon | None = None,
    leaning: Leaning = lambda question: 0.0,
) -> SearchPlan:
    """Return what to look for. ``gaps`` are what the judge found missing: they become sub-queries of a retry.

    A text is a question that is complete. ``lexicon`` holds domain-specific terms; None: those that are shipped.
    ``leaning`` returns the probability that a part of the question needs the part before it.
    """
    lexicon = lexicon or shipped_lexicon()
    notes: list[str] = []
    text, followed = (question, FollowUp(question)) if isinstance(question, str) else (question.text, question.read)
    standalone = followed.standalone
    if followed.note:
        notes.append(followed.note)
    own = text.strip()
    core = standalone.replace(own, core_question(own), 1) if own in standalone else core_question(standalone)
    if len(core) < len(standalone):
        notes.append("Left out the instructions on how to write the answer.")
    terms = lexicon.terms_in(standalone)
    if terms:
        notes.append("Added the words that documents use for: " + ", ".join(term.names[0] for term in terms) + ".")
    sections = lexicon.sections_in(standalone, terms)
    others = (other.replace(own, core_question(own), 1) for other in followed.others if content_terms(other))
    readings = tuple(_reading(other, lexicon) for other in others)
    constraints = tuple(" ".join(match.group().split()) for match in _QUOTED.finditer(core))
    parts = parts_of(core_question(text) if followed.carried else core)
    pieces = tuple(Piece(part, _reading(_joined(part, parts, leaning), lexicon)) for part in parts)
    sub_queries = [SubQuery(core, _variations(core, terms)), *map(SubQuery, constraints)]
    for section in sections:
        lines = [term.printed for term in terms if any(lexicon.sections.get(name) == section for name in term.sections)]
        sub_queries.append(SubQuery(" ".join([*section.headings[:1], *lines])))
    headings = [heading for section in sections for heading in section.headings]
    return SearchPlan(
        question=text,
        standalone_question=standalone,
        sub_queries=(*sub_queries[:MAX_SUB_QUERIES], *map(SubQuery, gaps)),
        entities=entities_in(core),
        constraints=constraints,
        time_ranges=years_in(standalone),
        wanted_sections=tuple(dict.fromkeys([*numbered_in(standalone), *headings])),
        wanted_pages=pages_in(standalone),
        pieces=pieces,
        readings=readings,
        carried=followed.carried,
        attempt=attempt,
        notes=tuple(notes),
    )


def _reading(core: str, lexicon: Lexicon) -> SubQuery:
    return SubQuery(core, _variations(core, lexicon.terms_in(core)))


def core_question(question: str) -> str:
    """Drop sentences with instructions on how to answer, if there are others; write years as documents print them."""
    sentences = [question[span.start : span.end] for span in split_sentences(question)]
    asked = [sentence for sentence in sentences if sentence.endswith("?") or not _HOW_TO_ANSWER.match(sentence)]
    kept = " ".join(asked) if len(asked) < len(sentences) else question.strip()
    return with_plain_years(kept if words(kept) else question.strip())


def parts_of(core: str) -> tuple[str, ...]:
    """Return the separate questions of a multi-part question; empty when there is only one."""
    split = [part.strip() for part in _PARTS.split(core)]
    if len(split) > 1:
        split = [one for part in split for one in (_LISTED.split(part) if _in_a_row(part) else [part])]
    parts = [part for part in split if (part.endswith("?") or _ASKS.match(part)) and _content(part)]
    return tuple(parts) if len(parts) > 1 else ()


def _in_a_row(part: str) -> bool:
    return part.count(",") == len(_LISTED.findall(part))


def _joined(part: str, parts: Sequence[str], leaning: Leaning) -> str:
    """One of several questions, behind the first where it leans on that one."""
    return f"{parts[0]} {part}" if part is not parts[0] and leaning(part) >= LEANS else part


def in_documents(
    plan: SearchPlan,
    documents: Sequence[Document],
    *,
    targets: Sequence[str] = (),
    surely: bool = False,
    leaning: Leaning = lambda question: 0.0,
) -> SearchPlan:
    """Return the plan with each piece limited to the documents that it names, separately if names distinguish them.

    A piece that names none is asked of the ``targets`` (documents that were mentioned), else of those of the piece
    before it.
    """
    among = {one.id: one for one in documents if one.id in targets or not targets}
    whole = plan.sub_queries[0]
    asked = plan.pieces or (Piece(plan.question if plan.carried else whole.text, whole),)
    found, own = list[Piece](), tuple(targets)
    for piece in asked:
        all_named = (named_documents(text, list(among.values()), surely=surely) for text in piece.readings)
        named = next(filter(None, all_named), ())
        before, own = own, named or tuple(targets) or own
        goes_on = leaning(piece.asked) >= NAMES_LEAN
        meant = [among[one] for one in named]
        if found and own != before and only_names(piece.asked, meant, and_of=asked[0].asked if goes_on else ""):
            piece = asked[0]
        chosen = tuple((one,) for one in own) if set(own) <= set(targets) else ()
        apart = named_apart(piece.query.text, meant) or chosen
        of_each = apart if 1 < len(apart) * len(asked) <= MAX_PIECES else (own,)
        found += [replace(piece, query=replace(piece.query, document_ids=of)) for of in of_each]
    found = list(dict.fromkeys(found))
    often = Counter(piece.asked for piece in found)
    for at, piece in enumerate(found):
        of = [among[one].name for one in piece.query.document_ids if one in among]
        if of and often[piece.asked] > 1:
            found[at] = replace(piece, name=", ".join(of))
    return replace(plan, pieces=tuple(found) if len(found) > 1 else ())


def plans_of(plan: SearchPlan) -> list[SearchPlan]:
    """Return a plan for each piece with the additional queries, or the plan itself."""
    return [
        replace(
            plan,
            standalone_question=piece.query.text,
            sub_queries=(piece.query, *plan.sub_queries[1:]),
            time_ranges=years_in(piece.query.text) or plan.time_ranges,
            document_ids=piece.query.document_ids,
            readings=(),
            pieces=(),
        )
        for piece in plan.pieces
    ] or [plan]


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


def _content(text: str) -> list[str]:
    return [word for word in words(text) if word.lower() not in FUNCTION_WORDS]


def _variations(core: str, terms: Sequence[Term]) -> tuple[str, ...]:
    """Return the words that carry meaning, with what documents print for the question's terms."""
    wording = " ".join([*_content(core), *(term.printed for term in terms)])
    return (wording,) if wording else ()
