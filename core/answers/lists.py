"""Lists that a page writes: items under their marks, and sentences of one form."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from pincite.core.answers.selection import Scored
from pincite.core.answers.units import SENTENCE_ENDS, Unit, quotation_of, repeats
from pincite.core.domain.answers import AnswerPart, PartKind
from pincite.core.questions.wording import other_terms
from pincite.core.text.sentences import ITEM_MARK, split_sentences
from pincite.core.text.terms import content_terms

MAX_QUOTES, MAX_WORDS = 6, 140
"""Of one answer."""
MIN_ITEMS, MAX_ITEMS = 2, 20
"""Of a list."""
MIN_ALIKE, MAX_ALIKE, MIN_SHARED, MIN_ROW_CELLS = 3, 40, 4, 5
"""Sentences of one form, and the words that they share, wherever and in a row."""
ITEM = re.compile(rf"^[ \t]*+{ITEM_MARK}[ \t]++(?P<said>[^\s\n](?:[^\n]*[^\s\n])?)", re.MULTILINE)
MAY_BE_MORE = "There may be more than these."
NAMED_WHOLE = 0.6
"""Probability that a section or sentences of one form are the answer, if the question names its heading or what they
all share, and no more: no labelled question is so."""
NAMED_IN_PART = 0.5


def family(question: str, scored: Sequence[Scored]) -> list[AnswerPart]:
    """Return the sentences of one form with one of the best, which hold what the question names.

    "Bridge 9 was measured by the surveyor Ivo Jarrold." is of one family with all that state by whom a bridge was
    measured: they differ in names and figures alone, or more than half of each is the same words in a row. Nothing
    where they are few, or the question has a name or figure that not all of them share.
    """
    asked = set(content_terms(question))
    frames = {one.unit.place: _frame(one.unit.text) for one in scored}
    texts = {one.unit.place: f" {' '.join(one.unit.text.casefold().split())} " for one in scored}
    units = sorted((one.unit for one in scored), key=lambda unit: len(unit.text))
    for best in (one.unit for one in scored[:MAX_QUOTES]):
        frame = frames[best.place]
        forms = [[unit for unit in units if frame and frames[unit.place].endswith(frame)]]
        forms += [[unit for unit in units if _is_mostly(run, texts[unit.place])] for run in _runs(texts[best.place])]
        for alike in (_distinct(form) for form in forms if len(form) >= MIN_ALIKE):
            shared = set[str].intersection(*(set(unit.terms) for unit in alike))
            if len(alike) >= MIN_ALIKE and asked & shared and not _singles_out(question, alike):
                unmatched = other_terms(question, alike[0].item.document_name) - shared
                return _stated_together(alike, NAMED_IN_PART if unmatched else NAMED_WHOLE)
    return []


def _runs(text: str) -> Iterator[str]:
    """Yield the words in a row that are more than half of a sentence, the longest first."""
    words = text.split()
    for length in range(len(words) - 1, max(len(words) // 2, MIN_ROW_CELLS - 1), -1):
        for start in range(len(words) - length + 1):
            yield f" {' '.join(words[start : start + length])} "


def _is_mostly(run: str, text: str) -> bool:
    return run in text and 2 * len(run.split()) > len(text.split()) and text.rstrip().endswith(SENTENCE_ENDS)


def _distinct(units: Iterable[Unit]) -> list[Unit]:
    """Return the units without those that repeat a kept one, such as a title that runs into a sentence."""
    kept = list[Unit]()
    for unit in units:
        if not any(repeats(other, unit) for other in kept):
            kept.append(unit)
    return kept


def _singles_out(question: str, units: Sequence[Unit]) -> bool:
    """Return whether a question has a word that only some of the sentences hold, or a name or figure that none does."""
    every = [set(unit.terms) | set(content_terms(unit.item.document_name)) for unit in units]
    some = set[str].union(*every) - set[str].intersection(*every)
    named = " ".join(word for word in question.split()[1:] if not word.islower())
    return bool(some.intersection(content_terms(question)) or set(content_terms(named)) - set[str].union(*every))


def _stated_together(units: Sequence[Unit], probability: float) -> list[AnswerPart]:
    in_order = sorted(units, key=lambda unit: (unit.item.passage.page, unit.item.passage.start + unit.start))
    first, last = in_order[0].item.passage.page_label, in_order[-1].item.passage.page_label
    where = f"page {first}" if first == last else f"pages {first} to {last}"
    found = AnswerPart(f"{len(in_order)} sentences of one form on {where}. {MAY_BE_MORE}", kind=PartKind.NOTE)
    one, *others = map(quotation_of, in_order[:MAX_ALIKE])
    return [found, replace(one, probability=probability), *others]


def _frame(text: str) -> str:
    """Return a sentence without its names and figures; nothing if too little is left to identify it."""
    kept = [word.casefold() for word in text.split() if word.islower() and not any(map(str.isdigit, word))]
    return " ".join(kept) if len(kept) >= MIN_SHARED and text.endswith(SENTENCE_ENDS) else ""


def listed(unit: Unit) -> list[AnswerPart]:
    """Return the items of the list that contains a unit or that it introduces, without marks; else nothing."""
    numbers = (unit.item.number,)
    return [AnswerPart(one["said"], numbers, PartKind.HEADLINE, one.start("said")) for one in _run_at(unit)[:MAX_ITEMS]]


def _run_at(unit: Unit) -> list[re.Match[str]]:
    """Return the items of the list that contains a unit or that a unit introduces, line by line."""
    runs: list[list[re.Match[str]]] = []
    for item in ITEM.finditer(unit.item.passage.text):
        if runs and item.start() - runs[-1][-1].end() <= 1:
            runs[-1].append(item)
        else:
            runs.append([item])
    for run in runs:
        if len(run) >= MIN_ITEMS and run[0].start() <= unit.end + 1 and unit.start <= run[-1].end():
            return run
    return []


def extent(unit: Unit, shown: int) -> AnswerPart:
    """How many items were found, and whether the page shows where their list begins and ends."""
    run, text, page = _run_at(unit), unit.item.passage.text, unit.item.passage.page_label
    whole = shown == len(run) and text[: run[0].start()].strip() and text[run[-1].end() :].strip()
    found = f"{shown} items of one list on page {page}."
    return AnswerPart(found if whole else f"{found} {MAY_BE_MORE}", kind=PartKind.NOTE)


def whole_list(unit: Unit) -> AnswerPart | None:
    """Return the list that a unit belongs to with the line that leads to it; None where none leads, or it is long."""
    text, run = unit.item.passage.text, _run_at(unit)
    before = [span for span in split_sentences(text) if run and span.end <= run[0].start()]
    if not before or not text[before[-1].start : before[-1].end].endswith(":"):
        return None
    whole = text[before[-1].start : run[-1].end()]
    return (
        AnswerPart(whole, (unit.item.number,), PartKind.VERBATIM, before[-1].start)
        if len(whole.split()) <= MAX_WORDS
        else None
    )


def is_item(best: Scored) -> bool:
    """Return whether what answers is a whole item of its list, which has others, or more than one."""
    answer, text = best.answer, best.unit.item.passage.text
    items = [(one.start("said"), one.end("said")) for one in _run_at(best.unit)]
    return answer is not None and ((answer.start, answer.end) in items or "\n" in text[answer.start : answer.end])
