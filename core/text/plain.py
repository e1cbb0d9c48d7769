"""Foreign text made harmless for terminals, logs and storage (for Markdown see markdown.py), and plurals."""

import logging
import unicodedata

_DIRECTING = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff")
"""They turn the writing direction, so that a name reads as another."""
_OBEYED = ("Cc", "Cs", "Zl", "Zp")


def shown(text: str, *, lines: bool = False) -> str:
    """What a terminal would obey instead of show becomes its code, as in JSON; with ``lines``, line breaks stay."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_code(character) if _is_obeyed(character, lines=lines) else character for character in text)


def counted(number: int, noun: str) -> str:
    """ "1 page", "1,200 pages"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def flat(text: str) -> str:
    """In one line, with white space drawn together."""
    return " ".join(text.split())


def shortened(text: str) -> str:
    """Return a text in one line, cut after a word near its ninetieth character."""
    plain = flat(text)
    return plain if len(plain) <= 90 else plain[:87].rsplit(" ", 1)[0] + "…"


def no_formula(text: str) -> str:
    """Return a text with an apostrophe before it if a spreadsheet would run it as a formula."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text


def storable(text: str) -> str:
    """Without what neither SQLite nor JSON can keep: halves of characters, and zero bytes."""
    return text.encode("utf-8", "replace").decode().replace("\x00", "")


class LogFormatter(logging.Formatter):
    """No record can hold what looks like another one, nor what a terminal obeys."""

    def format(self, record: logging.LogRecord) -> str:
        return shown(super().format(record), lines=True).replace("\n", "\n    ")


def _is_obeyed(character: str, *, lines: bool) -> bool:
    if character in "\n\t":
        return not lines
    return (
        character in _DIRECTING
        or unicodedata.category(character) in _OBEYED
        or "\U000e0000" <= character <= "\U000e007f"  # letters that nobody sees
    )


def _code(character: str) -> str:
    encoded = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{encoded[at]:02x}{encoded[at + 1]:02x}" for at in range(0, len(encoded), 2))
