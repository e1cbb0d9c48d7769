"""The whole product on the sample PDFs, wired as the app wires it, with the network forbidden."""

import io
import json
import socket
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image, ImageChops

from pincite.core.documents.reader import ProcessReader
from pincite.core.domain.documents import JobStatus, Page
from pincite.core.domain.errors import ModelUnavailableError, ReaderStoppedError, SettingsError, StorageError, TurnError
from pincite.core.domain.settings import Settings, load_settings, save_choices
from pincite.core.domain.turns import ReviewDecision, Turn, TurnStatus
from pincite.core.graph.checkpoints import SqliteCheckpoints
from pincite.core.ingest.pipeline import Ingest
from pincite.core.models.ollama_embedder import OllamaEmbedder
from pincite.core.services.bootstrap import Pincite, open_pincite
from pincite.core.services.registry import EngineState, look_for_engines
from pincite.core.store.sessions import NEW_TITLE
from pincite.core.store.upkeep.verify import verify
from tests.graph.world import ScriptedModel
from tests.support.rows import sqlite_of

PENALTIES = "What is the penalty for late payment?"
CONTRACT = "service-contract.pdf"


@pytest.fixture(scope="module")
def app(samples: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pincite]:
    def refuse(*arguments: object, **named: object) -> None:
        raise OSError("the network is forbidden")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", refuse)
        patch.setattr(socket, "getaddrinfo", refuse)
        app = open_pincite(Settings(data_dir=tmp_path_factory.mktemp("data"), engine="quoting", ocr=False))
        for name in (CONTRACT, "technical-report.pdf"):
            app.ingest.add(samples / name, name)
        assert app.ingest.wait(timeout_seconds=300)
        yield app
        app.close()


def ask(app: Pincite, question: str) -> Turn:
    session = app.sessions.create()
    return app.runner.wait(app.runner.ask(session.id, question), 300).turn


ASKED = (
    PENALTIES,
    "How many panels were inspected?",
    "What does the work recommended for 2025 cost?",
    "How many more panels were inspected in Span 2 than in Span 1?",
)


@pytest.mark.parametrize("question", ASKED)
def test_added_sentences_change_no_other_claim_of_an_edit(app: Pincite, question: str) -> None:
    """The live check in review: no part of the answer is judged by the words next to it."""
    turn = app.runner.wait(app.runner.ask(app.sessions.create().id, question), 120).turn
    before = [(claim.text, claim.status) for claim in app.verdicts.of_edit(turn.id, turn.answer).claims]
    assert before, turn.answer
    for added in (" Indeed.", "\n\nSo it is, in 2015.", " No.", " Indeed. Indeed."):
        after = [(claim.text, claim.status) for claim in app.verdicts.of_edit(turn.id, turn.answer + added).claims]
        assert after[: len(before)] == before, added
    after = [(claim.text, claim.status) for claim in app.verdicts.of_edit(turn.id, f"Indeed. {turn.answer}").claims]
    assert after[-len(before) :] == before


def test_closing_ends_a_page_that_is_being_recognised_and_fails_no_job(
    samples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, closed = threading.Event(), threading.Event()

    class HeldReader(ProcessReader):
        def recognise(self, path: Path, page_indexes: Sequence[int]) -> Iterator[Page]:
            begun.set()
            assert closed.wait(300)
            raise ReaderStoppedError("The reader was closed.", hint="Try again.")
            yield

        def close(self) -> None:
            closed.set()
            super().close()

    monkeypatch.setattr("pincite.core.services.ingest.ProcessReader", HeldReader)
    app = open_pincite(Settings(data_dir=tmp_path / "held", engine="quoting"))
    app.ingest.add(samples / "scanned-letter.pdf", "scanned-letter.pdf")
    assert begun.wait(300)
    closing = threading.Thread(target=app.documents.close)
    closing.start()
    closing.join(300)
    assert not closing.is_alive()
    assert [job.status for job in app.ingest.jobs()] == [JobStatus.RUNNING]
    app.close()


def test_two_tabs_that_change_a_setting_of_reading_open_one_ingest_after_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = open_pincite(Settings(data_dir=tmp_path / "two tabs", engine="quoting", ocr=False), at_work=False)
    opening, opened, at_once = app.documents._open_ingest, list[Ingest](), threading.Lock()
    begun, tried = threading.Event(), threading.Event()

    def open_ingest(settings: Settings, reader: ProcessReader) -> Ingest:
        assert at_once.acquire(blocking=False), "two are opened at once"
        begun.set()
        assert tried.wait(300)
        opened.append(opening(settings, reader))
        at_once.release()
        return opened[-1]

    def other() -> None:
        tried.set()
        app.settings.change(max_pages=78)

    monkeypatch.setattr(app.documents, "_open_ingest", open_ingest)
    first = threading.Thread(target=app.settings.change, kwargs={"max_pages": 77})
    first.start()
    assert begun.wait(300)
    second = threading.Thread(target=other)
    second.start()
    for thread in (first, second):
        thread.join(300)
    assert [ingest._closing.is_set() for ingest in opened] == [True, False] and app.ingest is opened[-1]
    assert app.documents._settings == app.settings.current and app.settings.current.max_pages == 78
    app.close()


def test_the_sample_contract_answers_with_rate_days_and_page(app: Pincite) -> None:
    turn = ask(app, PENALTIES)
    assert turn.status is TurnStatus.ANSWERED, turn.reasons
    assert "1.5%" in turn.answer.replace(" %", "%") and "30 days" in turn.answer
    assert turn.citations and {citation.document_name for citation in turn.citations} == {CONTRACT}
    for citation in turn.citations:
        page = app.library.page_text(citation.document_id, citation.page_index)
        assert page[citation.start : citation.end] == citation.quotation, "found in the page, not claimed"


def test_the_quotation_is_marked_on_the_page(app: Pincite) -> None:
    citation = ask(app, PENALTIES).citations[0]
    plain = app.documents.page_image(citation.document_id, citation.page_index, width=600)
    marked = app.documents.page_image(
        citation.document_id, citation.page_index, width=600, marks=[(citation.start, citation.end)]
    )
    before, after = (Image.open(io.BytesIO(image)).convert("RGB") for image in (plain, marked))
    assert before.size == after.size and before.size[0] == 600
    left, top, right, bottom = ImageChops.difference(before, after).getbbox() or (0, 0, 0, 0)
    assert right - left > 100 and 5 < bottom - top < before.size[1] / 3, "some lines, not the page"


def test_question_not_covered_by_the_documents_is_declined(app: Pincite) -> None:
    turn = ask(app, "Which zebra won the lottery in Antarctica?")
    assert turn.verdict is not None and turn.verdict.declined and not turn.citations


def test_every_part_is_healthy_and_has_a_size(app: Pincite) -> None:
    checks = app.health.checks()
    assert [check.part for check in checks if not check.ok] == []
    assert app.health.storage()["database"] > 0


def test_the_playground_shows_every_stage(app: Pincite) -> None:
    plan, result = app.search.try_out("late payment")
    assert plan.standalone_question == "late payment"
    assert {"keyword", "dense", "fused", "reranked"} <= set(result.rankings)


def test_an_edit_is_checked_as_it_is_typed(app: Pincite) -> None:
    turn = ask(app, PENALTIES)
    number = turn.citations[0].number
    good = app.verdicts.of_edit(turn.id, f"Overdue amounts bear 1.5% per month. [{number}]")
    bad = app.verdicts.of_edit(turn.id, f"Overdue amounts bear 7.5% per month. [{number}]")
    assert good.confidence > bad.confidence


def test_settings_are_kept_and_a_bad_one_changes_nothing(app: Pincite) -> None:
    with pytest.raises(SettingsError):
        app.settings.change(max_retries=99)
    app.settings.change(max_retries=1)
    assert load_settings(app.settings.current.data_dir).max_retries == 1
    app.settings.change(max_retries=2)


def test_only_what_differs_from_what_holds_is_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page hands over everything that it shows, also what a variable sets for now."""
    monkeypatch.setenv("PINCITE_MAX_RETRIES", "0")
    with closing(open_pincite(load_settings(tmp_path / "data"), at_work=False)) as app:
        app.settings.change(max_retries=0, kept=12)
        assert (app.settings.current.max_retries, app.settings.current.kept) == (0, 12)
        assert json.loads(app.settings.current.choices_path.read_text(encoding="utf-8")) == {"kept": 12}


def test_what_a_variable_sets_is_no_choice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PINCITE_MAX_RETRIES", "0")
    save_choices(tmp_path, {"kept": 12})
    assert load_settings(tmp_path).max_retries == 0
    monkeypatch.delenv("PINCITE_MAX_RETRIES")
    save_choices(tmp_path, {"max_pages": 30, "candidates": Settings(data_dir=tmp_path).candidates})
    loaded = load_settings(tmp_path)
    assert (loaded.max_retries, loaded.kept, loaded.max_pages) == (Settings(data_dir=tmp_path).max_retries, 12, 30)


@pytest.mark.parametrize("text", ["[]", "{", '{"kept": 12, "colour": 1}'])
def test_unreadable_choices_are_reported(tmp_path: Path, text: str) -> None:
    Settings(data_dir=tmp_path).choices_path.write_text(text, encoding="utf-8")
    with pytest.raises(SettingsError, match=r"settings\.json"):
        load_settings(tmp_path)


@pytest.mark.parametrize("address", ["localhost:abc", "http://127.0.0.1:99999999", "http://[::1", "my host"])
def test_an_address_that_is_none_is_refused(app: Pincite, address: str) -> None:
    with pytest.raises(SettingsError, match="address of a model server"):
        app.settings.change(ollama_host=address)
    assert app.settings.current.ollama_host == ""


def test_a_wrong_address_in_the_environment_is_an_engine_that_does_not_answer(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLLAMA_HOST", "http://localhost:abc")
    state = look_for_engines(settings)
    assert state.name == "quoting" and "cannot be reached" in state.message
    with pytest.raises(ModelUnavailableError):
        OllamaEmbedder("all-minilm").embed(["text"])


def test_a_changed_address_is_the_embedders_too(app: Pincite) -> None:
    app.settings.change(ollama_host="http://127.0.0.1:9")
    with pytest.raises(ModelUnavailableError):
        app.settings.change(embedding_model="ollama:all-minilm")
    assert app.settings.current.embedding_model == "minilm"
    app.settings.change(ollama_host="")


def test_damaged_checkpoint_file_is_reported(tmp_path: Path) -> None:
    (tmp_path / "checkpoints.db").write_bytes(b"not a database" * 100)
    with pytest.raises(StorageError, match=r"checkpoints\.db"):
        SqliteCheckpoints(tmp_path / "checkpoints.db")


def test_a_session_is_deleted_in_mid_answer(app: Pincite, monkeypatch: pytest.MonkeyPatch) -> None:
    model = ScriptedModel("Overdue amounts bear interest. [1]")
    model.gate = threading.Event()
    monkeypatch.setattr("pincite.core.services.bootstrap.choose_engine", lambda settings, asked: model)
    session = app.sessions.create()
    turn_id = app.runner.ask(session.id, PENALTIES)
    assert model.begun.wait(300)
    threading.Timer(0.3, model.gate.set).start()
    app.deletion.session(session.id)
    assert app.runner.running(session.id) is None
    with pytest.raises(TurnError):
        app.turns.get(turn_id)
    rows = sqlite3.connect(app.settings.current.checkpoints_path).execute(
        "SELECT count(*) FROM checkpoints WHERE thread_id = ?", (turn_id,)
    )
    assert rows.fetchone()[0] == 0


def test_what_an_interrupted_answer_keeps_goes_with_the_documents_that_it_may_hold(
    samples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = ScriptedModel("Overdue amounts bear interest. [1]")
    model.gate = threading.Event()
    monkeypatch.setattr("pincite.core.services.bootstrap.choose_engine", lambda settings, asked: model)
    with closing(open_pincite(Settings(data_dir=tmp_path, engine="quoting"))) as pincite:
        pincite.ingest.add(samples / CONTRACT, CONTRACT)
        turn_id = pincite.runner.ask(pincite.sessions.create().id, PENALTIES)
        assert model.begun.wait(300)
        threading.Timer(0.3, model.gate.set).start()
        pincite.runner.close()
        turn = pincite.turns.get(turn_id)
        assert turn.status is TurnStatus.INTERRUPTED and pincite.runner.can_continue(turn)
        pincite.ingest.remove(turn.document_ids[0])
        assert not pincite.runner.can_continue(turn)
        with closing(sqlite3.connect(pincite.settings.current.checkpoints_path)) as checkpoints:
            assert checkpoints.execute("SELECT count(*) FROM checkpoints").fetchone()[0] == 0


def test_session_in_large_library_is_deleted_at_once_and_its_words_purged_on_close(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pincite.core.services.deletion.AT_ONCE_BYTES", 0)
    settings = Settings(data_dir=tmp_path / "data", engine="quoting")
    with closing(open_pincite(settings, at_work=False)) as pincite:
        session = pincite.sessions.create(title="Zanzibar")
        statements: list[str] = []
        sqlite_of(pincite).connection.set_trace_callback(statements.append)
        pincite.deletion.session(session.id)
        assert "VACUUM" not in statements
        assert pincite.sessions.to_scrub() == [session.id]
    assert "VACUUM" in statements
    assert b"Zanzibar" not in settings.database_path.read_bytes()


def test_a_reviewed_answer_returns_to_the_queue_when_its_document_goes(app: Pincite, samples: Path) -> None:
    turn = ask(app, PENALTIES)
    app.reviews.decide(turn.id, ReviewDecision.APPROVED, reviewer="Ada")
    assert ask(app, PENALTIES.upper()).reused_from == turn.id
    app.ingest.remove(app.library.find(CONTRACT).id)
    assert app.turns.get(turn.id).status is TurnStatus.FLAGGED
    assert ask(app, PENALTIES).reused_from == ""
    app.ingest.add(samples / CONTRACT, CONTRACT)
    assert app.ingest.wait(timeout_seconds=300)


def test_deleted_session_has_no_turns(app: Pincite) -> None:
    turn = ask(app, PENALTIES)
    app.sessions.delete(turn.session_id)
    with pytest.raises(TurnError):
        app.turns.get(turn.id)


def test_the_settings_name_the_index_that_there_is(tmp_path: Path) -> None:
    """A kill may come between the switch, which the database keeps, and the choice, which a file keeps."""
    settings = Settings(data_dir=tmp_path / "data", engine="quoting", ocr=False)
    with closing(open_pincite(settings)) as app:
        app.indexes.active()
        sqlite_of(app).connection.execute("UPDATE vector_indexes SET embedder = 'ollama:other'")
    with closing(open_pincite(settings)) as app:
        assert app.settings.current.embedding_model == "ollama:other"
    assert load_settings(settings.data_dir).embedding_model == "ollama:other"


def bytes_hold(directory: Path, words: str) -> list[str]:
    files = (path for path in directory.rglob("*") if path.is_file())
    return [path.name for path in files if words.encode() in path.read_bytes()]


def test_a_deleted_answer_leaves_the_others_and_no_word_of_it(tmp_path: Path, samples: Path) -> None:
    settings = Settings(data_dir=tmp_path / "data", engine="quoting", ocr=False)
    with closing(open_pincite(settings)) as app:
        app.ingest.add(samples / CONTRACT, CONTRACT)
        assert app.ingest.wait(timeout_seconds=300)
        session, turns = app.sessions.create(), []
        for question in ("Does Zanzibarine pay penalties for late payment?", PENALTIES):
            turns.append(app.runner.ask(session.id, question))
            app.runner.wait(turns[-1], 300)
        app.reviews.decide(turns[0], ReviewDecision.EDITED, final_answer="Zanzibarine pays nothing.")
        assert "Zanzibarine" in app.sessions.get(session.id).title
        app.deletion.turn(turns[0])
        assert app.sessions.get(session.id).title == NEW_TITLE
        app.sessions.rename(session.id, "My own title")
        assert [turn.id for turn in app.turns.of_session(session.id)] == turns[1:]
        with pytest.raises(TurnError):
            app.deletion.turn(turns[0])
        assert app.sessions.get(session.id).title == "My own title"
        app.deletion.turn(turns[1])
        assert app.sessions.list() == [], "it had no other turn"
    assert list(verify(settings)) == []
    assert bytes_hold(tmp_path, "Zanzibarine") == []


@pytest.mark.parametrize("killed", [False, True])
def test_no_file_contains_a_word_from_a_deleted_session(
    tmp_path: Path, samples: Path, killed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = open_pincite(Settings(data_dir=tmp_path / "data", engine="quoting", ocr=False))
    app.ingest.add(samples / CONTRACT, CONTRACT)
    assert app.ingest.wait(timeout_seconds=300)
    kept = ask(app, PENALTIES)
    doomed = app.sessions.create()
    for number in range(6):
        turn_id = app.runner.ask(doomed.id, f"Does Zanzibarine{number} pay penalties for late payment?")
        app.runner.wait(turn_id, 300)
        app.reviews.decide(turn_id, ReviewDecision.EDITED, final_answer=f"Zanzibarine{number} pays nothing at all.")
    assert bytes_hold(app.settings.current.data_dir, "Zanzibarine")
    if killed:
        app.sessions.delete(doomed.id)
        with monkeypatch.context() as patch:  # what a kill leaves undone
            patch.setattr(app.deletion, "scrub", lambda: True)
            app.close()
        app = open_pincite(app.settings.current)
    else:
        app.deletion.session(doomed.id)
    assert bytes_hold(app.settings.current.data_dir, "Zanzibarine") == []
    assert app.turns.get(kept.id).answer == kept.answer
    app.close()
    assert bytes_hold(app.settings.current.data_dir, "Zanzibarine") == []


def test_nobody_waits_for_a_server_that_hangs(app: Pincite, monkeypatch: pytest.MonkeyPatch) -> None:
    known = app.engines.state()
    asked, release = threading.Event(), threading.Event()
    newer = replace(known, message="newer")

    def hang(settings: Settings) -> EngineState:
        asked.set()
        assert release.wait(300)
        return newer

    monkeypatch.setattr("pincite.core.services.engines.look_for_engines", hang)
    monkeypatch.setattr("pincite.core.services.engines.HOLD_SECONDS", -1.0)
    states = [app.engines.state() for _ in range(20)]
    assert states == [known] * 20, "the known state is returned while one thread asks"
    assert asked.wait(300)
    assert [thread.name for thread in threading.enumerate()].count("engines") == 1
    app.settings.change(kept=9)  # nothing is known any more: the next one asks, and holds nobody else up
    waiting = threading.Thread(target=app.engines.state)
    waiting.start()
    assert app.search.retriever and app.search.try_out("late payment")
    app.settings.change(kept=8)
    release.set()
    waiting.join(300)
    assert app.engines.state() == newer


@pytest.mark.parametrize(
    "stored", ['{"kept": Infinity}', '{"kept": NaN}', '{"review_threshold": NaN}', "[" * 100_000, "null"]
)
def test_unreadable_settings_are_reported(tmp_path: Path, stored: str) -> None:
    (tmp_path / "settings.json").write_text(stored, encoding="utf-8")
    with pytest.raises(SettingsError):
        load_settings(tmp_path)
