"""An answer as Markdown: every claim followed by its mark and the numbers of its sources, everything else harmless."""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import groupby, takewhile, zip_longest

import streamlit as st

from pincite.core.domain.answers import (
    AnswerPart,
    Attempt,
    Citation,
    Claim,
    ClaimStatus,
    Likeness,
    PartKind,
    Usage,
    Verdict,
    listed_passages,
    lists_passages,
)
from pincite.core.domain.turns import Turn
from pincite.core.text.charting import chart_of
from pincite.core.text.plain import flat
from pincite.core.text.stating import latex, short, with_measure
from pincite.pages.components.words import (
    CLAIM_MARKS,
    NOT_CALIBRATED,
    count,
    duration,
    escape,
    escape_lines,
    in_words,
    page_name,
    plain_headings,
    tame,
)

MIN_ROWS = 3
"""Documents that are drawn as a table, each with its answer."""
BETWEEN_CELLS, TAB = "\u2003\u2003", "\t"
COMPARED = {Likeness.AGREES: "match", Likeness.DIFFERS: "differ", Likeness.UNKNOWN: "cannot be compared"}
_WRITTEN = (PartKind.PROSE, PartKind.DECLINE, PartKind.NOTE)


def answer_markdown(parts: Sequence[AnswerPart], verdict: Verdict | None, documents: Collection[str] = ()) -> str:
    """Return the Markdown: each claim followed by one badge; citations without a judged claim have a gray one.

    ``documents``: the names of those that were asked one by one, whose answers are drawn as a table.
    """
    if lists_passages(parts):
        return _passages_markdown(parts)
    claims = sorted(verdict.claims if verdict else (), key=lambda claim: claim.start)
    shown: list[str] = []
    start = 0
    for stretch in _stretches(parts, documents):
        end = start + sum(len(part.text) for part in stretch)
        own = [claim for claim in claims if start <= claim.start < end]
        if rows := _figure_rows(stretch):
            shown.append(f"{rows}\n\n{_badges(stretch, own, start)}")
        elif rows := _document_rows(stretch, own, start):
            shown.append(rows)
        elif stretch[0].kind in _WRITTEN:
            shown.append(plain_headings("".join(_prose(stretch, own, start))))
        elif len(stretch) > 1:
            rows = _table("\n".join(part.text for part in stretch if part.text.strip()))
            shown.append(f"{rows}\n\n{_badges(stretch, own, start)}")
        else:
            shown += _quoted(stretch[0], own)
        start = end
    return "".join(shown)


def asked_apart(turn: Turn) -> tuple[str, ...]:
    """Return the names of the documents that a turn asked one by one."""
    return tuple(piece.name for piece in turn.plan.pieces if piece.name) if turn.plan else ()


def _stretches(parts: Sequence[AnswerPart], names: Collection[str]) -> Iterator[Sequence[AnswerPart]]:
    """Yield groups of parts: figures, documents, prose, the quoted rows of a table; every other part separately."""
    at = 0
    while at < len(parts):
        end = at + 1
        if (figures := _figures_end(parts, at)) > at:
            end = figures
        elif (documents := _documents_end(parts, at, names)) > at:
            end = documents
        elif parts[at].kind in _WRITTEN:
            while end < len(parts) and parts[end].kind in _WRITTEN and _figures_end(parts, end) == end:
                end += 1
        else:
            while end + 1 < len(parts) and not parts[end].text.strip() and _same_table(parts[at], parts[end + 1]):
                end += 2
        yield parts[at:end]
        at = end


def _same_table(one: AnswerPart, other: AnswerPart) -> bool:
    cells = {line.count("\t") for part in (one, other) for line in part.text.split("\n")}
    alike = one.kind is other.kind is PartKind.VERBATIM and one.numbers == other.numbers
    return alike and len(cells) == 1 and 0 not in cells


def _figures_end(parts: Sequence[AnswerPart], at: int) -> int:
    """Return the end of a run of stated figures that are drawn as a table, or ``at`` if none begins there.

    Each may be below the name of its document.
    """
    runs = takewhile(lambda one: one.kind is PartKind.NOTE or not one.text.strip() or _states(one), parts[at:])
    end = max((at + behind for behind, one in enumerate(runs, start=1) if _states(one)), default=at)
    return end if _figure_rows(parts[at:end]) else at


def _states(part: AnswerPart) -> bool:
    return part.kind is PartKind.FIGURE and bool(part.figures) and part.computation is None


def _figure_rows(parts: Sequence[AnswerPart]) -> str:
    """Draw two or more stated figures as one table: its columns are the documents, or one document's periods.

    Empty for other parts, and where two figures have the same place.
    """
    if not any(map(_states, parts)):
        return ""
    name, cells = "", dict[tuple[str, str], str]()
    named = [(name := part.text.rstrip(":") if part.kind is PartKind.NOTE else name, part) for part in parts]
    figures = [(of, figure) for of, part in named for figure in part.figures]
    labels = {of: {short(figure.label) for other, figure in figures if other == of} for of, _ in figures}
    alike = " / ".join(dict.fromkeys(short(figure.label) for _, figure in figures))
    one_of_each = len(labels) > 1 and all(len(own) == 1 for own in labels.values())
    for of, figure in figures:
        column = ", ".join(filter(None, [of, figure.period or short(figure.column)]))
        place = (alike if one_of_each else short(figure.label), column)
        if place in cells:
            return ""
        cells[place] = with_measure(figure)
    rows, columns = (list(dict.fromkeys(place[at] for place in cells)) for at in (0, 1))
    if len(cells) < 2:
        return ""
    lines = [
        "\t".join(["", *columns]),
        *("\t".join([row, *(cells.get((row, one), "") for one in columns)]) for row in rows),
    ]
    return _table("\n".join(lines))


def _documents_end(parts: Sequence[AnswerPart], at: int, names: Collection[str]) -> int:
    """Return the end of a run of documents, each with its quotations, that are drawn as a table; ``at`` if none is."""
    run = list(takewhile(lambda one: not one.text.strip() or _is_cell(one) or one.text[:-1] in names, parts[at:]))
    while run and not _is_cell(run[-1]):
        run.pop()
    return at + len(run) if _document_rows(run, (), 0) else at


def _is_cell(part: AnswerPart) -> bool:
    return part.verbatim and bool(part.text.strip()) and "\t" not in part.text


def _document_rows(parts: Sequence[AnswerPart], claims: Sequence[Claim], start: int) -> str:
    """Draw what several documents answer as a table with a row for each; empty where they are few."""
    rows: list[tuple[str, list[str]]] = []
    for part in parts:
        if part.kind is PartKind.NOTE:
            rows.append((escape(flat(part.text.removesuffix(":"))), []))
        elif part.text.strip():
            if not rows or not _is_cell(part):
                return ""
            own = [claim for claim in claims if start <= claim.start < start + len(part.text)]
            rows[-1][1].append("".join(_quoted(replace(part, text=flat(part.text)), own)))
        start += len(part.text)
    if len(rows) < MIN_ROWS or not all(quoted for _, quoted in rows):
        return ""
    lines = ["| Document | Answer |", "|:--|:--|", *(f"| {name} | {' '.join(quoted)} |" for name, quoted in rows)]
    return "\n".join(lines)


def _badges(parts: Sequence[AnswerPart], claims: Sequence[Claim], start: int) -> str:
    """Return the badges of parts that are drawn as one table."""
    badges = []
    for part in parts:
        own = [claim for claim in claims if start <= claim.start < start + len(part.text)]
        if part.text.strip() and part.kind is not PartKind.NOTE:
            badges.append(badge(own[0], part.numbers, quoted=part.verbatim) if own else _numbers(part.numbers))
        start += len(part.text)
    return " ".join(dict.fromkeys(badges))


def _quoted(part: AnswerPart, claims: Sequence[Claim]) -> list[str]:
    """Return words of a page, or a statement of its figures, with Markdown escaped."""
    after = badge(claims[0], part.numbers, quoted=part.verbatim) if claims else _numbers(part.numbers)
    lines = _lines(part.text) if part.verbatim else [part.text]
    words = "  \n".join(BETWEEN_CELLS.join(map(escape_lines, line.split("\t"))) for line in lines)
    bold = part.kind is not PartKind.VERBATIM
    shown = [f"**{words}**" if bold else words, f" {after}" if after else ""]
    if part.computation is not None and (told := latex(part.figures, part.computation)):
        shown.append(f"\n\n$${told}$$\n\n")
    return shown


def _passages_markdown(parts: Sequence[AnswerPart]) -> str:
    """Return listed passages: each below a line with its place, its likeliest words marked."""
    shown = [f"**{escape(parts[0].text)}**"]
    for one in listed_passages(parts):
        shown.append(f":small[**{escape(one.where)}**] {_numbers(one.numbers)}".rstrip())
        for rows, run in groupby(one.parts, key=lambda part: "\t" in part.text):
            drawn = list(run)
            shown += [_table("\n".join(map(_marked, drawn)))] if rows else map(_marked_lines, drawn)
    return "\n\n".join(shown)


def _marked_lines(part: AnswerPart) -> str:
    return "  \n".join(_colored(escape_lines(line)) for line in _lines(_marked(part)))


def _table(text: str) -> str:
    """Return rows of cells as a Markdown table; the first is its head, and the line above it its title.

    A head without a cell over the labels is over the other columns; one over several columns is part of the title.
    """
    lines = [line for line in text.split("\n") if line.strip()]
    width = max(line.count("\t") for line in lines) + 1
    above = list(takewhile(lambda line: 1 < line.count("\t") + 1 < width - 1, (line for line in lines if "\t" in line)))
    titles = [line for line in lines if "\t" not in line or line in above]
    rows = [line.split("\t") for line in lines if line not in titles]
    rows[0] = [""] * (width - len(rows[0])) + rows[0]
    cells = [[_colored(escape(flat(cell))) or " " for cell in row] for row in rows]
    drawn = [f"| {' | '.join(row + [' '] * (width - len(row)))} |" for row in cells]
    ends = [
        "--:" if all(map(_is_figure, column)) else ":--" for column in list(zip_longest(*rows[1:], fillvalue=""))[1:]
    ]
    drawn.insert(1, f"|{'|'.join([':--', *ends, *['--:'] * (width - 1 - len(ends))])}|")
    return "\n\n".join(
        [*(f":small[{escape(BETWEEN_CELLS.join(map(flat, title.split(TAB))))}]" for title in titles), "\n".join(drawn)]
    )


def _is_figure(cell: str) -> bool:
    """Return whether a cell begins with a digit, has no more letters than digits, or is empty or a sign."""
    begins = next(filter(str.isalnum, cell), "0").isdigit()
    return begins or sum(map(str.isalpha, cell)) <= sum(map(str.isdigit, cell))


_MARK_BEGINS, _MARK_ENDS = "\ue000", "\ue001"
"""Private-use characters that represent the marks until everything else is escaped."""


def _marked(part: AnswerPart) -> str:
    text = part.text.replace(_MARK_BEGINS, "").replace(_MARK_ENDS, "")
    if text != part.text:
        return text
    for mark in sorted(part.marked, key=lambda mark: -mark.start):
        marked = text[mark.start : mark.end]
        # a mark ends with its line and its cell
        pieces = (f"{_MARK_BEGINS}{piece}{_MARK_ENDS}" if piece.strip() else piece for piece in _BREAKS.split(marked))
        text = f"{text[: mark.start]}{''.join(pieces)}{text[mark.end :]}"
    return text


def _colored(escaped: str) -> str:
    return escaped.replace(_MARK_BEGINS, ":yellow-background[").replace(_MARK_ENDS, "]")


_BREAKS = re.compile(r"([\t\n]+)")


def _lines(text: str) -> list[str]:
    """Return the lines of a page's text; a line that begins in lower case continues the one before."""
    lines: list[str] = []
    for line in ("\t".join(map(flat, one.split("\t"))) for one in text.splitlines()):
        if lines and line[:1].islower():
            lines[-1] = f"{lines[-1]} {line}"
        elif line:
            lines.append(line)
    return lines


def draw_charts(parts: Sequence[AnswerPart]) -> None:
    """Draw what states the figures of several periods."""
    for part in parts:
        if part.computation is None and (chart := chart_of(part.figures)):
            st.vega_lite_chart(chart, width="stretch")


def _prose(parts: Sequence[AnswerPart], claims: Sequence[Claim], start: int) -> Iterator[str]:
    """Yield the words with a badge after every claim, and the other citation numbers in their places."""
    text = "".join(part.text for part in parts)
    ends: list[tuple[int, str]] = []
    position = 0
    for part in parts:
        position += len(part.text)
        if part.numbers and not any(_carries(claim, text, start, position) for claim in claims):
            ends.append((position, _numbers(part.numbers)))
    ends += [(claim.end - start, badge(claim, claim.citations)) for claim in claims]
    position = 0
    for end, after in sorted(ends, key=lambda pair: pair[0]):
        words = text[position:end]
        kept = words.rstrip()
        yield f"{tame(kept)} {after}{words[len(kept) :]}"
        position = end
    yield tame(text[position:])


def _carries(claim: Claim, text: str, start: int, place: int) -> bool:
    """Return whether a citation number is in a claim or directly after it."""
    begin, end = claim.start - start, claim.end - start
    return begin < place and (place <= end or not text[end:place].strip())


def _numbers(numbers: Sequence[int]) -> str:
    return f":gray-badge[{' '.join(map(str, numbers))}]" if numbers else ""


def badge(claim: Claim, numbers: Sequence[int], *, quoted: bool = False) -> str:
    """Return the mark of a claim; a claim is never shown as supported without its citation.

    A part that is only quoted has a quotation mark: its content needed no check.
    """
    mark, color = claim_mark(claim)
    if quoted and mark == "✓":
        mark = ":material/format_quote:"
    label = " ".join(map(str, numbers)) or ("" if color == "green" else in_words(claim.status))
    if claim.status is ClaimStatus.SOURCE_REMOVED:
        label = f"{label} {in_words(claim.status)}" if numbers else label
    return f":{color}-badge[{mark} {label}]".replace(" ]", "]")


def claim_mark(claim: Claim) -> tuple[str, str]:
    bare = claim.status is ClaimStatus.SUPPORTED and not (claim.citations and claim.quotation)
    return CLAIM_MARKS[ClaimStatus.UNSUPPORTED if bare else claim.status]


def claim_line(claim: Claim) -> str:
    """One claim with its verdict, the reason, and the best quotation with its page."""
    mark, color = claim_mark(claim)
    status = in_words(claim.status) if mark == CLAIM_MARKS[claim.status][0] else "not cited"
    text = tame(BETWEEN_CELLS.join(map(flat, claim.text.lstrip("-*•# ").split("\t"))))
    reason = f" — {escape(claim.reason)}" if claim.reason else ""
    line = f"- :{color}-badge[{mark} {status}] {text}{reason}"
    if (cited := claim.quotation) is None:
        return line
    page = escape(page_name(cited.page_label, cited.page_index))
    quoted = BETWEEN_CELLS.join(map(escape, cited.quotation.split("\t")))
    return f"{line}  \n  :small[“{quoted}” · {escape(cited.document_name)}, {page}]"


def draw_contradictions(verdict: Verdict) -> None:
    """Show each contradicted claim next to the text of its page."""
    for claim in verdict.claims:
        if claim.status is ClaimStatus.CONTRADICTED and (cited := claim.quotation):
            page = escape(page_name(cited.page_label, cited.page_index))
            where = f"{escape(cited.document_name)}, {page}"
            claim_text = tame(BETWEEN_CELLS.join(map(flat, claim.text.lstrip("-*•# ").split("\t"))))
            quoted = BETWEEN_CELLS.join(map(escape, cited.quotation.split("\t")))
            st.markdown(f"| The answer says | {where} says |\n|:--|:--|\n| {claim_text} | “{quoted}” |")


def draw_evaluation(turn: Turn) -> None:
    """What the judge found, claim by claim, and the way to the trace."""
    if (verdict := turn.verdict) is None:
        return
    sure = f"{verdict.confidence:.0%}" if verdict.calibrated else NOT_CALIBRATED.lower()
    st.caption(f"Confidence in this draft: {sure}")
    draw_scores(verdict)
    if turn.usage:
        used, room = turn.usage.prompt_tokens, turn.usage.context_tokens
        st.progress(min(used / room, 1.0), text=usage_in_words(turn.usage, turn.engine))
    if history := confidence_history(turn.attempts):
        st.caption(history)
    if seen := read_back_in_words(turn.citations):
        st.caption(seen)
    if verdict.claims:
        st.markdown("\n".join(claim_line(claim) for claim in verdict.claims))


def draw_scores(verdict: Verdict) -> None:
    """Show what the judge measured: one line a figure, with its reason."""
    names = ("Supported by its passages", "Addresses the question", "Answers all parts", "Citations hold")
    scores = (verdict.faithfulness, verdict.relevance, verdict.completeness, verdict.citation_validity)
    rows = (f"| {name} | {one.value:.0%} | {escape(one.reason)} |" for name, one in zip(names, scores, strict=True))
    st.markdown("\n".join(["| Checked for | Score | Why |", "|:--|--:|:--|", *rows]))
    st.caption(escape(verdict.critic))


def read_back_in_words(citations: Sequence[Citation]) -> str:
    """For example "Quotations against the page images: 4 match, 1 cannot be compared."."""
    sentences = []
    for of_file, source in ((False, "the page images"), (True, "the text of the file")):
        looked_at = (one.read_back for one in citations if one.read_back and one.read_back.of_file is of_file)
        found = Counter(seen.likeness for seen in looked_at)
        if numbers := [f"{found[likeness]} {word}" for likeness, word in COMPARED.items() if found[likeness]]:
            sentences.append(f"Quotations against {source}: {', '.join(numbers)}.")
    return " ".join(sentences)


def usage_in_words(usage: Usage, engine: str) -> str:
    """For example "qwen2.5:1.5b read 4 of the 10 passages found: 1,480 tokens of 8,192, first word after 12 s"."""
    found = usage.passages + usage.left_out
    passages = f"{usage.passages} of the {found} passages found" if usage.left_out else count(found, "passage")
    tokens = f"{usage.prompt_tokens:,} of {usage.context_tokens:,} tokens"
    model = escape(engine.partition(":")[2])
    return f"{model} read {passages}: {tokens}, first word after {duration(usage.first_word_seconds)}"


def confidence_history(attempts: tuple[Attempt, ...]) -> str:
    """For example "Attempt 1: 38% → attempt 2: 71%"; empty where there was one attempt."""
    judged = [(attempt.number, attempt.verdict.confidence) for attempt in attempts if attempt.verdict]
    if len(judged) < 2:
        return ""
    return "Confidence by attempt: " + " → ".join(f"{value:.0%}" for _, value in judged)
