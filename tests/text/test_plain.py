"""Text of documents, models and file names is shown on a terminal and in the log, and never obeyed."""

import json
import logging
from pathlib import Path

import pytest

from pincite import cli
from pincite.core.text.plain import LogFormatter, shown, storable
from tests.support.pdfs import prose

HOSTILE = "\x1b[2J\x1b]8;;http://evil.example\x07a\x9b31m\u202ecod\u2066\r\x08\x7f\u2028\ufeff\U000e0041"


def obeyed(text: str) -> list[str]:
    return [sign for sign in text if not sign.isprintable() and sign != "\n"]


def test_what_a_terminal_obeys_becomes_its_code() -> None:
    assert shown("a\x1b[2Jb") == "a\\u001b[2Jb"
    assert not obeyed(shown(HOSTILE)) and "\n" not in shown("one\ntwo")
    assert shown("one\ntwo", lines=True) == "one\ntwo"


@pytest.mark.parametrize("text", ["Müller & Söhne – 5 €", "日本語", "עברית", "नमस्ते", "👩‍🔬", "نامه‌ها", "plain"])
def test_every_script_stays_as_it_is(text: str) -> None:
    assert shown(text) == storable(text) == text


def test_json_stays_json() -> None:
    printed = shown(json.dumps({"answer": HOSTILE + "\ud800"}, ensure_ascii=False, indent=2), lines=True)
    assert not obeyed(printed) and json.loads(printed)["answer"] == HOSTILE + "\ud800"


def test_what_cannot_be_stored_is_left_out() -> None:
    assert storable("a\ud800b\x00c") == "a?bc"


def test_no_command_lets_a_file_name_command_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where = ("--data-dir", str(tmp_path / "data"))
    path = tmp_path / f"a{HOSTILE.replace('/', '')}\nok   database.pdf"
    path.write_bytes(prose(["Overdue amounts bear interest at 1.5 % per month."]))
    missing = tmp_path / f"b{HOSTILE.replace('/', '')}.pdf"
    for words in (
        ("add", str(path)),
        ("add", str(missing)),
        ("list",),
        ("ask", "--engine", "quoting", "What interest do overdue amounts bear?"),
        ("ask", "--engine", "quoting", "--json", f"What interest{HOSTILE} do overdue amounts bear?"),
        ("remove", f"none{HOSTILE}"),
        ("doctor",),
    ):
        cli.main([words[0], *where, *words[1:]])
        printed = capsys.readouterr()
        assert not obeyed(printed.out + printed.err), words
        assert not printed.out.startswith("ok   database.pdf") and "\nok   database.pdf" not in printed.out


def test_no_record_of_the_log_can_look_like_another() -> None:
    record = logging.LogRecord(
        "pincite", logging.ERROR, "x.py", 1, f"{HOSTILE}\n2026-01-01 INFO all is well", None, None
    )
    formatted = LogFormatter("%(asctime)s %(levelname)s %(name)s: %(message)s").format(record)
    assert not obeyed(formatted) and formatted.splitlines()[1].startswith("    ")
