"""Promises of the command line: what it prints, its exit status, and one clear line for every mistake."""

import json
import re
import shutil
import signal
import socket
import subprocess
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from pincite import cli
from pincite.core import __version__
from pincite.core.domain.settings import Settings
from pincite.core.domain.turns import ReviewDecision
from pincite.core.services.bootstrap import open_pincite
from tests.serving import free_port, pincite_command, running_app
from tests.support.pdfs import locked
from tests.web.attacker import HANDSHAKE, let_in

QUESTION = "What is the penalty for late payment?"
COMMANDS = (
    *("ask", "check", "add", "retry", "list", "remove", "tables"),
    *("passphrase", "doctor", "verify", "repair", "backup", "restore"),
)
JSON_KEYS = [
    *(
        "answer",
        "parts",
        "citations",
        "verdict",
        "confidence",
        "requires_review",
        "form",
        "evidence_shown",
        "tier",
        "warned",
        "reasons",
        "path",
        "trace",
    )
]


@dataclass(frozen=True, slots=True)
class Outcome:
    status: int
    out: str
    err: str


Run = Callable[..., Outcome]


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command on this test's own data directory."""

    def run_command(command: str, *words: str | Path) -> Outcome:
        status = cli.main([command, "--data-dir", str(tmp_path / "data"), *map(str, words)])
        captured = capsys.readouterr()
        return Outcome(status, captured.out, captured.err)

    return run_command


def assert_one_clear_line(outcome: Outcome, *words: str) -> None:
    assert outcome.status == 2
    assert outcome.out == ""
    assert len(outcome.err.splitlines()) == 1, outcome.err
    assert outcome.err.startswith("pincite")
    for word in words:
        assert word in outcome.err


# ---------------------------------------------------------------- questions


def test_a_collection_is_made_by_adding_to_it_and_asked_by_its_name(run: Run, samples: Path) -> None:
    assert run("add", samples / "technical-report.pdf").status == 0
    assert_one_clear_line(run("ask", QUESTION, "--collection", "Acme"), "no collection called 'Acme'", "pincite add")
    assert run("add", samples / "service-contract.pdf", "--collection", "Acme").status == 0
    listed = run("list", "--collection", "acme").out
    assert "service-contract.pdf" in listed and "technical-report.pdf" not in listed
    answer = run("ask", "--json", "--engine", "quoting", "How many spans does the bridge have?", "--collection", "Acme")
    assert {one["document"] for one in json.loads(answer.out)["citations"]} <= {"service-contract.pdf"}
    assert run("ask", "--engine", "quoting", QUESTION, "--collection", "Acme", "--session", "Terms").status == 0
    outside = run("ask", QUESTION, "--session", "Terms", "--document", "technical-report.pdf")
    assert_one_clear_line(outside, "technical-report.pdf is not in the collection Acme.")
    nameless = run("add", samples / "scanned-letter.pdf", "--collection", " ")
    assert_one_clear_line(nameless, "A collection needs a name.")
    assert "scanned-letter.pdf" not in run("list").out
    outside = run("ask", QUESTION, "--collection", "Acme", "--document", "technical-report.pdf")
    assert_one_clear_line(outside, "technical-report.pdf is not in the collection Acme.")
    assert_one_clear_line(run("list", "--collection", "Acne"), "There are: Acme.")


def test_the_sample_contract_tells_its_late_payment_penalties(run: Run, samples: Path) -> None:
    outcome = run("ask", "--json", "--engine", "quoting", QUESTION, samples / "service-contract.pdf")
    assert outcome.status == 0, outcome
    report = json.loads(outcome.out)
    assert list(report) == JSON_KEYS
    assert "1.5" in report["answer"] and "30 days" in report["answer"]
    citation, *_ = [citation for citation in report["citations"] if "1.5" in citation["quotation"]]
    assert (citation["document"], citation["page_index"], citation["page_label"]) == ("service-contract.pdf", 1, "2")
    assert report["requires_review"] is False
    assert 0 <= report["confidence"] <= 1
    walked = [node for node in report["path"] if node != "analyst"]
    assert walked == ["router", "rewriter", "retriever", "generator", "judge"]
    assert [step["node"] for step in report["trace"]] == report["path"]


def test_options_are_accepted_before_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--data-dir", str(tmp_path / "chosen"), "list"]) == 0
    assert "no documents yet" in capsys.readouterr().out
    assert cli.main(["--data-dir", str(tmp_path / "chosen"), "remove", "a.pdf"]) == 2
    assert (tmp_path / "chosen" / "pincite.db").exists()


def test_the_answer_reads_well_without_json(run: Run, samples: Path) -> None:
    outcome = run("ask", "--engine", "quoting", QUESTION, samples / "service-contract.pdf")
    assert outcome.status == 0
    assert "1.5" in outcome.out and "service-contract.pdf, page 2" in outcome.out and "Confidence" in outcome.out


def test_a_roman_page_is_cited_by_its_label_and_position(run: Run, samples: Path) -> None:
    question = "What does the work recommended for 2025 cost?"
    outcome = run("ask", "--json", "--engine", "quoting", question, samples / "technical-report.pdf")
    pages = {(citation["page_label"], citation["page_index"]) for citation in json.loads(outcome.out)["citations"]}
    assert pages and pages <= {("ii", 1), ("3", 5)}


def test_a_question_that_the_documents_do_not_answer_is_flagged_or_declined(run: Run, samples: Path) -> None:
    outcome = run(
        "ask", "--json", "--engine", "quoting", "Who won the 1998 football world cup?", samples / "service-contract.pdf"
    )
    report = json.loads(outcome.out)
    assert outcome.status == (3 if report["requires_review"] else 0)
    assert report["citations"] == []
    assert report["requires_review"] or report["verdict"]["declined"]


@pytest.mark.parametrize("option", ["--document", "--documents"])
def test_a_document_may_be_named_before_the_question(run: Run, samples: Path, option: str) -> None:
    run("add", samples / "service-contract.pdf", samples / "technical-report.pdf")
    outcome = run("ask", "--json", "--engine", "quoting", option, "service-contract.pdf", QUESTION)
    assert outcome.status == 0
    assert {citation["document"] for citation in json.loads(outcome.out)["citations"]} == {"service-contract.pdf"}


def test_every_name_that_is_printed_is_taken(run: Run, samples: Path, tmp_path: Path) -> None:
    for folder, sample in (("a", "service-contract.pdf"), ("b", "technical-report.pdf")):
        (tmp_path / folder).mkdir()
        shutil.copy(samples / sample, tmp_path / folder / "two  spaces.pdf")
        assert run("add", tmp_path / folder / "two  spaces.pdf").status == 0
    printed = sorted(re.split(r"  +", line)[0] for line in run("list").out.splitlines())
    assert printed == ["two spaces (2).pdf", "two spaces.pdf"]
    for name in (*printed, "TWO  spaces.pdf"):
        assert run("tables", name).status == 0
        asked = run("ask", "--document", name, "--session", "My Talk", "--engine", "quoting", "What is it about?")
        assert asked.status != 2, asked.err
    assert run("export", tmp_path / "talk.json", "--session", "my talk").status == 0
    assert_one_clear_line(run("export", tmp_path / "other.json", "--session", "No such"), "My Talk")
    for name in printed:
        assert run("remove", name).status == 0
    assert "no documents" in run("list").out


def test_several_documents_are_named_one_by_one(run: Run, samples: Path, tmp_path: Path) -> None:
    names = ("service-contract.pdf", "technical-report.pdf")
    run("add", *(samples / name for name in names), samples / "scanned-letter.pdf")
    run("ask", "--engine", "quoting", "--document", names[0], QUESTION, "--document", names[1])
    with closing(open_pincite(Settings(data_dir=tmp_path / "data"))) as pincite:
        [turn] = pincite.turns.recent(10)
        assert {pincite.library.get(document_id).name for document_id in turn.document_ids} == set(names)


@pytest.mark.behaviour(
    "Filters",
    "`--company`, `--year` and `--type` narrow `pincite ask`, and a choice that leaves no document lists "
    "which values there are.",
)
def test_documents_are_chosen_by_what_is_known_of_them(run: Run, samples: Path) -> None:
    for name in ("service-contract.pdf", "technical-report.pdf"):
        run("add", samples / name)
    outcome = run("ask", "--engine", "quoting", QUESTION, "--type", "CONTRACT", "--json")
    assert {one["document"] for one in json.loads(outcome.out)["citations"]} == {"service-contract.pdf"}
    outcome = run("ask", QUESTION, "--type", "contract", "--year", "1066")
    assert outcome.status == cli.USAGE
    assert outcome.err.startswith("pincite: No document has year 1066; type contract. Available: ")


def test_a_named_session_goes_on_with_its_documents_and_its_memory(run: Run, samples: Path, tmp_path: Path) -> None:
    run("add", samples / "technical-report.pdf", samples / "service-contract.pdf")
    first = ("--session", "Late fees", "--document", "service-contract.pdf", QUESTION)
    assert run("ask", "--engine", "quoting", *first).status == 0
    report = json.loads(
        run("ask", "--json", "--engine", "quoting", "--session", "Late fees", "What did I ask first?").out
    )
    assert QUESTION in report["answer"] and report["warned"] is False
    with closing(open_pincite(Settings(data_dir=tmp_path / "data"))) as pincite:
        [session] = pincite.sessions.list()
        turns = pincite.turns.of_session(session.id)
        assert session.title == "Late fees" and [turn.position for turn in turns] == [0, 1]
        assert turns[0].document_ids == turns[1].document_ids == session.document_ids


def test_options_are_accepted_between_question_and_pdfs(run: Run, samples: Path) -> None:
    outcome = run("ask", QUESTION, "--engine", "quoting", samples / "service-contract.pdf", "--json")
    assert outcome.status == 0
    assert "1.5" in json.loads(outcome.out)["answer"]


def test_an_absent_model_server_is_an_input_error(run: Run, samples: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_HOST", f"http://127.0.0.1:{free_port()}")
    outcome = run("ask", "--engine", "ollama", QUESTION, samples / "service-contract.pdf")
    assert_one_clear_line(outcome, "Ollama")


@pytest.mark.parametrize("engine", ["wat", "OLLAMA"])
def test_unknown_engine_is_reported_before_any_work(
    run: Run, samples: Path, monkeypatch: pytest.MonkeyPatch, engine: str
) -> None:
    monkeypatch.setenv("PINCITE_ENGINE", engine)
    outcome = run("ask", QUESTION, samples / "service-contract.pdf")
    assert_one_clear_line(outcome, "quoting")
    assert "pattern" not in outcome.err
    monkeypatch.delenv("PINCITE_ENGINE")
    assert "no documents" in run("list").out


def test_a_question_is_needed(run: Run) -> None:
    assert_one_clear_line(run("ask"), "question")


def test_an_unknown_document_is_named(run: Run) -> None:
    assert_one_clear_line(run("ask", "--document", "nowhere.pdf", "--", QUESTION), "nowhere.pdf")


# ---------------------------------------------------------------- reviewed answers


def _decide(data_dir: Path, decision: ReviewDecision, final_answer: str = "") -> None:
    """Review the only turn there is."""
    with closing(open_pincite(Settings(data_dir=data_dir))) as pincite:
        [turn] = pincite.turns.recent(10)
        if turn.review:
            pincite.reviews.undo(turn.id)
        pincite.reviews.decide(turn.id, decision, final_answer=final_answer, reviewer="Ada")


@pytest.mark.behaviour(
    "Review", "`pincite check` asks every reviewed question again and reports which answers changed."
)
def test_check_reports_which_reviewed_answers_changed(run: Run, samples: Path, tmp_path: Path) -> None:
    assert "no reviewed answers" in run("check").out
    run("ask", "--engine", "quoting", QUESTION, samples / "service-contract.pdf")
    _decide(tmp_path / "data", ReviewDecision.APPROVED)
    same = run("check", "--engine", "quoting")
    assert (same.status, same.out.splitlines()[-1]) == (0, "0 of 1 reviewed answers changed."), same
    _decide(tmp_path / "data", ReviewDecision.EDITED, "The penalty is 2.75 % per month.")
    changed = run("check", "--engine", "quoting")
    assert changed.status == 3
    assert "no longer says 2.75" in changed.out
    with closing(open_pincite(Settings(data_dir=tmp_path / "data"))) as pincite:
        assert len(pincite.sessions.list()) == 1, "the check leaves no session behind"


# ---------------------------------------------------------------- documents


def test_documents_are_added_listed_and_removed(run: Run, samples: Path) -> None:
    assert "no documents" in run("list").out
    added = run("add", samples / "service-contract.pdf")
    assert added.status == 0 and "4 pages" in added.out
    again = run("add", samples / "service-contract.pdf")
    assert again.status == 0 and "already" in again.err
    assert run("list").out.count("service-contract.pdf") == 1
    beginning = run("list").out.split()[-1]
    assert "is now called Lift contract.pdf" in run("rename", beginning, "Lift contract.pdf").out
    assert_one_clear_line(run("rename", "lift contract", " "), "needs a name")
    assert "Lift contract.pdf" in run("list").out and "service-contract.pdf" not in run("list").out
    assert run("rename", "lift contract", "service-contract.pdf").status == 0
    assert run("remove", "service-contract.pdf").status == 0
    assert "no documents" in run("list").out
    assert_one_clear_line(run("remove", "service-contract.pdf"), "service-contract.pdf")


def test_each_bad_file_gets_its_own_line_and_stops_no_other(run: Run, samples: Path, tmp_path: Path) -> None:
    (tmp_path / "empty.pdf").touch()
    (tmp_path / "text.pdf").write_text("not a PDF at all", encoding="utf-8")
    (tmp_path / "locked.pdf").write_bytes(locked((samples / "service-contract.pdf").read_bytes(), "secret"))
    names = ("empty", "text", "missing", "locked")
    bad = [tmp_path / f"{name}.pdf" for name in names]
    outcome = run("add", *bad, samples / "service-contract.pdf")
    assert outcome.status == 2
    lines = outcome.err.splitlines()
    assert all(name in line for line, name in zip(lines, names, strict=True))
    assert "--password" in lines[-1]
    assert "4 pages" in outcome.out
    assert_one_clear_line(run("ask", "What?", "service-contract.pdf"), "There is no file", "--document")


def test_doctor_names_every_part(run: Run) -> None:
    outcome = run("doctor")
    assert outcome.status == 0, outcome
    assert f"Pincite {__version__}" in outcome.out


def test_broken_settings_file_is_reported_in_one_line(run: Run, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "settings.json").write_text("{", encoding="utf-8")
    assert_one_clear_line(run("list"), "settings.json")


def test_unusable_folder_is_reported_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    status = cli.main(["list", "--data-dir", str(tmp_path / "file" / "data")])
    captured = capsys.readouterr()
    assert_one_clear_line(Outcome(status, captured.out, captured.err), "--data-dir")


def test_what_goes_wrong_inside_is_in_the_log_and_not_on_the_screen(
    run: Run, samples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def break_down(*_: object, **__: object) -> None:
        raise ZeroDivisionError("a fault")

    monkeypatch.setattr("pincite.core.graph.nodes.judge.verdict_of", break_down)
    outcome = run("ask", "--engine", "quoting", QUESTION, samples / "service-contract.pdf")
    assert outcome.status == 1
    assert len(outcome.err.splitlines()) == 1
    assert "Traceback" in (tmp_path / "data" / "pincite.log").read_text(encoding="utf-8")


# ---------------------------------------------------------------- the app


def test_app_starts_prints_its_address_and_stops_on_control_c(tmp_path: Path) -> None:
    port = free_port()
    with running_app(tmp_path, port=port) as app:
        app.process.send_signal(signal.SIGINT)
        out, _ = app.process.communicate(timeout=300)
    assert app.process.returncode == 0
    assert app.entrance.startswith(f"http://127.0.0.1:{port}/?token=")
    assert "Traceback" not in out


def test_second_start_prints_running_address_and_another_port_opens_the_same_data(tmp_path: Path) -> None:
    port, second = free_port(), free_port()
    command = pincite_command("--no-browser", "--port", str(port), "--data-dir", tmp_path / "data")
    with running_app(tmp_path, port=port) as app:
        assert (tmp_path / "data" / "app.json").stat().st_mode & 0o777 == 0o600
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=tmp_path)
        assert_one_clear_line(Outcome(done.returncode, done.stdout, done.stderr), app.entrance, "--port")
        with running_app(tmp_path, port=second) as other:
            assert other.entrance.partition("token=")[2] != app.entrance.partition("token=")[2]
        (tmp_path / "data" / "app.json").write_text("[", encoding="utf-8")
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=tmp_path)
        assert_one_clear_line(Outcome(done.returncode, "", done.stderr), str(port))
        app.process.kill()
        app.process.wait()
    with running_app(tmp_path, port=port) as app:
        assert app.entrance, "what a killed one left behind stops nobody"


def test_control_c_ends_the_app_though_a_tab_is_open(tmp_path: Path) -> None:
    with running_app(tmp_path, port=free_port()) as app:
        tab = let_in(app)
        with closing(socket.create_connection(("127.0.0.1", tab.port), timeout=300)) as connection:
            headers = (tab.host, tab.origin, tab.cookie, *HANDSHAKE)
            lines = ["GET /_stcore/stream HTTP/1.1", *(f"{name}: {value}" for name, value in headers), "", ""]
            connection.sendall("\r\n".join(lines).encode())
            assert b" 101 " in connection.recv(100)
            app.process.send_signal(signal.SIGINT)
            out, _ = app.process.communicate(timeout=300)
    assert app.process.returncode == 0 and "Traceback" not in out, out


def test_a_taken_port_gets_a_plain_message(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        command = pincite_command("--no-browser", "--port", str(port), "--data-dir", tmp_path / "data")
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=tmp_path)
    assert_one_clear_line(Outcome(done.returncode, done.stdout, done.stderr), str(port), "--port")


def test_version_and_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert [cli.main([option]) for option in ("--version", "-h", "--help")] == [0, 0, 0]
    out = capsys.readouterr().out
    assert f"pincite {__version__}" in out
    for word in ("--port", "--data-dir", "--no-browser", *COMMANDS):
        assert word in out
    help_text = " ".join(out.split())
    for command in cli.pincite.commands.values():
        summary = command.get_short_help_str()
        assert summary.endswith(".") and not summary.endswith("...") and summary in help_text


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_explains_itself(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([command, "--help"]) == 0
    assert "--data-dir" in capsys.readouterr().out


@pytest.mark.parametrize(
    "words",
    [
        *(["--port", "x"], ["--port", "0"], ["frobnicate"], ["add"], ["list", "--all"], ["backup"]),
        ["ask", "--engine", "oracle", "Why?"],
    ],
)
def test_usage_errors_are_one_line(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    status = cli.main(words)
    captured = capsys.readouterr()
    assert_one_clear_line(Outcome(status, captured.out, captured.err), "--help")


def test_control_c_has_a_status_of_its_own(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("pincite.commands.documents.settings_here", interrupt)
    assert run("list").status == 130
