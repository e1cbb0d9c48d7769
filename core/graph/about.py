"""What is answered of the conversation, its last answer, the library and the program: without search or model."""

import re
from collections.abc import Sequence

from pincite.core.domain.answers import AnswerPart, Form, PartKind
from pincite.core.domain.documents import Document
from pincite.core.domain.ports import ChatModel
from pincite.core.domain.presentation import Standing, present
from pincite.core.domain.search import Intent
from pincite.core.domain.turns import Exchange, Turn
from pincite.core.text.plain import counted
from pincite.core.text.terms import content_terms

MAX_NAMED = 10
MAX_WORDS_REPEATED = 80
_OF_CONVERSATION = re.compile(
    r"\b(?:what|which)\b[^.?!]{0,30}\b(?:did|have|had|was|were)\b[^.?!]{0,20}\b(?:i|we)\b[^.?!]{0,15}"
    r"\b(?:ask(?:ed|ing)?|sa(?:y|id)|talk(?:ed|ing)?|discuss(?:ed|ing)?)"
    r"(?: (?:already|before|earlier|first|here|last|so far|today|you))*(?: about (?P<topic>[^?.!]{2,80}))?"
    r"(?: about)?\W*$"
    r"|\b(?:first|last|previous|earlier) (?:thing|question)s? (?:that )?i (?:asked|said)\b"
    r"|\bwhat (?:was|were) my (?:(?:very )?first|last|previous|earlier) questions?\b"
    r"|\b(?:repeat|what was|say again) (?:your|the|that) (?:first|last|previous) answer\b",
    re.IGNORECASE,
)


def about_conversation(question: str, history: Sequence[Exchange]) -> str:
    """What was asked here and what was answered: the first, the last, or all of it; empty where that is not asked.

    Where a topic is named, of that alone: of what shares words with it.
    """
    wanted = _OF_CONVERSATION.search(question)
    if not wanted:
        return ""
    asked = [one for one in history if one.intent is not Intent.CHAT and not _OF_CONVERSATION.search(one.question)]
    topic = (wanted["topic"] or "").strip()
    if terms := frozenset(content_terms(topic)):
        asked = [one for one in asked if terms & frozenset(content_terms(f"{one.understood} {one.answer}"))]
        if not asked:
            return f"You asked nothing about {topic} in this session."
    if not asked:
        return ""
    if re.search(r"\bfirst\b", question, re.IGNORECASE):
        return _repeated("first", asked[0])
    if re.search(r"\b(?:last|previous)\b", question, re.IGNORECASE):
        return _repeated("last", asked[-1])
    lines = [f"- “{one.question}”" for one in asked[-MAX_NAMED:]]
    earlier = f" These are the last {MAX_NAMED}:" if len(asked) > MAX_NAMED else ""
    return "\n".join([f"You asked {_counted(len(asked), 'question')} here.{earlier}", *lines])


def _repeated(place: str, one: Exchange) -> str:
    words = one.answer.split()
    answer = " ".join(words[:MAX_WORDS_REPEATED]) + ("…" if len(words) > MAX_WORDS_REPEATED else "")
    return f"Your {place} question was: “{one.question}”\n\nMy answer was: {answer}\n\nIt is above, with its sources."


def about_library(documents: Sequence[Document], holes: Sequence[str]) -> str:
    """How many documents there are, which, and what of them could not be searched."""
    if not documents:
        return "There are no documents yet. Drop a PDF into the box below, or add some under Documents."
    pages = sum(document.page_count for document in documents)
    lines = [f"There {_counted(len(documents), 'document', verb=True)} with {_counted(pages, 'page')}:"]
    lines += [f"- {document.name} ({_counted(document.page_count, 'page')})" for document in documents[:MAX_NAMED]]
    if len(documents) > MAX_NAMED:
        lines.append(f"- and {len(documents) - MAX_NAMED} more")
    read = "\n".join(f"- {hole}" for hole in holes) or "Every page was read and can be searched."
    return "\n".join([*lines, "", read, "", "The Documents page shows every page of each, and how it was read."])


def about_program(model: ChatModel) -> str:
    """What Pincite does, and where the rest is found."""
    engine = f"Answers are written by {model.name}" if model.writes_prose else "No model is connected, so I quote"
    return (
        "I am Pincite. I answer questions about your documents, and every sentence of an answer is backed by a "
        "quotation checked against its page. If I find no answer, I say so.\n\n"
        f"{engine}. Nothing leaves this machine unless you connect a model that runs elsewhere.\n\n"
        "- Type @ and a document's name to search only that document.\n"
        "- Documents: add files; choose one in the list to rename, download or delete it, or to see what was read.\n"
        "- Review: approve, edit or reject answers I was unsure about.\n"
        "- Settings: choose the language model and how sure an answer must be.\n"
        "- “Why this answer?” under an answer shows each step that led to it; More exports, reviews or deletes it.\n"
        "- The menu above a conversation renames, exports or deletes it."
    )


def _counted(number: int, noun: str, *, verb: bool = False) -> str:
    return f"{'is ' if verb and number == 1 else 'are ' if verb else ''}{counted(number, noun)}"


def about_answer(turn: Turn) -> tuple[AnswerPart, ...]:
    """Return the facts about an answer: whether it was found on its pages, how sure it is, and its quotations."""
    parts = [AnswerPart(_standing(turn), kind=PartKind.EVIDENCE)]
    shown = set[str]()
    starts = {item.number: item.passage.start for item in turn.evidence}
    for one in turn.final_citations:
        wider = (other for other in turn.final_citations if other.page == one.page and other.quotation != one.quotation)
        if any(other.start <= one.start and one.end <= other.end for other in wider) or one.quotation in shown:
            continue
        shown.add(one.quotation)
        start = one.start - starts[one.number] if one.number in starts else None
        where = AnswerPart(f"{one.document_name}, page {one.page_label}", kind=PartKind.NOTE)
        quoted = AnswerPart(one.quotation, (one.number,), PartKind.VERBATIM, start)
        parts += [AnswerPart("\n\n"), where, AnswerPart("\n\n"), quoted]
    return tuple(parts) if turn.final_citations else (AnswerPart(_standing(turn)),)


def _standing(turn: Turn) -> str:
    shown = present(turn)
    if turn.review or turn.reused_from:
        decision = turn.review.decision if turn.review else "approved"
        return f"A person looked at the last answer and {decision} it."
    if shown.form is Form.NOT_FOUND:
        return "The last reply says that nothing was found, so there is no page to show."
    if shown.form is Form.EVIDENCE:
        return "The last reply answers nothing: these passages are the most relevant."
    if not turn.final_citations or turn.verdict is None:
        return "The last answer rests on no page."
    if shown.standing is Standing.WAITS:
        return f"Do not rely on the last answer. {' '.join(turn.reasons)}".strip()
    if shown.warning:
        return f"Not quite. {shown.warning}"
    return (
        f"Every statement of the last answer was found on its page. Pincite is {turn.verdict.confidence:.0%} sure that "
        "it answers the question."
    )
