"""Ollama behind the ChatModel port, through its own client: streaming, context size, and plain errors."""

import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from typing import Any
from urllib.parse import urlsplit

import ollama

from core.domain.errors import ModelInterruptedError, ModelUnavailableError, SettingsError, StoppedError
from core.domain.ports import AnswerRequest
from core.domain.settings import Settings, server_address
from core.models.client import ServerTrouble, model_server, stoppable, strict_json
from core.models.prompts import messages_for

DEFAULT_HOST = "http://127.0.0.1:11434"
LARGEST_CONTEXT = 8_192
"""Tokens: what is asked for of models that could take more, so that a laptop's memory suffices."""
ANSWER_TOKENS = 700
OVERHEAD_TOKENS = 900
"""Rules, question and recent history."""
CHARACTERS_PER_TOKEN = 3.0
"""Cautious: prose runs to four, tables of figures to less than three."""
LONGEST_TOKEN = 9
"""More characters per token than this over a whole prompt means that the server did not read all of it."""
LEAST_CONTEXT = 128
LONGEST_ANSWER = 20_000
"""Characters: three times what ANSWER_TOKENS make; a server that heeds no limit is cut."""
MOST_MODELS = 200
LOOK_SECONDS = 3.0
STRUCTURED_SECONDS = 30.0
ANSWER_SECONDS = 3_600.0
"""The longest time that a turn may be given in the settings; a turn stops its answer sooner."""

_MODEL_NAME = re.compile(r"[\w./:@+-]{1,200}", re.ASCII)
_CONTROLS = dict.fromkeys({*range(32), *range(127, 160)} - {9, 10, 13})
"""Marks that command terminals, and that no answer needs."""


def host_of(chosen: str) -> str:
    """The address to use, in full. Raises ModelUnavailableError where it is none."""
    address = chosen or os.environ.get("OLLAMA_HOST", "") or DEFAULT_HOST
    try:
        return server_address(address)
    except SettingsError as error:
        raise ModelUnavailableError(
            f"The language model server at {address[:100]!r} does not answer: that is no address.",
            hint="Mend it in the settings, or in OLLAMA_HOST.",
        ) from error


def is_this_machine(address: str) -> bool:
    name = urlsplit(address).hostname or ""
    return name in ("localhost", "::1", "0.0.0.0", "::") or re.fullmatch(r"127(?:\.\d{1,3}){3}", name) is not None


def chat_models(host: str) -> list[str]:
    """Names of the models that can chat; those that only embed are left out. Raises ModelUnavailableError."""
    chatting: list[str] = []
    try:
        with model_server(host, seconds=LOOK_SECONDS) as server:
            listed = [entry.model or "" for entry in server.list().models]
    except ServerTrouble as trouble:
        raise _unavailable(host, trouble) from trouble
    until = time.monotonic() + LOOK_SECONDS
    for name in [name for name in dict.fromkeys(listed) if _MODEL_NAME.fullmatch(name)][:MOST_MODELS]:
        if time.monotonic() >= until:
            break
        with suppress(ServerTrouble), model_server(host, seconds=until - time.monotonic()) as server:
            if _can_chat(server.show(name)):
                chatting.append(name)
    return chatting


def context_length(shown: ollama.ShowResponse, most: int) -> int:
    """Tokens the model was built for, at most ``most``; what is no size is passed over."""
    sizes = [value for name, value in (shown.modelinfo or {}).items() if name.endswith(".context_length")]
    return min([most, *(size for size in sizes if type(size) is int and size >= LEAST_CONTEXT)])


def _can_chat(shown: ollama.ShowResponse) -> bool:
    if shown.capabilities:
        return "completion" in shown.capabilities
    return "bert" not in str((shown.modelinfo or {}).get("general.architecture", ""))


def _unavailable(host: str, trouble: ServerTrouble) -> ModelUnavailableError:
    return ModelUnavailableError(
        f"The language model server at {host} {trouble}.",
        hint="Start Ollama and run the question again, or run it with quoting.",
    )


class OllamaProvider:
    """The models of the Ollama server that the settings name."""

    def address(self, settings: Settings) -> str:
        return host_of(settings.ollama_host)

    def models(self, settings: Settings) -> list[str]:
        return chat_models(self.address(settings))

    def preferred(self, settings: Settings) -> str:
        return settings.ollama_model

    def open(self, settings: Settings, model: str) -> "OllamaChat":
        return OllamaChat(self.address(settings), model)


class OllamaChat:
    """One model of one server; build one per turn, since ``notices`` speaks of the last answer."""

    def __init__(self, host: str, model: str) -> None:
        self.host = host
        self.model = model
        self._notices: list[str] = []

    @property
    def name(self) -> str:
        return f"ollama:{self.model}"

    @property
    def writes_prose(self) -> bool:
        return True

    @property
    def notices(self) -> tuple[str, ...]:
        return tuple(self._notices)

    @cached_property
    def context_tokens(self) -> int:
        """What the model was built for, at most LARGEST_CONTEXT. Raises ModelUnavailableError."""
        try:
            with model_server(self.host, seconds=LOOK_SECONDS) as server:
                return context_length(server.show(self.model), LARGEST_CONTEXT)
        except ServerTrouble as trouble:
            raise self._error(trouble) from trouble

    @property
    def context_characters(self) -> int:
        tokens = self.context_tokens - ANSWER_TOKENS - OVERHEAD_TOKENS
        return int(max(tokens, self.context_tokens // 4) * CHARACTERS_PER_TOKEN)

    def answer(self, request: AnswerRequest, stopped: Callable[[], bool]) -> Iterator[str]:
        self._notices.clear()
        messages = messages_for(request)
        written = 0
        try:
            with stoppable(stopped):
                options = self._options
            for part in self._parts(messages, options, stopped):
                text = (part.message.content or "").translate(_CONTROLS) if part.message.role == "assistant" else ""
                written += len(text)
                if text:
                    yield text[: LONGEST_ANSWER - written + len(text)]
                if part.done or written >= LONGEST_ANSWER:
                    self._look_for_cuts(part, sum(len(message["content"]) for message in messages), written)
                    return
            raise ServerTrouble("broke the answer off")
        except StoppedError:
            return
        except ServerTrouble as trouble:
            raise self._error(trouble, begun=written > 0) from trouble

    def structured(self, instructions: str, content: str, schema: Mapping[str, Any]) -> Mapping[str, Any] | None:
        messages = [{"role": "system", "content": instructions}, {"role": "user", "content": content}]
        try:
            with model_server(self.host, seconds=STRUCTURED_SECONDS) as server:
                reply = server.chat(self.model, messages, format=dict(schema), options=self._options)
            value = strict_json(reply.message.content or "")
        except (ServerTrouble, ModelUnavailableError, ValueError):
            return None
        required = schema.get("required", ())
        return value if isinstance(value, dict) and all(name in value for name in required) else None

    @property
    def _options(self) -> dict[str, int]:
        return {"num_ctx": self.context_tokens, "num_predict": ANSWER_TOKENS, "temperature": 0}

    def _parts(
        self, messages: list[dict[str, str]], options: dict[str, int], stopped: Callable[[], bool]
    ) -> Iterator[ollama.ChatResponse]:
        with model_server(self.host, seconds=ANSWER_SECONDS, lines=True, stopped=stopped) as server:
            yield from server.chat(self.model, messages, stream=True, options=options)

    def _error(self, trouble: ServerTrouble, *, begun: bool = False) -> ModelInterruptedError | ModelUnavailableError:
        if begun:
            return ModelInterruptedError(
                f"The connection to {self.model} was lost in the middle of the answer: its server {trouble}.",
                hint="Run the question again, or run it with quoting.",
            )
        if trouble.status == 404:
            return ModelUnavailableError(
                f"The server at {self.host} has no model called {self.model}.",
                hint="Choose another model in the settings, or run the question with quoting.",
            )
        return _unavailable(self.host, trouble)

    def _look_for_cuts(self, last: ollama.ChatResponse, characters_sent: int, characters_written: int) -> None:
        read = last.prompt_eval_count or 0
        if read and (read >= self.context_tokens - 1 or characters_sent / read > LONGEST_TOKEN):
            self._notices.append(
                f"{self.model} could not read all of the evidence: its context of {self.context_tokens} tokens is full."
            )
        if last.done_reason == "length" or characters_written >= LONGEST_ANSWER:
            self._notices.append(f"The answer of {self.model} reached its length limit and was cut.")
