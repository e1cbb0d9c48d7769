"""Which documents amend or replace others, by their text, their versions and what people entered."""

import pytest

from pincite.core.domain.documents import Document, DocumentStatus, MetadataField, MetadataSource, Passage
from pincite.core.search.changes import mentions_in, places_of
from pincite.core.search.relations import relations_among

FIRST, BY_HAND = MetadataSource.FIRST_PAGES, MetadataSource.USER


def _document(name: str, title: str = "", date: str = "", source: MetadataSource = FIRST, **said: str) -> Document:
    facts = [("title", title, FIRST), ("date", date, FIRST), *((key, value, source) for key, value in said.items())]
    metadata = tuple(MetadataField(key, value, how) for key, value, how in facts if value)
    return Document(name, name, 1, 1, 1, "2026-01-01", DocumentStatus.READY, metadata=metadata)


def _related(*documents: Document) -> list[tuple[str, str, bool]]:
    return [(one.newer.name, one.older.name, one.whole) for one in relations_among(documents)]


CHARTER = _document("charter.pdf", "Mooring Licence Agreement", "2021-05-02")
FIRST_ADDENDUM = _document(
    "a1.pdf", "Addendum 1", "2022-06-01", amends="It changes the Mooring Licence Agreement of 2 May 2021."
)
SECOND_ADDENDUM = _document(
    "a2.pdf", "Addendum 2", "2023-06-01", amends="Addendum 2 to the Mooring Licence Agreement as changed by Addendum 1."
)


def test_what_names_the_title_amends_it_and_the_newest_comes_first() -> None:
    found = _related(FIRST_ADDENDUM, CHARTER, SECOND_ADDENDUM)
    assert [one for one in found if one[1] == "charter.pdf"] == [
        ("a2.pdf", "charter.pdf", False),
        ("a1.pdf", "charter.pdf", False),
    ]


def test_a_title_of_one_word_needs_its_date() -> None:
    lease = _document("lease.pdf", "Mietvertrag", "2020-05-03")
    amendment = "Nachtrag zum Mietvertrag vom {}."
    assert _related(lease, _document("n.pdf", "Nachtrag", amends=amendment.format("3. Mai 2021"))) == []
    dated = _document("n.pdf", "Nachtrag", amends=amendment.format("3. Mai 2020"))
    assert _related(lease, dated) == [("n.pdf", "lease.pdf", False)]


def test_of_two_documents_of_one_title_neither_is_meant_unless_the_date_tells() -> None:
    one, other = (_document(f"{year}.pdf", "Berth Lease Agreement", f"{year}-01-01") for year in (2019, 2020))
    undated = _document("x.pdf", "Rider", amends="This rider amends the Berth Lease Agreement.")
    assert _related(one, other, undated) == []
    dated = _document("x.pdf", "Rider", amends="This rider amends the Berth Lease Agreement of 1 January 2020.")
    assert _related(one, other, dated) == [("x.pdf", "2020.pdf", False)]


@pytest.mark.parametrize(
    ("older", "newer", "replaced"),
    [
        ("dive-rules-v1.4.pdf", "dive-rules-v2.0.pdf", True),
        ("dive rules version 2.pdf", "dive rules version 10.pdf", True),
        ("amendment-1.pdf", "amendment-2.pdf", False),
        ("accounts-2022.pdf", "accounts-2023.pdf", False),
        ("dive-rules-v1.4.pdf", "boat-rules-v2.0.pdf", False),
        ("Compressor V10 manual.pdf", "Compressor V11 manual.pdf", False),
    ],
)
def test_later_version_in_a_name_replaces_the_earlier_one(older: str, newer: str, replaced: bool) -> None:
    assert _related(_document(older), _document(newer)) == ([(newer, older, True)] if replaced else [])


def test_replaced_edition_number_matches_the_document_with_the_same_title() -> None:
    old = _document("x.pdf", "Dive rules, edition 3")
    newer = _document("y.pdf", "Dive rules, edition 4", replaces="This edition supersedes edition 3.")
    assert _related(old, newer) == [("y.pdf", "x.pdf", True)]
    assert _related(_document("x.pdf", "Dive rules, edition 2"), newer) == []
    whole = _document(
        "y.pdf", "Dive rules, edition 4", replaces="Dive rules, edition 4, replaces Dive rules, edition 3."
    )
    assert _related(old, whole) == [("y.pdf", "x.pdf", True)]


def test_relation_entered_by_a_person_matches_a_document_by_name() -> None:
    amending = _document("letter.pdf", "Letter", source=BY_HAND, amends="charter")
    assert _related(CHARTER, amending) == [("letter.pdf", "charter.pdf", False)]
    assert _related(CHARTER, _document("letter.pdf", "Letter", source=BY_HAND, amends="another")) == []


def test_a_person_may_name_several_or_none() -> None:
    both = _document("letter.pdf", source=BY_HAND, amends="charter.pdf, a1.pdf")
    assert [older for newer, older, _ in _related(CHARTER, FIRST_ADDENDUM, both) if newer == "letter.pdf"] == [
        "charter.pdf",
        "a1.pdf",
    ]
    second = _document("rules-v2.pdf", source=BY_HAND, replaces="none")
    assert _related(_document("rules-v1.pdf"), second) == []


def test_two_that_replace_each_other_do_neither() -> None:
    one = _document("a.pdf", source=BY_HAND, replaces="b")
    assert _related(one, _document("b.pdf", source=BY_HAND, replaces="a")) == []


def test_numbered_section_extends_to_the_next_number_outside_it() -> None:
    text = "4. Fee\n4.1 The fee is 300 euro.\n4.2 It rises.\n5. Term\n5.1 One year."
    places = places_of(Passage("p", "d", 0, "1", text, 0, len(text)))
    assert {number: text[span.start : span.end].strip() for number, span in places.items()} == {
        "4": "4. Fee\n4.1 The fee is 300 euro.\n4.2 It rises.",
        "4.1": "4.1 The fee is 300 euro.",
        "4.2": "4.2 It rises.",
        "5": "5. Term\n5.1 One year.",
        "5.1": "5.1 One year.",
    }


def test_a_number_of_one_part_is_named_near_the_beginning_or_behind_its_word() -> None:
    def named(sentence: str) -> set[str]:
        return set(mentions_in(Passage("p", "d", 0, "1", sentence, 0, len(sentence))))

    assert named("2. § 4 Abs. 1 wird neu gefasst.") >= {"4"}
    assert named("The first sentence of section 9 no longer applies.") == {"9"}
    assert "14" not in named("The notice period of this agreement is now 14 days.")
