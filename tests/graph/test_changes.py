"""A change in a later document or on a later page is quoted before the text it changes, with a note."""

from typing import Any

import pytest

from pincite.core.domain.answers import Form
from pincite.core.domain.documents import Block, BlockKind, MetadataField, Page, PageStatus
from pincite.core.domain.ports import PdfInfo
from pincite.core.domain.presentation import present
from pincite.core.ingest.describing import described
from tests.graph.world import ScriptedModel, Shelf

LICENCE = (
    "Mooring Licence Agreement\nThis agreement is made on 2 May 2021 between Port Ellery and Dunmore Sailing Club.",
    "6. Charges\n6.1 The yearly charge for a mooring is EUR 640, payable in March.",
    "8. Ending\n8.2 The club may end the licence with three months' notice.",
)
ADDENDUM = (
    "First Addendum to the Mooring Licence Agreement\nThis addendum of 9 June 2023 modifies the Mooring Licence "
    "Agreement of 2 May 2021.\n1. Clause 6.1 shall read: 6.1 The yearly charge for a mooring is EUR 715, payable in "
    "March.\n2. The words three months' notice in clause 8.2 are struck and five months' notice is put in their place.",
)
RULES = {
    "clubhouse-rules-v1.2.pdf": ("The clubhouse closes at 22:00 on weekdays.",),
    "clubhouse-rules-v2.0.pdf": ("The clubhouse closes at 23:30 on weekdays.",),
}


def _facts(text: str, name: str) -> tuple[MetadataField, ...]:
    title, _, rest = text.partition("\n")
    blocks = (Block(0, len(title), BlockKind.HEADING, 1), Block(len(title) + 1, len(text), BlockKind.PARAGRAPH))
    page = Page(0, "1", text, (), blocks if rest else blocks[1:], PageStatus.TEXT)
    return described(PdfInfo(1, (), {}), [page], name)


def _shelf(**texts: tuple[str, ...]) -> Shelf:
    files = {f"{name}.pdf": pages for name, pages in texts.items()}
    return Shelf(files, metadata={name: _facts(pages[0], name) for name, pages in files.items()})


@pytest.mark.behaviour(
    "Amendments, versions and strangers",
    "What an amendment changes is quoted before the clause that it changes, the newest first, with a note; so "
    "is what a later page of the same file changes.",
)
@pytest.mark.parametrize(
    ("question", "new", "old"),
    [
        ("What is the yearly charge for a mooring?", "EUR 715", "EUR 640"),
        ("With how much notice may the club end the licence?", "five months' notice", "8.2 The club may end"),
    ],
)
def test_what_an_addendum_changes_is_quoted_first(world: Any, question: str, new: str, old: str) -> None:
    turn = world(shelf=_shelf(licence=LICENCE, addendum=ADDENDUM)).ask(question).turn
    first, *rest = turn.parts
    assert present(turn).form is Form.ANSWER and new in first.text
    assert any("changes licence.pdf" in part.text for part in rest) and any(old in part.text for part in rest)


def test_a_licence_alone_is_answered_as_ever(world: Any) -> None:
    turn = world(shelf=_shelf(licence=LICENCE)).ask("What is the yearly charge for a mooring?").turn
    assert present(turn).form is Form.ANSWER and turn.parts[0].text == "EUR 640"


def test_an_addendum_on_a_later_page_of_the_file_counts_too(world: Any) -> None:
    turn = world(shelf=_shelf(all=(*LICENCE, *ADDENDUM))).ask("What is the yearly charge for a mooring?").turn
    assert turn.parts[0].text != "EUR 640" and "EUR 715" in turn.answer


def test_a_cross_reference_changes_nothing(world: Any) -> None:
    pages = (*LICENCE, "9. Arrears\n9.1 A charge under clause 6.1 that is paid late bears interest.")
    turn = world(shelf=_shelf(licence=pages)).ask("What is the yearly charge for a mooring?").turn
    assert turn.parts[0].text == "EUR 640" and not any(item.changes for item in turn.evidence)


def test_which_change_holds_in_a_year_is_left_to_the_reader(world: Any) -> None:
    turn = world(shelf=_shelf(licence=LICENCE, addendum=ADDENDUM)).ask("What was the mooring charge in 2022?").turn
    assert present(turn).form is Form.EVIDENCE and {"EUR 715", "EUR 640"} <= {
        amount for amount in ("EUR 715", "EUR 640") if amount in turn.answer
    }


@pytest.mark.behaviour(
    "Amendments, versions and strangers",
    "Of two versions of a document the newer one answers, and the older one is quoted behind it; who names the "
    "older version is answered from it.",
)
def test_the_newer_version_answers_and_the_older_is_quoted_behind_it(world: Any) -> None:
    one = world(shelf=Shelf(RULES))
    turn = one.ask("When does the clubhouse close on weekdays?").turn
    assert present(turn).form is Form.ANSWER and "23:30" in turn.parts[0].text
    assert "which clubhouse-rules-v2.0.pdf replaces" in turn.answer and turn.answer.index("23:30") < turn.answer.index(
        "22:00"
    )
    assert not turn.notices, "the answer states it"


def test_who_names_the_older_version_is_answered_from_it(world: Any) -> None:
    turn = world(shelf=Shelf(RULES)).ask("When did the clubhouse close on weekdays by the rules v1.2?").turn
    assert "22:00" in turn.parts[0].text
    assert "clubhouse-rules-v2.0.pdf replaces clubhouse-rules-v1.2.pdf." in turn.notices


def test_model_receives_which_passage_changes_which(world: Any) -> None:
    model = ScriptedModel("The charge is EUR 715 [1].")
    world(model, shelf=_shelf(licence=LICENCE, addendum=ADDENDUM)).ask("What is the yearly charge for a mooring?")
    changed = [item for item in model.requests[0].evidence if item.changes]
    assert changed and "EUR 640" in changed[0].passage.text
    assert {one.passage_id for one in changed[0].changes} <= {item.passage.id for item in model.requests[0].evidence}


def test_several_questions_of_an_amended_document_get_what_changes_it(world: Any) -> None:
    one = world(shelf=_shelf(licence=LICENCE, addendum=ADDENDUM))
    turn = one.ask(
        "What is the yearly charge for a mooring? And with how much notice may the club end the licence?"
    ).turn
    texts = [part.text for part in turn.parts]
    new, old = (next(at for at, text in enumerate(texts) if amount in text) for amount in ("EUR 715", "EUR 640"))
    assert new < old and any("five months' notice" in text for text in texts)


def test_content_found_only_in_an_addendum_is_answered_from_it(world: Any) -> None:
    added = ADDENDUM[0] + "\n3. Clause 8.2 is supplemented by: Dogs are allowed on the pontoons until noon."
    one = world(shelf=_shelf(licence=LICENCE, addendum=(added,)))
    assert "noon" in one.ask("Until when are dogs allowed on the pontoons?").turn.parts[0].text


def test_a_number_alone_asks_for_no_version(world: Any) -> None:
    rules = {f"house rules version {number}.pdf": (f"Section 1. The house closes at {hour} on weekdays.",)
             for number, hour in ((1, "22:00"), (2, "23:30"))}  # fmt: skip
    turn = world(shelf=Shelf(rules)).ask("By section 1, when does the house close on weekdays?").turn
    assert "23:30" in turn.parts[0].text
