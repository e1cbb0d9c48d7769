"""Models as a server keeps them."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class KeptModel:
    """A model on the server's disk."""

    name: str
    size: int
    """Bytes."""
    parameters: str
    """As the server reports it: "1.8B"."""
    quantisation: str
    context_tokens: int
    """Context length of the model; 0 if the server does not report it."""
    chats: bool
    """False for what only embeds."""
    loaded: bool


@dataclass(frozen=True, slots=True)
class Fetched:
    """Progress of the download in bytes; ``total`` is 0 if the server does not report it."""

    doing: str
    done: int = 0
    total: int = 0


@dataclass(frozen=True, slots=True)
class Fetch:
    """A model that is on its way, or what became of it."""

    name: str
    now: Fetched
    running: bool = True
    error: str = ""
