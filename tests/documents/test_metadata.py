"""Metadata of a document names its source, and no value is given without support."""

from dataclasses import replace

import pytest

from pincite.core.documents.metadata import describe
from pincite.core.domain.documents import (
    CONTRACT,
    Block,
    BlockKind,
    Document,
    DocumentStatus,
    MetadataField,
    MetadataSource,
    Page,
    PageStatus,
)
from pincite.core.domain.ports import PdfInfo
from pincite.core.text.language import detect_language


def _info(**fields: str) -> PdfInfo:
    return PdfInfo(page_count=1, outline=(), fields=fields)


def _page(text: str, heading: str = "") -> Page:
    blocks = (Block(text.index(heading), text.index(heading) + len(heading), BlockKind.HEADING, 1),) if heading else ()
    return Page(0, "1", text, (), blocks, PageStatus.TEXT)


def _described(info: PdfInfo, page: Page, name: str) -> dict[str, tuple[str, MetadataSource]]:
    return {field.name: (field.value, field.source) for field in describe(info, [page], name)}


FILING = _page(
    "UNITED STATES\nFORM 10-K\nFor the fiscal year ended September 28, 2024\nNorthwind Traders, Inc.\n"
    "(Exact name of registrant as specified in its charter)\nThe shares of the company are listed and the report "
    "of the auditors is to be found in the part that was filed with this form.",
    heading="FORM 10-K",
)


def test_a_filing_gives_its_period_type_and_company() -> None:
    found = _described(_info(created="D:20241101120000Z"), FILING, "nw-annual.pdf")
    first = MetadataSource.FIRST_PAGES
    assert found["date"] == ("2024-09-28", first)
    assert found["year"] == ("2024", first)
    assert found["document type"] == ("Form 10-K", first)
    assert found["company"] == ("Northwind Traders, Inc.", first)
    assert found["language"] == ("en", first)
    assert found["title"] == ("nw annual", MetadataSource.FILE_NAME)


def test_the_pdf_s_own_fields_come_first_unless_a_program_filled_them_in() -> None:
    page = _page("Rules of the Harbour\nEvery vessel pays.", heading="Rules of the Harbour")
    own = _described(_info(title="Harbour Rules", author="Ann Petrie"), page, "x.pdf")
    assert own["title"] == ("Harbour Rules", MetadataSource.PDF)
    assert own["author"] == ("Ann Petrie", MetadataSource.PDF)
    filled_in = _described(_info(title="Microsoft Word - rules_v3.doc", author="user"), page, "x.pdf")
    assert filled_in["title"] == ("Rules of the Harbour", MetadataSource.FIRST_PAGES)
    assert "author" not in filled_in
    by_reportlab = _described(_info(title="(anonymous)", author="(anonymous)"), page, "x.pdf")
    assert by_reportlab["title"] == filled_in["title"] and "author" not in by_reportlab


def test_text_above_a_form_number_is_not_the_title() -> None:
    page = _page("Harbour Authority of Bremen\nForm 27-B\nRequest for a berth\nFill in both sides.")
    lines = [
        Block(0, 27, BlockKind.HEADING, 1),
        Block(28, 37, BlockKind.HEADING, 2),
        Block(38, 57, BlockKind.HEADING, 3),
    ]
    found = _described(_info(), replace(page, blocks=tuple(lines)), "x.pdf")
    assert found["title"] == ("Request for a berth", MetadataSource.FIRST_PAGES)
    assert found["document type"] == ("Form 27-B", MetadataSource.FIRST_PAGES)


def test_no_metadata_is_given_without_support() -> None:
    assert set(_described(_info(), _page("7"), "scan.pdf")) == {"title"}


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("The fees are due on the day of departure and are counted in whole days.", "en"),
        ("Die Gebühren sind am Tag der Abfahrt fällig und werden in ganzen Tagen gezählt.", "de"),
        ("Les droits sont dus le jour du départ et sont comptés en jours entiers pour la durée.", "fr"),
        ("Las tasas se pagan el día de la salida y se cuentan por días enteros en el puerto.", "es"),
        ("料金は出港の日に支払われるものとする。", "ja"),
        ("费用应在离港当日支付，并按整日计算。", "zh"),
        ("تستحق الرسوم في يوم المغادرة وتحسب بالأيام الكاملة.", "ar"),
        ("Сборы взимаются в день отхода судна.", "ru"),
        ("Avgifterna ska betalas på avresedagen och räknas i hela dagar.", "sv"),
        ("Збори сплачуються в день відходу судна.", "uk"),
        ("12.5 13.5 14.5", None),
    ],
)
def test_languages_are_distinguished(text: str, language: str | None) -> None:
    assert detect_language(text) == language


def test_a_document_is_called_by_its_company_and_title_but_a_contract_by_neither_of_its_parties() -> None:
    metadata = {"title": "Annual Report 2024", "company": "Haldane Brooms plc", "document type": "annual report"}
    fields = [MetadataField(name, value, MetadataSource.PDF) for name, value in metadata.items()]
    report = Document("id", "haldane_report.pdf", 1, 1, 1, "", DocumentStatus.READY, metadata=tuple(fields))
    assert report.called == ("Haldane Brooms plc", "Annual Report 2024", "haldane report")
    contract = MetadataField("document type", CONTRACT, MetadataSource.PDF)
    assert replace(report, metadata=(*fields[:2], contract)).called == ("Annual Report 2024", "haldane report")
