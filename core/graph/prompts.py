"""What nodes ask a language model for in JSON, and how its replies are read. Answers are prompted by the engines."""

from collections.abc import Mapping
from typing import Any

INTENT_INSTRUCTIONS = (
    "Decide what the user's message needs. Reply in JSON. "
    "documents: it asks for something that could stand in the user's documents. chat: it is small talk or about you."
)
INTENT_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"needs": {"type": "string", "enum": ["documents", "chat"]}},
    "required": ["needs"],
}


def is_chat(reply: Mapping[str, Any]) -> bool:
    """Anything but a clear ``chat`` goes to the documents."""
    return reply.get("needs") == "chat"
