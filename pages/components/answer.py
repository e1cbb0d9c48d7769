"""An answer as Markdown: every claim followed by its mark and the numbers of its sources, everything else harmless."""

import re
from collections.abc import Callable

import streamlit as st

from pincite.core.graph.citations import MARKER, citation_numbers
from pincite.core.types import Attempt, Claim, Score, Verdict
from pincite.pages.components.words import CLAIM_MARKS, escape, escape_lines, page_name, plain_headings, tame

_SPACED_MARKER = re.compile(rf"(?<!\s)\s*+{MARKER.pattern}")
_LEADING_MARKERS = re.compile(rf"^(?:\s*(?:{MARKER.pattern}))+")


def answer_markdown(answer: str, verdict: Verdict | None, *, verbatim: bool) -> str:
    """``verbatim`` answers repeat documents and hold no Markdown of their own."""
    neutral = escape_keeping_edges if verbatim else tame
    pieces: list[str] = []
    position = 0
    for claim in sorted(verdict.claims if verdict else (), key=lambda claim: claim.start):
        if claim.start < position:
            continue
        pieces.append(_unjudged(answer[position : claim.start], neutral))
        stated = answer[claim.start : claim.end]
        after = _LEADING_MARKERS.match(answer[claim.end :])
        position = claim.end + (after.end() if after else 0)
        numbers = citation_numbers(answer[claim.start : position]) or claim.citations
        words = _SPACED_MARKER.sub("", stated)
        bare = words.rstrip()
        pieces.append(f"{neutral(bare)} {badge(claim, numbers)}{words[len(bare) :]}")
    pieces.append(_unjudged(answer[position:], neutral))
    text = "".join(pieces)
    return text if verbatim else plain_headings(text)


def escape_keeping_edges(text: str) -> str:
    """Escape, but keep the white space and list dashes around: claims are pieces of a larger text."""
    lines = text.split("\n")
    return "\n".join(_escape_line(line) for line in lines)


def _escape_line(line: str) -> str:
    before, bullet, rest = re.match(r"^(\s*)((?:[-•*]\s+)?)(.*)$", line, re.DOTALL).groups()  # type: ignore[union-attr]
    kept = rest.rstrip()
    return f"{before}{'- ' if bullet else ''}{escape_lines(kept)}{rest[len(kept) :]}"


def _unjudged(text: str, neutral: Callable[[str], str]) -> str:
    pieces: list[str] = []
    position = 0
    for match in MARKER.finditer(text):
        numbers = " ".join(map(str, citation_numbers(match.group())))
        pieces += [neutral(text[position : match.start()]), f":gray-badge[{numbers}]"]
        position = match.end()
    return "".join([*pieces, neutral(text[position:])])


def badge(claim: Claim, numbers: tuple[int, ...]) -> str:
    mark, color = CLAIM_MARKS[claim.status]
    said = " ".join(map(str, numbers)) or ("" if mark == "✓" else str(claim.status))
    return f":{color}-badge[{mark} {said}]".replace(" ]", "]")


def claim_line(claim: Claim) -> str:
    """One claim with its verdict, the reason, and the best quotation with its page."""
    mark, color = CLAIM_MARKS[claim.status]
    text = tame(" ".join(_SPACED_MARKER.sub("", claim.text).lstrip("-*•# ").split()))
    reason = f" — {escape(claim.reason)}" if claim.reason else ""
    line = f"- :{color}-badge[{mark} {claim.status}] {text}{reason}"
    if claim.quotation is None:
        return line
    page = page_name(claim.quotation.page_label, claim.quotation.page_index)
    where = f"{escape(claim.quotation.document_name)}, {escape(page)}"
    return f"{line}  \n  :small[“{escape(claim.quotation.quotation)}” · {where}]"


def draw_scores(verdict: Verdict) -> None:
    """Show what the judge measured: one line a figure, with its reason."""
    rows: list[tuple[str, Score]] = [
        ("Faithfulness", verdict.faithfulness),
        ("Relevance", verdict.relevance),
        ("Completeness", verdict.completeness),
        ("Citation validity", verdict.citation_validity),
    ]
    lines = [f"| {name} | {score.value:.0%} | {escape(score.reason)} |" for name, score in rows]
    lines.append(f"| **Overall** | **{verdict.overall:.0%}** | {escape(verdict.critic)} |")
    st.markdown("\n".join(["| Checked for | Score | Why |", "|:--|--:|:--|", *lines]))


def confidence_history(attempts: tuple[Attempt, ...]) -> str:
    """For example "Attempt 1: 38 % → attempt 2: 71 %"; empty where there was one attempt."""
    judged = [(attempt.number, attempt.verdict.confidence) for attempt in attempts if attempt.verdict]
    if len(judged) < 2:
        return ""
    return "Confidence by attempt: " + " → ".join(f"{value:.0%}" for _, value in judged)
