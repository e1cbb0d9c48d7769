"""Grids: each document is asked each question, people's values stay, and every filled cell has its quotation."""

import csv
import io
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from pypdf import PdfReader

from pincite.cli import main
from pincite.core.answers.typed import MAY_ANSWER
from pincite.core.documents.reader import ProcessReader
from pincite.core.domain.answers import listed_passages, lists_passages
from pincite.core.domain.documents import Document
from pincite.core.domain.errors import GridError
from pincite.core.domain.grids import MAX_COLUMNS, Cell, CellState, Column, ColumnKind, FilledGrid, Grid
from pincite.core.domain.settings import Settings
from pincite.core.domain.turns import Turn
from pincite.core.export.binder import MANIFEST
from pincite.core.export.manifest import from_manifest
from pincite.core.export.proof import prove
from pincite.core.services import grids, turns
from pincite.core.services.bootstrap import Pincite, open_pincite
from pincite.core.services.grids import asked_of, new_column, template_of, templates
from tests.model_servers import Script, fake_openai_server
from tests.support.pdfs import headed, prose

pytestmark = pytest.mark.usefixtures("each_engine")

SECONDS = 300
LEASES = {
    "kettle.pdf": "Lease of a hall at Kettle Lane. The lease begins on 15 March 2026. The rent is EUR 2,750 a month. "
    "Either party may end the lease with notice of three months. The tenant may keep animals.",
    "pell.pdf": "Lease of a workshop. The lease begins on 1 May 2025. The rent is EUR 1,150 a month. "
    "The tenant pays for water and heating.",
}
COLUMNS = (
    Column("begins", "Begins", "When does the lease begin?", ColumnKind.DATE),
    Column("rent", "Rent", "What is the rent?", ColumnKind.AMOUNT),
    Column("dogs", "Animals", "May the tenant keep animals?", ColumnKind.YES_NO),
    Column("notice", "Notice", "What is the notice period?"),
)


@pytest.fixture
def pincite(settings: Settings) -> Iterator[Pincite]:
    with closing(open_pincite(settings.but(engine="quoting", ocr=False))) as app:
        for name, text in LEASES.items():
            app.ingest.add(prose([text]), name)
        assert app.ingest.wait(timeout_seconds=SECONDS)
        yield app


def make(app: Pincite, columns: tuple[Column, ...] = COLUMNS) -> tuple[Grid, FilledGrid]:
    documents = sorted(app.library.list(), key=lambda one: one.name)
    grid = app.grids.create("Leases", columns, [one.id for one in documents])
    return grid, app.grids.wait(grid.id, SECONDS)


@pytest.mark.behaviour("The grid", "Every document is asked every question; a value has its kind, quotation and page.")
def test_each_document_answers_each_question_with_its_quotation(pincite: Pincite) -> None:
    grid, filled = make(pincite)
    kettle, pell = grid.document_ids
    assert filled.waiting == 0 and len(filled.cells) == 8
    assert [filled.cell(one, "begins").value for one in (kettle, pell)] == ["2026-03-15", "2025-05-01"]
    assert [filled.cell(one, "rent").value for one in (kettle, pell)] == ["2750 EUR", "1150 EUR"]
    assert "three months" in filled.cell(kettle, "notice").value
    for cell in filled.cells.values():
        assert cell.state is not CellState.FOUND or cell.citations
        for place in cell.citations:
            text = pincite.library.page_text(place.document_id, place.page_index)
            assert place.document_id == cell.document_id and text[place.start : place.end] == place.quotation
    animals = filled.cell(kettle, "dogs")
    assert animals.state is CellState.UNCLEAR and "keep animals" in animals.citations[0].quotation
    assert filled.cell(pell, "notice").state in (CellState.NOT_STATED, CellState.UNCLEAR)
    assert filled.cell(pell, "notice").value == "" and filled.cell(pell, "notice").pages_read == 1
    assert not pincite.sessions.list(), "a cell leaves no conversation behind"


@pytest.mark.behaviour(
    "The grid", "A person's value stays when cells are asked again; a changed question is asked anew."
)
def test_what_a_person_enters_stays(pincite: Pincite) -> None:
    grid, _ = make(pincite)
    key, other = (grid.document_ids[0], "rent"), (grid.document_ids[1], "rent")
    pincite.grids.correct(grid.id, key, "EUR 2,800")
    pincite.grids.approve(grid.id, pincite.grids.filled(grid.id).cell(*other))
    pincite.grids.lock(grid.id, (grid.document_ids[0], "begins"), locked=True)
    changed = tuple(
        Column("rent", "Rent", "How much is the rent a month?", ColumnKind.AMOUNT) if one.id == "rent" else one
        for one in COLUMNS[:2]
    )
    pincite.grids.set_columns(grid.id, changed)
    filled = pincite.grids.wait(grid.id, SECONDS)
    assert (filled.cell(*key).value, filled.cell(*key).by_person) == ("EUR 2,800", True)
    assert filled.cell(*key).stale, "its question has changed"
    assert (filled.cell(*other).value, filled.cell(*other).state) == ("1150 EUR", CellState.FOUND)
    assert filled.cell(grid.document_ids[0], "begins").locked
    assert len(filled.cells) == 4, "cells of removed columns are gone"
    pincite.grids.ask_again(grid.id, key)
    again = pincite.grids.wait(grid.id, SECONDS).cell(*key)
    assert (again.value, again.by_person, again.stale) == ("2750 EUR", False, False)
    pincite.grids.correct(grid.id, key, "EUR 999")
    pincite.grids.send_to_review(grid.id, key, "Is this with tax?")
    pincite.grids.set_columns(grid.id, COLUMNS[:2])
    flagged = pincite.grids.wait(grid.id, SECONDS).cell(*key)
    assert (flagged.state, flagged.value) == (CellState.NEEDS_REVIEW, "EUR 999"), "it is still a person's"
    pincite.grids.correct(grid.id, key, "")
    assert pincite.grids.filled(grid.id).cell(*key).state is CellState.NOT_STATED


def test_a_new_version_takes_the_row_of_the_old_one_and_its_cells_are_stale(pincite: Pincite) -> None:
    grid, _ = make(pincite, COLUMNS[:2])
    old = grid.document_ids[0]
    text = LEASES["kettle.pdf"].replace("2,750", "3,000")
    new = pincite.ingest.add(prose([text]), "kettle.pdf").document.id
    pincite.ingest.replace(old, new)
    assert pincite.ingest.wait(timeout_seconds=SECONDS)
    filled = pincite.grids.filled(grid.id)
    assert filled.grid.document_ids == (new, grid.document_ids[1])
    assert filled.cell(new, "rent").stale and not filled.cell(grid.document_ids[1], "rent").stale
    pincite.grids.refresh(grid.id)
    cell = pincite.grids.wait(grid.id, SECONDS).cell(new, "rent")
    assert (cell.value, cell.stale) == ("3000 EUR", False)
    pincite.ingest.remove(new)
    assert pincite.grids.filled(grid.id).grid.document_ids == (grid.document_ids[1],)


def test_what_still_waits_can_be_locked_by_nobody(settings: Settings) -> None:
    with closing(open_pincite(settings.but(engine="quoting", ocr=False))) as app:
        app.ingest.add(prose([LEASES["pell.pdf"]]), "pell.pdf")
        assert app.ingest.wait(timeout_seconds=SECONDS)
        [document] = app.library.list()
        grid = app.grids.create("Leases", COLUMNS[:2], [document.id])
        for column in COLUMNS[:2]:
            app.grids.lock(grid.id, (document.id, column.id), locked=True)
            app.grids.send_to_review(grid.id, (document.id, column.id))
        filled = app.grids.wait(grid.id, SECONDS)
        assert filled.waiting == 0 and filled.cell(document.id, "begins").value == "2025-05-01"


Held = tuple[threading.Event, threading.Event]


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Held:
    """The first is set once a cell was asked; its answer is given back once the second is."""
    asked, may_go_on = threading.Event(), threading.Event()
    alone = turns.asked_alone

    def slow(graph: Any, equipment: Any, question: str, *rest: Any) -> Any:
        turn = alone(graph, equipment, question, *rest)
        asked.set()
        assert may_go_on.wait(60)
        return turn

    monkeypatch.setattr(grids, "asked_alone", slow)
    return asked, may_go_on


def test_a_question_that_changes_while_it_is_asked_is_asked_again(pincite: Pincite, held: Held) -> None:
    asked, may_go_on = held
    grid = pincite.grids.create("Leases", (Column("one", "One", "What is the rent?"),), [pincite.library.list()[0].id])
    assert asked.wait(60)
    pincite.grids.set_columns(grid.id, (Column("one", "One", "When does the lease begin?", ColumnKind.DATE),))
    may_go_on.set()
    [cell] = pincite.grids.wait(grid.id, SECONDS).cells.values()
    assert not cell.stale and cell.value in ("2026-03-15", "2025-05-01")


def test_a_grid_that_is_deleted_while_it_is_asked_stops_no_other(pincite: Pincite, held: Held) -> None:
    asked, may_go_on = held
    ids = [one.id for one in pincite.library.list()]
    gone = pincite.grids.create("Gone", COLUMNS[:2], ids)
    other = pincite.grids.create("Other", COLUMNS[:1], ids)
    assert asked.wait(60)
    pincite.grids.delete(gone.id)
    may_go_on.set()
    assert pincite.grids.wait(other.id, SECONDS).waiting == 0
    assert [one.name for one in pincite.grids.list()] == ["Other"]


def test_cells_go_on_after_a_restart_and_wait_after_a_stop(settings: Settings) -> None:
    quoting = settings.but(engine="quoting", ocr=False)
    with closing(open_pincite(quoting, at_work=False)) as app:
        for name, text in LEASES.items():
            app.ingest.add(prose([text]), name)
        grid = app.grids.create("Leases", COLUMNS[:1], [one.id for one in app.library.list()])
        app.grids.stop(grid.id)
        assert app.grids.filled(grid.id).waiting > 0
        app.grids.run(grid.id)
    with closing(open_pincite(quoting)) as app:
        filled = app.grids.wait(grid.id, SECONDS)
        assert filled.waiting == 0
        assert {filled.cell(one, "begins").value for one in grid.document_ids} == {"2026-03-15", "2025-05-01"}


def test_a_document_without_text_fails_its_cells_with_the_reason(pincite: Pincite) -> None:
    blank = pincite.ingest.add(prose([""]), "blank.pdf").document
    assert pincite.ingest.wait(timeout_seconds=SECONDS)
    grid = pincite.grids.create("Blank", COLUMNS[:1], [blank.id])
    cell = pincite.grids.wait(grid.id, SECONDS).cell(blank.id, "begins")
    assert cell.state is CellState.FAILED and cell.detail


@pytest.mark.behaviour("The grid", "A grid is written as Excel, CSV or JSON; Excel has a sheet with the quotations.")
def test_exports_have_values_and_evidence(pincite: Pincite) -> None:
    grid, filled = make(pincite, (*COLUMNS[:2], Column("bad", "=1+1", "What is the deposit?")))
    [head, kettle, _] = csv.reader(io.StringIO(pincite.grids.export(grid.id, ".csv").decode("utf-8-sig")))
    assert head == ["Document", "Begins", "Rent", "'=1+1"] and kettle[:3] == ["kettle.pdf", "2026-03-15", "2750 EUR"]
    book = openpyxl.load_workbook(io.BytesIO(pincite.grids.export(grid.id, ".xlsx")))
    values, evidence = book["Values"], book["Evidence"]
    assert values["B2"].value.date().isoformat() == "2026-03-15" and values["C2"].value == "2750 EUR"
    assert values["D1"].value == "=1+1" and values["D1"].data_type == "s"
    told = {(row[0].value, row[1].value): [one.value for one in row] for row in evidence.iter_rows(min_row=2)}
    assert "EUR 2,750" in str(told["kettle.pdf", "Rent"][8]) and told["kettle.pdf", "Rent"][7] == "1"
    plain = json.loads(pincite.grids.export(grid.id, ".json"))
    assert [len(row["cells"]) for row in plain["rows"]] == [3, 3]
    assert plain["rows"][0]["cells"][1]["citations"][0]["quotation"]
    assert filled.grid.name == plain["name"]


def test_what_cannot_be_a_grid_is_refused(pincite: Pincite) -> None:
    ids = [one.id for one in pincite.library.list()]
    for columns, name in (
        ((new_column("", "When?"),), "No name"),
        ((new_column("A", "When?"), new_column("a", "Who?")), "Twice"),
        (tuple(new_column(str(number), "When?") for number in range(MAX_COLUMNS + 1)), "Many"),
        ((new_column("document", "When?"),), "The first column's name"),
        ((new_column("A", "When?" * 200),), "Long"),
        (COLUMNS, " "),
    ):
        with pytest.raises(GridError):
            pincite.grids.create(name, columns, ids)
    with pytest.raises(GridError, match="needs documents"):
        pincite.grids.create("Empty", COLUMNS, [])
    with pytest.raises(GridError, match="no template"):
        template_of('name = "x"\n[[columns]]\nname = "y"')
    with pytest.raises(GridError, match="no template"):
        template_of('name = "x"\n[[columns]]\nname = "y"\nquestion = "z?"\nkind = "choice"\nchoices = "Yes,No"')
    with pytest.raises(GridError, match="has no choices"):
        pincite.grids.create("Choice", [new_column("A", "Which?", ColumnKind.CHOICE)], ids)
    assert pincite.grids.list() == []


@pytest.mark.parametrize("value", ["tomorrow", "2026-02-30", "15 March 2026"])
def test_what_a_person_enters_is_of_the_columns_kind(pincite: Pincite, value: str) -> None:
    grid, _ = make(pincite, COLUMNS[:1])
    key = (grid.document_ids[0], "begins")
    with pytest.raises(GridError, match="is no date"):
        pincite.grids.correct(grid.id, key, value)
    pincite.grids.correct(grid.id, key, "2026-03")
    assert pincite.grids.filled(grid.id).cell(*key).value == "2026-03"


def test_the_templates_are_sound() -> None:
    names = [one.name for one in templates()]
    assert len(names) == len(set(names)) >= 6
    for template in templates():
        assert all(column.name and column.question.endswith("?") for column in template.columns)


def test_the_command_fills_a_grid_and_writes_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = ["--data-dir", str(tmp_path / "data")]
    with closing(open_pincite(Settings(data_dir=tmp_path / "data", engine="quoting", ocr=False))) as app:
        kettle = app.ingest.add(prose([LEASES["kettle.pdf"]]), "kettle.pdf").document
        collection = app.collections.create("Halls")
        app.collections.add(collection.id, [kettle.id])
        assert app.ingest.wait(timeout_seconds=SECONDS)
    assert main(["grid", *data]) == 0
    assert "Lease: Parties, Begins" in capsys.readouterr().out
    own = tmp_path / "own.toml"
    own.write_text(
        'name = "Own"\n[[columns]]\nname = "Rent"\nquestion = "What is the rent?"\nkind = "amount"\n', "utf-8"
    )
    out = tmp_path / "own.csv"
    assert main(["grid", str(own), "--collection", "Halls", "--csv", str(out), *data]) == 0
    assert "Own · Halls: 1 document, 1 cell: 1 found" in capsys.readouterr().out
    assert "2750 EUR" in out.read_text("utf-8-sig")
    assert main(["grid", str(own), "--csv", str(out), *data]) != 0
    assert "already exists" in capsys.readouterr().err
    assert main(["grid", "Nothing", *data]) != 0


@pytest.fixture
def unsure(monkeypatch: pytest.MonkeyPatch) -> None:
    """Quoting leaves every cell unclear."""

    def left_open(column: Column, document: Document, turn: Turn, pages_read: int) -> Cell:
        return Cell(document.id, column.id, CellState.UNCLEAR, "2024-05-03", detail=MAY_ANSWER, pages_read=pages_read)

    monkeypatch.setattr(grids, "cell_of", left_open)


@pytest.mark.usefixtures("unsure")
def test_a_model_reads_what_quoting_leaves_unclear(settings: Settings) -> None:
    values = [{"question": 1, "value": "3 May 2024", "quotation": "Services are rendered from 3 May 2024 onwards."}]
    with fake_openai_server(Script(reply=json.dumps({"values": values}))) as script:
        with_model = settings.model_copy(update={"engine": "openai:m", "openai_address": script.address})
        with closing(open_pincite(with_model)) as pincite:
            text = "Services are rendered from 3 May 2024 onwards. The engagement lasts five years."
            document = pincite.ingest.add(prose([text]), "engagement.pdf").document
            pincite.ingest.wait()
            begins = Column("begins", "Begins", "When does the contract begin?", ColumnKind.DATE)
            cell = pincite.grids.wait(pincite.grids.create("G", [begins], [document.id]).id, SECONDS).cell(
                document.id, "begins"
            )
            assert (cell.state, cell.value) == (CellState.FOUND, "2024-05-03")
            [place] = cell.citations
            assert pincite.library.page_text(*place.page)[place.start : place.end] == place.quotation
            assert script.seen, "the model was asked"


@pytest.mark.usefixtures("unsure")
def test_what_is_stopped_before_the_model_answers_waits_to_be_asked(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    with fake_openai_server(Script(reply='{"values": []}')) as script:
        with_model = settings.model_copy(update={"engine": "openai:m", "openai_address": script.address})
        with closing(open_pincite(with_model)) as pincite:
            document = pincite.ingest.add(prose(["The rent is EUR 900 a month."]), "lease.pdf").document
            pincite.ingest.wait()
            left_open: Callable[..., Cell] = vars(grids)["cell_of"]
            grid_ids = list[str]()

            def stopping(*asked: Any) -> Cell:
                pincite.grids.stop(grid_ids[0])
                return left_open(*asked)

            monkeypatch.setattr(grids, "cell_of", stopping)
            pincite.grids.stop(grid_id := pincite.grids.create("G", (), [document.id]).id)
            grid_ids.append(grid_id)
            pincite.grids.set_columns(grid_id, [Column("rent", "Rent", "What is the rent?")])
            assert pincite.grids.wait(grid_id, SECONDS).waiting == 1
            asked = len([one for one in script.seen if "completions" in one[0]])
            monkeypatch.setattr(grids, "cell_of", left_open)
            pincite.grids.run(grid_id)
            assert pincite.grids.wait(grid_id, SECONDS).waiting == 0 and asked == 0


@pytest.mark.usefixtures("unsure")
def test_a_model_that_cannot_be_reached_leaves_cells_unclear(settings: Settings) -> None:
    gone = settings.model_copy(update={"engine": "openai:m", "openai_address": "http://127.0.0.1:9/v1"})
    with closing(open_pincite(gone)) as pincite:
        document = pincite.ingest.add(prose(["Services are rendered from 3 May 2024 onwards."]), "e.pdf").document
        pincite.ingest.wait()
        begins = Column("begins", "Begins", "When does the contract begin?", ColumnKind.DATE)
        filled = pincite.grids.wait(pincite.grids.create("G", [begins], [document.id]).id, SECONDS)
        assert filled.cell(document.id, "begins").state is CellState.UNCLEAR


def test_the_binder_of_a_grid_is_proved_against_its_sources(pincite: Pincite, tmp_path: Path) -> None:
    ids = [one.id for one in pincite.library.list()]
    grid = pincite.grids.create("Leases", COLUMNS, ids)
    filled = pincite.grids.wait(grid.id, SECONDS)
    binder = tmp_path / "leases.pdf"
    binder.write_bytes(pincite.exports.of_grid(filled))
    sources = [pincite.library.file_path(one) for one in ids]
    with closing(ProcessReader(Settings(data_dir=tmp_path))) as reader:
        outcomes = list(prove(binder, sources, reader))
    assert all(one.holds for one in outcomes), [one.sentence for one in outcomes if not one.holds]
    told = from_manifest(PdfReader(binder).attachments[MANIFEST][0])
    assert {one.parts[0].text for one in told.answers} >= {"2026-03-15", "2750 EUR"}
    empty = pincite.grids.create("Empty", (), ids)
    with pytest.raises(GridError, match="No cell"):
        pincite.exports.of_grid(pincite.grids.filled(empty.id))


def test_columns_are_suggested_for_what_documents_have_in_common(
    pincite: Pincite, monkeypatch: pytest.MonkeyPatch
) -> None:
    sections = [("Rent", "The rent is EUR 900 a month."), ("Notice", "Notice is given three months ahead.")]
    more = [("Rent", "EUR 700 are paid each month."), ("Notice", "Six weeks.")], [("Parking", "Cars park behind.")]
    opening = ("Lease of a flat", "This lease is made in Leeds.")
    files = [headed([(title, " ".join([text] * 9)) for title, text in (opening, *one)]) for one in (sections, *more)]
    ids = [pincite.ingest.add(file, f"{at}.pdf").document.id for at, file in enumerate(files)]
    pincite.ingest.wait()
    grid = pincite.grids.create("Flats", (), ids)
    pincite.grids.add_suggested_columns(grid.id)
    pincite.grids.stop(grid.id)
    names = [column.name for column in pincite.grids.filled(grid.id).grid.columns]
    assert {"Rent", "Notice"} <= set(names) and "Parking" not in names
    twice = ["What does “Fee” mean?", "What does it say about “Fee”?"]
    monkeypatch.setattr(grids, "common_questions", lambda *_: twice)
    pincite.grids.add_suggested_columns(grid.id)
    [fee] = [one for one in pincite.grids.filled(grid.id).grid.columns if one.name == "Fee"]
    assert fee.question == twice[0], "the commoner of two with one name"
    monkeypatch.undo()
    pincite.grids.stop(grid.id)
    for column in pincite.grids.filled(grid.id).grid.columns:
        assert column.question.endswith("?")
    other = pincite.grids.create("One", (), ids[2:])
    with pytest.raises(GridError, match="nothing more in common"):
        pincite.grids.add_suggested_columns(other.id)


def test_a_question_of_the_chat_becomes_a_grid(pincite: Pincite) -> None:
    session = pincite.sessions.create()
    turn_id = pincite.runner.ask(session.id, "What is the rent in each lease?")
    turn = pincite.runner.wait(turn_id, SECONDS).turn
    assert set(asked_of(turn)) == {document.id for document in pincite.library.list()}
    grid = pincite.grids.create_from(turn)
    filled = pincite.grids.wait(grid.id, SECONDS)
    [column] = grid.columns
    values = {name: filled.cell(pincite.library.find(name).id, column.id).value for name in LEASES}
    assert "2,750" in values["kettle.pdf"] and "1,150" in values["pell.pdf"]
    alone = pincite.runner.wait(pincite.runner.ask(session.id, "What does the tenant pay for?"), SECONDS).turn
    assert asked_of(alone) == ()


@pytest.mark.behaviour("The grid", "A question for documents within a limit is answered by no single one of them.")
def test_a_limit_lists_every_document_and_leads_to_the_filter_of_a_grid(pincite: Pincite) -> None:
    session = pincite.sessions.create()

    def ask(question: str) -> Turn:
        return pincite.runner.wait(pincite.runner.ask(session.id, question), SECONDS).turn

    turn = ask("Which leases begin before 2026?")
    assert lists_passages(turn.parts) and turn.plan and turn.plan.selects
    places = [one.where for one in listed_passages(turn.parts)]
    assert [place.split(",")[0] for place in places] == ["pell.pdf", "kettle.pdf"], "those before it come first"
    assert "before 2026" in places[0] and "after 2026" not in places[0]
    assert asked_of(turn) == () and pincite.grids.to_filter(turn) is None
    grid, _ = make(pincite, (*COLUMNS, Column("ends", "Ends", "When does the lease end?", ColumnKind.DATE)))
    assert pincite.grids.to_filter(turn) == (grid, COLUMNS[0], "2026")
    found = pincite.grids.to_filter(ask("leases with a rent of more than 2,000 euros"))
    assert found and found[1:] == (COLUMNS[1], "2000 EUR")
    plain = ask("What is the rent at Kettle Lane?")
    assert plain.plan and not plain.plan.selects


def test_a_rule_that_states_the_limit_is_an_answer(pincite: Pincite) -> None:
    rule = "Expenses above EUR 500 need the approval of the finance director. Smaller ones need none."
    pincite.ingest.add(prose([rule]), "policy.pdf")
    assert pincite.ingest.wait(timeout_seconds=SECONDS)
    session = pincite.sessions.create()
    turn = pincite.runner.wait(
        pincite.runner.ask(session.id, "Which expenses above 500 euros need approval?"), SECONDS
    ).turn
    assert not lists_passages(turn.parts) and "finance director" in turn.answer
