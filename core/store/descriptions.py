"""The descriptions of figures; each goes with its document."""

from sqlite3 import Row

from pincite.core.domain.codec import readable, to_json
from pincite.core.domain.documents import Box
from pincite.core.domain.illustrations import Description, Illustration
from pincite.core.store.database import Database

Illustrations = list[Illustration]


class Descriptions:
    """The rows of ``descriptions``, and the figures of pages."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def illustrations(self, document_id: str = "") -> Illustrations:
        """Return the figures by page, of all documents or of one; none of pages that an earlier version read."""
        rows = self._database.connection.execute(
            """SELECT document_id, page_index, illustrations FROM pages INDEXED BY illustrated_pages
               WHERE length(illustrations) > 2 AND ?1 IN ('', document_id) ORDER BY document_id, page_index""",
            (document_id,),
        )
        return [
            Illustration(row["document_id"], row["page_index"], box)
            for row in rows
            for box in readable(tuple[Box, ...], row["illustrations"]) or ()
        ]

    def not_described(self, document_id: str = "") -> Illustrations:
        """Return the figures that no model has described, of all documents or of one."""
        rows = self._database.connection.execute("SELECT document_id, page_index, box FROM descriptions")
        known = {(row["document_id"], row["page_index"], row["box"]) for row in rows}
        found = self.illustrations(document_id)
        return [one for one in found if (one.document_id, one.page_index, to_json(one.box)) not in known]

    def list(self, document_id: str = "") -> list[Description]:
        """Return the descriptions of the figures that pages have now, of all documents or of one."""
        rows = self._database.connection.execute(
            "SELECT * FROM descriptions WHERE ?1 IN ('', document_id) ORDER BY document_id, page_index, created_at",
            (document_id,),
        ).fetchall()
        figures = set(self.illustrations(document_id)) if rows else set()
        return [one for row in rows if (one := _description(row)) and one.figure in figures]

    def put(self, description: Description) -> None:
        """Store it in place of an earlier one of the figure, unless the document is gone."""
        figure = description.figure
        with self._database.transaction() as connection:
            connection.execute(
                """INSERT OR REPLACE INTO descriptions
                   SELECT id, ?2, ?3, ?4, ?5, ?6, ?7 FROM documents WHERE id = ?1""",
                (figure.document_id, figure.page_index, to_json(figure.box), description.model, description.text,
                 to_json(description.unsure, tuple[str, ...]), description.created_at),
            )  # fmt: skip

    def delete(self, figure: Illustration) -> None:
        with self._database.transaction() as connection:
            connection.execute(
                "DELETE FROM descriptions WHERE document_id = ? AND page_index = ? AND box = ?",
                (figure.document_id, figure.page_index, to_json(figure.box)),
            )


def _description(row: Row) -> Description | None:
    box = readable(Box, row["box"])
    if box is None:
        return None
    unsure = readable(tuple[str, ...], row["unsure"]) or ()
    figure = Illustration(row["document_id"], row["page_index"], box)
    return Description(figure, row["model"], row["text"], unsure, row["created_at"])
