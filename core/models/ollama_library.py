"""The models that an Ollama server keeps: listed, fetched and removed because a person asked for it."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from pincite.core.domain.errors import ModelUnavailableError
from pincite.core.domain.models import Fetched, KeptModel
from pincite.core.models.client import STREAM_BYTES, ServerTrouble, ask, ollama_at, stream
from pincite.core.models.ollama import MODEL_NAME, can_chat, context_length, shown
from pincite.core.models.served import LOOK_SECONDS

FETCH_SECONDS = 24 * 3600.0
REMOVE_SECONDS = 30.0
MAX_SPOKEN = 10_000_000
"""Tokens of context; more is a server's mistake."""
RECOMMENDED = ((24, "qwen2.5:14b"), (12, "qwen2.5:7b"), (0, "qwen2.5:1.5b"))
"""Minimum memory in GiB and model; all under the Apache licence, and none thinks before it answers."""


def kept_models(host: str) -> list[KeptModel]:
    """Return the models, largest last, without those that the server cannot describe. Raises ModelUnavailableError."""
    with _explained(host, "Start Ollama, then try again."):
        listed = ask(ollama_at(host), lambda server: server.list(), seconds=LOOK_SECONDS).models
        running = ask(ollama_at(host), lambda server: server.ps(), seconds=LOOK_SECONDS).models
    loaded = {entry.model for entry in running}
    kept = []
    for entry in listed:
        name, details = entry.model or "", entry.details
        if not MODEL_NAME.fullmatch(name):
            continue
        with suppress(ServerTrouble):
            described = shown(host, name, LOOK_SECONDS)
            size = context_length(described, MAX_SPOKEN)
            kept.append(
                KeptModel(
                    name=name,
                    size=int(entry.size or 0),
                    parameters=(details and details.parameter_size) or "",
                    quantisation=(details and details.quantization_level) or "",
                    context_tokens=0 if size == MAX_SPOKEN else size,
                    chats=can_chat(described),
                    loaded=name in loaded,
                )
            )
    return sorted(kept, key=lambda model: model.size)


def fetch_model(host: str, name: str, progress: Callable[[Fetched], None], stopped: Callable[[], bool]) -> None:
    """Have the server fetch a model from its own registry; what came of one that was stopped is kept for another time.

    Raises ModelUnavailableError, and StoppedError once ``stopped()``.
    """
    if not MODEL_NAME.fullmatch(name):
        raise ModelUnavailableError(
            f"{name[:100]!r} is not the name of a model.", hint="Names look like qwen2.5:7b; see ollama.com/library."
        )
    hint = "Check the name and your internet connection, then download it again: the part already received is kept."
    with _explained(host, hint):
        for step in stream(
            ollama_at(host, STREAM_BYTES),
            lambda server: server.pull(name, stream=True),
            seconds=FETCH_SECONDS,
            stopped=stopped,
        ):
            progress(Fetched(" ".join((step.status or "").split())[:100], step.completed or 0, step.total or 0))


def remove_model(host: str, name: str) -> None:
    """Raises ModelUnavailableError."""
    with _explained(host, "Check which models are available."):
        ask(ollama_at(host), lambda server: server.delete(name), seconds=REMOVE_SECONDS)


def recommended() -> str:
    """Return the largest recommended model that fits into this machine's memory with everything else."""
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 0
    return next(name for least, name in RECOMMENDED if pages / 2**30 >= least)


@contextmanager
def _explained(host: str, hint: str) -> Iterator[None]:
    try:
        yield
    except ServerTrouble as trouble:
        raise ModelUnavailableError(f"The language model server at {host} {trouble}.", hint=hint) from trouble
