"""Users, members of collections, settings of users, the audit log; what has an owner says who."""

from alembic import op

revision, down_revision = "0024", "0023"

REBUILT = (
    "CREATE TEMP TABLE kept_rows AS SELECT * FROM collection_documents",
    """CREATE TABLE renewed (id TEXT NOT NULL PRIMARY KEY, name TEXT NOT NULL, created_at TEXT NOT NULL,
       instructions TEXT NOT NULL DEFAULT '', owner TEXT NOT NULL DEFAULT 'local', UNIQUE (owner, name)) STRICT""",
    "INSERT INTO renewed SELECT id, name, created_at, instructions, 'local' FROM collections",
    "DROP TABLE collections",  # with its index, and the rows that refer to it
    "ALTER TABLE renewed RENAME TO collections",
    "INSERT INTO collection_documents SELECT * FROM kept_rows",
    "DROP TABLE kept_rows",
)
"""SQLite cannot take a constraint away: names of collections were unique, and now they are for each owner."""
ALTERED = (
    "ALTER TABLE collections DROP CONSTRAINT collections_name_key",
    "DROP INDEX collections_by_name",
    "ALTER TABLE collections ADD COLUMN owner {text} NOT NULL DEFAULT 'local'",
    "ALTER TABLE collections ADD UNIQUE (owner, name)",
    "ALTER TABLE passage_words ALTER COLUMN terms SET STATISTICS 1000",
)
ADDED = (
    "ALTER TABLE grids ADD COLUMN owner {text} NOT NULL DEFAULT 'local'",
    "ALTER TABLE tokens ADD COLUMN owner {text} NOT NULL DEFAULT 'local'",
    "ALTER TABLE watched_folders ADD COLUMN owner {text} NOT NULL DEFAULT 'local'",
    "ALTER TABLE documents ADD COLUMN content_sha256 {text} NOT NULL DEFAULT ''",
    "CREATE UNIQUE INDEX collections_by_name ON collections (owner, lower(name))",
    "CREATE INDEX documents_by_content ON documents (content_sha256)",
    "CREATE INDEX documents_by_owner ON documents (owner)",
    "CREATE INDEX sessions_by_owner ON sessions (owner, updated_at)",
    """CREATE TABLE users (id {text} NOT NULL PRIMARY KEY, email {text} NOT NULL UNIQUE,
       subject {text} NOT NULL DEFAULT '', name {text} NOT NULL DEFAULT '', role {text} NOT NULL,
       disabled {flag} NOT NULL, created_at {text} NOT NULL, seen_at {text} NOT NULL DEFAULT ''){strict}""",
    "CREATE INDEX users_by_subject ON users (subject)",
    """CREATE TABLE collection_members (collection_id {text} NOT NULL REFERENCES collections(id) ON DELETE CASCADE,
       user_id {text} NOT NULL REFERENCES users(id) ON DELETE CASCADE, "right" {text} NOT NULL,
       PRIMARY KEY (collection_id, user_id)){strict}""",
    "CREATE INDEX collections_of_member ON collection_members (user_id)",
    """CREATE TABLE user_settings (user_id {text} NOT NULL REFERENCES users(id) ON DELETE CASCADE,
       name {text} NOT NULL, value {text} NOT NULL, PRIMARY KEY (user_id, name)){strict}""",
    """CREATE TABLE audit_log (id {number}, at {text} NOT NULL, who {text} NOT NULL, action {text} NOT NULL,
       kind {text} NOT NULL, subject {text} NOT NULL){strict}""",
)
OF_SQLITE = {
    "text": "TEXT",
    "flag": "INTEGER DEFAULT 0",
    "number": "INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT",
    "strict": " STRICT",
}
OF_POSTGRESQL = {
    "text": 'TEXT COLLATE "C"',
    "flag": "BOOLEAN DEFAULT false",
    "number": "BIGSERIAL PRIMARY KEY",
    "strict": "",
}


def upgrade() -> None:
    sqlite = op.get_bind().dialect.name == "sqlite"
    for statement in (*(REBUILT if sqlite else ALTERED), *ADDED):
        op.execute(statement.format(**(OF_SQLITE if sqlite else OF_POSTGRESQL)))
