"""What a reasoning model thinks first is between marks such as <think> and </think>; it is never in the answer."""

import re

OPENING, CLOSING = "<think>", "</think>"
_TAG = "(?:think(?:ing)?|thought|reasoning)"
_CHANNEL = r"(?:<\|start\|>assistant)?<\|channel\|>"
"""Of gpt-oss, where a server passes its channels on; Magistral and Kimi have marks of their own."""
_OPENS = re.compile(rf"<{_TAG}>|\[THINK\]|◁think▷|{_CHANNEL}(?:analysis|commentary)<\|message\|>", re.IGNORECASE)
_CLOSES = re.compile(rf"</{_TAG}>|\[/THINK\]|◁/think▷|(?:<\|end\|>)?{_CHANNEL}final<\|message\|>", re.IGNORECASE)
_BEGINNINGS = ("<thinking>", "<thought>", "<reasoning>", "[think]", "◁think▷",
               *(f"{start}<|channel|>{name}<|message|>" for start in ("", "<|start|>assistant")
                 for name in ("analysis", "commentary", "final")))  # fmt: skip


def split_thinking(text: str, *, alone: bool = True) -> tuple[str, str]:
    """Return the thoughts and the answer of a reply, or of as much of it as has come.

    Some servers swallow the opening mark, so that the closing one alone is enough; not so without ``alone``.
    """
    bare = text.lstrip()
    opened = _OPENS.match(bare)
    closed = _CLOSES.search(bare) if opened or alone else None
    if closed:
        return bare[opened.end() if opened else 0 : closed.start()].strip(), bare[closed.end() :].lstrip()
    if opened:
        return bare[opened.end() :].strip(), ""
    begun = bare.rstrip().lower()
    return ("", "") if begun and any(whole.startswith(begun) for whole in _BEGINNINGS) else ("", text)


def holds_a_closing_mark(text: str) -> bool:
    """Return whether a text contains a closing mark; a document may contain one, and an answer quote it."""
    return bool(_CLOSES.search(text))
