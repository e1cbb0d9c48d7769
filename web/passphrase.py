"""The passphrase of an installation, which lets other machines in: kept as a scrypt hash, and not for guessing at."""

import asyncio
import hashlib
import ipaddress
import json
import secrets
import time
import unicodedata
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path

from pincite.core.domain.errors import SettingsError
from pincite.core.domain.writing import NOT_OURS, write_whole

MIN_LENGTH = 12
MAX_LENGTH = 1024
ATTEMPTS = 5
WINDOW_SECONDS = 300.0
CLIENTS = 1000
"""Remembered for their failures."""
WAITING = 8
"""Attempts that may wait for the one that is being checked; each costs 32 MiB and a tenth of a second."""
_COST = {"n": 2**15, "r": 8, "p": 1, "maxmem": 2**26}
_MEND = "Choose one with `pincite passphrase`."


class TooManyAttempts(Exception):
    """``seconds``: after which another attempt may be made."""

    def __init__(self, seconds: float) -> None:
        self.seconds = max(1, round(seconds))
        super().__init__(f"Too many attempts. Try again in {self.seconds} second{'' if self.seconds == 1 else 's'}.")


class Passphrase:
    """One file of the data directory, and who has failed to give what it was made from."""

    def __init__(self, data_dir: Path, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._path = data_dir / "passphrase.json"
        self._clock = clock
        self._failures: OrderedDict[str, list[float]] = OrderedDict()
        self._checking = asyncio.Lock()
        self._waiting = 0

    def is_chosen(self) -> bool:
        """Raises SettingsError when the file is there and cannot be used."""
        return self._path.exists() and bool(self._stored())

    def choose(self, text: str) -> None:
        """Raises SettingsError for one that is too short."""
        if not MIN_LENGTH <= len(text.strip()) <= MAX_LENGTH:
            hint = f"Use at least {MIN_LENGTH} characters; a few words that nobody would guess are best."
            raise SettingsError("The passphrase was not changed.", hint=hint)
        salt = secrets.token_bytes(16)
        write_whole(self._path, json.dumps({"salt": salt.hex(), "hash": _hash(text, salt).hex()}))

    def matches(self, text: str) -> bool:
        """Raises SettingsError when there is none to match."""
        salt, right = self._stored()
        return len(text) <= MAX_LENGTH and secrets.compare_digest(_hash(text, salt), right)

    async def admits(self, text: str, client: str) -> bool:
        """Check an attempt from a client's address, one at a time. Raises TooManyAttempts."""
        network = _network(client)
        self._refuse_guessing(network)
        if self._waiting >= WAITING:
            raise TooManyAttempts(1)
        self._waiting += 1
        try:
            async with self._checking:
                self._refuse_guessing(network)
                right = await asyncio.to_thread(self.matches, text)
                if not right:
                    self._remember(network)
                return right
        finally:
            self._waiting -= 1

    def _refuse_guessing(self, network: str) -> None:
        recent = [at for at in self._failures.get(network, ()) if at > self._clock() - WINDOW_SECONDS]
        if len(recent) >= ATTEMPTS:
            raise TooManyAttempts(recent[-ATTEMPTS] + WINDOW_SECONDS - self._clock())

    def _remember(self, network: str) -> None:
        self._failures[network] = [*self._failures.pop(network, ()), self._clock()][-ATTEMPTS:]
        while len(self._failures) > CLIENTS:
            self._failures.popitem(last=False)

    def _stored(self) -> tuple[bytes, bytes]:
        try:
            kept = json.loads(self._path.read_text(encoding="utf-8"))
            salt, right = bytes.fromhex(kept["salt"]), bytes.fromhex(kept["hash"])
        except (OSError, *NOT_OURS) as error:
            raise SettingsError(f"{self._path} does not hold a passphrase.", hint=_MEND) from error
        if not salt or len(right) != 64:
            raise SettingsError(f"{self._path} does not hold a passphrase.", hint=_MEND)
        return salt, right


def _hash(text: str, salt: bytes) -> bytes:
    """Return the same text typed on another keyboard may come in another normal form."""
    return hashlib.scrypt(unicodedata.normalize("NFKC", text.strip()).encode("utf-8", "replace"), salt=salt, **_COST)


def _network(client: str) -> str:
    """Whoever has one IPv6 address has the 2^64 around it."""
    try:
        address = ipaddress.ip_address(client.partition("%")[0])
    except ValueError:
        return client
    return str(ipaddress.ip_network((address, 64), strict=False)) if address.version == 6 else str(address)
