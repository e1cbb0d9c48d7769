"""Read a message once: mentions, what it leans on, its wish, its kind and the places it names."""

from collections.abc import Callable, Sequence

from pincite.core.domain.documents import Document
from pincite.core.domain.questions import Question, Wish
from pincite.core.domain.turns import Exchange
from pincite.core.questions.follow_up import Leaning, read_after
from pincite.core.questions.matching import named_documents, only_names, with_capitals
from pincite.core.questions.mentions import resolve_mentions
from pincite.core.questions.places import numbered_in, pages_in, title_in
from pincite.core.questions.replacements import with_replacement
from pincite.core.questions.utterances import leaning_of, wish_of
from pincite.core.questions.wording import is_english, kind_of
from pincite.core.text.sentences import split_sentences

CERTAIN = 0.99
"""Minimum probability that a sentence before the question is small talk, from which it is left out."""


def read_question(
    message: str, history: Sequence[Exchange], documents: Sequence[Document], opening: Callable[[str], str]
) -> Question:
    """Return what a message asks after a conversation. ``opening`` returns the first words of a document by its id."""
    text, mentioned, notices = resolve_mentions(message, documents)
    text = without_greeting(text)
    in_small_letters = text.lower()
    text, named = (with_capitals(one, documents, opening) for one in (text, in_small_letters))
    read = read_after(text, history, leaning_in(documents, mentioned), with_replacement)
    wish, probability = wish_of(text)
    pages, numbered = pages_in(text), numbered_in(text)
    return Question(
        text=text,
        read=read,
        kind=kind_of(text),
        wish=wish,
        wish_probability=probability,
        english=is_english(text),
        mentioned=mentioned,
        names_document=named != in_small_letters,
        pages=pages,
        numbered=numbered,
        title="" if pages or numbered else title_in(text),
        notices=notices,
    )


def leaning_in(documents: Sequence[Document], mentioned: Sequence[str] = ()) -> Leaning:
    """Return a function for the probability that a question needs the one before it; 0 if it names its document."""

    def leaning(question: str) -> float:
        ids = {*mentioned, *named_documents(question, documents, surely=True)}
        named = [one for one in documents if one.id in ids]
        return 0.0 if named and not only_names(question, named) else leaning_of(question)

    return leaning


def without_greeting(text: str) -> str:
    """Return the question without the sentences before it that are small talk: "Hello! Can you help me? …"."""
    sentences = [text[span.start : span.end] for span in split_sentences(text)]
    begins = 0
    while begins < len(sentences) - 1:
        wish, sure = wish_of(sentences[begins])
        if wish not in (Wish.CHAT, Wish.PROGRAM) or sure < CERTAIN:
            break
        begins += 1
    about_documents = bool(begins) and wish_of(sentences[begins])[0] is Wish.DOCUMENTS
    return " ".join(sentences[begins:]) if about_documents else text
