"""Where other machines can reach the app: nobody gets in without the passphrase, and there is no start without one."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode

import pytest

from pincite.core.domain.errors import SettingsError
from pincite.web.door import Door
from pincite.web.passphrase import ATTEMPTS
from pincite.web.sign_in import derived_key
from tests.serving import RunningApp, free_port, pincite_command, running_app, without_network
from tests.web.attacker import Attacker, Reply

RIGHT = "four words nobody guesses"
NAME = "pincite.example"


def choose(folder: Path, text: str) -> subprocess.CompletedProcess[str]:
    command = pincite_command("passphrase", "--data-dir", folder / "data")
    return subprocess.run(command, input=f"{text}\n", capture_output=True, text=True, timeout=300)


@contextmanager
def app_for_others(folder: Path) -> Iterator[RunningApp]:
    assert choose(folder, RIGHT).returncode == 0
    environment = {
        **without_network(folder),
        "STREAMLIT_SERVER_ADDRESS": "0.0.0.0",
        "STREAMLIT_SERVER_ALLOWED_HOSTS": NAME,
    }
    with running_app(folder, port=free_port(), environment=environment) as app:
        yield app
    assert (folder / "network.log").read_text(encoding="utf-8") == ""


@pytest.fixture(scope="module")
def open_to_others(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningApp]:
    with app_for_others(tmp_path_factory.mktemp("others")) as app:
        yield app


@pytest.fixture
def outside(open_to_others: RunningApp) -> Attacker:
    return attacker_of(open_to_others)


@pytest.fixture(scope="module")
def guesser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Attacker]:
    """At an app of its own: after too many wrong attempts the right passphrase is refused too."""
    with app_for_others(tmp_path_factory.mktemp("guessed")) as app:
        yield attacker_of(app)


def attacker_of(app: RunningApp) -> Attacker:
    return Attacker(int(app.address.rpartition(":")[2]), ("Cookie", ""))


def sign_in(attacker: Attacker, passphrase: str, *headers: tuple[str, str]) -> Reply:
    body = urlencode({"passphrase": passphrase}).encode()
    return attacker.send(
        "/documents?session=x", *(headers or (attacker.host, attacker.origin)), method="POST", body=body
    )


def test_app_does_not_start_without_a_passphrase_and_prints_what_to_do(tmp_path: Path) -> None:
    command = pincite_command("--no-browser", "--port", str(free_port()), "--data-dir", tmp_path / "data")
    offline = without_network(tmp_path)
    for variables in ({"STREAMLIT_SERVER_ADDRESS": "0.0.0.0"}, {"STREAMLIT_SERVER_ALLOWED_HOSTS": NAME}):
        environment = offline | variables
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
        assert (done.returncode, done.stdout) == (2, ""), done
        assert "pincite passphrase" in done.stderr and len(done.stderr.splitlines()) == 1


def test_a_passphrase_that_is_too_short_is_refused(tmp_path: Path) -> None:
    done = choose(tmp_path, "short")
    assert done.returncode == 2 and "12 characters" in done.stderr and "Traceback" not in done.stderr


def test_address_contains_no_token_and_no_token_grants_access(open_to_others: RunningApp, outside: Attacker) -> None:
    assert "token" not in open_to_others.entrance
    for given in ("", "x"):
        assert not outside.send(f"/?token={given}", outside.host).all("set-cookie")
    page = outside.send("/", outside.host)
    assert page.status == 403 and b"Sign in" in page.body
    assert outside.knock(outside.host, outside.origin) == 403


def test_passphrase_redirects_to_the_requested_page(outside: Attacker) -> None:
    reply = sign_in(outside, RIGHT)
    (cookie,) = reply.all("set-cookie")
    assert reply.status == 303 and reply.all("location") == ["/documents?session=x"]
    assert "HttpOnly" in cookie and "SameSite=strict" in cookie and RIGHT not in cookie
    signed_in = "Cookie", cookie.partition(";")[0]
    assert outside.send("/", outside.host, signed_in).status == 200
    assert outside.knock(outside.host, outside.origin, signed_in) == 101
    assert outside.knock(outside.host, ("Origin", "http://elsewhere.example"), signed_in) == 403


@pytest.mark.parametrize("host", (NAME, f"{NAME}:{{port}}"))
def test_the_names_it_was_given_are_answered_to(outside: Attacker, host: str) -> None:
    authority = host.format(port=outside.port)
    for scheme in ("http", "https"):
        reply = sign_in(outside, RIGHT, ("Host", authority), ("Origin", f"{scheme}://{authority}"))
        assert reply.status == 303
        assert ("Secure" in reply.all("set-cookie")[0]) == (scheme == "https")
    assert sign_in(outside, RIGHT, ("Host", f"x.{authority}"), ("Origin", f"http://x.{authority}")).status == 403


def test_pages_elsewhere_cannot_sign_anybody_in(outside: Attacker) -> None:
    for origin in (("Origin", "http://elsewhere.example"), ("Origin", "null")):
        assert sign_in(outside, RIGHT, outside.host, origin).status == 403
    assert sign_in(outside, RIGHT, outside.host).status == 403


def test_forms_that_are_none_let_nobody_in(guesser: Attacker) -> None:
    for body in (b"", b"x" * 5000, b"passphrase", b"passphrase=", b"\xff\xfe", b"passphrase[]=a"):
        reply = guesser.send("/", guesser.host, guesser.origin, method="POST", body=body)
        assert reply.status in (403, 429) and not reply.all("set-cookie")


def test_guessing_ends_after_a_few_attempts_whatever_address_is_claimed(guesser: Attacker) -> None:
    statuses = []
    for number in range(ATTEMPTS + 3):
        claimed = ("X-Forwarded-For", f"192.0.2.{number}")
        statuses.append(sign_in(guesser, f"guess number {number}", guesser.host, guesser.origin, claimed).status)
    assert statuses[-3:] == [429] * 3
    last = sign_in(guesser, RIGHT)
    assert last.status == 429 and last.all("retry-after") and b"Too many attempts" in last.body


def test_apps_with_the_same_key_know_each_others_cookies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PINCITE_COOKIE_KEY", "k" * 32)
    assert Door(frozenset()).key == Door(frozenset()).key
    assert Door(frozenset()).key not in ("k" * 32, derived_key("sign-in")), "a cookie does not show the key"
    monkeypatch.setenv("PINCITE_COOKIE_KEY", "short")
    with pytest.raises(SettingsError, match="PINCITE_COOKIE_KEY is shorter than 32"):
        Door(frozenset())
    monkeypatch.delenv("PINCITE_COOKIE_KEY")
    assert Door(frozenset()).key != Door(frozenset()).key
