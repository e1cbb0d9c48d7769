"""Markdown (.md): rendered as HTML, and read like it."""

from pathlib import Path

from pincite.core.documents.formats.plain import decoded

KIND = "Markdown (.md)"
ENDINGS = (".md", ".markdown")


def is_one(path: Path, name: str) -> bool:
    return name.casefold().endswith(ENDINGS)


def save_as_pdf(path: Path, target: Path) -> None:
    from markdown_it import MarkdownIt

    from pincite.core.documents.formats.html import page_content
    from pincite.core.documents.formats.typeset import typeset

    text = decoded(path.read_bytes(), path.name)
    page = MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(_without_settings(text))
    typeset(page_content(page, "a Markdown file"), path.name, target)


def _without_settings(text: str) -> str:
    """Return the text with its YAML block, which programs read, as a code block."""
    lines = text.split("\n")
    if lines[0].rstrip() != "---" or "---" not in (rest := [line.rstrip() for line in lines[1:]]):
        return text
    end = rest.index("---")
    return "\n".join(["```", *lines[1 : end + 1], "```", *lines[end + 2 :]])
