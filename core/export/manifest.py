"""Define the contents of an export: the values that every export format is made from, and their JSON.

In the JSON each citation is an annotation of the W3C Web Annotation model: a page of a document, named by its hash
(RFC 6920), refined by the quoted words with the text around them and by their position in the page's text.
"""

import base64
import json
import mimetypes
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol

from pincite.core import __version__
from pincite.core.domain.answers import AnswerPart, Citation, Form
from pincite.core.domain.codec import from_json, to_json
from pincite.core.domain.documents import REFERENCE, Document, MetadataSource, Page, PageKey
from pincite.core.domain.errors import DocumentError
from pincite.core.domain.keys import in_words
from pincite.core.domain.presentation import Standing, Tier, present
from pincite.core.domain.turns import Turn, now
from pincite.core.text.stating import formula

FORMAT = "pincite-answers/1"
CONTEXT = "http://www.w3.org/ns/anno.jsonld"
PAGE_FRAGMENTS = "http://tools.ietf.org/rfc/rfc3778"
AROUND = 40
"""Number of characters before and after a quotation that distinguish it from the same words elsewhere."""
_NAMED_BY_HASH = "ni:///sha-256;"
_FACTS = ("title", "author", "date")
_FACT_OF = {"title": "title", "author": "author", "issued": "date"}
"""The fact that a field of CSL JSON gives."""
_MAX_PARTS = 3
"""Of a date: year, month, day."""
_RUNS_IT = ("pypdfium2", "langgraph")


@dataclass(frozen=True, slots=True)
class Exhibit:
    """A cited page: its document, its PDF, and the page as it was read; None for what no longer exists."""

    document_name: str
    document: Document | None
    path: Path | None
    page: Page | None


Exhibits = Mapping[PageKey, Exhibit]


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A document as it is cited; ``date``: ISO 8601, to the day, the month or the year."""

    name: str
    sha256: str
    title: str = ""
    author: str = ""
    date: str = ""
    reference: str = ""
    """What a reference manager knows of it, as CSL JSON."""


@dataclass(frozen=True, slots=True)
class PinCite:
    number: int
    source: SourceFile
    page_index: int
    page_label: str
    start: int
    end: int
    quotation: str
    before: str = ""
    after: str = ""
    read_back: str = ""
    binder_page_index: int | None = None
    cited: str = ""
    """How a binder cites it, as HTML; empty: by file and page."""

    @property
    def page(self) -> PageKey:
        return self.source.sha256, self.page_index


@dataclass(frozen=True, slots=True)
class ToldPart:
    text: str
    kind: str
    citations: tuple[int, ...] = ()
    formula: str = ""


@dataclass(frozen=True, slots=True)
class ToldClaim:
    text: str
    status: str
    reason: str


@dataclass(frozen=True, slots=True)
class ToldReview:
    decision: str
    reviewer: str
    decided_at: str
    note: str


@dataclass(frozen=True, slots=True)
class ToldAnswer:
    question: str
    asked_at: str
    engine: str
    status: str
    finding: str
    """How far it can be relied on, in a sentence."""
    parts: tuple[ToldPart, ...]
    citations: tuple[PinCite, ...]
    claims: tuple[ToldClaim, ...] = ()
    confidence: float | None = None
    review: ToldReview | None = None


@dataclass(frozen=True, slots=True)
class Manifest:
    made_at: str
    made_with: Mapping[str, str]
    """Versions of what ran, by name."""
    style: str
    answers: tuple[ToldAnswer, ...]
    references: tuple[str, ...] = ()
    """The list of sources of the style, as HTML."""
    format: str = field(default=FORMAT)


class Export(Protocol):
    """A form of export; registered as an entry point of the group ``pincite.exports``."""

    @property
    def ENDING(self) -> str:
        """Ending of its files, such as ".pdf"."""

    @property
    def LABEL(self) -> str:
        """Its line in the menu of a session, such as "Export for programs (JSON)"."""

    def write(self, manifest: Manifest, exhibits: Exhibits) -> bytes:
        """Return the file; ``exhibits`` has each page that a citation of the answers names."""


def manifest_of(turns: Sequence[Turn], exhibits: Exhibits, style: str) -> Manifest:
    """Return the manifest; ``exhibits`` has each page that a citation names. Verdicts are about the exported answer."""
    return manifest_with((_answer(turn, exhibits) for turn in turns), style)


def manifest_with(answers: Iterable[ToldAnswer], style: str) -> Manifest:
    versions = {"pincite": __version__} | {name: version(name) for name in _RUNS_IT}
    return Manifest(now(), versions, style, tuple(answers))


def bound(manifest: Manifest, places: Mapping[PageKey, int]) -> Manifest:
    """Return the same, each citation with the position of its page in a binder."""
    answers = (
        replace(answer, citations=tuple(replace(c, binder_page_index=places.get(c.page)) for c in answer.citations))
        for answer in manifest.answers
    )
    return replace(manifest, answers=tuple(answers))


def _answer(turn: Turn, exhibits: Exhibits) -> ToldAnswer:
    review, verdict = turn.review, turn.verdict
    said, claims = "".join(part.text for part in turn.final_parts), verdict.claims if verdict else ()
    return ToldAnswer(
        question=turn.question,
        asked_at=turn.started_at,
        engine=turn.engine,
        status=turn.status,
        finding=_finding(turn),
        parts=tuple(map(_part, turn.final_parts)),
        citations=tuple(pin_cite(place, exhibits[place.page]) for place in turn.final_citations),
        claims=tuple(ToldClaim(said[one.start : one.end], one.status, one.reason) for one in claims),
        confidence=verdict.confidence if verdict and verdict.calibrated else None,
        review=ToldReview(review.decision, review.reviewer, review.decided_at, review.note) if review else None,
    )


def _part(part: AnswerPart) -> ToldPart:
    worked = formula(part.figures, part.computation) if part.computation else ""
    return ToldPart(part.text, part.kind, part.numbers, worked)


def source_of(document: Document) -> SourceFile:
    """Return the document as it is cited: as a person or a reference manager has it, else as it states itself."""
    facts = {each.name: each.value for each in document.metadata if each.name in _FACTS}
    if reference := next((each.value for each in document.metadata if each.name == REFERENCE), ""):
        entered = {each.name: each.value for each in document.metadata if each.source is MetadataSource.USER}
        told = csl_fields(*(entered.get(name, "") for name in _FACTS))
        item = {name: value for name, value in json.loads(reference).items() if _FACT_OF.get(name, name) in facts
                or name not in _FACT_OF}  # fmt: skip
        reference = json.dumps(item | told, ensure_ascii=False)
    return SourceFile(document.name, document.sha256, **facts, reference=reference)


def csl_fields(title: str, author: str, date: str) -> dict[str, Any]:
    """Return facts of a document as fields of CSL JSON; ``date``: ISO 8601, to the day, the month or the year."""
    fields = {"title": title, "author": [{"literal": author}] if author else [], "issued": csl_date(date)}
    return {name: value for name, value in fields.items() if value}


def csl_date(text: str) -> dict[str, Any]:
    """Return an ISO date, to the day, the month or the year, or any other text, as a date of CSL JSON."""
    parts = text.split("-")
    if all(part.isdecimal() for part in parts) and len(parts) <= _MAX_PARTS and len(parts[0]) == len("2024"):
        return {"date-parts": [[int(part) for part in parts]]}
    return {"literal": text} if text else {}


def pin_cite(place: Citation, exhibit: Exhibit) -> PinCite:
    text = exhibit.page.text if exhibit.page else ""
    return PinCite(
        number=place.number,
        source=replace(source_of(exhibit.document), name=place.document_name)
        if exhibit.document
        else SourceFile(place.document_name, place.document_id),
        page_index=place.page_index,
        page_label=place.page_label,
        start=place.start,
        end=place.end,
        quotation=place.quotation,
        before=text[max(place.start - AROUND, 0) : place.start],
        after=text[place.end : place.end + AROUND],
        read_back=place.read_back.likeness if place.read_back else "",
    )  # fmt: skip


def _finding(turn: Turn) -> str:
    shown = present(turn)
    if turn.review:
        review = turn.review
        note = f" “{review.note}”" if review.note else ""
        return f"Reviewed and {review.decision} by {review.reviewer} on {review.decided_at[:10]}.{note}"
    if shown.standing is Standing.WAITS:
        return f"Not to be relied on yet; it waits for review: {' '.join(turn.reasons)}"
    if turn.verdict is None:
        return f"Not checked ({in_words(turn.status)})."
    if shown.form is Form.EVIDENCE:
        return "No answer: the most relevant passages, as they stand in the documents."
    counts = dict.fromkeys(dict.fromkeys(claim.status for claim in turn.verdict.claims), 0)
    for claim in turn.verdict.claims:
        counts[claim.status] += 1
    claims = ", ".join(f"{number} {in_words(status)}" for status, number in counts.items()) or "none"
    known = f"Probability that it is right: {shown.confidence:.0%}" if shown.confidence is not None else ""
    sure = known or "How likely it is right is not known for this kind of answer"
    check = f"{shown.warning} " if shown.tier is Tier.CHECK else ""
    return f"{check}Claims: {claims}. {sure}. Not reviewed by a person."


def as_json(manifest: Manifest) -> str:
    plain = json.loads(to_json(manifest))
    for told, answer in zip(plain["answers"], manifest.answers, strict=True):
        told["citations"] = [
            {
                "number": place.number,
                "binder_page_index": place.binder_page_index,
                "page_label": place.page_label,
                "read_back": place.read_back,
                "author": place.source.author,
                "title": place.source.title,
                "date": place.source.date,
                "reference": json.loads(place.source.reference or "null"),
                "cited": place.cited,
                "annotation": _annotation(place, answer, manifest),
            }
            for place in answer.citations
        ]
    return json.dumps(plain, ensure_ascii=False, indent=1)


def _annotation(place: PinCite, answer: ToldAnswer, manifest: Manifest) -> dict[str, Any]:
    kind, _ = mimetypes.guess_type(place.source.name)
    source = _NAMED_BY_HASH + base64.urlsafe_b64encode(bytes.fromhex(place.source.sha256)).decode().rstrip("=")
    supported_text = " ".join(part.text.strip() for part in answer.parts if place.number in part.citations)
    identity = f"{source}#{place.page_index}:{place.start}:{place.end}:{answer.asked_at}:{place.number}"
    quote = {"type": "TextQuoteSelector", "exact": place.quotation, "prefix": place.before, "suffix": place.after}
    position = {"type": "TextPositionSelector", "start": place.start, "end": place.end}
    return {
        "@context": CONTEXT,
        "id": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, identity)}",
        "type": "Annotation",
        "motivation": "linking",
        "created": answer.asked_at,
        "generator": {"type": "Software", "name": f"Pincite {manifest.made_with['pincite']}"},
        "body": {"type": "TextualBody", "value": supported_text, "format": "text/plain"},
        "target": {
            "type": "SpecificResource",
            "source": {"id": source, "type": "Text", "format": kind or "application/pdf", "label": place.source.name},
            "selector": {
                "type": "FragmentSelector",
                "conformsTo": PAGE_FRAGMENTS,
                "value": f"page={place.page_index + 1}",
                "refinedBy": [quote, position],
            },
        },
    }


def from_manifest(text: str | bytes) -> Manifest:
    """Read what ``as_json`` wrote. Raises DocumentError."""
    try:
        plain = json.loads(text)
        for told in plain["answers"]:
            told["citations"] = [_read(place) for place in told["citations"]]
        manifest = from_json(Manifest, json.dumps(plain))
        if manifest.format != FORMAT:
            raise ValueError(manifest.format)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise DocumentError("This holds no answers of Pincite, or they cannot be read.",
                            hint="Give a binder or a JSON file that Pincite exported.") from error  # fmt: skip
    return manifest


def _read(place: Mapping[str, Any]) -> dict[str, Any]:
    target = place["annotation"]["target"]
    source, selector = target["source"], target["selector"]
    quote, position = selector["refinedBy"]
    hashed = source["id"].removeprefix(_NAMED_BY_HASH)
    return {
        "number": place["number"],
        "source": {
            "name": source["label"],
            "sha256": base64.urlsafe_b64decode(f"{hashed}=").hex(),
            **{name: place[name] for name in ("title", "author", "date")},
            "reference": json.dumps(reference) if (reference := place.get("reference")) else "",
        },
        "page_index": int(selector["value"].removeprefix("page=")) - 1,
        "page_label": place["page_label"],
        "start": position["start"],
        "end": position["end"],
        "quotation": quote["exact"],
        "before": quote["prefix"],
        "after": quote["suffix"],
        "read_back": place["read_back"],
        "binder_page_index": place["binder_page_index"],
        "cited": place.get("cited", ""),
    }
