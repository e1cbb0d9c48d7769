"""Filters by company, year and type: their values, the documents they leave, and the message if none are left."""

from dataclasses import replace

import pytest

from pincite.core.domain.documents import Document, MetadataField, MetadataSource
from pincite.core.domain.errors import DocumentError
from pincite.core.search.facts import values_of, with_facts
from tests.graph.world import CONTRACT, Shelf


def document(name: str, **facts: str) -> Document:
    fields = tuple(MetadataField(fact.replace("_", " "), value, MetadataSource.USER) for fact, value in facts.items())
    return replace(Shelf({"x.pdf": CONTRACT}).list()[0], id=name, name=name, metadata=fields)


SHELF = [
    document("a", company="Acme Ltd", year="2023", document_type="annual report"),
    document("b", company="Acme Ltd", year="2024", document_type="annual report"),
    document("c", company="Borealis AG", year="2024", document_type="annual report"),
    document("d"),
]


def test_only_what_tells_documents_apart_is_offered() -> None:
    assert values_of(SHELF[:3]) == {"company": ["Acme Ltd", "Borealis AG"], "year": ["2023", "2024"]}
    assert values_of(SHELF[:1]) == {}


def test_every_fact_narrows_and_the_values_of_one_widen() -> None:
    def left(**wanted: list[str]) -> list[str]:
        return [one.id for one in with_facts(SHELF, wanted)]

    assert left(company=["acme ltd"]) == ["a", "b"]
    assert left(company=["Acme Ltd"], year=["2024"]) == ["b"]
    assert left(year=["2023", "2024"], type=[]) == ["a", "b", "c"]
    assert left() == ["a", "b", "c", "d"]


def test_filter_with_no_match_reports_available_values() -> None:
    with pytest.raises(DocumentError, match=r"No document has company Acme Ltd; year 1999\. .*year: 2023, 2024"):
        with_facts(SHELF[:3], {"company": ["Acme Ltd"], "year": ["1999"]})
