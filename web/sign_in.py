"""Signing in at an identity provider by OpenID Connect: Streamlit's own routes do it, and its signed cookie says who.

The provider is named by variables: PINCITE_OIDC_ISSUER, PINCITE_OIDC_CLIENT_ID, PINCITE_OIDC_CLIENT_SECRET; and
PINCITE_ADDRESS is where browsers find Pincite, to which the provider sends them back.
"""

import hmac
import json
import os
from typing import Any
from urllib.parse import urlencode, urlsplit

from starlette.requests import HTTPConnection
from streamlit import config
from streamlit.auth_util import encode_provider_token, get_cookie_with_chunks, is_authlib_installed
from streamlit.web.server.starlette.starlette_app_utils import decode_signed_value
from streamlit.web.server.starlette.starlette_server_config import USER_COOKIE_NAME

from pincite.core.domain.errors import SettingsError
from pincite.core.domain.settings import VARIABLES

START = "/sign-in"
"""Leads to the provider; a link to Streamlit's own route holds for two minutes alone."""
SIGN_OUT = "/auth/logout"
ROUTES = ("/auth/login", SIGN_OUT, "/oauth2callback")
"""Streamlit's, which have to be open to people who have not signed in."""
MIN_KEY_LENGTH = 32
NEEDED = ("OIDC_ISSUER", "OIDC_CLIENT_ID", "OIDC_CLIENT_SECRET", "ADDRESS", "COOKIE_KEY")


def prepare() -> dict[str, Any]:
    """Return what Streamlit has to know of the provider, as the secrets of its app. Raises SettingsError."""
    given = {name: os.environ.get(VARIABLES + name, "").strip() for name in NEEDED}
    if missing := [VARIABLES + name for name, value in given.items() if not value]:
        hint = "docs/server.md says what they are."
        raise SettingsError(f"PINCITE_ADMINS is set, and so {', '.join(missing)} must be set, too.", hint=hint)
    address = given["ADDRESS"].rstrip("/")
    if urlsplit(address).scheme not in ("http", "https") or urlsplit(address).path:
        hint = "It looks like https://pincite.example.com."
        raise SettingsError("PINCITE_ADDRESS is not where browsers find Pincite.", hint=hint)
    if not is_authlib_installed():  # an extra that a laptop does without
        hint = "Install it with: pip install 'pincite[server]'"
        raise SettingsError("PINCITE_ADMINS is set, but the OpenID Connect client is missing.", hint=hint)
    secret = derived_key("sign-in")
    config.set_option("server.cookieSecret", secret)  # the same in all apps of a server
    auth = {
        "redirect_uri": f"{address}/oauth2callback",
        "cookie_secret": secret,
        "client_id": given["OIDC_CLIENT_ID"],
        "client_secret": given["OIDC_CLIENT_SECRET"],
        "server_metadata_url": f"{given['OIDC_ISSUER'].rstrip('/')}/.well-known/openid-configuration",
    }
    return {"auth": auth}


def derived_key(purpose: str) -> str:
    """Return a key for one purpose, made of the one that all apps of a server have; empty where there is none.

    What one of them protects does not show another. Raises SettingsError.
    """
    key = os.environ.get(f"{VARIABLES}COOKIE_KEY", "")
    if key and len(key) < MIN_KEY_LENGTH:
        hint = "Make one with: openssl rand -hex 32"
        raise SettingsError(f"PINCITE_COOKIE_KEY is shorter than {MIN_KEY_LENGTH} characters.", hint=hint)
    return hmac.new(key.encode(), purpose.encode(), "sha256").hexdigest() if key else ""


def public_host() -> str:
    """Return the host, and port if any, by which browsers name the server."""
    return urlsplit(os.environ.get(f"{VARIABLES}ADDRESS", "")).netloc.lower()


def claims_of(connection: HTTPConnection) -> dict[str, Any]:
    """Return what the identity provider said of who sends this; empty where nobody has signed in."""
    cookies, key = connection.cookies, derived_key("sign-in")

    def one(name: str) -> bytes | None:
        return decode_signed_value(key, name, cookies[name].encode("latin-1", "replace")) if name in cookies else None

    try:
        claims = json.loads(get_cookie_with_chunks(one, USER_COOKIE_NAME) or b"{}")
    except ValueError:
        return {}
    return claims if isinstance(claims, dict) and claims.get("is_logged_in") else {}


def way_to_provider() -> str:
    return f"{ROUTES[0]}?{urlencode({'provider': encode_provider_token('default')})}"
