"""What other programs pass to the operations: types with limits and descriptions, for every protocol."""

from typing import Annotated

from pydantic import Field

MAX_NAMED = 200
MAX_RESULTS = 50
MAX_SECONDS = 600
MAX_QUESTION, MAX_QUOTATION = 8_000, 4_000

InCollection = Annotated[str, Field(description="Search only this collection (its name). Empty: all documents.")]
Documents = Annotated[
    list[str], Field(description="Search only these documents (names or ids). Empty: all.", max_length=MAX_NAMED)
]
OneDocument = Annotated[str, Field(description="Name or id of a document.", min_length=1)]
PageNumber = Annotated[int, Field(description="Page of the file, from 1.", ge=1)]
Query = Annotated[str, Field(min_length=1, max_length=MAX_QUESTION)]
Limit = Annotated[int, Field(ge=1, le=MAX_RESULTS)]
Quotation = Annotated[str, Field(min_length=1, max_length=MAX_QUOTATION)]
QuotedDocument = Annotated[str, Field(description="Name or id of its document. Empty: search all.")]
QuotedPage = Annotated[int | None, Field(description="Page that it is said to be on, from 1.", ge=1)]
SessionId = Annotated[str, Field(description="Of an earlier answer, to ask a follow-up. Empty: new.")]
GridName = Annotated[str, Field(description="Name of a grid.", min_length=1)]
Template = Annotated[str, Field(description="Name of a template of columns. Empty: the questions alone.")]
Questions = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=500)]],
    Field(description="A column for each; every document is asked each.", max_length=40),
]
TimeoutSeconds = Annotated[int, Field(ge=5, le=MAX_SECONDS)]
