"""The descriptions of figures; each goes with its document."""

from typing import Any

from sqlalchemy import RowMapping, delete, func, select, text

from pincite.core.domain.codec import readable, to_json
from pincite.core.domain.documents import Box
from pincite.core.domain.illustrations import Description, Illustration
from pincite.core.store.database import Database
from pincite.core.store.schema import descriptions, documents, pages

Illustrations = list[Illustration]


class Descriptions:
    """The rows of ``descriptions``, and the figures of pages."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def illustrations(self, document_id: str = "") -> Illustrations:
        """Return the figures by page, of all documents or of one; none of pages that an earlier version read."""
        query = (
            select(pages.c.document_id, pages.c.page_index, pages.c.illustrations)
            .where(func.length(pages.c.illustrations) > text("2"))  # as the index says it
            .order_by(pages.c.document_id, pages.c.page_index)
        )
        rows = self._database.rows(query.where(pages.c.document_id == document_id) if document_id else query)
        return [
            Illustration(row["document_id"], row["page_index"], box)
            for row in rows
            for box in readable(tuple[Box, ...], row["illustrations"]) or ()
        ]

    def not_described(self, document_id: str = "") -> Illustrations:
        """Return the figures that no model has described, of all documents or of one."""
        rows = self._database.rows(select(descriptions.c.document_id, descriptions.c.page_index, descriptions.c.box))
        known = {(row["document_id"], row["page_index"], row["box"]) for row in rows}
        found = self.illustrations(document_id)
        return [one for one in found if (one.document_id, one.page_index, to_json(one.box)) not in known]

    def list(self, document_id: str = "") -> list[Description]:
        """Return the descriptions of the figures that pages have now, of all documents or of one."""
        columns = descriptions.c
        query = select(descriptions).order_by(columns.document_id, columns.page_index, columns.created_at)
        rows = self._database.rows(query.where(columns.document_id == document_id) if document_id else query)
        figures = set(self.illustrations(document_id)) if rows else set()
        return [one for row in rows if (one := _description(row)) and one.figure in figures]

    def put(self, description: Description) -> None:
        """Store it in place of an earlier one of the figure, unless the document is gone."""
        row = {"model": description.model, "text": description.text, "created_at": description.created_at,
               "unsure": to_json(description.unsure, tuple[str, ...])}  # fmt: skip
        document_id = description.figure.document_id
        with self._database.transaction():
            if self._database.row(select(documents.c.id).where(documents.c.id == document_id)):
                self._database.put(descriptions, _key(description.figure), row)

    def delete(self, figure: Illustration) -> None:
        self._database.run(delete(descriptions).filter_by(**_key(figure)))


def _key(figure: Illustration) -> dict[str, Any]:
    return {"document_id": figure.document_id, "page_index": figure.page_index, "box": to_json(figure.box)}


def _description(row: RowMapping) -> Description | None:
    box = readable(Box, row["box"])
    if box is None:
        return None
    unsure = readable(tuple[str, ...], row["unsure"]) or ()
    figure = Illustration(row["document_id"], row["page_index"], box)
    return Description(figure, row["model"], row["text"], unsure, row["created_at"])
