"""How well words are known to a taught vocabulary: the WordPiece tokenizer of all-MiniLM-L6-v2."""

from functools import cache, lru_cache
from typing import TYPE_CHECKING

from core.text.installed import TOKENIZER_FILE, verified_file

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


def belong_together(left: str, right: str) -> bool:
    """Whether two halves are better known as one word: "infor", "mation" are, "price", "determining" are not.

    On running English words cut anywhere 95 % are, of hyphenated compounds 8 %; in German 63 % and 11 %.
    """
    return pieces(left + right) < pieces(left) + pieces(right)
