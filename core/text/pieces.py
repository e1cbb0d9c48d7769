"""How well words are known: to a taught English vocabulary, and to the frequency lists of other languages.

The vocabulary is the WordPiece tokenizer's of all-MiniLM-L6-v2; the lists come inside pyspellchecker.
"""

from functools import cache, lru_cache
from typing import TYPE_CHECKING

from pincite.core.text.installed import TOKENIZER_FILE, verified_file

if TYPE_CHECKING:
    from tokenizers import Tokenizer


@cache
def _tokenizer() -> "Tokenizer":
    from tokenizers import Tokenizer  # takes long to import

    tokenizer: Tokenizer = Tokenizer.from_file(str(verified_file(*TOKENIZER_FILE)))
    tokenizer.no_padding()
    return tokenizer


@lru_cache(maxsize=16384)
def pieces(word: str) -> int:
    """Of how many pieces of the vocabulary a word is made: one that is known is made of few."""
    return len(_tokenizer().encode(word, add_special_tokens=False).tokens)


@cache
def words_of(language: str) -> frozenset[str]:
    """Return the words that a language's list has, in lower case; none of a language that has no list."""
    from spellchecker import SpellChecker

    listed = language in SpellChecker.languages()
    return frozenset(SpellChecker(language=language, distance=1).word_frequency.keys()) if listed else frozenset()


def belong_together(left: str, right: str, language: str = "en") -> bool:
    """Whether two halves, in lower case, are better known as one word: "infor", "mation", not "price", "determining".

    On running words cut anywhere this is true of 95 % in English and German, 97 % in French and 84 % in Spanish; of
    hyphenated compounds, which should stay apart, of 8, 13, 15 and 10 %. English needs no list, which has "knowhow".
    """
    if pieces(left + right) < pieces(left) + pieces(right):
        return True
    return language != "en" and left + right in words_of(language)
