"""What the SQL files of SQLite's formats 1 to 22 make: PostgreSQL begins later."""

revision, down_revision = "0022", None


def upgrade() -> None:
    """Nothing to do: ``sqlite.py`` runs those files."""
