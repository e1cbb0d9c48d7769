"""The door and the gate of an app with accounts, with a real identity provider."""

import re
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from pincite.core.domain.accounts import Role
from pincite.core.domain.settings import PACKAGE_ROOT, Settings
from pincite.core.domain.tokens import Permission
from pincite.core.services.bootstrap import open_pincite
from pincite.web.pictures import page_address
from tests.browser.conftest import environment
from tests.serving import RunningApp, free_port, pincite_command, running_app
from tests.support.accounts import ANA, BOB, CY, identity_provider, with_accounts
from tests.web.conftest import SECONDS

SAMPLE = PACKAGE_ROOT / "data" / "samples" / "service-contract.pdf"


@pytest.fixture(scope="module")
def issuer() -> Iterator[str]:
    with identity_provider() as address:
        yield address


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return where Ana and Bob each have the contract and a token."""
    folder = tmp_path_factory.mktemp("accounts")
    with closing(open_pincite(Settings(data_dir=folder / "data", engine="quoting", admins=ANA))) as app:
        assert app.accounts
        for email in (ANA, BOB):
            admin = app.accounts.of({"iss": "earlier", "sub": ANA, "email": ANA, "email_verified": True})
            if email != ANA:
                app.accounts.add(admin, email, Role.READER)
            user = app.accounts._users.with_email(email)
            assert user
            own = app.of(user)
            document = own.ingest.add(SAMPLE, f"{email}.pdf").document
            own.ingest.wait(timeout_seconds=SECONDS)
            _, secret = own.tokens.create("a program", [Permission.READ, Permission.ASK])
            (folder / email).write_text(f"{document.id} {secret}")
    return folder


@pytest.fixture(scope="module")
def app(folder: Path, issuer: str) -> Iterator[RunningApp]:
    port = free_port()
    variables = environment(PINCITE_ENGINE="quoting", **with_accounts(issuer, port))
    with running_app(folder, port=port, environment=variables) as app:
        yield app


def signed_in(app: RunningApp, email: str) -> httpx.Client:
    """Return a browser in which somebody has signed in at the provider."""
    browser = httpx.Client(base_url=app.address, timeout=SECONDS, follow_redirects=True)
    form = browser.get("/sign-in")
    assert form.url.path == "/oauth2/authorize"
    back = browser.post(form.url, data={"sub": email})
    assert (back.status_code, back.url.path) == (200, "/")
    return browser


def test_nothing_is_open_to_who_has_not_signed_in(app: RunningApp, folder: Path) -> None:
    document = (folder / ANA).read_text().split()[0]
    stranger = httpx.Client(base_url=app.address, timeout=SECONDS)
    shown = stranger.get("/")
    assert shown.status_code == 403 and 'href="/sign-in"' in shown.text
    forged = {"_streamlit_user": '"2|1:0|10:1|15:_streamlit_user|4:e30=|0"'}
    for path in ("/documents", "/_stcore/health", "/media/x.jpg", page_address(document), "/static/x.js", "/users"):
        assert stranger.get(path).status_code == 403, path
        assert stranger.get(path, cookies=forged).status_code == 403, path
    assert stranger.post("/").status_code == 403
    assert stranger.get("/oauth2callback?code=x&state=y").status_code == 302, "Streamlit sends back what it did not ask"
    assert stranger.get("/auth/login").headers["location"] == "/"


def test_who_signs_in_sees_pictures_of_their_own_pages_alone(app: RunningApp, folder: Path) -> None:
    own, others = ((folder / email).read_text().split()[0] for email in (BOB, ANA))
    browser = signed_in(app, BOB)
    assert browser.get(page_address(own)).headers["content-type"] == "image/png"
    assert browser.get(page_address(others)).status_code == 404
    assert signed_in(app, CY).get(page_address(own)).status_code == 404, "nobody added Cy"


@pytest.mark.behaviour("Accounts", "A token opens to a program what its user sees.")
def test_a_token_opens_what_its_user_sees(app: RunningApp, folder: Path) -> None:
    for email, other in ((ANA, BOB), (BOB, ANA)):
        own, secret = (folder / email).read_text().split()
        others = (folder / other).read_text().split()[0]
        program = httpx.Client(base_url=app.address, timeout=SECONDS, headers={"Authorization": f"Bearer {secret}"})
        found = program.get("/api/v1/documents").json()["documents"]
        assert [one["id"] for one in found] == [own]
        assert program.get(f"/api/v1/documents/{others}").status_code == 404
        passages = program.post("/api/v1/search", json={"query": "late payment"}).json()["passages"]
        assert {one["document_id"] for one in passages} == {own}
        call = {"method": "tools/call", "params": {"name": "list_documents", "arguments": {}}}
        accept = {"Accept": "application/json, text/event-stream"}
        called = program.post("/mcp", json={"jsonrpc": "2.0", "id": 1, **call}, headers=accept)
        assert own in called.text and others not in called.text
        asked = program.post("/v1/chat/completions", json={
            "model": "pincite", "messages": [{"role": "user", "content": "What is the penalty for late payment?"}],
        })  # fmt: skip
        assert "1.5 %" in asked.text and other not in asked.text


def test_what_is_missing_is_named(tmp_path: Path, issuer: str) -> None:
    for missing in ("PINCITE_OIDC_CLIENT_SECRET", "PINCITE_COOKIE_KEY"):
        variables = environment(**{**with_accounts(issuer, 8501), missing: ""})
        command = pincite_command("--no-browser", "--port", str(free_port()), "--data-dir", tmp_path)
        ended = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=SECONDS, check=False)
        assert ended.returncode and re.search(f"{missing} must be set", ended.stdout + ended.stderr)
        assert "Traceback" not in ended.stderr
