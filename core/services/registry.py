"""Every provider of models, and the choice among them. A provider is a class, registered as an entry point.

A model is named ``provider:model``, or by its provider alone where that has one model or is to choose.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from pincite.core.answers.quoting import Quoting
from pincite.core.domain.errors import ModelUnavailableError, SettingsError
from pincite.core.domain.plugins import Group, plugins
from pincite.core.domain.ports import ChatModel, Embedder, Reranker
from pincite.core.domain.settings import Settings, is_this_machine
from pincite.core.models.e5 import E5Embedder
from pincite.core.models.embed import sends_to
from pincite.core.models.flash import FlashReranker, is_cached
from pincite.core.models.minilm import MiniLmEmbedder
from pincite.core.models.ollama_embedder import OllamaEmbedder
from pincite.core.models.openai_server import OpenAiEmbedder
from pincite.core.models.rerank import BuiltInReranker

AUTO, QUOTING = "auto", "quoting"
MIN_PARAMETERS = 1_000_000_000
"""Smaller models often write what their evidence does not support: ``auto`` chooses none; a named one is used."""
QUOTING_IS_CHOSEN = "Language models are turned off."


class ChatProvider(Protocol):
    """What can write answers: a server, or a library on this machine."""

    label: str
    """What people call it, at the beginning of a sentence."""

    def address(self, settings: Settings) -> str:
        """Where its models run; empty: in this process. Raises ModelUnavailableError where that is no address."""

    def models(self, settings: Settings) -> Mapping[str, int]:
        """Those that can chat, with how many parameters each has; 0: not known.

        Raises ModelUnavailableError, within a few seconds.
        """

    def preferred(self, settings: Settings) -> str:
        """The one that the settings name; empty: the first that there is."""

    def open(self, settings: Settings, model: str) -> ChatModel:
        """Build one for a turn."""

    def warm(self, settings: Settings, model: str) -> None:
        """Load the model before it is asked, if the server loads models on demand; the turn reports errors."""


EMBEDDERS: dict[str, Callable[[Settings, str], Embedder]] = {
    "minilm": MiniLmEmbedder.open,
    "e5": E5Embedder.open,
    "ollama": OllamaEmbedder.open,
    "openai": OpenAiEmbedder.open,
}
"""Made of the settings and the model's name; SettingsError where it has none such."""


def chat_providers() -> Mapping[str, ChatProvider]:
    """Return the providers, in the order in which ``auto`` asks them."""
    return plugins(Group.PROVIDERS)


def engine_names() -> tuple[str, ...]:
    """Return what the setting ``engine`` can be, without the names of models."""
    return (AUTO, *chat_providers(), QUOTING)


@dataclass(frozen=True, slots=True)
class EngineState:
    """What answers now and what could: for the settings page, `doctor` and the chat page."""

    name: str
    """``quoting`` or a provider: what a turn would use."""
    model: str
    models: tuple[str, ...]
    available: bool
    """A language model is connected."""
    message: str
    hint: str = ""
    """What to do where the model that is wanted is not there."""
    provider: str = ""
    """Provider of the ``models``."""
    asks_to_send_to: str = ""
    """An address on another machine that nobody has allowed yet: nothing was sent there."""


def look_for_engines(settings: Settings) -> EngineState:
    """Ask the providers what they have; takes at most a few seconds when one hangs, none when none is there."""
    wanted = settings.engine.partition(":")[0]
    if wanted == QUOTING:
        found = _first(settings.but(engine=AUTO))
        return replace(found, name=QUOTING, model="", message=QUOTING_IS_CHOSEN, hint="") if found.models else found
    found = _first(settings)
    return replace(found, name=wanted) if wanted in chat_providers() and not found.models else found


def choose_engine(settings: Settings, asked: str | None = None) -> ChatModel:
    """Return the model that is to write: ``auto``, ``quoting``, a provider or ``provider:model``.

    Raises ModelUnavailableError, and SettingsError for a provider that is not known.
    """
    settings = settings.but(engine=asked or settings.engine)
    if settings.engine != QUOTING:
        found = _first(settings)
        if found.model:
            return chat_providers()[found.name].open(settings, found.model)
        if settings.engine != AUTO:
            raise ModelUnavailableError(found.message, hint=found.hint)
    return Quoting(settings.context_characters)


def check_engine(engine: str) -> None:
    """Raises SettingsError where no provider has that name."""
    if engine.partition(":")[0] not in (known := engine_names()):
        raise SettingsError(f"The engine cannot be {engine!r}.", hint=f"Use {', '.join(known)} or PROVIDER:MODEL.")


def make_embedder(name: str, settings: Settings) -> Embedder:
    """``provider`` or ``provider:model``. Raises SettingsError for no known one."""
    provider, _, model = name.partition(":")
    if provider not in EMBEDDERS:
        raise SettingsError(f"The embedding model {name!r} is not known.", hint=f"Use one of: {', '.join(EMBEDDERS)}.")
    return EMBEDDERS[provider](settings, model)


def make_reranker(settings: Settings) -> Reranker:
    """Return the best that is on this machine."""
    return FlashReranker(settings.models_dir) if is_cached(settings.models_dir) else BuiltInReranker()


def _first(settings: Settings) -> EngineState:
    """The first provider with the wanted model, else one that asks to be allowed or has others, else the first."""
    check_engine(settings.engine)
    wanted, _, model = settings.engine.partition(":")
    states = [_state(name, model, settings) for name in ([wanted] if wanted in chat_providers() else chat_providers())]
    return max(states, key=lambda state: (bool(state.model), bool(state.asks_to_send_to), state.available))


def _state(name: str, model: str, settings: Settings) -> EngineState:
    provider = chat_providers()[name]
    try:
        address = provider.address(settings)
        if not settings.may_send(address):
            return EngineState(
                QUOTING, "", (), False, sends_to(address), "Allow it in the settings.", asks_to_send_to=address
            )
        models = provider.models(settings)
    except ModelUnavailableError as error:
        return EngineState(QUOTING, "", (), False, error.message, error.hint)
    wanted = model or provider.preferred(settings)
    least = MIN_PARAMETERS if settings.engine == AUTO and not wanted else 0
    fitting = [known for known, parameters in models.items() if parameters >= least or not parameters]
    chosen = next((known for known in fitting if not wanted or known in (wanted, f"{wanted}:latest")), "")
    at = f" at {address}" if address else ""
    if not chosen:
        called = f" called {wanted}" if wanted else " of a billion parameters or more" if models else ""
        message = f"{provider.label}{at} has no chat model{called}."
        hint = "Choose another model in the settings, or run the question with quoting."
        return EngineState(QUOTING, "", tuple(models), bool(models), message, hint, name)
    message = f"{chosen}{at} writes the answers."
    if address and not is_this_machine(address):
        message += " Questions and passages of the documents are sent there."
    return EngineState(name, chosen, tuple(models), True, message, provider=name)
