"""Models as a server keeps them."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class KeptModel:
    """A model on the server's disk."""

    name: str
    size: int
    """Bytes."""
    parameters: str
    """As the server says it: "1.8B"."""
    quantisation: str
    context_tokens: int
    """What it was built for; 0 where the server does not say."""
    chats: bool
    """False for what only embeds."""
    loaded: bool


@dataclass(frozen=True, slots=True)
class Fetched:
    """How far the part that is being fetched has come, in bytes; ``total`` is 0 where the server does not say."""

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
