"""Embedding models of an Ollama server."""

import re
from collections.abc import Awaitable, Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from pincite.core.domain.errors import ModelUnavailableError, SettingsError
from pincite.core.domain.ports import Vectors
from pincite.core.domain.settings import Settings
from pincite.core.models.client import ServerTrouble, ask, ollama_at
from pincite.core.models.embed import EMBED_SECONDS, ServedEmbedder, unit_vectors
from pincite.core.models.ollama import context_length, host_of
from pincite.core.models.served import LOOK_SECONDS

if TYPE_CHECKING:
    import ollama

MAX_OLLAMA_TOKENS = 2048
Done = TypeVar("Done")


class OllamaEmbedder(ServedEmbedder):
    """An embedding model of an Ollama server; its version is the digest of the model's files."""

    def __init__(self, model: str, *, host: str = "", may_send: Callable[[str], bool] | None = None) -> None:
        super().__init__(f"ollama:{model}", may_send)
        self.model = model
        self._chosen_host = host

    @classmethod
    def open(cls, settings: Settings, model: str) -> "OllamaEmbedder":
        if not model:
            raise SettingsError("No Ollama embedding model is named.", hint="Use ollama:NAME.")
        return cls(model, host=settings.embedding_address or settings.ollama_host, may_send=settings.may_send)

    @property
    def address(self) -> str:
        return host_of(self._chosen_host)

    @cached_property
    def version(self) -> str:
        listed = self._ask(lambda server: server.list(), LOOK_SECONDS).models
        wanted = {self.model, f"{self.model}:latest"}
        for entry in listed:
            if entry.model in wanted and re.fullmatch(r"(?:sha256:)?[0-9a-f]{12,64}", entry.digest or ""):
                return (entry.digest or "")[:12]
        raise ModelUnavailableError(
            f"Ollama does not have the embedding model {self.model}.", hint=f"Run: ollama pull {self.model}"
        )

    @cached_property
    def _context_tokens(self) -> int:
        """Where the server is to cut texts: left to itself it lets a model of 512 tokens crash on 2,048."""
        return context_length(self._ask(lambda server: server.show(self.model), LOOK_SECONDS), MAX_OLLAMA_TOKENS)

    def _request(self, texts: Sequence[str]) -> Vectors:
        options = {"num_ctx": self._context_tokens}
        filled = [text or " " for text in texts]

        async def embedded(server: "ollama.AsyncClient") -> Vectors:
            reply = await server.embed(model=self.model, input=filled, truncate=True, options=options)
            return unit_vectors(reply.embeddings, len(texts))

        return self._ask(embedded, EMBED_SECONDS)

    def _ask(self, call: Callable[["ollama.AsyncClient"], Awaitable[Done]], seconds: float) -> Done:
        """Raises ModelUnavailableError and StoppedError."""
        try:
            return ask(ollama_at(self.allowed_address), call, seconds=seconds)
        except ServerTrouble as trouble:
            raise self._unavailable(trouble) from trouble

    def _unavailable(self, trouble: ServerTrouble) -> ModelUnavailableError:
        return ModelUnavailableError(
            f"Ollama could not embed with {self.model}: the server {trouble}.",
            hint=f"Check that Ollama runs and has the model (ollama pull {self.model}), then try again.",
        )
