"""Commands that answer: `ask`, and `check`, which asks every reviewed question again."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pincite.commands.documents import add_one, collection_named, collection_option, password_option
from pincite.commands.frame import (
    ANSWERED,
    FAILED,
    FLAGGED,
    Command,
    EngineName,
    complain,
    opened,
    tell,
    working_settings,
)

if TYPE_CHECKING:
    from pincite.core.domain.answers import AnswerPart, Citation, Verdict
    from pincite.core.domain.settings import Settings
    from pincite.core.domain.turns import Session, Turn
    from pincite.core.services.bootstrap import Pincite


def engine_options(command: Callable[..., int]) -> Callable[..., int]:
    engine = click.option("--engine", type=EngineName(), help="Engine that writes the answer.")
    model = click.option("--model", metavar="NAME", help="The Ollama model to use.")
    return engine(model(command))


@click.command(
    cls=Command, epilog="Exit status: 0 answered, 3 flagged for review, 2 usage or input error, 1 the question failed."
)
@click.argument("words", nargs=-1, metavar="QUESTION [FILE]...")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@engine_options
@click.option(
    "--document", "--documents", "names", multiple=True, metavar="NAME", help="Search this document only (repeatable)."
)
@click.option("--company", multiple=True, metavar="NAME", help="Search only this company's documents; may be repeated.")
@click.option("--year", multiple=True, metavar="YEAR", help="Search only documents of this year; may be repeated.")
@click.option("--type", "kinds", multiple=True, metavar="TYPE", help="Search only this document type (contract, …).")
@collection_option("Search only this collection. Files that are added go into it.")
@click.option("--session", "title", metavar="NAME", help="Continue this session, or start it.")
@password_option
def ask(
    words: tuple[str, ...],
    as_json: bool,
    engine: str | None,
    model: str | None,
    names: tuple[str, ...],
    company: tuple[str, ...],
    year: tuple[str, ...],
    kinds: tuple[str, ...],
    collection_name: str | None,
    title: str | None,
    password: str | None,
) -> int:
    """Answer a question from the documents.

    Files are added first, then searched. A continued session searches the same documents unless others are given.
    """
    if not words or not words[0].strip():
        return complain("No question was given. Try: pincite ask 'What is the penalty for late payment?' contract.pdf")
    question, *paths = words
    with opened(_engine_settings(engine, model)) as pincite:
        collection = collection_named(pincite, collection_name) if collection_name is not None else None
        session = _session_called(pincite, title, collection.id if collection else None) if title else None
        if session and session.collection_id:
            collection = pincite.collections.get(session.collection_id)
        document_ids = [one for path in paths for one in add_one(pincite, path, password)]
        if collection:
            pincite.collections.add(collection.id, document_ids)
            collection = pincite.collections.get(collection.id)
        pincite.ingest.wait(document_ids)
        document_ids += [pincite.library.find(name).id for name in names]
        if collection and (strange := [one for one in document_ids if one not in collection.document_ids]):
            return complain(f"{pincite.library.get(strange[0]).name} is not in the collection {collection.name}.")
        if company or year or kinds:
            wanted = {"company": company, "year": year, "type": kinds}
            document_ids = list(
                pincite.search.with_facts(wanted, collection.within(document_ids) if collection else document_ids)
            )
        session = session or pincite.sessions.create(
            title or question[:60], document_ids, collection_id=collection.id if collection else ""
        )
        turn = _run_turn(pincite, session, question, tuple(document_ids))
    return _tell_turn(turn, as_json=as_json)


def _engine_settings(engine: str | None, model: str | None) -> "Settings":
    """Raises ModelUnavailableError: a model that is asked for by name must be there before any work is done."""
    chosen = {name: value for name, value in (("engine", engine), ("ollama_model", model)) if value}
    settings = working_settings().but(**chosen)
    named = engine if engine not in (None, "auto") else "ollama" if model else "quoting"
    if named != "quoting":
        from pincite.core.services.registry import choose_engine

        choose_engine(settings, named)
    return settings


def _session_called(pincite: "Pincite", name: str, collection_id: str | None) -> "Session | None":
    """Return the session with this id, else the newest with this title, whatever its case and white space."""
    wanted = " ".join(name.split()).casefold()
    like = pincite.sessions.list(collection_id=collection_id)
    same = (session for session in like if " ".join(session.title.split()).casefold() == wanted)
    return pincite.sessions.find(name) or next(same, None)


def _run_turn(pincite: "Pincite", session: "Session", question: str, document_ids: tuple[str, ...]) -> "Turn":
    turn_id = pincite.runner.ask(session.id, question, document_ids=document_ids)
    try:
        pincite.runner.wait(turn_id, None)
    except KeyboardInterrupt:
        pincite.runner.stop(turn_id)
        raise
    return pincite.runner.snapshot(turn_id).turn


def _tell_turn(turn: "Turn", *, as_json: bool) -> int:
    from pincite.core.domain.keys import in_words
    from pincite.core.domain.turns import TurnStatus

    if turn.status not in (TurnStatus.ANSWERED, TurnStatus.REVIEWED, TurnStatus.FLAGGED):
        unstored = "The answer could not be stored. Check that the disk has space, then ask again."
        ended = unstored if turn.status is TurnStatus.RUNNING else f"The question was {in_words(turn.status)}."
        complain(turn.error or ended)
        return FAILED
    tell(json.dumps(turn_as_json(turn), ensure_ascii=False, indent=2) if as_json else turn_as_text(turn), lines=True)
    return FLAGGED if turn.status is TurnStatus.FLAGGED else ANSWERED


def turn_as_json(turn: "Turn") -> dict[str, Any]:
    """What ``pincite ask --json`` prints; the keys are explained in docs/command-line.md."""
    from pincite.core.domain.codec import to_plain
    from pincite.core.domain.presentation import Tier, present
    from pincite.core.domain.turns import TurnStatus

    parts, shown = [part for part in turn.parts if part.text.strip()], present(turn)
    return {
        "answer": turn.answer,
        "parts": [_part_as_json(part) for part in parts],
        "citations": [
            {
                "number": citation.number,
                "document": citation.document_name,
                "document_id": citation.document_id,
                "page_index": citation.page_index,
                "page_label": citation.page_label,
                "quotation": citation.quotation,
                "read_back": citation.read_back.likeness if citation.read_back else None,
            }
            for citation in turn.citations
        ],
        "verdict": to_plain(turn.verdict) if turn.verdict else None,
        "confidence": turn.verdict.confidence if turn.verdict else None,
        "requires_review": turn.status is TurnStatus.FLAGGED,
        "form": shown.form,
        "evidence_shown": list(_evidence_shown(turn)),
        "tier": shown.tier,
        "warned": shown.tier is not Tier.ANSWERED,
        "reasons": list(turn.reasons),
        "path": list(turn.path),
        "trace": [to_plain(step) for step in turn.trace],
    }


def _evidence_shown(turn: "Turn") -> Iterator[dict[str, str]]:
    """Yield the passages that are listed instead of an answer, as they are shown."""
    from pincite.core.domain.answers import Form, listed_passages
    from pincite.core.domain.presentation import present

    items = {item.number: item for item in turn.evidence}
    for one in listed_passages(turn.final_parts) if present(turn).form is Form.EVIDENCE else ():
        for item in filter(None, map(items.get, one.numbers[:1])):
            text = "\n".join(part.text for part in one.parts)
            yield {"text": text, "document": item.document_name, "page_label": item.passage.page_label}


def _part_as_json(part: "AnswerPart") -> dict[str, Any]:
    from pincite.core.text.charting import chart_of
    from pincite.core.text.stating import formula

    fields: dict[str, Any] = {"text": part.text, "kind": part.kind, "citations": list(part.numbers)}
    chart = None if part.computation else chart_of(part.figures)
    fields |= {"chart": chart} if chart else {}
    return fields | ({"formula": formula(part.figures, part.computation)} if part.computation else {})


def turn_as_text(turn: "Turn") -> str:
    """Return the answer, its sources, and plainly whether it can be relied on.

    The answer is indented, and only Pincite's own text begins a line: nothing in an answer can imitate it.
    """
    from pincite.core.domain.answers import Form
    from pincite.core.domain.presentation import Standing, Tier, present

    shown = present(turn)
    parts = [
        "\n".join(f"  {line}".rstrip() for line in turn.answer.strip().splitlines()),
        "\n".join(map(_source, turn.citations)),
        _sure(turn.verdict)
        if turn.verdict and shown.standing is not Standing.WAITS and shown.form is not Form.EVIDENCE
        else "",
        shown.warning if shown.tier is Tier.CHECK else "",
    ]
    if shown.standing is Standing.WAITS:
        reasons = [f"- {_flat(reason)}" for reason in turn.reasons]
        parts.append("\n".join(["Flagged for review:", *reasons, _flat(turn.question_back)]))
    parts += [f"Note: {_flat(notice)}" for notice in turn.notices]
    return "\n\n".join(part.rstrip() for part in parts if part.strip())


def _sure(verdict: "Verdict") -> str:
    return (
        f"Confidence {verdict.confidence:.0%}" if verdict.calibrated else "Confidence unknown for this kind of answer"
    )


def _flat(text: str) -> str:
    return " ".join(text.split())


def _source(citation: "Citation") -> str:
    from pincite.core.domain.answers import Likeness

    place = str(citation.page_index + 1)
    position = "" if citation.page_label == place else f" (page {place} of the file)"
    name, label, quotation = map(_flat, (citation.document_name, citation.page_label, citation.quotation))
    differs = citation.read_back is not None and citation.read_back.likeness is Likeness.DIFFERS
    seen = " (the page image shows different words)" if differs else ""
    return f'[{citation.number}] {name}, page {label}{position}: "{quotation}"{seen}'


@click.command(cls=Command)
@engine_options
def check(engine: str | None, model: str | None) -> int:
    """Ask every reviewed question again, and report which answers changed."""
    changed = total = 0
    with opened(_engine_settings(engine, model)) as pincite:
        for comparison in pincite.regression.run():
            total += 1
            changed += bool(comparison.changes)
            tell(f"{'changed' if comparison.changes else 'same   '}  {comparison.reviewed.question}", flush=True)
            for change in comparison.changes:
                tell(f"         {change}")
    tell(f"{changed} of {total} reviewed answers changed." if total else "There are no reviewed answers yet.")
    return FLAGGED if changed else ANSWERED


@click.command(cls=Command)
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--session", "title", metavar="NAME", help="Name or ID of the session. Default: newest.")
@click.option("--reviewed", is_flag=True, help="Export only answers that a person approved or edited.")
@click.option("--style", metavar="NAME", help="Citation style, such as oscola. Default: as in the settings.")
@click.option("--marked", "name", metavar="NAME", help="Write a copy of this document with its citations marked.")
def export(file: Path, title: str | None, reviewed: bool, style: str | None, name: str | None) -> int:
    """Export answers with what they cite as an evidence binder (.pdf), Word document (.docx) or JSON (.json).

    FILE must not exist yet; its extension sets the format. `pincite verify FILE` checks a binder or JSON file.
    """
    from pincite.core.domain.turns import ReviewDecision
    from pincite.core.services.exports import export_forms

    endings = [".pdf"] if name else list(export_forms())
    if file.suffix.lower() not in endings:
        return complain(f"{file} must end in {' or '.join(endings)}. Choose another name.")
    if file.exists():
        return complain(f"{file} already exists. Choose another name.")
    with opened(working_settings()) as pincite:
        if name:
            content = pincite.exports.marked(pincite.library.find(name))
        else:
            sessions = pincite.sessions.list()
            if not sessions:
                return complain("There are no sessions yet. Ask a question first.")
            session = _session_called(pincite, title, None) if title else sessions[0]
            if session is None:
                names = ", ".join(f"“{one.title}”" for one in sessions[:5])
                return complain(f"There is no session called “{title}”. The newest are {names}.")
            turns = pincite.turns.conversation(session.id)
            if reviewed:
                versions = pincite.turns.of_session(session.id)
                kept = (one for one in versions if one.review and one.review.decision is not ReviewDecision.REJECTED)
                newest = {turn.place: turn for turn in kept}
                turns = [newest[place] for place in sorted(newest)]
            content = pincite.exports.of(turns, file.suffix.lower(), style or "")
    file.write_bytes(content)
    tell(f"{file}: {len(content) / 1024:,.0f} KiB.")
    return ANSWERED


COMMANDS = (ask, export, check)
