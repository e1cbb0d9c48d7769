"""Who signs in, who may do what, and the log of it."""

import csv
import io
import threading
import time
from collections.abc import Callable, Collection, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from pincite.core.domain.accounts import AuditLine, Member, Right, Role, User
from pincite.core.domain.errors import AccessError

if TYPE_CHECKING:
    from pincite.core.store.users import Users

HOLD_SECONDS = 5.0
"""How long a user is used without a look at the database: so soon a change of role holds in every process."""
MAX_LINES = 2_000
"""Of the audit log on the page; the file has all."""


class Accounts:
    def __init__(self, users: "Users", admins: Collection[str], *, trusts_email: bool = False) -> None:
        """``admins``: e-mail addresses of those who may sign in first.

        ``trusts_email``: an address counts also where the provider does not say whether it is verified.
        """
        self._users, self._admins = users, frozenset(one.lower() for one in admins)
        self._trusts_email = trusts_email
        self._known: dict[str, tuple[float, User]] = {}
        self._by_id: dict[str, tuple[float, User | None]] = {}
        self._lock = threading.Lock()

    def of(self, claims: Mapping[str, Any]) -> User:
        """Return the user whom the identity provider names. Raises AccessError where there is none.

        ``claims``: those of the ID token (OpenID Connect Core, section 2). A user is known by issuer and subject; the
        e-mail address, if it is verified, only says at the first sign-in which user it is.
        """
        subject = f"{claims.get('iss', '')} {claims.get('sub', '')}"
        with self._lock:
            at, known = self._known.get(subject, (0.0, None))
            if known is None or time.monotonic() - at >= HOLD_SECONDS:
                known = self._signed_in(claims, subject)
                self._known[subject] = time.monotonic(), known
        if known.disabled:
            raise AccessError("Your account is disabled.", hint="Ask an administrator.")
        return known

    def _signed_in(self, claims: Mapping[str, Any], subject: str) -> User:
        email = str(claims.get("email") or "").strip().lower()
        if not claims.get("sub"):
            raise AccessError("The identity provider names nobody.", hint="Sign in again.")
        user = self._users.with_subject(subject)
        if user is None and email and self._is_verified(claims):
            user = self._users.with_email(email) or (self._first(email) if email in self._admins else None)
            if user and user.seen_at:  # of somebody who had this address before
                raise AccessError(f"{email} belongs to another account.", hint="Ask an administrator.")
        if user is None:
            who = f" to add {email}" if email else ""
            raise AccessError("You have no account here.", hint=f"Ask an administrator{who}.")
        issued = min(_moment(claims.get("iat")), datetime.now(UTC)).isoformat()
        if not user.disabled and (not user.seen_at or user.seen_at < issued):
            self._users.signed_in(user.id, subject, str(claims.get("name") or ""))
            self._users.note(user.email, "signed in", "user", user.id)
            user = self._users.get(user.id) or user
        return user

    def _is_verified(self, claims: Mapping[str, Any]) -> bool:
        """Return whether the address is the user's own, as the provider says or as it was said of the provider."""
        said = claims.get("email_verified")
        return said in (True, "true") or (said is None and self._trusts_email)

    def _first(self, email: str) -> User:
        """Make one of the first admins, who gets what was made before there were users."""
        user = self._users.add(email, Role.ADMIN)
        self._users.adopt(user.id)
        return user

    def with_id(self, user_id: str) -> User | None:
        """Return a user who may do something; None: disabled, or none."""
        user = self._users.get(user_id)
        return user if user and not user.disabled else None

    def now(self, user_id: str) -> User:
        """Return a user as they are within HOLD_SECONDS. Raises AccessError if they may do nothing any more."""
        at, known = self._by_id.get(user_id, (0.0, None))
        if time.monotonic() - at >= HOLD_SECONDS:
            known = self.with_id(user_id)
            self._by_id[user_id] = time.monotonic(), known
        if known is None:
            raise AccessError("Your account is disabled.", hint="Ask an administrator.")
        return known

    # ------------------------------------------------------------ what admins do

    def _check(self, admin: User) -> None:
        """Raises AccessError. What a page was drawn with may be minutes old."""
        now = self.with_id(admin.id)
        if now is None or not now.is_admin:
            raise AccessError("Only an admin does this.")

    def all(self, admin: User) -> list[User]:
        """Raises AccessError, as all that follow."""
        self._check(admin)
        return self._users.all()

    def add(self, admin: User, email: str, role: Role) -> User:
        self._check(admin)
        user = self._users.add(email, role)
        self._users.note(admin.email, f"added as {role}", "user", user.id)
        return user

    def set_role(self, admin: User, user_id: str, role: Role) -> None:
        self._check(admin)
        self._users.set_role(user_id, role)
        self._changed(admin, f"made {role}", user_id)

    def set_disabled(self, admin: User, user_id: str, disabled: bool) -> None:
        self._check(admin)
        self._users.set_disabled(user_id, disabled)
        self._changed(admin, "disabled" if disabled else "enabled", user_id)

    def _changed(self, admin: User, what: str, user_id: str) -> None:
        self._users.note(admin.email, what, "user", user_id)
        with self._lock:
            self._known.clear()
            self._by_id.clear()

    def audit(self, admin: User, *, most: int | None = MAX_LINES) -> list[AuditLine]:
        self._check(admin)
        return list(self._users.audit(most=most))

    def audit_csv(self, admin: User) -> bytes:
        """Return the whole log, the newest line first."""
        out = io.StringIO()
        writer = csv.writer(out)
        writer.writerow(("at", "who", "action", "kind", "subject"))
        writer.writerows((one.at, one.who, one.action, one.kind, one.subject) for one in self.audit(admin, most=None))
        return out.getvalue().encode()


def _moment(issued: Any) -> datetime:
    """Return when a token was issued; long ago where it does not say so in seconds since 1970."""
    try:
        return datetime.fromtimestamp(float(issued), UTC)
    except (TypeError, ValueError, OverflowError, OSError):
        return datetime.fromtimestamp(0, UTC)


class Sharing:
    """The members of the collections that a user sees."""

    def __init__(self, users: "Users", user: Callable[[], User], right: Callable[[str], Right | None]) -> None:
        """``right`` returns what the user may do in a collection; None: it is the user's own. Raises AccessError."""
        self._users, self._user, self._right = users, user, right

    def right(self, collection_id: str) -> Right | None:
        return self._right(collection_id)

    def members(self, collection_id: str) -> list[Member]:
        self._right(collection_id)
        return self._users.members(collection_id)

    def owner(self, collection_id: str) -> User | None:
        self._right(collection_id)
        return self._users.owner(collection_id)

    def set(self, collection_id: str, email: str, right: Right | None) -> None:
        """Let a user be a member with this right, or no member. Raises AccessError."""
        me = self._user()
        if self._right(collection_id) is not None:
            raise AccessError("Only the owner of a collection says who its members are.")
        member = self._users.with_email(email)
        if member is None:
            raise AccessError(f"{email.strip()[:100]} has no account here.", hint="Ask an administrator to add it.")
        if member.id == me.id:
            raise AccessError("The collection is yours already.")
        self._users.set_member(collection_id, member.id, right)
        what = f"shared ({right}) with" if right else "no longer shared with"
        self._users.note(me.email, f"{what} {member.email}", "collection", collection_id)
