"""Code keeps what triggers of SQLite kept: lines of turns, the log of reviews, counts of changes, cached vectors.

Metadata has a position, as PostgreSQL has no row numbers.
"""

from alembic import op

revision, down_revision = "0023", "0022"

TRIGGERS = (
    *("turn_written", "turn_created", "turn_placed", "answer_written", "question_removed"),
    *("review_given", "review_changed", "review_removed", "feedback_given", "feedback_changed", "feedback_removed"),
    *("review_log_noted", "review_log_given", "review_log_changed", "review_log_removed"),
    *("passage_added", "passage_removed", "embedding_added", "embedding_changed", "embedding_removed"),
)
STATEMENTS = (
    "DROP VIEW review_hashes",
    "CREATE TABLE counters (name TEXT NOT NULL PRIMARY KEY, value INTEGER NOT NULL) STRICT",
    "INSERT INTO counters SELECT 'vectors', generation FROM vector_state",
    """INSERT INTO counters
       SELECT 'review_log', coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'review_log'), 0)""",
    "DROP TABLE vector_state",
    """CREATE TABLE placed (document_id TEXT NOT NULL REFERENCES documents(id) ON DELETE CASCADE,
       position INTEGER NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL, source TEXT NOT NULL,
       PRIMARY KEY (document_id, position)) STRICT""",
    "INSERT INTO placed SELECT document_id, rowid, name, value, source FROM metadata",
    "DROP TABLE metadata",
    "ALTER TABLE placed RENAME TO metadata",
    "DROP TABLE query_vectors",
    """CREATE TABLE query_vectors (number INTEGER NOT NULL PRIMARY KEY, key BLOB NOT NULL, model TEXT NOT NULL,
       vector BLOB NOT NULL, UNIQUE (key, model)) STRICT""",
    "CREATE UNIQUE INDEX collections_by_name ON collections (lower(name))",
)


def upgrade() -> None:
    for trigger in TRIGGERS:
        op.execute(f"DROP TRIGGER {trigger}")
    for statement in STATEMENTS:
        op.execute(statement)
