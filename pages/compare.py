# Two versions of a document: what changed between them, with both pages side by side.

from collections.abc import Mapping, Sequence
from functools import partial

import streamlit as st

from pincite.core.domain.answers import Citation
from pincite.core.domain.documents import Document
from pincite.core.domain.versions import Comparison, Difference, DifferenceKind, Extract, Side, pages_in_words
from pincite.core.services.bootstrap import Pincite
from pincite.pages.components.controls import button, download, icon_button, quiet, row
from pincite.pages.components.facade import errors_shown, show
from pincite.pages.components.page_view import ShownPage, draw_pager, page_picture, show_page, shown_page
from pincite.pages.components.versions import NEWER, OLDER, chosen_versions, keep_choice, swap
from pincite.pages.components.words import count, escape

TABLE, SLOTS, DRAWN = "differences", ("older_page", "newer_page"), "difference_drawn"
MATTER, MOVED, REWORDED, ALL = "May matter", "Moved", "Reworded", "All"
PICTURE_WIDTH = 1100
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
    with errors_shown(), st.spinner("Comparing…"):
        comparison = app.versions.compare(older.id, newer.id)
        draw_comparison(app, comparison, older, newer)


def choose_versions(documents: Mapping[str, Document]) -> None:
    keep_choice(documents)
    with row(vertical_alignment="bottom"):
        for key, label in ((OLDER, "Older version"), (NEWER, "Newer version")):
            st.selectbox(label, list(documents), index=None, format_func=lambda one: documents[one].name, key=key,
                         width=340, placeholder="Choose a document", on_change=forget)  # fmt: skip
            if key == OLDER:
                icon_button("Swap the versions", "swap_horiz", swap_and_forget, key="swap_versions")


def swap_and_forget() -> None:
    swap()
    forget()


def forget() -> None:
    for key in (TABLE, DRAWN, *SLOTS):
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
            "Show", offered, default=MATTER, required=True, key="differences_shown", label_visibility="collapsed",
            format_func=lambda name: f"{name} ({len(groups[name])})", on_change=forget,
        )  # fmt: skip
        shown = groups[group or MATTER]
        if shown:
            quiet("Next", "arrow_forward", go_to_next, shown, key="next_difference", shortcut="N", help="Next (N)")
        st.space("stretch")
        with st.popover("Export", icon=":material/download:", type="tertiary"):
            for ending, label in ((".csv", "CSV"), (".json", "JSON")):
                download(label, partial(app.versions.export, comparison, ending),
                         f"{older.name} - {newer.name}{ending}", key=f"export_{ending}")  # fmt: skip
    st.caption(summary(comparison))
    if not shown:
        return
    if chosen_place(shown) is None:
        choose(0)
    draw_list(shown)
    place = chosen_place(shown)
    if place is not None:
        draw_difference(app, shown[place], older, newer, place)


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
    told += [f"{count(comparison.renumbered, 'clause')} only renumbered"] if comparison.renumbered else []
    return f"{'. '.join(told)}. Line and page breaks, numbering, capitals and punctuation are no changes."


def draw_list(shown: Sequence[Difference]) -> None:
    rows = [
        {
            "Change": one.title.capitalize(),
            "About": one.about,
            "Older": excerpt(one.old),
            "Newer": excerpt(one.new),
            "Page": " → ".join(pages_in_words(side.extracts) for side in (one.old, one.new) if side),
            "Heading": one.heading,
        }
        for one in shown
    ]
    st.dataframe(
        rows, hide_index=True, key=TABLE, on_select="rerun", selection_mode="single-row",
        height="content" if len(rows) <= 6 else 262,
        column_config={
            "Change": st.column_config.TextColumn(width=90), "About": st.column_config.TextColumn(width=100),
            "Older": st.column_config.TextColumn(width=290), "Newer": st.column_config.TextColumn(width=290),
            "Page": st.column_config.TextColumn(width=70),
        },
    )  # fmt: skip


def excerpt(side: Side | None) -> str:
    """Return the words from shortly before the first that differ."""
    if side is None:
        return ""
    first = side.differing[0].start if side.differing else 0
    start = side.text.find(" ", first - CHARACTERS_BEFORE) + 1 if first > CHARACTERS_BEFORE else 0
    return "…" * (start > 0) + side.text[start:]


def chosen_place(shown: Sequence[Difference]) -> int | None:
    rows = (st.session_state.get(TABLE) or {}).get("selection", {}).get("rows", [])
    return rows[0] if rows and rows[0] < len(shown) else None


def go_to_next(shown: Sequence[Difference]) -> None:
    place = chosen_place(shown)
    choose(0 if place is None else (place + 1) % len(shown))


def choose(place: int) -> None:
    st.session_state[TABLE] = {"selection": {"rows": [place], "columns": [], "cells": []}}


def draw_difference(app: Pincite, one: Difference, older: Document, newer: Document, place: int) -> None:
    """The words of both versions, and below them their pages."""
    if st.session_state.get(DRAWN) != (place, one):
        st.session_state[DRAWN] = (place, one)
        for slot, document, side in zip(SLOTS, (older, newer), (one.old, one.new), strict=True):
            marks = side.marks if side else ()
            first = marks[0] if marks else one.near
            show_page(slot, ShownPage(document.id, first.page_index if first else 0, citations(document, marks, side)))
    st.markdown(" · ".join(filter(None, [f"**{one.title.capitalize()}**", one.about, escape(one.heading)])))
    columns = st.columns(2, gap="medium")
    for column, slot, document, side, colour in zip(
        columns, SLOTS, (older, newer), (one.old, one.new), ("red", "green"), strict=True
    ):
        with column:
            st.markdown(in_colour(side, colour) if side else "*Not in this version; it would be here.*")
            shown = shown_page(slot)
            if shown is None:
                button("Show the page", "description", st.session_state.pop, DRAWN, key=f"show_{slot}")
                continue
            with row(gap="xsmall"):
                st.markdown(f"**{escape(document.name)}**", wrap=False, width="stretch")
                draw_pager(app, document, shown, slot)
            with errors_shown():
                picture = page_picture(document.id, shown.page_index, PICTURE_WIDTH, shown.marks)
                st.image(picture, width="stretch", alt=f"Page {shown.page_index + 1} of {document.name}")


def citations(document: Document, marks: Sequence[Extract], side: Side | None) -> tuple[Citation, ...]:
    """Return the marks as places of a page."""
    text = side.text if side else ""
    return tuple(
        Citation(number, document.id, document.name, one.page_index, one.page_label, text, one.start, one.end)
        for number, one in enumerate(marks, start=1)
    )


def in_colour(side: Side, colour: str) -> str:
    """Return the text with the words that differ in a colour; all of it where only one version has it."""
    pieces, position = [], 0
    for span in side.differing:
        differing = escape(side.text[span.start : span.end])
        pieces += [escape(side.text[position : span.start]), f":{colour}-background[{differing}]"]
        position = span.end
    return "".join([*pieces, escape(side.text[position:])]).replace("\n", "  \n")


show(draw)
