"""What is answered of the library and of the program: from what is known, without a search and without a model."""

from collections.abc import Sequence

from core.domain.documents import Document
from core.domain.ports import ChatModel

MOST_NAMED = 10


def about_library(documents: Sequence[Document], holes: Sequence[str]) -> str:
    """How many documents there are, which, and what of them could not be searched."""
    if not documents:
        return "There are no documents yet. Drop a PDF into the box below, or add some under Documents."
    pages = sum(document.page_count for document in documents)
    lines = [f"There {_counted(len(documents), 'document', verb=True)} with {_counted(pages, 'page')}:"]
    lines += [f"- {document.name} ({_counted(document.page_count, 'page')})" for document in documents[:MOST_NAMED]]
    if len(documents) > MOST_NAMED:
        lines.append(f"- and {len(documents) - MOST_NAMED} more")
    read = "\n".join(f"- {hole}" for hole in holes) or "Every page of them was read and is searched."
    return "\n".join([*lines, "", read, "", "Documents shows every page of each, and what became of it."])


def about_program(model: ChatModel) -> str:
    """What Pincite does, and where the rest is found."""
    engine = f"Answers are written by {model.name}" if model.writes_prose else "No language model is connected: I quote"
    return (
        "I am Pincite. I answer questions about your PDFs, and every sentence of an answer carries a quotation that "
        "was checked on the page it names. Where I find no answer I say so.\n\n"
        f"{engine}. Nothing leaves this machine unless you connect a model that runs elsewhere.\n\n"
        "- Type @ and a document's name to ask that one alone.\n"
        "- Documents adds and removes PDFs, and shows what was read of each.\n"
        "- Review holds the answers that I was not sure of.\n"
        "- Settings chooses the language model, and how sure an answer must be.\n"
        "- “Why this answer?” under an answer shows each step that led to it."
    )


def _counted(number: int, noun: str, *, verb: bool = False) -> str:
    return f"{'is ' if verb and number == 1 else 'are ' if verb else ''}{number:,} {noun}{'' if number == 1 else 's'}"
