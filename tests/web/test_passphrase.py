"""What lets other machines in: kept as a hash that only its owner reads, and not for guessing at."""

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest

from pincite.core.domain.errors import SettingsError
from pincite.web.passphrase import ATTEMPTS, WAITING, WINDOW_SECONDS, Passphrase, TooManyAttempts

RIGHT = "four words nobody guesses"


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def run(attempt: Coroutine[Any, Any, bool]) -> bool:
    return asyncio.run(attempt)


def chosen(folder: Path, clock: Clock | None = None) -> Passphrase:
    passphrase = Passphrase(folder, clock=clock or Clock())
    passphrase.choose(RIGHT)
    return passphrase


def test_it_is_kept_as_a_hash_that_only_its_owner_reads(tmp_path: Path) -> None:
    assert not Passphrase(tmp_path).is_chosen()
    assert chosen(tmp_path).is_chosen()
    (file,) = tmp_path.iterdir()
    assert file.stat().st_mode & 0o777 == 0o600
    assert not any(word in file.read_text(encoding="utf-8") for word in RIGHT.split())


def test_only_the_whole_of_it_matches(tmp_path: Path) -> None:
    passphrase = chosen(tmp_path)
    assert passphrase.matches(RIGHT)
    assert not any(map(passphrase.matches, ("", RIGHT[:-1], RIGHT.upper(), RIGHT + "x" * 100_000, "\ud800" * 20)))


@pytest.mark.parametrize("text", ("", "short", " " * 40, "x" * 5000))
def test_one_that_can_be_guessed_is_refused_and_the_old_one_stays(tmp_path: Path, text: str) -> None:
    passphrase = chosen(tmp_path)
    with pytest.raises(SettingsError):
        passphrase.choose(text)
    assert passphrase.matches(RIGHT)


@pytest.mark.parametrize(
    "content", ("", "{}", "[]", "null", '{"salt": "", "hash": ""}', '{"salt": 1, "hash": 2}', "\0")
)
def test_damaged_file_admits_nobody_and_is_reported(tmp_path: Path, content: str) -> None:
    (tmp_path / "passphrase.json").write_text(content, encoding="utf-8")
    with pytest.raises(SettingsError, match="passphrase"):
        Passphrase(tmp_path).is_chosen()
    with pytest.raises(SettingsError):
        run(Passphrase(tmp_path).admits("", "192.0.2.1"))


def test_after_some_wrong_ones_an_address_waits_and_others_do_not(tmp_path: Path) -> None:
    clock = Clock()
    passphrase = chosen(tmp_path, clock)
    for _ in range(ATTEMPTS):
        assert not run(passphrase.admits("wrong", "192.0.2.1"))
    with pytest.raises(TooManyAttempts):
        run(passphrase.admits(RIGHT, "192.0.2.1"))
    assert run(passphrase.admits(RIGHT, "192.0.2.2"))
    clock.now = WINDOW_SECONDS + 1
    assert run(passphrase.admits(RIGHT, "192.0.2.1"))


def test_neighbouring_ipv6_addresses_count_as_one(tmp_path: Path) -> None:
    passphrase = chosen(tmp_path)
    for number in range(ATTEMPTS):
        assert not run(passphrase.admits("wrong", f"2001:db8::{number}"))
    with pytest.raises(TooManyAttempts):
        run(passphrase.admits(RIGHT, "2001:db8::ffff"))


def test_attempts_at_once_are_counted_and_only_a_few_may_wait(tmp_path: Path) -> None:
    passphrase = chosen(tmp_path)

    async def storm() -> list[bool | BaseException]:
        return await asyncio.gather(
            *(passphrase.admits("wrong", "192.0.2.1") for _ in range(100)), return_exceptions=True
        )

    outcomes = asyncio.run(storm())
    assert outcomes.count(False) == ATTEMPTS
    assert sum(isinstance(outcome, TooManyAttempts) for outcome in outcomes) == 100 - ATTEMPTS
    assert WAITING < 100
