"""A document keeps the sentences of its beginning by which it amends or replaces another."""

import pytest

from pincite.core.domain.documents import Block, BlockKind, Page, PageStatus
from pincite.core.domain.ports import PdfInfo
from pincite.core.ingest.describing import described


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("Second supplement to the berth lease of 4 March 2019\nThe parties vary section 3 of the lease.", "amends"),
        ("Diving rules, third edition\nThis edition supersedes the second edition in full.", "replaces"),
        ("Minutes of the diving section\nThe meeting opened at seven. Nine members were present.", ""),
    ],
)
def test_what_a_document_changes_is_one_of_its_facts(text: str, fact: str) -> None:
    cut = text.index("\n")
    blocks = (Block(0, cut, BlockKind.HEADING, 1), Block(cut + 1, len(text), BlockKind.PARAGRAPH))
    facts = described(PdfInfo(1, (), {}), [Page(0, "1", text, (), blocks, PageStatus.TEXT)], "x.pdf")
    assert {field.name for field in facts} & {"amends", "replaces"} == ({fact} if fact else set())


def test_blank_file_has_no_relations() -> None:
    assert not {one.name for one in described(PdfInfo(1, (), {}), [], "x.pdf")} & {"amends", "replaces"}
