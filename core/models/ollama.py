"""Ollama behind the ChatModel port, through its own client."""

import os
import re
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pincite.core.domain.errors import ModelUnavailableError, SettingsError
from pincite.core.domain.settings import Settings, server_address
from pincite.core.models.client import STREAM_BYTES, ServerTrouble, ask, ollama_at, stoppable, stream
from pincite.core.models.served import (
    ANSWER_SECONDS,
    ANSWER_TOKENS,
    LOOK_SECONDS,
    MAX_CONTEXT,
    STRUCTURED_SECONDS,
    THINKING_TOKENS,
    ReplyPiece,
    ServedChat,
    min_context,
    unavailable,
)

if TYPE_CHECKING:
    import ollama

DEFAULT_HOST = "http://127.0.0.1:11434"
MAX_MODELS = 200
KEEP_ALIVE = "30m"
"""How long a model stays loaded after a call; the server's own five minutes are shorter than reading an answer."""

MODEL_NAME = re.compile(r"[\w./:@+-]{1,200}", re.ASCII)


def host_of(chosen: str) -> str:
    """Return the address to use, in full. Raises ModelUnavailableError where it is none."""
    address = chosen or os.environ.get("OLLAMA_HOST", "") or DEFAULT_HOST
    try:
        return server_address(address)
    except SettingsError as error:
        raise ModelUnavailableError(
            f"The language model server cannot be reached: {address[:100]!r} is not an address.",
            hint="Correct it in the settings, or in OLLAMA_HOST.",
        ) from error


def chat_models(host: str) -> dict[str, int]:
    """Return the models that can chat, with how many parameters each has; those that only embed are left out.

    Raises ModelUnavailableError.
    """
    chatting: dict[str, int] = {}
    try:
        reply = ask(ollama_at(host), lambda server: server.list(), seconds=LOOK_SECONDS)
    except ServerTrouble as trouble:
        raise unavailable(host, trouble, "Ollama") from trouble
    until = time.monotonic() + LOOK_SECONDS
    listed = dict.fromkeys(entry.model or "" for entry in reply.models)
    for name in [name for name in listed if MODEL_NAME.fullmatch(name)][:MAX_MODELS]:
        if time.monotonic() >= until:
            break
        with suppress(ServerTrouble):
            if can_chat(told := shown(host, name, until - time.monotonic())):
                parameters = (told.modelinfo or {}).get("general.parameter_count")
                chatting[name] = parameters if isinstance(parameters, int) else 0
    return chatting


def shown(host: str, name: str, seconds: float) -> "ollama.ShowResponse":
    """Return a server's description of a model. Raises ServerTrouble and StoppedError."""
    return ask(ollama_at(host), lambda server: server.show(name), seconds=seconds)


def context_length(reply: "ollama.ShowResponse", most: int) -> int:
    """Tokens the model was built for, at most ``most``; what is no size is passed over."""
    sizes = [value for name, value in (reply.modelinfo or {}).items() if name.endswith(".context_length")]
    return min_context(sizes, most)


def can_chat(reply: "ollama.ShowResponse") -> bool:
    if reply.capabilities:
        return "completion" in reply.capabilities
    return "bert" not in str((reply.modelinfo or {}).get("general.architecture", ""))


class OllamaProvider:
    """The models of the Ollama server that the settings name."""

    label = "Ollama"

    def address(self, settings: Settings) -> str:
        return host_of(settings.ollama_host)

    def models(self, settings: Settings) -> dict[str, int]:
        return chat_models(self.address(settings))

    def preferred(self, settings: Settings) -> str:
        return settings.ollama_model

    def open(self, settings: Settings, model: str) -> "OllamaChat":
        return OllamaChat(self.address(settings), model)

    def warm(self, settings: Settings, model: str) -> None:
        with suppress(ModelUnavailableError, ServerTrouble):
            OllamaChat(self.address(settings), model).load()


class OllamaChat(ServedChat):
    provider, program = "ollama", "Ollama"

    @cached_property
    def _shown(self) -> "ollama.ShowResponse":
        """Return the server's description of the model. Raises ModelUnavailableError."""
        try:
            return shown(self.host, self.model, LOOK_SECONDS)
        except ServerTrouble as trouble:
            raise self.error(trouble) from trouble

    @property
    def context_tokens(self) -> int:
        """What the model was built for, at most MAX_CONTEXT. Raises ModelUnavailableError."""
        return context_length(self._shown, MAX_CONTEXT)

    def load(self) -> None:
        """Raises ModelUnavailableError, ServerTrouble and StoppedError."""
        options = self._options
        ask(
            ollama_at(self.host),
            lambda server: server.generate(self.model, options=options, keep_alive=KEEP_ALIVE),
            seconds=ANSWER_SECONDS,
        )

    def _reply(self, messages: list[dict[str, str]], schema: Mapping[str, Any]) -> str:
        options, think = self._options, False if self._thinks else None
        reply = ask(
            ollama_at(self.host),
            lambda server: server.chat(
                self.model, messages, format=dict(schema), options=options, keep_alive=KEEP_ALIVE, think=think
            ),
            seconds=STRUCTURED_SECONDS,
        )
        return reply.message.content or ""

    def check_sight(self) -> None:
        if self._shown.capabilities and "vision" not in self._shown.capabilities:
            raise ModelUnavailableError(
                f"{self.model} does not see pictures.",
                hint="Choose a model with vision in the settings, such as qwen2.5vl or gemma3.",
            )

    def _message(self, text: str, picture: bytes) -> dict[str, Any]:
        return {"role": "user", "content": text, "images": [picture]}

    @property
    def _thinks(self) -> bool:
        return "thinking" in (self._shown.capabilities or ())

    @property
    def _options(self) -> dict[str, int]:
        """Return the options, with the same context size at every call: another one would reload the model."""
        most = ANSWER_TOKENS + (THINKING_TOKENS if self._thinks else 0)
        return {"num_ctx": self.context_tokens, "num_predict": most, "temperature": 0}

    def pieces(self, messages: list[dict[str, Any]], stopped: Callable[[], bool]) -> Generator[ReplyPiece, None, None]:
        with stoppable(stopped):
            options, think = self._options, True if self._thinks else None
        for part in stream(
            ollama_at(self.host, STREAM_BYTES),
            lambda server: server.chat(
                self.model, messages, stream=True, options=options, keep_alive=KEEP_ALIVE, think=think
            ),
            seconds=ANSWER_SECONDS,
            stopped=stopped,
        ):
            ours = part.message.role == "assistant"
            yield ReplyPiece(
                text=(part.message.content or "") if ours else "",
                thought=(part.message.thinking or "") if ours else "",
                done=bool(part.done),
                cut=part.done_reason == "length",
                prompt_tokens=part.prompt_eval_count or 0,
                read_seconds=(part.prompt_eval_duration or 0) / 1e9,
            )
