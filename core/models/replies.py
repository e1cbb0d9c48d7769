"""Normalise the replies of small models: prose with markers like [2].

Only the form is corrected here. Which passage supports a sentence is determined later, whatever number follows it.
"""

import re
from collections.abc import Sequence
from typing import Any

from pincite.core.domain.ports import AnswerRequest
from pincite.core.domain.questions import Kind
from pincite.core.domain.search import Evidence
from pincite.core.models.client import strict_json
from pincite.core.text.marks import MARK
from pincite.core.text.prompts import PROMPTS
from pincite.core.text.sentences import split_sentences

_LABEL = r"(?:passage|source|reference|citation)s?"
_NUMBERS = r"(\d{1,3}(?:[ \t]?(?:[,;&–-]|and)[ \t]?\d{1,3}){0,9})"
_NAMED = re.compile(
    rf"[\[(【](?:\^|\#|{_LABEL}[ \t]?[:#.]?[ \t]?){_NUMBERS}(?:[,;][^\[\]()【】\n]{{0,60}})?[\])】]", re.IGNORECASE
)
"""(Source: 2), [Passage 1 and 3], [^2]."""
_DAGGERED = re.compile(r"[\[【](\d{1,3})†[^\[\]【】\n]{0,60}[\]】]")
_RAISED = re.compile(r"(?<=[.!?])[¹²³⁴⁵⁶⁷⁸⁹]{1,2}(?!\w)")
_DIGITS = str.maketrans("¹²³⁴⁵⁶⁷⁸⁹", "123456789")
_UNFILLED = re.compile(r"[ \t]?\[(?:n|number|source|citation)\](?!\w)", re.IGNORECASE)
"""The rule's own words, copied."""
_WHERE = re.compile(r"(?<=\])[ \t]?\(([^()\n]{1,300})\)")
_TAG = re.compile(r"<(/?)passages?>")
_LISTED = re.compile(rf"[\[【]\^?\d|{_LABEL}\b", re.IGNORECASE)
_FILLER = re.compile(rf"\b(?:{_LABEL}|pages?|pp?)\b|[\W\d_]+", re.IGNORECASE)
_MIN_WORDS = 5
"""Minimum number of words of a repeated sentence to remove, and of one that answers without the yes or no before it."""
_YES_OR_NO = re.compile(r"\A[\s*_]{0,6}+(?:yes|no)[\s*_]{0,4}+[,.:;!–—-]{1,2}+[\s*_]{1,6}+(?=\w)", re.IGNORECASE)


def mended(reply: str, request: AnswerRequest) -> str:
    """Return the reply without wrapping, copies of the prompt and repetitions, with normalised markers."""
    text = _without_echo(_unwrapped(reply), request)
    text = _NAMED.sub(lambda match: f"[{re.sub('and|&', ',', match[1].lower())}]", text)
    text = _DAGGERED.sub(r"[\1]", text)
    text = _RAISED.sub(lambda match: f" [{match[0].translate(_DIGITS)}]", text)
    text = _UNFILLED.sub(lambda match: match[0] if _occurs(match[0].strip(), request.evidence) else "", text)
    text = _WHERE.sub(lambda match: "" if _names(match[1], request.evidence) else match[0], text)
    if request.kind is Kind.YES_OR_NO:
        text = _without_verdict(text)
    return _without_repetitions(_without_list(text, request.evidence))


def _without_verdict(text: str) -> str:
    """The sentence that decides without the word before it, which nothing checks: "Yes, smoking is not allowed"."""
    rest = _YES_OR_NO.sub("", text, count=1)
    first = next(iter(split_sentences(rest)), None)
    decides = first is not None and len(rest[first.start : first.end].split()) >= _MIN_WORDS
    return rest[:1].upper() + rest[1:] if decides else text


def _occurs(words: str, evidence: Sequence[Evidence]) -> bool:
    return any(words in item.passage.text for item in evidence)


def _names(text: str, evidence: Sequence[Evidence]) -> bool:
    return any(item.document_name in text for item in evidence)


def _unwrapped(reply: str) -> str:
    """Return the text of a reply in JSON, with its citation numbers."""
    body = reply.strip()
    if body.startswith("```") and body.endswith("```"):
        body = body[3:-3].partition("\n")[2].strip()
    if body[:1] not in ("{", "["):
        return reply
    try:
        return _answer_in(strict_json(body)) or reply
    except ValueError:
        return reply


def _answer_in(value: Any) -> str:
    if isinstance(value, list):
        return " ".join(filter(None, map(_answer_in, value)))
    if not isinstance(value, dict):
        return value.strip() if isinstance(value, str) else ""
    texts = {name: text for name, text in value.items() if isinstance(text, str)}
    if not texts:
        return " ".join(filter(None, map(_answer_in, value.values())))
    lists = [one if isinstance(one, list) else [one] for one in value.values()]
    numbers = [str(number) for one in lists for number in one if type(number) is int]
    answer = texts.get("answer") or max(texts.values(), key=len)
    return f"{answer.strip()} [{', '.join(numbers)}]" if numbers else answer.strip()


def _without_echo(text: str, request: AnswerRequest) -> str:
    """Without copied rules, the question, passages between their delimiters, and a label before the answer."""
    echoed = {line.strip() for line in (*PROMPTS["answer"].split("\n"), request.question)} - {""}
    lines = (line for line in text.split("\n") if line.strip().removeprefix("Question:").strip() not in echoed)
    text = "\n".join(lines)
    kept, depth, position = "", 0, 0
    for tag in _TAG.finditer(text):
        kept += "" if depth else text[position : tag.start()]
        depth, position = max(depth + (-1 if tag[1] else 1), 0), tag.end()
    kept += "" if depth else text[position:]
    return kept.strip().removeprefix("Answer:").strip()


def _without_list(text: str, evidence: Sequence[Evidence]) -> str:
    """Without the list of sources at its end: they are shown with each answer."""
    lines = text.rstrip().split("\n")
    while len(lines) > 1 and (not lines[-1].strip() or _lists_source(lines[-1], evidence)):
        lines.pop()
    return "\n".join(lines)


def _lists_source(line: str, evidence: Sequence[Evidence]) -> bool:
    """Return whether a line begins with a marker or label, and only names the place of its passage."""
    if not _LISTED.match(line.lstrip("-*•# \t")):
        return False
    for item in evidence:
        for name in (item.document_name, *item.passage.heading_path):
            line = line.replace(name, " ")
    return not _FILLER.sub("", line)


def _without_repetitions(text: str) -> str:
    """Return the text without verbatim repetitions of earlier sentences."""
    earlier: set[str] = set()
    kept, position = "", 0
    for span in split_sentences(text):
        sentence = text[span.start : span.end]
        bare = " ".join(MARK.sub("", sentence).split())
        if bare not in earlier or len(bare.split()) < _MIN_WORDS or "|" in bare:
            kept += text[position : span.end]
        earlier.add(bare)
        position = span.end
    return kept + text[position:]
