"""Tokens that let other programs use Pincite."""

from dataclasses import dataclass
from enum import StrEnum

from pincite.core.domain.accounts import LOCAL

MAX_TOKEN_NAME_LENGTH = 60
PREFIX = "pincite-"
"""Beginning of each token, by which scanners of secrets recognise it."""


LENGTH = len(PREFIX) + 43
"""Characters of a token: 32 bytes are 43 characters."""


class Permission(StrEnum):
    READ = "read"
    """List, search and read the documents, verify quotations and claims."""
    ASK = "ask"
    ADD = "add"
    """Add files that the program sends."""


@dataclass(frozen=True, slots=True)
class Token:
    """A token without its secret, of which only a digest is kept."""

    id: str
    name: str
    permissions: frozenset[Permission]
    created_at: str
    used_at: str = ""
    """Empty: it was never used."""
    owner: str = LOCAL
    """The user whose documents it opens."""


def looks_like_token(given: str) -> bool:
    """Return whether a text has the form of a token, so that others need not be looked up."""
    return given.startswith(PREFIX) and len(given) == LENGTH
