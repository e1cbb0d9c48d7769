"""The analyst: finds the figure that a question asks for in the tables of the evidence's pages, or computes it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from langgraph.runtime import Runtime

from pincite.core.documents.tables import find_tables
from pincite.core.domain.documents import PageKey
from pincite.core.domain.figures import Stated
from pincite.core.domain.search import Evidence, HeadedCell, TableHead, TableRow
from pincite.core.domain.tables import Table
from pincite.core.figures.answers import MIN_FIGURE_PROBABILITY, Analysis, analyse
from pincite.core.figures.computing import UNWEIGHED
from pincite.core.figures.followed import followed
from pincite.core.graph.context import TurnContext
from pincite.core.graph.state import TurnState, owns
from pincite.core.questions.plan import core_question
from pincite.core.questions.wording import OF_DOCUMENTS
from pincite.core.text.stating import is_drawn, series_of, statement
from pincite.core.text.stating import state as state_figure
from pincite.core.text.terms import content_terms
from pincite.core.text.years import YEAR

MAX_PAGES = 10
"""Maximum number of pages on which tables are read, starting with the pages of the best passages."""


@owns("plan", "evidence", "stated", "notices")
def analyst(state: TurnState, runtime: Runtime[TurnContext]) -> TurnState:
    """State figures from tables, by code alone."""
    context = runtime.context
    context.progress.step("Reading tables…")
    pages = best_pages(state.evidence)
    called = {item.passage.document_id: (item.document_name, *item.called) for item in state.evidence}
    tables = tables_of_named_documents(state.asked, tables_on(pages, context), called)
    kin = {document_id: YEAR.sub("#", name) for document_id, (name, *_) in called.items()}
    names = [name for own in called.values() for name in own]
    if gone_on := _continued_figure(state, context, tables):
        state, analysis = gone_on
    else:
        analysis = analyse(
            core_question(state.asked), tables, known=names, kin=kin, formulas=context.formulas, draws=state.draws
        )
        if state.plan and state.plan.pieces:
            state, analysis = _of_pieces(state, analysis, tables, names, context)
        if state.draws and not any(map(is_drawn, analysis.stated)):
            analysis = _last_drawn(context, tables) or analysis
    context.note(
        read={"pages": [f"{document_id}, {page_index + 1}" for document_id, page_index in pages]},
        decided={"tables": len(tables), "missing": analysis.missing}
        | ({"read as": state.asked, "because": "it names a place in the last answer's table"} if gone_on else {}),
        returned={"stated": [_line(stated) for stated in analysis.stated]},
    )
    evidence = tuple(_with_heads(item, tables) for item in state.evidence)
    return replace(state, stated=analysis.stated, evidence=evidence).noted(analysis.missing)


def _with_heads(item: Evidence, tables: Sequence[Table]) -> Evidence:
    """Return the evidence with the places of those of its tables that have their heads in the same passage."""
    passage, found = item.passage, list[TableHead]()
    for table in tables:
        heads = [cell for cell in table.cells if cell.row < table.head_rows and cell.end > cell.start]
        if (table.document_id, table.page_index) == passage.page and heads and not table.continued:
            start, last = min(cell.start for cell in heads), max(cell.end for cell in heads)
            end = max(cell.end for cell in table.cells)
            if passage.start <= start and last <= passage.end:
                found.append(TableHead(*(at - passage.start for at in (start, end, start, last))))
    rows = tuple(row for table in tables if table.is_sure for row in _rows_in(item, table))
    return replace(item, table_heads=tuple(found), table_rows=rows) if found or rows else item


def _rows_in(item: Evidence, table: Table) -> Iterator[TableRow]:
    """Yield the rows of a table that are in the text of a passage, where they have a head over each cell."""
    passage = item.passage
    if (table.document_id, table.page_index) != passage.page:
        return
    cells: dict[int, list[HeadedCell]] = {}
    for cell in table.cells:
        inside = passage.start <= cell.start < cell.end <= passage.end
        if cell.row >= table.head_rows and inside and cell.column < len(table.columns):
            headed = HeadedCell(cell.start - passage.start, cell.end - passage.start, table.columns[cell.column].path)
            cells.setdefault(cell.row, []).append(headed)
    heads = tuple(heading.path for heading in table.columns)
    yield from (TableRow(table.rows[row].groups, tuple(own), heads) for row, own in cells.items() if len(own) > 1)


def tables_of_named_documents(
    question: str, tables: Sequence[Table], called: Mapping[str, Iterable[str]]
) -> list[Table]:
    """Return the tables without those of documents that lack a name with which the question means another document.

    A year is no such name: other years' tables are computed with.
    """
    asked = frozenset(term for term in content_terms(question) if not term[0].isdigit()) - OF_DOCUMENTS
    names = {document_id: asked.intersection(content_terms(" ".join(own))) for document_id, own in called.items()}

    def is_meant(table: Table) -> bool:
        own = names.get(table.document_id, frozenset())
        lacking = [other - own for other in names.values() if own < other]
        said = frozenset(content_terms("\n".join([table.caption, *(cell.text for cell in table.cells)])))
        return all(one <= said for one in lacking)

    return [table for table in tables if is_meant(table)]


def _continued_figure(
    state: TurnState, context: TurnContext, tables: Sequence[Table]
) -> tuple[TurnState, Analysis] | None:
    """Return the answer to a follow-up from the table of the last answer, with that answer's confidence."""
    last = context.history[-1].stated if context.history else None
    if last is None or last.probability is None or state.plan is None or state.plan.question == state.asked:
        return None
    figure = followed(state.read.text, last.figures[0], tables)
    if figure is None:
        return None
    plan = replace(state.plan, standalone_question=f"{figure.label}, {figure.column}", pieces=())
    return replace(state, plan=plan), Analysis((Stated(statement((figure,)), (figure,), last.probability),))


def _last_drawn(context: TurnContext, tables: Sequence[Table]) -> Analysis | None:
    """Return the row of the last answer's figure, if the question asks for a chart and names no row."""
    last = context.history[-1].stated if context.history else None
    if last is None or last.probability is None:
        return None
    found = analyse(last.figures[0].label.rpartition(": ")[2], tables, draws=True).stated[:1]
    own = [one for one in found if series_of(one.figures) and one.figures[0].label == last.figures[0].label]
    return Analysis((replace(own[0], probability=min(last.probability, UNWEIGHED)),)) if own else None


def _of_pieces(
    state: TurnState, whole: Analysis, tables: Sequence[Table], names: Iterable[str], context: TurnContext
) -> tuple[TurnState, Analysis]:
    """Answer each of several questions from tables; a figure computed from several answers them together."""
    assert state.plan is not None
    together = next(
        (one for one in whole.stated if one.computation and one.probability >= MIN_FIGURE_PROBABILITY), None
    )
    if together:
        return replace(state, plan=replace(state.plan, pieces=())), Analysis((together,))
    stated, missing = list[Stated](), list[str]()
    for number, piece in enumerate(state.plan.pieces):
        own = [
            table for table in tables if table.document_id in piece.query.document_ids or not piece.query.document_ids
        ]
        found = analyse(core_question(piece.query.text), own, known=names, formulas=context.formulas)
        stated += [replace(one, piece=number) for one in found.stated]
        missing += filter(None, [found.missing])
    return state, Analysis(tuple(stated), " ".join(dict.fromkeys(missing)))


def best_pages(evidence: Sequence[Evidence]) -> list[PageKey]:
    """Return the pages of the best passages, in the order of their documents."""
    ranked = sorted(evidence, key=lambda item: -item.scores.get("reranked", 0.0))
    pages = dict.fromkeys(item.passage.page for item in ranked)
    return sorted(list(pages)[:MAX_PAGES])


def tables_on(pages: Sequence[PageKey], context: TurnContext) -> list[Table]:
    """Return the tables of these pages, including their parts on the pages before and after."""
    counts = {document.id: document.page_count for document in context.documents}
    found: list[Table] = []
    for document_id in dict.fromkeys(document_id for document_id, _ in pages):
        wanted = {page_index for of, page_index in pages if of == document_id}
        last = counts.get(document_id, 0) - 1
        while True:
            read = {at for one in wanted for at in (one - 1, one, one + 1) if 0 <= at <= max(last, one)}
            tables = find_tables(document_id, context.library.pages(document_id, read))
            goes_on = [(one.page_index - 1, one.page_index) for one in tables if one.continued]
            more = {at for pair in goes_on if wanted & set(pair) for at in pair} - wanted
            if not more:
                break
            wanted |= more
        found += [table for table in tables if table.page_index in wanted]
    return found


def _line(stated: Stated) -> dict[str, object]:
    """Return the statements in the form of the trace."""
    return {
        "text": stated.text,
        "probability": round(stated.probability, 3),
        "formula": stated.computation.expression if stated.computation else "",
        "figures": [f"{figure.text} (page {figure.page_index + 1})" for figure in stated.figures],
        "rivals": list(map(state_figure, stated.rivals)),
    }
