"""How does the time of a query grow with the library? The same questions on libraries made of copies of real pages.

Copies get other figures and slightly turned vectors, so that the indexes do not hold the same thing many times.
"""

import argparse
import hashlib
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sqlalchemy import update

from benchmarks.copies import give_memory, multiply
from benchmarks.corpus import Corpus, open_corpus
from benchmarks.measures import Question, quantile, read_questions, select
from benchmarks.retrieval import search_all
from pincite.core.domain.documents import Document, DocumentStatus, Page, Passage, embedded_text, embedding_key
from pincite.core.domain.ports import PdfInfo, Vectors
from pincite.core.domain.settings import Settings
from pincite.core.models.rerank import BuiltInReranker
from pincite.core.search.retriever import Retriever
from pincite.core.services.registry import make_embedder
from pincite.core.store.indexes import Indexes
from pincite.core.store.library import Library
from pincite.core.store.open import open_database
from pincite.core.store.schema import documents
from pincite.core.store.shelf import Shelf
from pincite.core.store.vectors import StoredVectors
from tests.support.databases import ENGINES, address_of, new_database, server_in

TURN = 0.02
"""Standard deviation of what is added to each number of a copy's unit vector."""
MULTIPLIED_FROM = 100_000
"""In PostgreSQL a larger library is made of copies of this one's rows, all but their pages."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directory", type=Path, help="a folder with pdfs/ and questions.jsonl")
    parser.add_argument("--passages", default="1000,10000,100000", help="sizes of the library, in passages")
    parser.add_argument("--limit", type=int, default=100, help="only the first N questions")
    parser.add_argument("--engine", choices=ENGINES, default="sqlite", help="what keeps the library")


def run(options: argparse.Namespace) -> dict[str, Any]:
    corpus = open_corpus(options.directory)
    questions = select(read_questions(options.directory), limit=options.limit)
    server = server_in(Path(tempfile.mkdtemp(prefix="pincite-postgresql-"))) if options.engine != "sqlite" else ""
    rows = [_measure(corpus, questions, int(size), server) for size in options.passages.split(",")]
    return {
        "set": options.directory.resolve().name,
        "questions": len(questions),
        "sizes": rows,
        "growth_p50": round(rows[-1]["p50"] / rows[0]["p50"], 2),
    }


def _measure(corpus: Corpus, questions: Sequence[Question], size: int, server: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="pincite-growth-") as scratch:
        address = address_of(server, new_database(server)) if server else ""
        if address:
            give_memory(address)
        settings = Settings(data_dir=Path(scratch), database_url=address)
        database = open_database(settings)
        keywords = database.keyword_index()
        indexes = Indexes(database, settings, make_embedder)
        library, cache, count = Library(database, settings), StoredVectors(database), 0
        copies = size // MULTIPLIED_FROM if server and size > MULTIPLIED_FROM else 1
        for document, pages, passages, vectors in _copies(corpus, size // copies):
            _shelve(Shelf(database, library, keywords, settings), document, pages, passages)
            stamp = indexes.active()[1].stamp
            cache.put(dict(zip(map(embedding_key, passages), vectors, strict=True)), stamp)
            count += len(passages)
        database.run(update(documents).values(status=DocumentStatus.READY, searchable=True))
        if copies > 1:
            multiply(address, copies, TURN)
        while indexes.keep_in_step(lambda: False):
            pass
        embedder, index = indexes.active()
        retriever = Retriever(
            library=library,
            keywords=keywords,
            vectors=index,
            embedder=embedder,
            reranker=BuiltInReranker(),
            settings=settings,
        )
        names = {document.id: document.name for document in library.list()}
        ids = {name: key for key, name in names.items()}
        grown = replace(corpus, retriever=retriever, names=names, ids=ids, documents=library.list())
        times = [found.milliseconds for found in search_all(grown, questions, "library")]
        indexes.close()
        database.close()
    return {"passages": count * copies, "p50": round(quantile(times, 0.5), 1), "p95": round(quantile(times, 0.95), 1)}


def _copies(corpus: Corpus, size: int) -> Iterator[tuple[Document, list[Page], list[Passage], Vectors]]:
    """Documents with their pages, passages and vectors, once as they are, then as copies, up to ``size`` passages."""
    library = corpus.app.library
    generator = np.random.default_rng(0)
    originals = [(d, list(library.opening_passages(d.id, d.passage_count))) for d in library.list()]
    embedded = [corpus.embed_cached([embedded_text(passage) for passage in own]) for _, own in originals if own]
    made = [(document, own) for document, own in originals if own]
    round_number, left = 0, size
    while left > 0:
        for (document, own), vectors in zip(made, embedded, strict=True):
            passages, turned = own[:left], vectors[:left].astype(np.float64)
            if not passages:
                return
            identity = hashlib.sha256(f"{document.id} {round_number}".encode()).hexdigest()
            figures = np.arange(10)
            if round_number:
                figures = generator.permutation(10)
                turned = turned + generator.normal(0, TURN, turned.shape)
                turned = turned / np.linalg.norm(turned, axis=1, keepdims=True)
            swap = str.maketrans({str(old): str(new) for old, new in enumerate(figures.tolist())})
            pages = [library.page(document.id, index) for index in dict.fromkeys(p.page_index for p in passages)]
            yield (
                replace(document, id=identity, name=f"{round_number}-{document.name}"),
                [replace(page, text=page.text.translate(swap), words=(), blocks=()) for page in pages],
                [
                    replace(p, id=identity + p.id[len(identity) :], document_id=identity, text=p.text.translate(swap))
                    for p in passages
                ],
                turned.astype(np.float32),
            )
            left -= len(passages)
        round_number += 1


def _shelve(shelf: Shelf, document: Document, pages: Sequence[Page], passages: Sequence[Passage]) -> None:
    info = PdfInfo(document.page_count, (), {})
    shelf.add_document(document.id, document.name, document.byte_size, info)
    shelf.put_pages(document.id, pages, passages)
