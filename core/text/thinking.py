"""What a reasoning model thinks first stands between <think> and </think>; it is never part of the answer."""

import re

OPENING, CLOSING = "<think>", "</think>"
_OPENS = re.compile(r"<think(?:ing)?>", re.IGNORECASE)
_CLOSES = re.compile(r"</think(?:ing)?>", re.IGNORECASE)


def split_thinking(text: str) -> tuple[str, str]:
    """Thoughts and answer of a reply, or of as much of it as has come.

    Some servers swallow the opening tag, so that the closing one alone tells.
    """
    opened = _OPENS.match(text, len(text) - len(text.lstrip()))
    closed = next(reversed(list(_CLOSES.finditer(text))), None)
    if closed:
        return text[opened.end() if opened else 0 : closed.start()].strip(), text[closed.end() :].lstrip()
    if opened:
        return text[opened.end() :].strip(), ""
    begun = text.strip().lower()
    return ("", "") if begun and "<thinking>".startswith(begun) else ("", text)
