"""Multiplies a library in PostgreSQL inside the server: another document of the same pages, with vectors near by."""

import hashlib
import struct

import numpy as np
import psycopg
from psycopg import sql

OF_COPY = {
    "id": "md5(document_id || %(copy)s) || md5(%(copy)s || document_id) || substr(id, 65)",
    "document_id": "md5(document_id || %(copy)s) || md5(%(copy)s || document_id)",
    "number": "number + %(offset)s",
    "embedding_key": "sha256(embedding_key || %(mark)s)",
}
"""Columns of passages that a copy has of its own; the others are as they are."""
BUILD_MEMORY = "2GB"
"""For the graph of the vectors: one that does not fit into it takes hours to make."""


def give_memory(address: str) -> None:
    """Have connections that are opened from now on build indexes with BUILD_MEMORY."""
    with psycopg.connect(address, autocommit=True) as connection:
        name, memory = sql.Identifier(connection.info.dbname), sql.Literal(BUILD_MEMORY)
        connection.execute(sql.SQL("ALTER DATABASE {} SET maintenance_work_mem = {}").format(name, memory))


def multiply(address: str, times: int, turn: float) -> None:
    """Have each document ``times`` times; ``turn`` is added to the vectors of copies, as a standard deviation."""
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("SET session_replication_role = replica")  # nobody else looks after references meanwhile
        last = connection.execute("SELECT max(number) FROM passages").fetchone()
        assert last is not None
        rows = connection.execute("SELECT key, model, vector FROM embeddings").fetchall()
        vectors = np.frombuffer(b"".join(row[2] for row in rows), dtype="<f4").reshape(len(rows), -1)
        generator = np.random.default_rng(1)
        for copy in range(1, times):
            mark = bytes([copy])
            _copy_rows(connection, {"copy": str(copy), "last": last[0], "offset": last[0] * copy, "mark": mark})
            turned = vectors + generator.normal(0, turn, vectors.shape).astype(np.float32)
            turned /= np.linalg.norm(turned, axis=1, keepdims=True)
            keys = [hashlib.sha256(bytes(row[0]) + mark).digest() for row in rows]
            _copy_vectors(connection, keys, rows[0][1], turned)
        connection.execute("ANALYZE")


def _copy_rows(connection: "psycopg.Connection", values: dict[str, object]) -> None:
    passages = _columns(connection, "passages")
    chosen = ", ".join(OF_COPY.get(column, f'"{column}"') for column in passages)
    listed = ", ".join(f'"{column}"' for column in passages)
    documents = _columns(connection, "documents")
    own = {"id": OF_COPY["document_id"].replace("document_id", "id"), "name": "%(copy)s || '-' || name"}
    of_document = ", ".join(own.get(column, f'"{column}"') for column in documents)
    for statement in (
        f"""INSERT INTO documents SELECT {of_document} FROM documents
            WHERE id IN (SELECT document_id FROM passages WHERE number <= %(last)s)""",
        f"""INSERT INTO passages ({listed}) OVERRIDING SYSTEM VALUE
            SELECT {chosen} FROM passages WHERE number <= %(last)s""",
        """INSERT INTO passage_words
           SELECT number + %(offset)s, terms, length FROM passage_words WHERE number <= %(last)s""",
    ):
        connection.execute(statement, values)


def _columns(connection: "psycopg.Connection", table: str) -> list[str]:
    query = "SELECT column_name FROM information_schema.columns WHERE table_name = %s ORDER BY ordinal_position"
    return [row[0] for row in connection.execute(query, (table,))]


def _copy_vectors(connection: "psycopg.Connection", keys: list[bytes], model: str, vectors: np.ndarray) -> None:
    with connection.cursor() as cursor:
        with cursor.copy("COPY embeddings (key, model, vector) FROM STDIN (FORMAT binary)") as into:
            into.set_types(["bytea", "text", "bytea"])
            for key, vector in zip(keys, vectors, strict=True):
                into.write_row((key, model, vector.astype("<f4").tobytes()))
        with cursor.copy("COPY points (key, model, point) FROM STDIN (FORMAT binary)") as into:
            into.write(b"PGCOPY\n\xff\r\n\0" + struct.pack("!ii", 0, 0))
            for key, vector in zip(keys, vectors.astype(">f2"), strict=True):
                point = struct.pack("!hh", len(vector), 0) + vector.tobytes()  # pgvector's halfvec as it is sent
                fields = (key, model.encode(), point)
                into.write(struct.pack("!h", 3) + b"".join(struct.pack("!i", len(one)) + one for one in fields))
            into.write(struct.pack("!h", -1))
