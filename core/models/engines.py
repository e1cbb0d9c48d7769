"""Which engine answers: the one asked for, or Ollama when it is there, else quoting."""

from dataclasses import dataclass

from core.domain.errors import ModelUnavailableError
from core.domain.ports import ChatModel
from core.domain.settings import Settings
from core.models.ollama import OllamaChat, chat_models, host_of, is_this_machine
from core.models.quoting import Quoting


@dataclass(frozen=True, slots=True)
class EngineState:
    """What answers now and what could: for the settings page, `doctor` and the chat page."""

    name: str
    """``quoting`` or ``ollama``: what a turn would use."""
    model: str
    models: tuple[str, ...]
    available: bool
    """A language model is connected."""
    message: str


def look_for_engines(settings: Settings) -> EngineState:
    """Ask the server what it has; takes at most a few seconds when it hangs, none when it is not there."""
    try:
        host = host_of(settings.ollama_host)
        models = tuple(chat_models(host))
    except ModelUnavailableError as error:
        name = "ollama" if settings.engine == "ollama" else "quoting"
        return EngineState(name, "", (), False, error.message)
    model = _chosen(settings.ollama_model, models)
    if settings.engine == "quoting":
        return EngineState("quoting", "", models, bool(models), "Quoting is chosen in the settings.")
    if not models:
        return EngineState("quoting", "", (), False, f"The server at {host} has no chat model.")
    if not model:
        return EngineState("quoting", "", models, True, f"The server has no model called {settings.ollama_model}.")
    message = f"{model} at {host} writes the answers."
    if not is_this_machine(host):
        message += " Questions and passages of the documents are sent there."
    return EngineState("ollama", model, models, True, message)


def choose_engine(settings: Settings, asked: str | None = None) -> ChatModel:
    """Return the engine to use. Raises ModelUnavailableError."""
    wanted = asked or settings.engine
    quoting = Quoting(settings.context_characters)
    if wanted == "quoting":
        return quoting
    if wanted == "auto":
        state = look_for_engines(settings)
        return OllamaChat(host_of(settings.ollama_host), state.model) if state.model else quoting
    host = host_of(settings.ollama_host)
    models = chat_models(host)
    model = _chosen(settings.ollama_model, models)
    if not model:
        called = f" called {settings.ollama_model}" if settings.ollama_model else ""
        raise ModelUnavailableError(
            f"The server at {host} has no chat model{called}.",
            hint="Choose another model in the settings, or run the question with quoting.",
        )
    return OllamaChat(host, model)


def _chosen(wanted: str, models: tuple[str, ...] | list[str]) -> str:
    if not wanted:
        return models[0] if models else ""
    return next((name for name in models if name == wanted or name.removesuffix(":latest") == wanted), "")
