"""The users of a server, and what each of them may do."""

from dataclasses import dataclass
from enum import StrEnum

LOCAL = "local"
"""Owner of what was made without accounts."""


class Role(StrEnum):
    """What a user may do at all; each includes what those before it may."""

    READER = "reader"
    """Adds documents, asks, and keeps notes."""
    REVIEWER = "reviewer"
    """Decides about answers that wait for review."""
    ADMIN = "admin"
    """Manages users, model servers and limits; sees no document that is not theirs."""


class Right(StrEnum):
    """What a member may do in a collection; each includes those before it."""

    READ = "read"
    WRITE = "write"
    """Add and remove documents, rename the collection, change its grids."""
    REVIEW = "review"
    """Decide about answers from its documents, for a reviewer or an admin."""


@dataclass(frozen=True, slots=True)
class User:
    id: str
    email: str
    role: Role
    name: str = ""
    """As the identity provider says it; empty until the first sign-in."""
    disabled: bool = False
    seen_at: str = ""
    """When they last signed in."""

    @property
    def shown(self) -> str:
        return self.name or self.email

    @property
    def may_review(self) -> bool:
        return self.role is not Role.READER

    @property
    def is_admin(self) -> bool:
        return self.role is Role.ADMIN


@dataclass(frozen=True, slots=True)
class Member:
    user_id: str
    shown: str
    email: str
    right: Right


@dataclass(frozen=True, slots=True)
class AuditLine:
    """Who did what, and when. It names things by their ids: what is deleted leaves no name or text here."""

    id: int
    at: str
    who: str
    """The e-mail address of the user."""
    action: str
    kind: str
    subject: str
    """Id of what it was done to."""
