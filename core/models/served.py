"""Shared code of chat models behind a server: prompt limits, supervision of the stream, and errors for people.

A provider defines how its server is asked; this module defines how the replies are processed.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pincite.core.domain.answers import Usage
from pincite.core.domain.errors import ModelInterruptedError, ModelUnavailableError, StoppedError
from pincite.core.domain.ports import AnswerRequest
from pincite.core.models.client import ServerTrouble, stoppable, strict_json
from pincite.core.models.prompts import messages_for
from pincite.core.text.plain import storable
from pincite.core.text.thinking import CLOSING, OPENING, split_thinking

MAX_CONTEXT = 8_192
"""Number of tokens requested from models that accept more, so that a laptop's memory suffices."""
ANSWER_TOKENS = 700
THINKING_TOKENS = 1_500
"""More, for models that think before they answer."""
OVERHEAD_TOKENS = 900
"""Rules, question and recent history."""
CHARACTERS_PER_TOKEN = 3.0
"""Cautious: prose runs to four, tables of figures to less than three."""
MAX_TOKEN_LENGTH = 9
"""More characters per token than this over a whole prompt means that the server did not read all of it."""
PATIENCE_SECONDS = 20.0
"""The wait for the first word that evidence may cause: without a graphics card, reading is what takes time."""
UNKNOWN_PACE = 75.0
"""Tokens read a second, until the first prompt was timed."""
MIN_EVIDENCE = 600
"""Tokens: less shows a model too little, however slow it is."""
TIMED_TOKENS = 300
"""Minimum prompt length for an estimate of the pace."""
MIN_CONTEXT = 128
MAX_ANSWER_LENGTH = 20_000
"""Characters, thoughts included: more than the tokens asked for make; a server that heeds no limit is cut."""
LOOK_SECONDS = 3.0
STRUCTURED_SECONDS = 30.0
ANSWER_SECONDS = 3_600.0
"""The longest time that a turn may be given in the settings; a turn stops its answer sooner."""
REPEATED = 3
MIN_REPEATED = 160
"""A reply is a runaway if its end repeats REPEATED times, over at least MIN_REPEATED characters."""

_CONTROLS = dict.fromkeys({*range(32), *range(127, 160)} - {9, 10, 13})
"""Marks that command terminals, and that no answer needs."""


@dataclass(frozen=True, slots=True)
class ReplyPiece:
    """A part of a reply as it comes in."""

    text: str = ""
    thought: str = ""
    done: bool = False
    cut: bool = False
    """It ends at its length limit."""
    prompt_tokens: int = 0
    """Token counts of the server, if it reports them."""
    read_seconds: float = 0.0
    """Seconds for reading the prompt, if the server reports them."""


_paces: dict[tuple[str, str], float] = {}
"""Tokens read a second, by address and model, as this process saw it last."""


class ServedChat(ABC):
    """One model of one server; build one per turn, since ``notices`` speaks of the last answer."""

    provider: str
    """As the registry names it."""
    program: str
    """Program to start if the server does not answer."""

    def __init__(self, host: str, model: str) -> None:
        self.host = host
        self.model = model
        self._notices: list[str] = []
        self._usage: Usage | None = None
        self._conversation: list[dict[str, str]] = []
        """The last answer with what led to it."""

    @property
    def name(self) -> str:
        return f"{self.provider}:{self.model}"

    @property
    def writes_prose(self) -> bool:
        return True

    @property
    def notices(self) -> tuple[str, ...]:
        return tuple(self._notices)

    @property
    def usage(self) -> Usage | None:
        return self._usage

    @property
    @abstractmethod
    def context_tokens(self) -> int:
        """At most MAX_CONTEXT. Raises ModelUnavailableError."""

    @abstractmethod
    def pieces(self, messages: list[dict[str, Any]], stopped: Callable[[], bool]) -> Generator[ReplyPiece, None, None]:
        """What the server answers, as it comes. Raises ServerTrouble, ModelUnavailableError and StoppedError."""

    @abstractmethod
    def _reply(self, messages: list[dict[str, str]], schema: Mapping[str, Any]) -> str:
        """Return one whole reply, by the schema if possible. Raises ServerTrouble and ModelUnavailableError."""

    @property
    def context_characters(self) -> int:
        tokens = self.context_tokens - ANSWER_TOKENS - OVERHEAD_TOKENS
        return int(max(tokens, self.context_tokens // 4) * CHARACTERS_PER_TOKEN)

    @property
    def readable_characters(self) -> int:
        pace = _paces.get((self.host, self.model), UNKNOWN_PACE)
        tokens = max(pace * PATIENCE_SECONDS, MIN_EVIDENCE)
        return min(int(tokens * CHARACTERS_PER_TOKEN), self.context_characters)

    def answer(self, request: AnswerRequest, stopped: Callable[[], bool]) -> Iterator[str]:
        self._notices.clear()
        self._usage, self._conversation = None, []
        messages = messages_for(request)
        sent = sum(len(message["content"]) for message in messages)
        written, thinking, last = "", False, ReplyPiece()
        asked_at, waited = time.monotonic(), 0.0
        pieces = self.pieces(messages, stopped)
        try:
            for piece in pieces:
                last = piece
                waited = waited or (time.monotonic() - asked_at if piece.text or piece.thought else 0.0)
                text = ""
                if piece.thought:
                    text += piece.thought if thinking else OPENING + piece.thought
                    thinking = True
                if piece.text:
                    text += CLOSING + piece.text if thinking else piece.text
                    thinking = False
                text = storable(text).translate(_CONTROLS)[: MAX_ANSWER_LENGTH - len(written)]
                written += text
                if text:
                    yield text
                if runs_away(written):
                    self._notices.append(f"{self.model} began to repeat itself and was stopped.")
                    return
                if piece.done or len(written) >= MAX_ANSWER_LENGTH:
                    break
            else:
                raise ServerTrouble("stopped before the answer was complete")
            self._conversation = [*messages, {"role": "assistant", "content": split_thinking(written)[1]}]
            self._measure(last, waited)
            self._look_for_cuts(last, sent, len(written))
        except StoppedError:
            return
        except ServerTrouble as trouble:
            raise self.error(trouble, begun=bool(written)) from trouble
        finally:
            pieces.close()  # the server is let go at once

    def describe(self, picture: bytes, instructions: str, stopped: Callable[[], bool]) -> str:
        self.check_sight()
        try:
            with stoppable(stopped):
                pieces = self.pieces([self._message(instructions, picture)], stopped)
                text = "".join(piece.text for piece in pieces)
        except (ServerTrouble, StoppedError) as trouble:
            raise ModelUnavailableError(
                f"{self.model} did not describe the picture: its server {trouble}.",
                hint="Choose a model that sees pictures, such as qwen2.5vl or gemma3.",
            ) from trouble
        return split_thinking(storable(text).translate(_CONTROLS))[1]

    def check_sight(self) -> None:  # noqa: B027 - most servers do not say it
        """Raises ModelUnavailableError where the server says that the model sees no pictures."""

    @abstractmethod
    def _message(self, text: str, picture: bytes) -> dict[str, Any]:
        """Return a message of the user with a PNG."""

    def structured(self, instructions: str, content: str, schema: Mapping[str, Any]) -> Mapping[str, Any] | None:
        return self._structured(
            [{"role": "system", "content": instructions}, {"role": "user", "content": content}], schema
        )

    def of_last_answer(self, question: str, schema: Mapping[str, Any]) -> Mapping[str, Any] | None:
        if not self._conversation:
            return None
        return self._structured([*self._conversation, {"role": "user", "content": question}], schema)

    def _structured(self, messages: list[dict[str, str]], schema: Mapping[str, Any]) -> Mapping[str, Any] | None:
        try:
            reply = split_thinking(self._reply(messages, schema))[1]
            value = strict_json(reply[max(reply.find("{"), 0) : reply.rfind("}") + 1])
        except (ServerTrouble, ModelUnavailableError, ValueError):
            return None
        required = schema.get("required", ())
        return value if isinstance(value, dict) and all(name in value for name in required) else None

    def error(self, trouble: ServerTrouble, *, begun: bool = False) -> ModelInterruptedError | ModelUnavailableError:
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
        return unavailable(self.host, trouble, self.program)

    def _measure(self, last: ReplyPiece, waited: float) -> None:
        """How fast it read: the next prompt is as long as a person would wait for."""
        self._usage = Usage(last.prompt_tokens, self.context_tokens, waited)
        seconds = last.read_seconds or waited
        if last.prompt_tokens >= TIMED_TOKENS and seconds > 0:
            _paces[self.host, self.model] = last.prompt_tokens / seconds

    def _look_for_cuts(self, last: ReplyPiece, characters_sent: int, characters_written: int) -> None:
        read = last.prompt_tokens
        if read and (read >= self.context_tokens - 1 or characters_sent / read > MAX_TOKEN_LENGTH):
            self._notices.append(
                f"{self.model} could not read all of the evidence: its context of {self.context_tokens} tokens is full."
            )
        if last.cut or characters_written >= MAX_ANSWER_LENGTH:
            self._notices.append(f"The answer of {self.model} reached its length limit and was cut off.")


def unavailable(host: str, trouble: ServerTrouble, program: str) -> ModelUnavailableError:
    """What a server did that gave no answer, and what to do."""
    remedies = {
        401: "Check the key in the settings, or run the question with quoting.",
        403: "Check the key in the settings, or run the question with quoting.",
        429: "The server is busy: wait a minute and run the question again, or run it with quoting.",
    }
    if "memory" in str(trouble):
        remedy = "Choose a smaller model in the settings, or run the question with quoting."
    else:
        remedy = remedies.get(trouble.status, f"Start {program} and run the question again, or run it with quoting.")
    return ModelUnavailableError(f"The language model server at {host} {trouble}.", hint=remedy)


def runs_away(text: str) -> bool:
    """Return whether the end of a text is one stretch over and over."""
    tail = text[-MAX_ANSWER_LENGTH // 10 :]
    if len(tail) < MIN_REPEATED:
        return False
    period = len(tail) - 32 - tail.rfind(tail[-32:], 0, -1)
    span = max(REPEATED * period, MIN_REPEATED)
    return span <= len(tail) and tail[-span:-period] == tail[period - span :]


def min_context(sizes: Sequence[object], most: int) -> int:
    """Return the smallest of what may be sizes in tokens, at most ``most``; what is no size is passed over."""
    return min([most, *(size for size in sizes if type(size) is int and size >= MIN_CONTEXT)])
