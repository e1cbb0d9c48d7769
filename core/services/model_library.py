"""The models on the Ollama server of the settings: what a person sees of them, fetches and removes."""

import threading
import time
from collections.abc import Callable

from pincite.core.domain.errors import PinciteError, StoppedError
from pincite.core.domain.models import Fetch, Fetched, KeptModel
from pincite.core.domain.settings import Settings
from pincite.core.models.ollama import host_of
from pincite.core.models.ollama_library import fetch_model, kept_models, recommended, remove_model

HOLD_SECONDS = 10.0
"""How long a list is given again without asking the server."""


class ModelLibrary:
    """One model is fetched at a time, in a thread of its own that nothing waits for."""

    def __init__(self, settings: Callable[[], Settings]) -> None:
        """``settings`` gives those that hold."""
        self._settings = settings
        self._lock = threading.Lock()
        self._known: tuple[str, float, list[KeptModel]] | None = None
        self._fetch: Fetch | None = None
        self._stop = threading.Event()

    @property
    def host(self) -> str:
        """Empty where nobody has allowed the address. Raises ModelUnavailableError where it is none."""
        settings = self._settings()
        host = host_of(settings.ollama_host)
        return host if settings.may_send(host) else ""

    @property
    def recommended(self) -> str:
        return recommended()

    def list(self) -> list[KeptModel]:
        """Raises ModelUnavailableError."""
        host = self.host
        if not host:
            return []
        if (known := self._known) and known[0] == host and time.monotonic() - known[1] < HOLD_SECONDS:
            return known[2]
        found = kept_models(host)
        self._known = host, time.monotonic(), found
        return found

    def fetch(self, name: str) -> None:
        """Begin; where one is being fetched already, nothing happens. Raises ModelUnavailableError for no address."""
        host = self.host
        with self._lock:
            if self._fetch and self._fetch.running:
                return
            self._stop.clear()
            self._fetch = Fetch(name, Fetched("Requesting the model"))
        threading.Thread(target=self._run, args=(host, name), name="fetch model", daemon=True).start()

    def fetching(self) -> Fetch | None:
        return self._fetch

    def stop(self) -> None:
        """What has come is kept by the server, which goes on from there another time."""
        self._stop.set()

    def remove(self, name: str) -> None:
        """Raises ModelUnavailableError."""
        self._known = None
        remove_model(self.host, name)

    def _run(self, host: str, name: str) -> None:
        error = ""

        def report(now: Fetched) -> None:
            self._fetch = Fetch(name, now)

        try:
            fetch_model(host, name, report, self._stop.is_set)
        except StoppedError:
            error = f"The download of {name} was stopped. The part received is kept; download it again to continue."
        except PinciteError as trouble:
            error = f"{trouble.message} {trouble.hint}"
        finally:
            self._known = None
            self._fetch = Fetch(name, Fetched(""), running=False, error=error)
