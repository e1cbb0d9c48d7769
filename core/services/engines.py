"""Which engines there are, known without waiting for a server that hangs."""

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from pincite.core.domain.errors import SettingsError, StoppedError
from pincite.core.domain.settings import Settings
from pincite.core.models.client import stoppable
from pincite.core.models.keys import keep_key
from pincite.core.models.openai_server import address_of
from pincite.core.services.registry import EngineState, chat_providers, look_for_engines
from pincite.core.services.settings import SettingsInForce

HOLD_SECONDS = 10.0
"""How long an answer about the engines is given again without asking the server."""
STALE_SECONDS = 60.0
"""How long it is still given while the server is asked."""
WARM_SECONDS = 900.0
"""How long a model that was loaded is taken to be so still."""


class Engines:
    def __init__(self, settings: SettingsInForce) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._known: tuple[Settings, EngineState, float] | None = None
        """What was found with which settings, and when."""
        self._looking: threading.Thread | None = None
        self._warmed: tuple[str, str, float] = ("", "", 0.0)
        """Provider, model, and when it was to be loaded."""
        self._closing = threading.Event()

    def label(self, name: str) -> str:
        """Return what people call a provider; its name if it is none."""
        provider = chat_providers().get(name)
        return provider.label if provider else name

    def state(self) -> EngineState:
        """Return the current and possible engines; a thread asks the server every few seconds, and callers do not wait.

        The caller asks the server only if there is no state yet, or an outdated one.
        """
        with self._lock:
            if self._known is not None and self._known[0] is self._settings.current:
                _, state, found_at = self._known
                age = time.monotonic() - found_at
                if age > HOLD_SECONDS and not (self._looking and self._looking.is_alive()):
                    self._looking = threading.Thread(
                        target=self._unless_closing, args=(self._look,), name="engines", daemon=True
                    )
                    self._looking.start()
                if age <= STALE_SECONDS:
                    return state
        return self._look()

    def warm(self) -> None:
        """Have the model that would answer loaded while a person still thinks; nobody waits for it."""
        state, settings = self.state(), self._settings.current
        if state.name not in chat_providers() or not state.model:
            return
        with self._lock:
            provider, model, at = self._warmed
            if (provider, model) == (state.name, state.model) and time.monotonic() - at < WARM_SECONDS:
                return
            self._warmed = state.name, state.model, time.monotonic()
        load = partial(chat_providers()[state.name].warm, settings, state.model)
        threading.Thread(target=self._unless_closing, args=(load,), name="warm", daemon=True).start()

    def allow(self, address: str) -> None:
        """Questions and passages may go there from now on."""
        self._settings.change(allowed_addresses=" ".join(dict.fromkeys([*self.allowed, address])))

    def withdraw(self, address: str) -> None:
        """Nothing more is sent there."""
        self._settings.change(allowed_addresses=" ".join(one for one in self.allowed if one != address))

    @property
    def allowed(self) -> tuple[str, ...]:
        return tuple(self._settings.current.allowed_addresses.split())

    def keep_key(self, server: str, key: str) -> None:
        """In the keyring of this machine alone, for the server as the settings give it; empty: forget it.

        Raises SettingsError, ModelUnavailableError.
        """
        if not server:
            raise SettingsError("The key has no server address.", hint="Give the server's address as well.")
        keep_key(address_of(server), key)
        with self._lock:
            self._known = None

    def close(self) -> None:
        self._closing.set()

    def _unless_closing(self, ask: Callable[[], object]) -> None:
        with suppress(StoppedError), stoppable(self._closing.is_set):
            ask()

    def _look(self) -> EngineState:
        """Ask the server without a lock; a reply about settings that have changed since is dropped."""
        settings = self._settings.current
        with stoppable(self._closing.is_set):
            found = look_for_engines(settings)
        with self._lock:
            if settings is self._settings.current:
                self._known = settings, found, time.monotonic()
        return found
