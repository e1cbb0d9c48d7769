"""Ollama behind the ChatModel port, through its own client: streaming, context size, and plain errors."""

import json
import os
import queue
import threading
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any

import httpx
import ollama

from pincite.core.errors import ModelInterruptedError, ModelUnavailableError
from pincite.core.language.prompts import messages_for
from pincite.core.ports import AnswerRequest

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
LOOK_SECONDS = 3.0
STRUCTURED_SECONDS = 30.0
POLL_SECONDS = 0.1

_LOST = (httpx.TransportError, ConnectionError, ollama.ResponseError, json.JSONDecodeError)


def host_of(chosen: str) -> str:
    return chosen or os.environ.get("OLLAMA_HOST", "") or DEFAULT_HOST


def chat_models(host: str) -> list[str]:
    """Names of the models that can chat; those that only embed are left out. Raises ModelUnavailableError."""
    try:
        client = ollama.Client(host=host, timeout=LOOK_SECONDS)
        names = [str(entry.model) for entry in client.list().models if entry.model]
        return [name for name in names if _can_chat(client.show(name))]
    except (httpx.HTTPError, ConnectionError, ollama.ResponseError, ValueError) as error:
        raise _unavailable(host) from error


def _can_chat(shown: ollama.ShowResponse) -> bool:
    if shown.capabilities:
        return "completion" in shown.capabilities
    return "bert" not in str((shown.modelinfo or {}).get("general.architecture", ""))


def _unavailable(host: str) -> ModelUnavailableError:
    return ModelUnavailableError(
        f"The language model server at {host} does not answer.",
        hint="Start Ollama and run the question again, or run it with quoting.",
    )


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
            info = ollama.Client(host=self.host, timeout=LOOK_SECONDS).show(self.model).modelinfo or {}
        except (httpx.HTTPError, ConnectionError, ollama.ResponseError) as error:
            raise _unavailable(self.host) from error
        sizes = [int(value) for name, value in info.items() if name.endswith(".context_length")]
        return min([*sizes, LARGEST_CONTEXT])

    @property
    def context_characters(self) -> int:
        tokens = self.context_tokens - ANSWER_TOKENS - OVERHEAD_TOKENS
        return int(max(tokens, self.context_tokens // 4) * CHARACTERS_PER_TOKEN)

    def answer(self, request: AnswerRequest, stopped: Callable[[], bool]) -> Iterator[str]:
        self._notices.clear()
        messages = messages_for(request)
        begun = False
        for part in self._stream(messages, stopped):
            if isinstance(part, Exception):
                raise self._error(part, begun=begun) from part
            text = part.message.content or ""
            if text:
                begun = True
                yield text
            if part.done:
                self._look_for_cuts(part, sum(len(message["content"]) for message in messages))

    def structured(self, instructions: str, content: str, schema: Mapping[str, Any]) -> Mapping[str, Any] | None:
        client = ollama.Client(host=self.host, timeout=STRUCTURED_SECONDS)
        try:
            reply = client.chat(
                self.model,
                [{"role": "system", "content": instructions}, {"role": "user", "content": content}],
                format=dict(schema),
                options={"num_ctx": self.context_tokens, "num_predict": ANSWER_TOKENS, "temperature": 0},
            )
            value = json.loads(reply.message.content or "")
        except (*_LOST, httpx.HTTPError):
            return None
        required = schema.get("required", ())
        return value if isinstance(value, dict) and all(name in value for name in required) else None

    def _stream(
        self, messages: list[dict[str, str]], stopped: Callable[[], bool]
    ) -> Iterator[ollama.ChatResponse | Exception]:
        """Pump the reply through a thread, so that a stop is heeded while the server is still reading the prompt."""
        parts: queue.SimpleQueue[ollama.ChatResponse | Exception | None] = queue.SimpleQueue()
        abandoned = threading.Event()
        options = {"num_ctx": self.context_tokens, "num_predict": ANSWER_TOKENS, "temperature": 0}

        def pump() -> None:
            try:
                client = ollama.Client(host=self.host)
                for part in client.chat(self.model, messages, stream=True, options=options):
                    if abandoned.is_set():
                        return
                    parts.put(part)
                parts.put(None)
            except _LOST as error:
                parts.put(error)

        threading.Thread(target=pump, name="ollama-reply", daemon=True).start()
        finished = False
        while not stopped():
            try:
                part = parts.get(timeout=POLL_SECONDS)
            except queue.Empty:
                continue
            if part is None:
                if not finished:
                    yield ConnectionError("the reply ended early")
                return
            yield part
            finished = not isinstance(part, Exception) and bool(part.done)
        abandoned.set()

    def _error(self, error: Exception, *, begun: bool) -> ModelInterruptedError | ModelUnavailableError:
        if begun:
            return ModelInterruptedError(
                f"The connection to {self.model} was lost in the middle of the answer.",
                hint="Run the question again, or run it with quoting.",
            )
        if isinstance(error, ollama.ResponseError) and error.status_code == 404:
            return ModelUnavailableError(
                f"The server at {self.host} has no model called {self.model}.",
                hint="Choose another model in the settings, or run the question with quoting.",
            )
        if isinstance(error, ollama.ResponseError):
            return ModelUnavailableError(
                f"{self.model} could not answer: {error.error}.", hint="Run the question again, or run it with quoting."
            )
        return _unavailable(self.host)

    def _look_for_cuts(self, last: ollama.ChatResponse, characters_sent: int) -> None:
        read = last.prompt_eval_count or 0
        if read and (read >= self.context_tokens - 1 or characters_sent / read > LONGEST_TOKEN):
            self._notices.append(
                f"{self.model} could not read all of the evidence: its context of {self.context_tokens} tokens is full."
            )
        if last.done_reason == "length":
            self._notices.append(f"The answer of {self.model} reached its length limit and was cut.")
