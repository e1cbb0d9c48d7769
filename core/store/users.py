"""The rows of ``users``, ``collection_members``, ``user_settings`` and ``audit_log``."""

import json
import uuid
from collections.abc import Iterator, Mapping
from typing import Any

from sqlalchemy import RowMapping, delete, func, insert, select, update

from pincite.core.domain.accounts import LOCAL, AuditLine, Member, Right, Role, User
from pincite.core.domain.errors import AccessError
from pincite.core.domain.turns import now
from pincite.core.store.database import Database
from pincite.core.store.schema import (
    audit_log,
    collection_members,
    collections,
    documents,
    grids,
    sessions,
    tokens,
    turns,
    user_settings,
    users,
    watched_folders,
)
from pincite.core.text.plain import flat, storable

OWNED = (documents, collections, sessions, turns, grids, tokens, watched_folders)
MAX_NAME = 120
ADMINS_STAY = "Pincite needs an admin: make somebody else one first."


class Users:
    """Everybody's rows; what a user may do with them is for ``Accounts`` to know."""

    def __init__(self, database: Database) -> None:
        self._database = database

    # ------------------------------------------------------------ users

    def all(self) -> list[User]:
        """By e-mail address."""
        return [_user(row) for row in self._database.rows(select(users).order_by(users.c.email))]

    def get(self, user_id: str) -> User | None:
        row = self._database.row(select(users).where(users.c.id == user_id))
        return _user(row) if row else None

    def with_email(self, email: str) -> User | None:
        row = self._database.row(select(users).where(users.c.email == _tidy(email)))
        return _user(row) if row else None

    def with_subject(self, subject: str) -> User | None:
        row = self._database.row(select(users).where(users.c.subject == subject, users.c.subject != ""))
        return _user(row) if row else None

    def add(self, email: str, role: Role) -> User:
        """Raises AccessError where it is no e-mail address, or there already."""
        tidy = _tidy(email)
        if "@" not in tidy:
            raise AccessError(
                f"“{tidy[:60]}” is no e-mail address.", hint="Enter the one that the person signs in with."
            )
        row = {"id": uuid.uuid4().hex, "email": tidy, "role": role, "created_at": now()}
        with self._database.transaction():
            if self.with_email(tidy):
                raise AccessError(f"{tidy} is a user already.", hint="Change the role in the list.")
            self._database.run(insert(users).values(row))
        return User(row["id"], tidy, role)

    def signed_in(self, user_id: str, subject: str, name: str) -> None:
        """Store whom the identity provider names, and when."""
        seen = {"subject": subject, "name": flat(storable(name))[:MAX_NAME], "seen_at": now()}
        self._database.run(update(users).where(users.c.id == user_id).values(seen))

    def set_role(self, user_id: str, role: Role) -> None:
        """Raises AccessError where no admin would be left."""
        with self._database.transaction():
            self._database.run(update(users).where(users.c.id == user_id).values(role=role))
            self._check_admins()

    def set_disabled(self, user_id: str, disabled: bool) -> None:
        """A disabled user cannot sign in, and what is theirs stays. Raises AccessError where no admin would be left."""
        with self._database.transaction():
            self._database.run(update(users).where(users.c.id == user_id).values(disabled=disabled))
            self._check_admins()

    def _check_admins(self) -> None:
        admins = users.c.role == Role.ADMIN, users.c.disabled.is_(False)
        if not self._database.count(select(func.count()).select_from(users).where(*admins)):
            raise AccessError("This is the last admin.", hint=ADMINS_STAY)

    def adopt(self, user_id: str) -> int:
        """Give what was made without accounts to a user; return the number of rows."""
        with self._database.transaction():
            return sum(
                self._database.change(update(table).where(table.c.owner == LOCAL).values(owner=user_id))
                for table in OWNED
            )

    # ------------------------------------------------------------ members of collections

    def members(self, collection_id: str) -> list[Member]:
        """By e-mail address, without the owner."""
        query = (
            select(collection_members.c.right, users)
            .join(users)
            .where(collection_members.c.collection_id == collection_id)
            .order_by(users.c.email)
        )
        return [
            Member(row["id"], _user(row).shown, row["email"], Right(row["right"])) for row in self._database.rows(query)
        ]

    def owner(self, collection_id: str) -> User | None:
        row = self._database.row(select(users).join(collections, collections.c.owner == users.c.id).where(
            collections.c.id == collection_id))  # fmt: skip
        return _user(row) if row else None

    def set_member(self, collection_id: str, user_id: str, right: Right | None) -> None:
        """None: the user is no member any more."""
        own = collection_members.c.collection_id == collection_id, collection_members.c.user_id == user_id
        if right is None:
            self._database.run(delete(collection_members).where(*own))
        else:
            self._database.put(
                collection_members, {"collection_id": collection_id, "user_id": user_id}, {"right": right}
            )

    # ------------------------------------------------------------ settings

    def settings(self, user_id: str) -> dict[str, Any]:
        rows = self._database.rows(select(user_settings).where(user_settings.c.user_id == user_id))
        return {row["name"]: json.loads(row["value"]) for row in rows}

    def set_settings(self, user_id: str, values: Mapping[str, Any]) -> None:
        with self._database.transaction():
            for name, value in values.items():
                key = {"user_id": user_id, "name": name}
                self._database.put(user_settings, key, {"value": json.dumps(value)})

    # ------------------------------------------------------------ audit log

    def note(self, who: str, action: str, kind: str, subject: str) -> None:
        self._database.run(insert(audit_log).values(at=now(), who=who, action=action, kind=kind, subject=subject))

    def audit(self, *, most: int | None = None) -> Iterator[AuditLine]:
        """The newest first."""
        rows = self._database.rows(select(audit_log).order_by(audit_log.c.id.desc()).limit(most))
        return (AuditLine(**row) for row in rows)


def _tidy(email: str) -> str:
    return flat(storable(email)).lower()


def _user(row: RowMapping) -> User:
    role = Role(row["role"]) if row["role"] in list(Role) else Role.READER
    return User(row["id"], row["email"], role, row["name"], bool(row["disabled"]), row["seen_at"])
