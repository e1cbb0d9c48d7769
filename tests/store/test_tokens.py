"""Tokens of other programs: the secret is never stored, and a revoked token admits nobody."""

from pathlib import Path

import pytest

from pincite.core.domain.errors import SettingsError
from pincite.core.domain.tokens import MAX_TOKEN_NAME_LENGTH, PREFIX, Permission, looks_like_token
from pincite.core.store.sqlite import SqliteDatabase
from pincite.core.store.tokens import Tokens


def test_a_token_admits_until_it_is_revoked_and_its_secret_is_not_stored(tmp_path: Path) -> None:
    database = SqliteDatabase(tmp_path / "pincite.db")
    tokens = Tokens(database)
    token, secret = tokens.create("  Open\nWebUI ", [Permission.READ, Permission.ASK])
    other, _ = tokens.create("x" * 1_000, [Permission.ADD])
    assert token.name == "Open WebUI" and len(other.name) == MAX_TOKEN_NAME_LENGTH
    assert secret.startswith(PREFIX) and len(secret) > 40 and tokens.list() == [token, other]
    admitted = tokens.admitted(secret)
    assert admitted is not None and admitted.id == token.id and admitted.permissions == {"read", "ask"}
    assert looks_like_token(secret) and not looks_like_token(secret[1:])
    tokens.note_use(admitted)
    assert tokens.list()[0].used_at and not tokens.list()[1].used_at
    for wrong in ("", secret[:-1], f"{secret} ", secret.upper(), "\ud800", "x" * 100_000):
        assert tokens.admitted(wrong) is None
    tokens.revoke(token.id)
    tokens.revoke(token.id)
    assert tokens.admitted(secret) is None and tokens.list() == [other]
    database.close()
    assert secret.encode() not in (tmp_path / "pincite.db").read_bytes()


@pytest.mark.parametrize(("name", "permissions"), [("", [Permission.READ]), (" \n", [Permission.READ]), ("a", [])])
def test_a_token_needs_a_name_and_a_permission(tmp_path: Path, name: str, permissions: list[Permission]) -> None:
    database = SqliteDatabase(tmp_path / "pincite.db")
    with pytest.raises(SettingsError, match="needs a name and at least one permission"):
        Tokens(database).create(name, permissions)
    database.close()
