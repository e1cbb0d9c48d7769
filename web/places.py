"""A quotation and where it is, as other programs see it."""

from pydantic import BaseModel, Field

from pincite.core.domain.answers import Citation


class Place(BaseModel):
    document: str
    document_id: str
    page: int
    page_label: str
    quotation: str = Field(description="words of the page, located by code")


def place_of(one: Citation) -> Place:
    return Place(
        document=one.document_name,
        document_id=one.document_id,
        page=one.page_index + 1,
        page_label=one.page_label,
        quotation=one.quotation,
    )
