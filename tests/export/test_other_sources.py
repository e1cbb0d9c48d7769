"""Promise: files of any format are asked, cited and proved like PDFs, and what comes with an e-mail is added too."""

from email.message import EmailMessage
from pathlib import Path

import pytest

from pincite.core.documents.reader import ProcessReader
from pincite.core.domain.answers import Likeness
from pincite.core.domain.documents import DocumentStatus
from pincite.core.export.proof import prove
from pincite.core.services.bootstrap import Pincite

FILES = Path(__file__).parents[1] / "documents" / "files"


@pytest.mark.behaviour("Formats", "A spreadsheet is cited by its cells, and the file itself proves the quotations.")
@pytest.mark.parametrize(
    ("name", "question", "answer", "label"),
    [("budget.xlsx", "What is the amount for Lights?", "4,200.00", "Budget A1:C6"),
     ("results.pptx", "What was the revenue?", "4.2 million euros", "1"),
     ("agreement.odt", "When does the agreement end?", "31 March 2027", "1")],
)  # fmt: skip
def test_it_is_answered_from_and_the_binder_is_proved_by_the_file_itself(
    pincite: Pincite, reader: ProcessReader, name: str, question: str, answer: str, label: str, tmp_path: Path
) -> None:
    document = pincite.ingest.add(FILES / name, name).document
    pincite.ingest.wait([document.id])
    session = pincite.sessions.create(document_ids=[document.id])
    turn = pincite.runner.wait(pincite.runner.ask(session.id, question), 60).turn
    assert answer in turn.answer and {place.page_label for place in turn.citations} == {label}
    read_back = [place.read_back for place in turn.citations]
    assert all(one and one.likeness is Likeness.AGREES and one.of_file for one in read_back)
    file = tmp_path / "binder.pdf"
    file.write_bytes(pincite.exports.of_turn(turn.id))
    proof = list(prove(file, [FILES / name], reader))
    assert proof and all(one.holds for one in proof), proof


def _mail(subject: str, *attached: tuple[str, bytes]) -> EmailMessage:
    message = EmailMessage()
    message["From"], message["Subject"] = "ann@example.org", subject
    message.set_content(f"This is about {subject}.")
    for name, content in attached:
        message.add_attachment(content, maintype="application", subtype="octet-stream", filename=name)
    return message


def test_what_came_with_an_email_is_added_and_what_cannot_be_is_named(pincite: Pincite) -> None:
    inner = _mail("Inner", ("sheet.csv", b"Name,Rent\nAnn,900\n"))
    outer = _mail("Outer", ("notes.txt", b"The rent is 900 euros."), ("broken.pdf", b"%PDF-1.4 broken"))
    outer.add_attachment(inner)
    outcome = pincite.ingest.add(outer.as_bytes(), "Outer.eml")
    pincite.ingest.wait(outcome.ids)
    assert {one.name for one in outcome.attached} == {"notes.txt", "Inner.eml", "sheet.csv"}
    assert all(pincite.library.get(one).status is DocumentStatus.READY for one in outcome.ids)
    assert any("The attachment broken.pdf could not be added" in note for note in outcome.document.notes)


def test_emails_within_each_other_end_somewhere(pincite: Pincite) -> None:
    message = _mail("0")
    for depth in range(1, 9):
        outer = _mail(str(depth))
        outer.add_attachment(message)
        message = outer
    outcome = pincite.ingest.add(message.as_bytes(), "deep.eml")
    assert len(outcome.attached) == 5
    assert any("too many e-mails" in note for one in outcome.attached for note in pincite.library.get(one.id).notes)
