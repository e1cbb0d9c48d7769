"""The tokens of other programs: made once, shown once, kept as digests, and revoked by deletion."""

import hashlib
import secrets
import uuid
from collections.abc import Collection

from sqlalchemy import RowMapping, delete, insert, select, update

from pincite.core.domain.errors import SettingsError
from pincite.core.domain.tokens import MAX_TOKEN_NAME_LENGTH, PREFIX, Permission, Token
from pincite.core.domain.turns import now
from pincite.core.store.database import Database
from pincite.core.store.schema import tokens
from pincite.core.text.plain import flat, storable

USED_CHARACTERS = len("2026-01-01T00:00")
"""The last use is kept to the minute, so that not every request writes."""


class Tokens:
    """The rows of ``tokens``."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def list(self) -> list[Token]:
        """Return all tokens, oldest first."""
        return [_token(row) for row in self._database.rows(select(tokens).order_by(tokens.c.created_at, tokens.c.id))]

    def create(self, name: str, permissions: Collection[Permission]) -> tuple[Token, str]:
        """Return a new token and its secret, which cannot be read again. Raises SettingsError."""
        called = flat(storable(name))[:MAX_TOKEN_NAME_LENGTH]
        if not called or not permissions:
            raise SettingsError("A token needs a name and at least one permission.", hint="Enter both.")
        secret = PREFIX + secrets.token_urlsafe(32)
        token = Token(uuid.uuid4().hex, called, frozenset(permissions), now())
        words = " ".join(sorted(token.permissions))
        kept = {"id": token.id, "name": called, "digest": _digest(secret), "created_at": token.created_at}
        self._database.run(insert(tokens).values(**kept, permissions=words))
        return token, secret

    def revoke(self, token_id: str) -> None:
        self._database.run(delete(tokens).where(tokens.c.id == token_id))

    def admitted(self, secret: str) -> Token | None:
        """Return the token with this secret; None if there is none. It only reads."""
        row = self._database.row(select(tokens).where(tokens.c.digest == _digest(secret)))
        return _token(row) if row is not None and row["permissions"] else None

    def note_use(self, token: Token) -> None:
        """Store that a token was used now, to the minute. Raises StorageError."""
        used = now()
        if token.used_at[:USED_CHARACTERS] != used[:USED_CHARACTERS]:
            self._database.run(update(tokens).where(tokens.c.id == token.id).values(used_at=used))


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()


def _token(row: RowMapping) -> Token:
    known = {permission.value: permission for permission in Permission}
    permissions = frozenset(known[word] for word in row["permissions"].split() if word in known)
    return Token(row["id"], row["name"], permissions, row["created_at"], row["used_at"], row["owner"])
