"""The command line: `pincite` opens the app; everything else works without it.

Whatever is heavy is imported by the command that needs it, so that ``--help`` and ``--version`` answer at once.
"""

import argparse
import getpass
import json
import os
import sqlite3
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

from core import __version__
from core.domain.errors import DocumentError, PasswordNeededError, PinciteError
from core.text.plain import LogFormatter, shown
from upkeep_cli import add_commands

if TYPE_CHECKING:
    from core.domain.answers import Citation
    from core.domain.settings import Settings
    from core.domain.turns import Turn
    from core.services.bootstrap import Look, Pincite

ANSWERED, FAILED, USAGE, FLAGGED, INTERRUPTED = 0, 1, 2, 3, 130
DEFAULT_PORT = 8501
LOG_BYTES = 1_000_000


def main(arguments: Sequence[str] | None = None) -> int:
    """Return the exit status: 0 done or answered, 1 failed, 2 usage or input error, 3 flagged for review."""
    chosen = _parser().parse_args(arguments)
    try:
        command: Callable[[argparse.Namespace], int] = chosen.command
        return command(chosen)
    except PinciteError as error:
        return _complain(str(error))
    except KeyboardInterrupt:
        return INTERRUPTED
    except sqlite3.DatabaseError as error:
        return _complain(f"A database cannot be used ({error}). `pincite verify` says more.")
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except OSError as error:
        return _complain(f"{error.filename or 'A file'} cannot be used ({error.strerror or error}).")


class _Parser(argparse.ArgumentParser):
    """Complain in one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(USAGE, f"{self.prog}: {shown(message)} (see {self.prog} --help)\n")


class _CommandParser(_Parser):
    """Let options stand before, between and after a command's words."""

    _inside = False

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        if self._inside:
            return super().parse_known_args(args, namespace)
        self._inside = True
        try:
            return self.parse_known_intermixed_args(args, namespace)
        finally:
            self._inside = False


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="pincite",
        parents=[_data_dir_option(default=None)],
        description="Chat with PDFs; every sentence of an answer carries a checked quotation from a named page. "
        "Without a command, opens the app in the browser.",
        epilog="`pincite COMMAND --help` explains a command.",
    )
    parser.add_argument("--version", action="version", version=f"pincite {__version__}")
    parser.add_argument("--port", type=_port, default=DEFAULT_PORT, help=f"port of the app (default {DEFAULT_PORT})")
    parser.add_argument("--no-browser", action="store_true", help="do not open a browser")
    parser.set_defaults(command=_open_app)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", parser_class=_CommandParser)

    def command(
        name: str, run: Callable[[argparse.Namespace], int], summary: str, **more: Any
    ) -> argparse.ArgumentParser:
        made: argparse.ArgumentParser = commands.add_parser(
            name,
            parents=[_data_dir_option(default=argparse.SUPPRESS)],
            help=summary,
            description=f"{summary[0].upper()}{summary[1:]}.",
            **more,
        )
        made.set_defaults(command=run)
        return made

    ask = command(
        "ask",
        _ask,
        "answer a question from the documents",
        usage="pincite ask [--json] [--data-dir DIR] [--engine {auto,quoting,ollama}] [--model NAME] "
        "[--documents NAME ...] QUESTION [PDF ...]",
        epilog="Exit status: 0 answered, 3 flagged for review, 2 usage or input error, 1 the turn failed.",
    )
    ask.add_argument("words", nargs="*", metavar="QUESTION [PDF ...]", help="PDFs are added first, and searched")
    ask.add_argument("--json", action="store_true", help="print one JSON object")
    _add_engine_options(ask)
    ask.add_argument("--documents", nargs="+", action="extend", metavar="NAME", default=[], help="search only these")
    ask.add_argument("--password", help="of the PDFs, where they need one; it is not stored")

    add = command("add", _add, "add PDFs and wait until they are indexed")
    add.add_argument("pdfs", nargs="+", type=Path, metavar="PDF")
    add.add_argument("--password", help="of the PDFs, where they need one; it is not stored")

    retry = command("retry", _retry, "read failed pages again and finish what is unfinished of a document")
    retry.add_argument("name", metavar="NAME", help="its name or id")
    command("list", _list, "list the documents")
    remove = command("remove", _remove, "remove a document and everything derived from it")
    remove.add_argument("name", metavar="NAME", help="its name or id")
    remove.add_argument("--purge-answers", action="store_true", help="delete the answers that quote it, too")
    check = command("check", _check, "ask every reviewed question again, and say which answers changed")
    _add_engine_options(check)
    command(
        "passphrase", _choose_passphrase, "choose what lets other machines in (read from the terminal or from stdin)"
    )
    add_commands(command)
    command("doctor", _doctor, "show what works, what does not, and what to do about it")
    return parser


def _data_dir_option(*, default: str | None) -> _CommandParser:
    """May stand before or after a command; a command where it is left out must not undo what stands before."""
    parser = _CommandParser(add_help=False)
    parser.add_argument(
        "--data-dir", type=Path, metavar="DIR", default=default, help="where documents and answers are kept"
    )
    return parser


def _add_engine_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--engine", choices=("auto", "quoting", "ollama"), help="what writes the answer")
    parser.add_argument("--model", metavar="NAME", help="the Ollama model to use")


def _port(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port; it is a number from 1 to 65535")
    return int(text)


def _tell(text: str, *, lines: bool = False, file: TextIO | None = None, flush: bool = False) -> None:
    """The one way to the terminal: it shows what documents, models and file names say, and obeys none of it."""
    print(shown(text, lines=lines), file=file, flush=flush)


def _complain(message: str) -> int:
    _tell(f"pincite: {' '.join(message.split())}", file=sys.stderr)
    return USAGE


def _opened(settings: "Settings") -> "closing[Pincite]":
    from core.services.bootstrap import open_pincite

    return closing(open_pincite(settings, at_work=False))


def _looked_at(chosen: argparse.Namespace) -> "AbstractContextManager[Look]":
    """The data directory for a command that changes nothing in it, not even by a log."""
    from core.domain.settings import load_settings
    from core.services.bootstrap import look_into

    return look_into(load_settings(chosen.data_dir))


def _settings(chosen: argparse.Namespace) -> "Settings":
    """Settle where the data is, and send the log there. Raises SettingsError or StorageError."""
    import logging.handlers

    from core.domain.settings import load_settings
    from core.store.data_dir import check_ours
    from core.store.private import keep_private

    settings = load_settings(chosen.data_dir)
    check_ours(settings)
    keep_private(settings.data_dir)
    log = logging.handlers.RotatingFileHandler(
        settings.data_dir / "pincite.log", maxBytes=LOG_BYTES, backupCount=1, encoding="utf-8", delay=True
    )
    logging.raiseExceptions = False  # a log that cannot be written, on a full disk, is no reason for a traceback
    log.setFormatter(LogFormatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.getLogger("pincite").handlers[:] = [log]
    return settings


# ---------------------------------------------------------------- the app


def _open_app(chosen: argparse.Namespace) -> int:
    settings = _settings(chosen)
    os.environ["PINCITE_DATA_DIR"] = str(settings.data_dir)
    from serve import open_app

    open_app(settings, port=chosen.port, headless=chosen.no_browser)
    return ANSWERED


def _choose_passphrase(chosen: argparse.Namespace) -> int:
    from web.passphrase import Passphrase

    settings = _settings(chosen)
    if sys.stdin.isatty():
        given = getpass.getpass("New passphrase (it is not shown): ")
        if getpass.getpass("Once more: ") != given:
            return _complain("The two are not the same; the passphrase was not changed.")
    else:
        given = sys.stdin.readline().rstrip("\n")
    Passphrase(settings.data_dir).choose(given)
    _tell("The passphrase is chosen. Whoever is signed in stays so until the app is started anew.")
    return ANSWERED


# ---------------------------------------------------------------- documents


def _add(chosen: argparse.Namespace) -> int:
    with _opened(_settings(chosen)) as pincite:
        failed = 0
        added = []
        for path in chosen.pdfs:
            try:
                added.append(_add_one(pincite, path, chosen.password))
            except DocumentError as error:
                failed = _complain(str(error))
        pincite.ingest.wait(added)
        for document_id in added:
            failed = _tell_outcome(pincite, document_id) or failed
        return failed


def _add_one(pincite: "Pincite", path: Path, password: str | None) -> str:
    """Return the document's id. Raises DocumentError."""
    from core.domain.documents import DocumentStatus

    if not path.is_file():
        stored = any(document.name == str(path) for document in pincite.library.list())
        raise DocumentError(
            f"There is no file {path}.", hint=f"The library has it: ask with --documents {path}." if stored else ""
        )
    try:
        outcome = pincite.ingest.add(path, path.name, password=password)
    except PasswordNeededError as error:
        error.hint = "Give the password with --password; it is used to open the file and not kept."
        raise
    if outcome.known and outcome.document.status is not DocumentStatus.READY:
        _tell(f"{path.name} is there already, not finished; going on with it.", file=sys.stderr)
        pincite.ingest.retry(outcome.document.id)
    elif outcome.known:
        _tell(f"{path.name} is there already, as {outcome.document.name}.", file=sys.stderr)
    elif outcome.replaces:
        _tell(f"{path.name}: an older version stays; `pincite remove {outcome.replaces.id}` drops it.", file=sys.stderr)
    return outcome.document.id


def _tell_outcome(pincite: "Pincite", document_id: str) -> int:
    from core.domain.documents import DocumentStatus

    document = pincite.library.get(document_id)
    if document.status in (DocumentStatus.FAILED, DocumentStatus.CANCELLED):
        return _complain(f"{document.name}: {document.message}")
    pages, passages = document.page_count, document.passage_count
    _tell(f"{document.name}: {pages} page{'s' * (pages != 1)}, {passages} passage{'s' * (passages != 1)}")
    for note in document.notes:
        _tell(f"  {note}")
    return ANSWERED


def _retry(chosen: argparse.Namespace) -> int:
    with _opened(_settings(chosen)) as pincite:
        document = pincite.library.find(chosen.name)
        pincite.ingest.retry(document.id)
        pincite.ingest.wait([document.id])
        return _tell_outcome(pincite, document.id)


def _list(chosen: argparse.Namespace) -> int:
    with _looked_at(chosen) as look:
        documents = look.library.list()
    if not documents:
        _tell("There are no documents yet. Add one with `pincite add FILE.pdf`.")
        return ANSWERED
    width = max(len(document.name) for document in documents)
    for document in documents:
        _tell(
            f"{document.name:<{width}}  {document.page_count:>5} pages  {document.passage_count:>6} passages  "
            f"{document.byte_size / 1024:>8,.0f} KiB  {document.added_at[:10]}  {document.status}"
        )
    return ANSWERED


def _remove(chosen: argparse.Namespace) -> int:
    with _opened(_settings(chosen)) as pincite:
        document = pincite.library.find(chosen.name)
        if not chosen.purge_answers:
            pincite.ingest.remove(document.id)
            _tell(f"Removed {document.name}. Answers that quote it keep their text.")
            return ANSWERED
        purged = pincite.deletion.document_with_answers(document.id)
    _tell(f"Removed {document.name} and {purged.answers} answer{'s' * (purged.answers != 1)} that quoted it.")
    if not purged.scrubbed:
        _tell("Deleted text may stay in unused parts of the files: another Pincite is at work on them.")
    return ANSWERED


# ---------------------------------------------------------------- questions


def _ask(chosen: argparse.Namespace) -> int:
    words, names = (chosen.words, chosen.documents) if chosen.words else _split_swallowed(chosen.documents)
    if not words or not words[0].strip():
        return _complain("No question was given. Try: pincite ask 'What are the late payment penalties?' contract.pdf")
    question, *paths = words
    with _opened(_engine_settings(chosen)) as pincite:
        document_ids = [_add_one(pincite, Path(path), chosen.password) for path in paths]
        pincite.ingest.wait(document_ids)
        document_ids += [pincite.library.find(name).id for name in names]
        turn = _run_turn(pincite, question, tuple(document_ids))
    return _tell_turn(turn, as_json=chosen.json)


def _engine_settings(chosen: argparse.Namespace) -> "Settings":
    """Raises ModelUnavailableError: a model that is asked for by name must be there before any work is done."""
    settings = _settings(chosen)
    if chosen.engine:
        settings = replace(settings, engine=chosen.engine)
    if chosen.model:
        settings = replace(settings, ollama_model=chosen.model)
    if chosen.engine == "ollama" or (chosen.model and chosen.engine != "quoting"):
        from core.models.registry import choose_engine

        choose_engine(settings, "ollama")
    return settings


def _split_swallowed(given: list[str]) -> tuple[list[str], list[str]]:
    """Part what ``--documents A B QUESTION X.pdf`` took: files at the end are PDFs, the word before is the question."""
    end = len(given)
    while end > 1 and Path(given[end - 1]).is_file():
        end -= 1
    return given[end - 1 :], given[: end - 1]


def _run_turn(pincite: "Pincite", question: str, document_ids: tuple[str, ...]) -> "Turn":
    session = pincite.sessions.create(title=question[:60], document_ids=document_ids)
    turn_id = pincite.runner.ask(session.id, question, document_ids=document_ids)
    try:
        pincite.runner.wait(turn_id, None)
    except KeyboardInterrupt:
        pincite.runner.stop(turn_id)
        raise
    return pincite.runner.snapshot(turn_id).turn


def _tell_turn(turn: "Turn", *, as_json: bool) -> int:
    from core.domain.turns import TurnStatus

    if turn.status not in (TurnStatus.ANSWERED, TurnStatus.REVIEWED, TurnStatus.FLAGGED):
        unstored = "The answer could not be stored. Check that the disk has space, then ask again."
        _complain(turn.error or (unstored if turn.status is TurnStatus.RUNNING else f"The turn was {turn.status}."))
        return FAILED
    if as_json:
        _tell(json.dumps(turn_as_json(turn), ensure_ascii=False, indent=2), lines=True)
    else:
        _tell(turn_as_text(turn), lines=True)
    return FLAGGED if turn.status is TurnStatus.FLAGGED else ANSWERED


def turn_as_json(turn: "Turn") -> dict[str, Any]:
    """What ``pincite ask --json`` prints; the keys are explained in docs/command-line.md."""
    from core.domain.codec import to_plain
    from core.domain.turns import TurnStatus

    return {
        "answer": turn.answer,
        "parts": [
            {"text": part.text, "kind": part.kind, "citations": list(part.numbers)}
            for part in turn.parts
            if part.text.strip()
        ],
        "citations": [
            {
                "number": citation.number,
                "document": citation.document_name,
                "document_id": citation.document_id,
                "page_index": citation.page_index,
                "page_label": citation.page_label,
                "quotation": citation.quotation,
            }
            for citation in turn.citations
        ],
        "verdict": to_plain(turn.verdict) if turn.verdict else None,
        "confidence": turn.verdict.confidence if turn.verdict else None,
        "requires_review": turn.status is TurnStatus.FLAGGED,
        "reasons": list(turn.reasons),
        "path": list(turn.path),
        "trace": [to_plain(step) for step in turn.trace],
    }


def turn_as_text(turn: "Turn") -> str:
    """The answer, its sources, and plainly whether it can be relied on.

    The answer is indented, and only what Pincite says begins a line: nothing in an answer looks like it.
    """
    from core.domain.turns import TurnStatus

    answer = "\n".join(f"  {line}".rstrip() for line in turn.answer.strip().splitlines())
    parts = [answer, "\n".join(_source(citation) for citation in turn.citations)]
    if turn.verdict and turn.status is not TurnStatus.FLAGGED:
        parts.append(f"Confidence {turn.verdict.confidence:.0%}")
    if turn.status is TurnStatus.FLAGGED:
        parts.append(
            "\n".join(
                ["Flagged for review:", *(f"- {_flat(reason)}" for reason in turn.reasons), _flat(turn.question_back)]
            )
        )
    parts += [f"Note: {_flat(notice)}" for notice in turn.notices]
    return "\n\n".join(part.rstrip() for part in parts if part.strip())


def _flat(text: str) -> str:
    return " ".join(text.split())


def _source(citation: "Citation") -> str:
    position = (
        "" if citation.page_label == str(citation.page_index + 1) else f" (page {citation.page_index + 1} of the file)"
    )
    name, label, quotation = map(_flat, (citation.document_name, citation.page_label, citation.quotation))
    return f'[{citation.number}] {name}, page {label}{position}: "{quotation}"'


def _check(chosen: argparse.Namespace) -> int:
    """Exit with 3 when an answer changed, so that a person looks."""
    changed = total = 0
    with _opened(_engine_settings(chosen)) as pincite:
        for comparison in pincite.regression.run():
            total += 1
            changed += bool(comparison.changes)
            _tell(f"{'changed' if comparison.changes else 'same   '}  {comparison.reviewed.question}", flush=True)
            for change in comparison.changes:
                _tell(f"         {change}")
    _tell(f"{changed} of {total} reviewed answers changed." if total else "There are no reviewed answers yet.")
    return FLAGGED if changed else ANSWERED


# ---------------------------------------------------------------- health


def _doctor(chosen: argparse.Namespace) -> int:
    with _looked_at(chosen) as look:
        checks, storage = look.health.checks(), look.health.storage()
    _tell(f"Pincite {__version__}, Python {sys.version.split()[0]}, data in {look.settings.data_dir}")
    for check in checks:
        _tell(f"{'ok  ' if check.ok else 'FAIL'}  {check.part}: {check.detail}")
        if check.hint and not check.ok:
            _tell(f"      {check.hint}")
    for part, size in storage.items():
        _tell(f"      {part}: {size / 2**20:,.1f} MiB")
    return ANSWERED if all(check.ok for check in checks) else FAILED


if __name__ == "__main__":
    sys.exit(main())
