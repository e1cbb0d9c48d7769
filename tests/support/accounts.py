"""A real identity provider, and an app that asks it who people are."""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

COOKIE_KEY = "k" * 32
ANA, BOB, CY = "ana@example.org", "bob@example.org", "cy@example.org"


@contextmanager
def identity_provider(emails: Sequence[str] = (ANA, BOB, CY)) -> Iterator[str]:
    """Yield the address of a provider that knows these people; whoever signs in there says which one they are."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a package that it is built on
        from oidc_provider_mock import User, run_server_in_thread

        names = {one: one.partition("@")[0].title() for one in emails}
        people = [
            User(sub=one, claims={"email": one, "email_verified": True, "name": name}) for one, name in names.items()
        ]
        with run_server_in_thread(user_claims=people) as server:
            yield f"http://127.0.0.1:{server.server_port}"


def with_accounts(issuer: str, port: int, admins: str = ANA) -> dict[str, str]:
    """Return the variables of an app whose users that provider knows."""
    return {
        "PINCITE_ADMINS": admins,
        "PINCITE_ADDRESS": f"http://127.0.0.1:{port}",
        "PINCITE_COOKIE_KEY": COOKIE_KEY,
        "PINCITE_OIDC_ISSUER": issuer,
        "PINCITE_OIDC_CLIENT_ID": "pincite",
        "PINCITE_OIDC_CLIENT_SECRET": "a secret of both",
    }
