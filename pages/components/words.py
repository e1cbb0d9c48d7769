"""Words for people: sizes, times, pages and verdicts, and foreign text made harmless."""

import re
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime

from pincite.core.domain.answers import AnswerPart, Citation, ClaimStatus, PartKind, Verdict
from pincite.core.domain.documents import Document, DocumentStatus, bare_name
from pincite.core.domain.keys import in_words as in_words
from pincite.core.domain.presentation import MIN_ANSWER_CONFIDENCE
from pincite.core.domain.turns import TurnStatus
from pincite.core.text.markdown import escape as escape
from pincite.core.text.markdown import escape_lines as escape_lines
from pincite.core.text.markdown import tame as tame
from pincite.core.text.plain import counted

CLAIM_MARKS: dict[ClaimStatus, tuple[str, str]] = {
    ClaimStatus.SUPPORTED: ("✓", "green"),
    ClaimStatus.SEARCHED: ("∅", "gray"),
    ClaimStatus.NOT_CHECKED: ("○", "gray"),
    ClaimStatus.PARTLY_SUPPORTED: ("◐", "orange"),
    ClaimStatus.UNSUPPORTED: ("?", "gray"),
    ClaimStatus.CONTRADICTED: ("✗", "red"),
    ClaimStatus.SOURCE_REMOVED: ("–", "gray"),
}
"""A sign that reads without its colour, and Streamlit's name for the colour."""

count = counted

_HEADING = re.compile(r"^#{1,6}[ \t]++(.*)$", re.MULTILINE)


def plain_headings(markdown: str) -> str:
    """Show headings inside an answer as bold lines."""
    return _HEADING.sub(lambda heading: f"**{said}**" if (said := heading[1].rstrip(" \t#")) else heading[0], markdown)


def shorten(text: str, length: int) -> str:
    """Cut in the middle, where file names differ least."""
    if len(text) <= length:
        return text
    tail = length // 3
    return f"{text[: length - tail - 1]}…{text[-tail:]}"


def status_in_words(document: Document) -> str:
    if document.status is DocumentStatus.READY:
        return "Ready"
    if document.searchable and document.passage_count:
        return f"Ready to ask, still {in_words(document.status)}"
    return in_words(document.status).capitalize()


def size(byte_count: int) -> str:
    if byte_count < 1024:
        return f"{byte_count} B"
    if byte_count < 1024**2:
        return f"{byte_count / 1024:.0f} KiB"
    return f"{byte_count / 1024**2:.1f} MiB" if byte_count < 1024**3 else f"{byte_count / 1024**3:.1f} GiB"


def duration(seconds: float) -> str:
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 59.5:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s"


def about(seconds: float) -> str:
    """How long something may still take: no finer than such a guess can be."""
    minutes = round(seconds / 60)
    if minutes < 1:
        return "less than a minute"
    return f"about {count(minutes, 'minute')}" if minutes < 90 else f"about {count(round(minutes / 60), 'hour')}"


def moment(timestamp: str) -> str:
    """Return a UTC ISO 8601 time as a local one: today's by the hour, others by the day."""
    if not timestamp:
        return ""
    local = parse_time(timestamp).astimezone()
    if local.date() == datetime.now().date():
        return f"today {local:%H:%M}"
    return f"{local.day} {local:%b %Y, %H:%M}"


def parse_time(timestamp: str) -> datetime:
    moment_in_time = datetime.fromisoformat(timestamp)
    return moment_in_time if moment_in_time.tzinfo else moment_in_time.replace(tzinfo=UTC)


def page_name(page_label: str, page_index: int) -> str:
    """Return the printed label, or the cells of a sheet, and the position where the two differ."""
    position = str(page_index + 1)
    if not page_label or page_label == position:
        return f"p. {position}"
    return f"{'' if ':' in page_label else 'p. '}{page_label} (page {position} of the file)"


def chip_label(group: Sequence[Citation]) -> str:
    """For example "2, 7 · service-contract · p. iv (page 6 of the file)", for the citations of one page."""
    citation = group[0]
    numbers = ", ".join(str(number) for number in sorted({citation.number for citation in group}))
    name = shorten(bare_name(citation.document_name), 30)
    return f"{numbers} · {escape(name)} · {escape(page_name(citation.page_label, citation.page_index))}"


def confidence(verdict: Verdict, threshold: float) -> str:
    if not verdict.calibrated:
        return NOT_CALIBRATED
    value, sure = verdict.confidence, max(threshold, MIN_ANSWER_CONFIDENCE)
    word = "Unsure" if value < sure else "Probably right" if value < (1 + sure) / 2 else "Very likely right"
    return f"{word}, {value:.0%}"


def claims_in_words(parts: Sequence[AnswerPart], verdict: Verdict) -> str:
    """For example "Quoted word for word", "Claims: 3 supported, 1 unsupported"."""
    found = Counter(claim.status for claim in verdict.claims)
    shown = [part for part in parts if part.text.strip() and part.kind not in (PartKind.NOTE, PartKind.EVIDENCE)]
    if set(found) == {ClaimStatus.SUPPORTED} and all(part.verbatim for part in shown):
        return "Quoted word for word"
    counts = [f"{found[status]} {in_words(status)}" for status in ClaimStatus if found[status]]
    return f"Claims: {', '.join(counts)}" if counts else ""


NOT_CALIBRATED = "Confidence unknown for this kind of answer"
STEPS = {
    "router": "Decides what the message asks for: documents, the last answer, or small talk.",
    "rewriter": "Turns the question into one that stands alone, and into searches.",
    "retriever": "Searches the documents, by words and by meaning, and ranks the passages.",
    "analyst": "Reads figures from the tables on these pages and computes with them.",
    "generator": "Writes the answer, or quotes it, from these passages.",
    "judge": "Checks each claim against its page; the answer stands, is tried again or is reviewed.",
    "review": "Puts the answer into the review queue, with the reasons.",
}
STATUS_WORDS: dict[TurnStatus, str] = {
    TurnStatus.RUNNING: "Answering",
    TurnStatus.ANSWERED: "Answered",
    TurnStatus.FLAGGED: "Waiting for review",
    TurnStatus.REVIEWED: "Reviewed",
    TurnStatus.STOPPED: "Stopped",
    TurnStatus.FAILED: "Failed",
    TurnStatus.INTERRUPTED: "Interrupted",
    TurnStatus.UNREADABLE: "Cannot be read",
}
