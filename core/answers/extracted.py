"""Values that a language model reads for cells that quoting leaves unclear: one structured call for several columns.

The model gives a value and copies the words that state it. Code looks for these words in the passages, and for the
value in these words. A cell is found if the words that quoting thinks likeliest have this value too; otherwise the
value is proposed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pincite.core.answers.typed import CHOOSE, DECIDE, MAX_VALUE_LENGTH, MAY_BE_STATED, values_in
from pincite.core.domain.answers import Citation
from pincite.core.domain.grids import Cell, CellState, Column, ColumnKind
from pincite.core.domain.ports import ChatModel
from pincite.core.domain.search import Evidence
from pincite.core.models.prompts import passage_as_data
from pincite.core.text.foreign import in_line
from pincite.core.text.plain import flat
from pincite.core.text.prompts import PROMPTS
from pincite.core.text.quotations import locate
from pincite.core.text.terms import content_terms

MAX_QUESTIONS = 8
"""In one call."""
ALONE = "{} gives this value, and it is in these words; quoting thinks other words likelier."
NOT_IN_WORDS = "{} gives this value; the words that it names do not contain it."
_TYPED = (ColumnKind.DATE, ColumnKind.AMOUNT, ColumnKind.NUMBER)
_FORMS = {
    ColumnKind.TEXT: "a few words, copied",
    ColumnKind.YES_NO: "Yes or No",
    ColumnKind.DATE: "a date",
    ColumnKind.AMOUNT: "a sum with its currency",
    ColumnKind.NUMBER: "a number",
    ColumnKind.LIST: "several entries, copied, with semicolons between them",
}
_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "values": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "question": {"type": "integer"},
                    "value": {"type": "string"},
                    "quotation": {"type": "string"},
                },
                "required": ["question", "value", "quotation"],
            },
        }
    },
    "required": ["values"],
}


@dataclass(frozen=True, slots=True)
class Unclear:
    """A cell that quoting is not sure of, with what was found for it."""

    column: Column
    cell: Cell
    evidence: tuple[Evidence, ...]


def extracted(model: ChatModel, unclear: Sequence[Unclear]) -> list[Cell]:
    """Return the cells as a language model reads them in the evidence of all; all are of one document."""
    evidence = _evidence([one.evidence for one in unclear], model.readable_characters)
    passages = "\n".join(map(passage_as_data, evidence))
    questions = "\n".join(f"{number}. {in_line(one.column.question)} ({_form(one.column)})"
                          for number, one in enumerate(unclear, start=1))  # fmt: skip
    content = f"<passages>\n{passages}\n</passages>\n\nQuestions:\n{questions}"
    reply = model.structured(PROMPTS["values"], content, _SCHEMA)
    entries = reply.get("values") if reply else None
    listed = [one for one in entries if isinstance(one, dict)] if isinstance(entries, list) else []
    given = {one["question"]: one for one in listed if isinstance(one.get("question"), int)}
    return [
        _cell(one, given[number], evidence, model.name) if number in given else one.cell
        for number, one in enumerate(unclear, start=1)
    ]


def _form(column: Column) -> str:
    return f"one of: {', '.join(map(in_line, column.choices))}" if column.choices else _FORMS.get(column.kind, "")


def _evidence(found: Sequence[Sequence[Evidence]], characters: int) -> list[Evidence]:
    """Return the passages of all, the first of each first, as far as the model can read them."""
    passages = dict[str, Evidence]()
    for rank in range(max(map(len, found), default=0)):
        for own in found:
            if rank < len(own):
                passages.setdefault(own[rank].passage.id, own[rank])
    kept, length = list[Evidence](), 0
    for item in passages.values():
        length += len(item.passage.text)
        if kept and length > characters:
            break
        kept.append(replace(item, number=len(kept) + 1))
    return kept


def _cell(unclear: Unclear, given: Mapping[str, Any], evidence: Sequence[Evidence], model: str) -> Cell:
    column, cell = unclear.column, unclear.cell
    value = flat(str(given.get("value") or ""))[:MAX_VALUE_LENGTH]
    quotation = flat(str(given.get("quotation") or ""))
    if not value and not quotation:
        agrees = cell.detail == MAY_BE_STATED  # quoting did not find it either
        return replace(cell, state=CellState.NOT_STATED, detail="") if agrees else cell
    citations = _located(quotation, evidence)
    if not citations or not value:
        return cell
    read = replace(cell, citations=citations, confidence=None)
    if column.kind in (ColumnKind.YES_NO, ColumnKind.CHOICE):
        choices = {one.casefold(): one for one in column.choices or ("Yes", "No")}
        detail = DECIDE if column.kind is ColumnKind.YES_NO else CHOOSE
        return replace(read, value=choices.get(value.casefold(), cell.value), detail=detail)
    if column.kind in _TYPED:
        typed = values_in(column.kind, value)
        value = typed[0] if len(typed) == 1 else value
        stated = value in values_in(column.kind, citations[0].quotation)
    else:
        stated = all(locate(entry, citations[0].quotation) for entry in _entries(column, value))
    if stated and (agreed := _agreed(column, value, cell.value)):
        return replace(read, state=CellState.FOUND, value=agreed, detail="")
    return replace(read, value=value, detail=(ALONE if stated else NOT_IN_WORDS).format(model))


def _agreed(column: Column, value: str, quoted: str) -> str:
    """Return the value of both; empty if the words that quoting thinks likeliest have another.

    Of words that hold the others it is the longer: "not allowed", whoever gives only "allowed".
    """
    if column.kind in _TYPED:
        return value if value == quoted else ""
    if column.kind is ColumnKind.LIST:
        return value if set(_entries(column, value)) == set(_entries(column, quoted)) else ""
    if not content_terms(value) or not content_terms(quoted):
        return ""
    return quoted if locate(value, quoted) else value if locate(quoted, value) else ""


def _entries(column: Column, value: str) -> list[str]:
    if column.kind is not ColumnKind.LIST:
        return [value]
    return [one.strip() for one in value.split(";") if one.strip()]


def _located(quotation: str, evidence: Sequence[Evidence]) -> tuple[Citation, ...]:
    """Return where the words are; nothing if no passage has them."""
    for item in evidence:
        passage = item.passage
        if quotation and (span := locate(quotation, passage.text)):
            words = passage.text[span.start : span.end]
            start = passage.start + span.start
            return (Citation(1, passage.document_id, item.document_name, passage.page_index, passage.page_label, words,
                             start, start + len(words)),)  # fmt: skip
    return ()
