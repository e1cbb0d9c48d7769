"""Servers that speak OpenAI's protocol (vLLM, LM Studio, llama.cpp, gateways), through the ``openai`` client."""

import base64
from collections.abc import AsyncIterator, Callable, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict

from pincite.core.domain.errors import ModelUnavailableError, SettingsError
from pincite.core.domain.ports import Vectors
from pincite.core.domain.settings import Settings, is_this_machine, server_address
from pincite.core.models.client import (
    REPLY_BYTES,
    STREAM_BYTES,
    UNREADABLE,
    ServerTrouble,
    ask,
    limited,
    stream,
    trouble_of,
)
from pincite.core.models.embed import EMBED_SECONDS, ServedEmbedder, unit_vectors
from pincite.core.models.keys import CHAT_KEY, EMBEDDING_KEY, key_for
from pincite.core.models.ollama import MODEL_NAME
from pincite.core.models.served import (
    ANSWER_SECONDS,
    ANSWER_TOKENS,
    CHARACTERS_PER_TOKEN,
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
    import openai

MAX_MODELS = 500
UNSAID_CONTEXT = 4_096
"""Tokens of the context window, if the server does not report it."""
MAX_CHARACTERS = 1_500
"""Of a text that is embedded: servers refuse what is longer than their model reads, and most read 512 tokens."""


class _Reply(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)


class _Message(_Reply):
    content: str | None = None
    reasoning_content: str | None = None
    """As llama.cpp, vLLM and DeepSeek call it."""
    reasoning: str | None = None
    """As newer servers call it."""

    @property
    def thought(self) -> str:
        return self.reasoning_content or self.reasoning or ""


class _Choice(_Reply):
    delta: _Message | None = None
    message: _Message | None = None
    finish_reason: str | None = None


class _Usage(_Reply):
    prompt_tokens: int | None = None


class _Chat(_Reply):
    choices: list[_Choice] | None = None
    usage: _Usage | None = None


class _Vector(_Reply):
    index: int = 0
    embedding: list[float]


class _Embeddings(_Reply):
    data: list[_Vector]


class _Models(_Reply):
    data: list[dict[str, Any]] | None = None


def address_of(chosen: str) -> str:
    """Return the address in full, with /v1 where no path is given; empty stays empty. Raises ModelUnavailableError."""
    if not chosen:
        return ""
    try:
        address = server_address(chosen if "://" in chosen else f"http://{chosen}")
    except SettingsError as error:
        raise ModelUnavailableError(
            f"The language model server cannot be reached: {chosen[:100]!r} is not an address.",
            hint="Correct it in the settings. An address looks like http://127.0.0.1:8000/v1.",
        ) from error
    return address if address.count("/") > 2 else f"{address}/v1"


def openai_at(
    address: str, key: str, max_bytes: int = REPLY_BYTES
) -> AbstractAsyncContextManager["openai.AsyncOpenAI"]:
    """Return OpenAI's client for one call. Raises ServerTrouble, which never contains the key.

    A key is sent over HTTPS only, or to this machine.
    """
    import httpx2  # the client's own; both are loaded only where such a server is asked, and before its time runs
    import openai

    @asynccontextmanager
    async def opened() -> AsyncIterator[openai.AsyncOpenAI]:
        if key and not (address.startswith("https://") or is_this_machine(address)):
            raise ServerTrouble("would get its key unencrypted: its address must begin with https", status=401)
        try:
            carrier = limited(httpx2, max_bytes, key)
            async with httpx2.AsyncClient(transport=carrier, trust_env=False, timeout=None) as client:
                yield openai.AsyncOpenAI(
                    api_key=key or "none", base_url=address, http_client=client, max_retries=0, timeout=None
                )
        except (openai.OpenAIError, httpx2.HTTPError, httpx2.InvalidURL, *UNREADABLE) as error:
            raise _without(key, trouble_of(error)) from None

    return opened()


def _without(key: str, trouble: ServerTrouble) -> ServerTrouble:
    return ServerTrouble(str(trouble).replace(key, "…") if key else str(trouble), status=trouble.status)


class OpenAiProvider:
    """The server at the address in the settings; without an address no server is asked."""

    label = "The OpenAI-compatible server"

    def address(self, settings: Settings) -> str:
        if not settings.openai_address:
            raise ModelUnavailableError(
                "No OpenAI-compatible server is set up.", hint="Give its address in the settings."
            )
        return address_of(settings.openai_address)

    def models(self, settings: Settings) -> dict[str, int]:
        address = self.address(settings)
        try:
            return dict.fromkeys(_listed(address, key_for(address, CHAT_KEY)), 0)
        except ServerTrouble as trouble:
            raise unavailable(address, trouble, "it") from trouble

    def preferred(self, settings: Settings) -> str:
        return settings.openai_model

    def open(self, settings: Settings, model: str) -> "OpenAiChat":
        address = self.address(settings)
        return OpenAiChat(address, model, key=key_for(address, CHAT_KEY))

    def warm(self, settings: Settings, model: str) -> None:
        """Such servers hold their model from their start."""


def _listed(address: str, key: str) -> dict[str, dict[str, Any]]:
    """Return the server's entry for each model, by name; only their names distinguish models that only embed."""

    async def listed(server: "openai.AsyncOpenAI") -> _Models:
        return _Models.model_validate((await server.models.list()).to_dict(warnings=False))

    listing = ask(openai_at(address, key), listed, seconds=LOOK_SECONDS)
    names = ((entry.get("id"), entry) for entry in (listing.data or ())[:MAX_MODELS])
    return {name: entry for name, entry in names if isinstance(name, str) and MODEL_NAME.fullmatch(name)}


class OpenAiChat(ServedChat):
    provider, program = "openai", "it"

    def __init__(self, host: str, model: str, *, key: str = "") -> None:
        super().__init__(host, model)
        self._key = key

    @cached_property
    def context_tokens(self) -> int:
        """Return the size that the server reports, as vLLM, llama.cpp and gateways do, else UNSAID_CONTEXT."""
        try:
            entry = _listed(self.host, self._key).get(self.model, {})
        except ServerTrouble as trouble:
            raise self.error(trouble) from trouble
        meta = entry.get("meta")
        sizes = [entry.get("max_model_len"), entry.get("context_length")]
        sizes += [meta.get("n_ctx"), meta.get("n_ctx_train")] if isinstance(meta, dict) else []
        known = [size for size in sizes if type(size) is int]
        return min_context(known, MAX_CONTEXT) if known else UNSAID_CONTEXT

    def _message(self, text: str, picture: bytes) -> dict[str, Any]:
        url = f"data:image/png;base64,{base64.b64encode(picture).decode()}"
        return {
            "role": "user",
            "content": [{"type": "text", "text": text}, {"type": "image_url", "image_url": {"url": url}}],
        }

    def _reply(self, messages: list[dict[str, str]], schema: Mapping[str, Any]) -> str:
        form = {"type": "json_schema", "json_schema": {"name": "reply", "schema": dict(schema)}}
        (told,) = self._asked(messages, {"response_format": form}, STRUCTURED_SECONDS)
        message = told.choices[0].message if told.choices else None
        return (message.content if message else None) or ""

    def pieces(self, messages: list[dict[str, Any]], stopped: Callable[[], bool]) -> Generator[ReplyPiece, None, None]:
        """Its token count comes after the last words, where the server has one."""
        ended = cut = False
        read = 0
        form = {"stream": True, "stream_options": {"include_usage": True}}
        for told in self._asked(messages, form, ANSWER_SECONDS, stopped):
            read = (told.usage.prompt_tokens if told.usage else None) or read
            choice = told.choices[0] if told.choices else None
            if choice and choice.delta and not ended:
                yield ReplyPiece(choice.delta.content or "", choice.delta.thought)
            if choice and choice.finish_reason:
                ended, cut = True, choice.finish_reason == "length"
        if ended:
            yield ReplyPiece(done=True, cut=cut, prompt_tokens=read)

    def _asked(
        self,
        messages: Sequence[Mapping[str, Any]],
        form: Mapping[str, Any],
        seconds: float,
        stopped: Callable[[], bool] = lambda: False,
    ) -> Iterator[_Chat]:
        """One reply, or as many as are streamed.

        What a server refuses is asked once more in the words of newer models, which choose their own temperature.
        """
        sent = sum(len(text) for message in messages if isinstance(text := message["content"], str))
        room = self.context_tokens - int(sent / CHARACTERS_PER_TOKEN)  # servers refuse more than they have
        most = min(max(room, ANSWER_TOKENS), ANSWER_TOKENS + THINKING_TOKENS)
        for limits in ({"max_tokens": most, "temperature": 0}, {"max_completion_tokens": most}):

            async def replies(server: "openai.AsyncOpenAI", limits: Mapping[str, Any] = limits) -> AsyncIterator[_Chat]:
                create: Any = server.chat.completions.create  # its overloads know only what is written out
                reply = await create(model=self.model, messages=messages, **limits, **form)
                return _validated(reply)

            try:
                yield from stream(
                    openai_at(self.host, self._key, STREAM_BYTES), replies, seconds=seconds, stopped=stopped
                )
                return
            except ServerTrouble as trouble:
                if trouble.status not in (400, 422) or "temperature" not in limits:
                    raise


async def _validated(reply: Any) -> AsyncIterator[_Chat]:
    """Yield a reply, or the parts of one that is streamed."""
    if not hasattr(reply, "__aiter__"):
        yield _Chat.model_validate(reply.to_dict(warnings=False))
        return
    async for part in reply:
        yield _Chat.model_validate(part.to_dict(warnings=False))


class OpenAiEmbedder(ServedEmbedder):
    """An embedding model of such a server, which reports no version: name and address identify the model instead."""

    def __init__(
        self, model: str, address: str, *, variable: str, may_send: Callable[[str], bool] | None = None
    ) -> None:
        super().__init__(f"openai:{model}", may_send)
        self.model = model
        self._address = address
        self._variable = variable

    @classmethod
    def open(cls, settings: Settings, model: str) -> "OpenAiEmbedder":
        if not model:
            raise SettingsError("No embedding model is named.", hint="Use openai:NAME.")
        own = settings.embedding_address
        variable = EMBEDDING_KEY if own else CHAT_KEY
        return cls(model, own or settings.openai_address, variable=variable, may_send=settings.may_send)

    @property
    def address(self) -> str:
        if not self._address:
            raise ModelUnavailableError(
                "No OpenAI-compatible server is set up.", hint="Give its address in the settings."
            )
        return address_of(self._address)

    @property
    def version(self) -> str:
        return self.model

    def _request(self, texts: Sequence[str]) -> Vectors:
        cut = [text[:MAX_CHARACTERS] or " " for text in texts]
        address = self.allowed_address

        async def embedded(server: "openai.AsyncOpenAI") -> Vectors:
            reply = await server.embeddings.create(model=self.model, input=cut, encoding_format="float")
            rows = _Embeddings.model_validate(reply.to_dict(warnings=False)).data
            return unit_vectors([row.embedding for row in sorted(rows, key=lambda row: row.index)], len(texts))

        try:
            return ask(openai_at(address, key_for(address, self._variable)), embedded, seconds=EMBED_SECONDS)
        except ServerTrouble as trouble:
            raise ModelUnavailableError(
                f"{self.model} could not embed: the server at {address} {trouble}.",
                hint="Check in the settings that the server runs and has the model, then try again.",
            ) from trouble
