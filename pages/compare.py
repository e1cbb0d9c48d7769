# Two versions of a document: what changed between them, with both pages side by side.

import io
from collections.abc import Mapping, Sequence
from functools import partial

import streamlit as st
from PIL import Image

from pincite.core.domain.answers import Citation
from pincite.core.domain.documents import Box, Document
from pincite.core.domain.versions import Comparison, Difference, DifferenceKind, Extract, Side, pages_in_words
from pincite.core.services.bootstrap import Pincite
from pincite.pages.components.controls import download, icon_button, quiet, row
from pincite.pages.components.facade import errors_shown, show
from pincite.pages.components.page_view import ShownPage, draw_pager, page_picture, show_page, shown_page
from pincite.pages.components.versions import NEWER, OLDER, chosen_versions, keep_choice, swap
from pincite.pages.components.words import count, escape, escape_lines

AT, GROUP, PAIR = "difference_at", "differences_shown", "compared_pair"
SLOTS, DRAWN = ("older_page", "newer_page"), "difference_drawn"
MATTER, MOVED, REWORDED, ALL = "May matter", "Moved", "Reworded", "All"
PICTURE_WIDTH, PART = 1100, 0.36  # pixels of a page, and the part of its height that is shown
ROWS = 5  # of the list at once
CHARACTERS_BEFORE = 24  # of a sentence in the list, in front of the first words that differ


def draw(app: Pincite) -> None:
    st.header("Compare", anchor=False)
    documents = {one.id: one for one in sorted(app.library.list(), key=lambda one: one.name.casefold())}
    if len(documents) < 2:
        st.markdown("Two versions of a document side by side: what was added, removed, moved and changed.")
        st.page_link("pages/documents.py", label="Add two documents first", icon=":material/upload_file:")
        return
    choose_versions(documents)
    older, newer = chosen_versions(documents)
    if not (older and newer):
        st.caption("Choose the older and the newer version.")
        return
    if st.session_state.get(PAIR) != (older.id, newer.id):
        forget()
        st.session_state[PAIR] = (older.id, newer.id)
    with errors_shown(), st.spinner("Comparing…"):
        comparison = app.versions.compare(older.id, newer.id)
        draw_comparison(app, comparison, older, newer)


def choose_versions(documents: Mapping[str, Document]) -> None:
    keep_choice(documents)
    left, middle, right = st.columns([12, 1, 12], vertical_alignment="bottom", gap="small")
    for column, key, label in ((left, OLDER, "Older version"), (right, NEWER, "Newer version")):
        column.selectbox(label, list(documents), index=None, format_func=lambda one: documents[one].name, key=key,
                         placeholder="Choose a document")  # fmt: skip
    with middle:
        icon_button("Swap the versions", "swap_horiz", swap, key="swap_versions")


def forget() -> None:
    for key in (AT, GROUP, DRAWN, *SLOTS):
        st.session_state.pop(key, None)


def draw_comparison(app: Pincite, comparison: Comparison, older: Document, newer: Document) -> None:
    for document, unread in zip((older, newer), comparison.unread, strict=True):
        if unread:
            st.warning(f"{count(unread, 'page')} of {escape(document.name)} could not be read: what changed there is "
                       "not known.", icon=":material/warning:")  # fmt: skip
    groups = grouped(comparison)
    with row(vertical_alignment="center"):
        offered = [name for name in groups if name == MATTER or len(groups[MATTER]) < len(groups[name]) or
                   (groups[name] and name != ALL)]  # fmt: skip
        group = st.segmented_control(
            "Show", offered, default=MATTER, required=True, key=GROUP, label_visibility="collapsed",
            format_func=lambda name: f"{name} ({len(groups[name])})", on_change=partial(go_to, 0),
        )  # fmt: skip
        shown = groups[group or MATTER]
        place = min(st.session_state.get(AT, 0), max(len(shown) - 1, 0))
        for label, icon, key, step in (("Previous", "arrow_back", "P", -1), ("Next", "arrow_forward", "N", 1)):
            quiet(label, icon, go_to, place + step, key=f"difference_{key}", shortcut=key,
                  disabled=not 0 <= place + step < len(shown))  # fmt: skip
        if shown:
            st.caption(f"{place + 1} of {len(shown)}", width="content")
        st.space("stretch")
        whole = st.toggle("Whole pages", key="whole_pages")
        with st.popover("Export", icon=":material/download:", type="tertiary"):
            for ending, label in ((".csv", "CSV"), (".json", "JSON")):
                download(
                    app,
                    label,
                    partial(app.versions.export, comparison, ending),
                    f"{older.name} - {newer.name}{ending}",
                    of=("document", newer.id),
                    key=f"export_{ending}",
                )
    if shown:
        draw_list(shown, place)
        draw_difference(app, shown[place], older, newer, whole=whole)
    st.caption(summary(comparison))


def go_to(place: int) -> None:
    st.session_state[AT] = place


def grouped(comparison: Comparison) -> dict[str, list[Difference]]:
    every = list(comparison.differences)
    return {
        MATTER: [one for one in every if one.matters],
        MOVED: [one for one in every if one.kind is DifferenceKind.MOVED],
        REWORDED: [one for one in every if not one.matters and one.kind is not DifferenceKind.MOVED],
        ALL: sorted(every, key=lambda one: not one.matters),
    }


def summary(comparison: Comparison) -> str:
    told = [f"{comparison.compared[0]:,} and {comparison.compared[1]:,} sentences, headings and table rows compared"]
    renumbered = count(comparison.renumbered, "numbered paragraph")
    told += [f"{renumbered} only got another number"] if comparison.renumbered else []
    return f"{'. '.join(told)}. Line and page breaks, numbering, capitals and punctuation are no changes."


def draw_list(shown: Sequence[Difference], place: int) -> None:
    """A few of the differences, with the one at hand among them; a press goes to another."""
    first = place // ROWS * ROWS
    rows = [
        {
            "Change": one.title.capitalize(),
            "About": one.about,
            "Older": excerpt(one.old),
            "Newer": excerpt(one.new),
            "Page": " → ".join(pages_in_words(side.extracts) for side in (one.old, one.new) if side),
            "Heading": one.heading,
        }
        for one in shown[first : first + ROWS]
    ]
    key = f"differences_{first}"
    st.session_state[key] = {"selection": {"rows": [place - first], "columns": [], "cells": []}}
    st.dataframe(
        rows, hide_index=True, key=key, on_select=partial(go_to_row, key, first), selection_mode="single-row",
        height="content",
        column_config={
            "Change": st.column_config.TextColumn(width=80), "About": st.column_config.TextColumn(width=110),
            "Older": st.column_config.TextColumn(width=250), "Newer": st.column_config.TextColumn(width=250),
            "Page": st.column_config.TextColumn(width=60),
        },
    )  # fmt: skip


def go_to_row(key: str, first: int) -> None:
    if rows := (st.session_state.get(key) or {}).get("selection", {}).get("rows", []):
        go_to(first + rows[0])


def excerpt(side: Side | None) -> str:
    """Return the words from shortly before the first that differ."""
    if side is None:
        return ""
    first = side.differing[0].start if side.differing else 0
    start = side.text.find(" ", first - CHARACTERS_BEFORE) + 1 if first > CHARACTERS_BEFORE else 0
    return "…" * (start > 0) + side.text[start:]


def draw_difference(app: Pincite, one: Difference, older: Document, newer: Document, *, whole: bool) -> None:
    """The words of both versions, and below them their pages."""
    colours = ("blue", "blue") if one.kind is DifferenceKind.MOVED else ("red", "green")
    sides = tuple(zip(SLOTS, (older, newer), (one.old, one.new), colours, strict=True))
    if st.session_state.get(DRAWN) != one:
        st.session_state[DRAWN] = one
        for slot, document, side, _ in sides:
            marks = side.marks if side else ()
            first = marks[0] if marks else one.near
            show_page(slot, ShownPage(document.id, first.page_index if first else 0, citations(document, marks, side)))
    st.markdown(" · ".join(filter(None, [f"**{one.title.capitalize()}**", one.about, escape(one.heading)])))
    for column, (_, _, side, colour) in zip(st.columns(2, gap="medium"), sides, strict=True):
        column.markdown(in_colour(side, colour) if side else "*Not in this version. Its place would be here:*")
    for column, (slot, document, side, _) in zip(st.columns(2, gap="medium"), sides, strict=True):
        with column:
            draw_page(app, document, slot, side.marks if side else [one.near] if one.near else [], whole=whole)


def draw_page(app: Pincite, document: Document, slot: str, places: Sequence[Extract], *, whole: bool) -> None:
    """A page with its marks: the part around them, or the ``whole``."""
    shown = shown_page(slot) or ShownPage(document.id, 0)
    with row(gap="xsmall"):
        st.markdown(f"**{escape(document.name)}**", wrap=False, width="stretch")
        draw_pager(app, document, shown, slot)
    with errors_shown():
        picture = page_picture(document.id, shown.page_index, PICTURE_WIDTH, shown.marks)
        here = [one for one in places if one.page_index == shown.page_index]
        if here and not whole:
            page = app.library.page(document.id, shown.page_index)
            picture = around(picture, Box.around(word.box for word in page.words for one in here
                                                 if word.start < one.end and word.end > one.start))  # fmt: skip
        st.image(picture, width="stretch", alt=f"Page {shown.page_index + 1} of {document.name}")


def around(picture: bytes, box: Box | None) -> bytes:
    """Return the part of a page's picture around a place; the place is a third from the top."""
    if box is None:
        return picture
    image = Image.open(io.BytesIO(picture))
    height = int(image.height * PART)
    top = min(max(int(image.height * box.top) - height // 3, 0), image.height - height)
    out = io.BytesIO()
    image.crop((0, top, image.width, top + height)).save(out, "PNG")
    return out.getvalue()


def citations(document: Document, marks: Sequence[Extract], side: Side | None) -> tuple[Citation, ...]:
    """Return the marks as places of a page."""
    text = side.text if side else ""
    return tuple(
        Citation(number, document.id, document.name, one.page_index, one.page_label, text, one.start, one.end)
        for number, one in enumerate(marks, start=1)
    )


def in_colour(side: Side, colour: str) -> str:
    """Return the text with the words that differ in a colour; all of it where only one version has it."""
    if not side.differing:
        return "  \n".join(f":{colour}[{escape_lines(line)}]" for line in side.text.split("\n"))
    mark, pieces, position = "~~" if colour == "red" else "**", [], 0
    for span in side.differing:
        differing = escape(side.text[span.start : span.end])
        pieces += [spaced(side.text[position : span.start]), f":{colour}[{mark}{differing}{mark}]"]
        position = span.end
    return "".join([*pieces, spaced(side.text[position:])])


def spaced(text: str) -> str:
    """Return a text escaped, with the space at its ends."""
    return f"{' ' * text[:1].isspace()}{escape_lines(text)}{' ' * (text.strip() != '' and text[-1:].isspace())}"


show(draw)
