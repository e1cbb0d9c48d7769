"""Enums that are stored: their values are keys, and ``in_words`` returns them as people read them."""

from enum import StrEnum


class Key(StrEnum):
    """Values are written with underscores; libraries of earlier versions hold them with spaces."""

    @classmethod
    def _missing_(cls, value: object) -> "Key | None":
        key = str(value).replace(" ", "_").lower()
        return next((one for one in cls if one == key), None)


def in_words(key: str) -> str:
    """Return the words for a key; text that is already words is unchanged. Translations would go here."""
    return _WORDS.get(key) or (key if " " in key else key.replace("_", " "))


_WORDS: dict[str, str] = {
    "pdf_fields": "file properties",
    "reference_manager": "reference manager",
    "embedding": "indexing by meaning",
    "quoted_answer": "Quoted, in English",
    "quoted_answer_else": "Quoted, in other languages",
    "no_answer": "“Not found”, in English",
    "no_answer_else": "“Not found”, in other languages",
    "figure_answer": "A figure from a table",
    "computed_answer": "A figure computed from tables",
    "searched": "searched, not found",
    "not_checked": "found on the page, meaning not checked",
    "partly_supported": "to be checked",
    "other_answer": "Prose, summaries, yes or no, counts",
}
