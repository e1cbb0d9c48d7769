"""A small real library for search tests: SQLite, FTS5, Chroma and MiniLM over pages given as text."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pincite.core.documents.passages import split_pages
from pincite.core.domain.documents import Block, BlockKind, Page, PageStatus
from pincite.core.domain.ports import PdfInfo, Reranker
from pincite.core.domain.search import SearchPlan, SearchResult
from pincite.core.domain.settings import Settings
from pincite.core.models.rerank import BuiltInReranker
from pincite.core.search.retriever import Retriever
from pincite.core.services.registry import make_embedder
from pincite.core.store.fts5 import Fts5Index
from pincite.core.store.indexes import Indexes
from pincite.core.store.library import Library
from pincite.core.store.shelf import Shelf
from pincite.core.store.sqlite import SqliteDatabase


def page(index: int, text: str, *, label: str = "") -> Page:
    """Return a page with each line as a block: '# ' opens a heading, '| ' a table row, anything else a paragraph."""
    blocks, plain, at = [], [], 0
    for line in text.strip().split("\n"):
        kind = {"#": BlockKind.HEADING, "|": BlockKind.TABLE_ROW}.get(line[:1], BlockKind.PARAGRAPH)
        words = line[2:] if kind is not BlockKind.PARAGRAPH else line
        blocks.append(Block(at, at + len(words), kind, level=1 if kind is BlockKind.HEADING else 0))
        plain.append(words)
        at += len(words) + 1
    return Page(index, label or str(index + 1), "\n".join(plain), (), tuple(blocks), PageStatus.TEXT)


@dataclass(frozen=True)
class Search:
    """A retriever with the library that it searches."""

    retriever: Retriever
    library: Library

    def search(self, plan: SearchPlan, *, context_characters: int, scope: Sequence[str] = ()) -> SearchResult:
        return self.retriever.search(plan, self.library.list(), context_characters=context_characters, scope=scope)


def make_retriever(
    directory: Path,
    documents: Mapping[str, Sequence[str]],
    *,
    settings: Settings | None = None,
    labels: Sequence[str] = (),
    reranker: Reranker | None = None,
) -> tuple[Search, Library]:
    """Documents by name, each with its pages' texts; a document's id is its name's letters."""
    settings = settings or Settings(data_dir=directory)
    database = SqliteDatabase(settings.database_path)
    library, keywords, indexes = (
        Library(database, settings),
        Fts5Index(database),
        Indexes(database, settings, make_embedder),
    )
    shelf = Shelf(database, library, keywords, settings)
    for name, texts in documents.items():
        identity = id_of(name)
        shelf.add_document(identity, name, 1, PdfInfo(len(texts), (), {}))
        pages = [page(index, text, label=labels[index] if labels else "") for index, text in enumerate(texts)]
        shelf.put_pages(identity, pages, list(split_pages(pages, document_id=identity, title=name)))
        with database.transaction():
            shelf.mark_searchable(identity)
    embedder, vectors = indexes.active()
    while batch := indexes.pending(limit=256):
        indexes.embed(batch, lambda: False)
    retriever = Retriever(
        library=library,
        keywords=keywords,
        vectors=vectors,
        embedder=embedder,
        reranker=reranker or BuiltInReranker(),
        settings=settings,
    )
    return Search(retriever, library), library


def id_of(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter.isalnum())
