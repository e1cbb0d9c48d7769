"""Open a PDF by every means there is: as it is, unlocked, or rewritten by the other parser; and describe it.

Runs in the reading process. What it raises is ours already; the parsers' errors end here.
"""

import unicodedata
from contextlib import closing
from pathlib import Path

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c

from pincite.core.documents.formats import left_out
from pincite.core.documents.formats.content import is_from_sheet, origin_note
from pincite.core.domain.documents import NOT_READ, HiddenText, OutlineEntry
from pincite.core.domain.errors import (
    DocumentError,
    EmptyFileError,
    NotAPdfError,
    PasswordNeededError,
    UnreadablePdfError,
)

SIGNATURE = b"%PDF"
_HEAD_BYTES = 1024
_MAX_OUTLINE_ENTRIES = 5000
_PASSWORD_HINT = "Enter its password; it is used once and not stored."
_DAMAGED_HINT = "Ask for a new copy, or open it in another program and save it as a new PDF."
_MENDED = "The file is damaged; what could be recovered was read."
_FIELDS = {
    "title": "Title",
    "author": "Author",
    "subject": "Subject",
    "created": "CreationDate",
    "producer": "Producer",
}


def open_document(path: Path, password: str | None = None) -> tuple[pdfium.PdfDocument, tuple[str, ...]]:
    """Return the open document and remarks on how it was opened.

    Raises NotAPdfError, PasswordNeededError or UnreadablePdfError.
    """
    locked = False
    prepared = password and unicodedata.normalize("NFKC", password.replace("\u00ad", ""))
    for attempt in dict.fromkeys((password, prepared)):  # as given, and as RFC 4013 wants it, which newer files expect
        pdfium_c.FPDF_LoadMemDocument64(b"", 0, None)  # some failures set no error, and the last file's would be taken
        try:
            return pdfium.PdfDocument(path, password=attempt), ()
        except pdfium.PdfiumError as error:
            locked = locked or error.err_code == pdfium_c.FPDF_ERR_PASSWORD
    from pincite.core.documents.formats.pdf import second_opinion

    try:
        return pdfium.PdfDocument(second_opinion.rewritten(path, password)), (_MENDED,)
    except (DocumentError, pdfium.PdfiumError) as error:
        if locked or isinstance(error, PasswordNeededError):
            what = "The password does not open {}." if password else "{} is protected with a password."
            raise PasswordNeededError(what.format(path.name), hint=_PASSWORD_HINT) from error
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
            if not head:
                raise EmptyFileError(f"{path.name} is empty.", hint="Check the original file.") from error
            if SIGNATURE not in head:
                what = f"{path.name} is of no format that Pincite reads."
                raise NotAPdfError(what, hint="Save it as a PDF first.") from error
        what = f"{path.name} is damaged: none of its pages can be opened."
        raise UnreadablePdfError(what, hint=_DAMAGED_HINT) from error


def save_unlocked(path: Path, password: str, target: Path) -> None:
    """Write the document as it is, without its lock."""
    partial = target.with_suffix(".partial")
    document, _ = open_document(path, password)
    with closing(document):
        document.save(partial, flags=pdfium_c.FPDF_REMOVE_SECURITY)
    partial.replace(target)


def page_labels(document: pdfium.PdfDocument) -> tuple[str, ...]:
    """Return the document's own page labels; none where it has none, or only counts its pages."""
    labels = tuple(document.get_page_label(index) for index in range(len(document)))
    return () if all(label in ("", str(index + 1)) for index, label in enumerate(labels)) else labels


def outline(document: pdfium.PdfDocument) -> tuple[OutlineEntry, ...]:
    """Return the outline's entries that lead to a page; levels count from 1."""
    entries = []
    for number, bookmark in enumerate(document.get_toc()):
        if number >= _MAX_OUTLINE_ENTRIES:
            break
        destination = bookmark.get_dest()
        page_index = destination.get_index() if destination else None
        title = " ".join(bookmark.get_title().replace("\x00", "").split())
        if title and page_index is not None and 0 <= page_index < len(document):
            entries.append(OutlineEntry(title, page_index, bookmark.level + 1))
    return tuple(entries)


def fields(document: pdfium.PdfDocument) -> dict[str, str]:
    """Return the PDF's own metadata under our names, without empty values."""
    values = {name: document.get_metadata_value(key).replace("\x00", "").strip() for name, key in _FIELDS.items()}
    return {name: value for name, value in values.items() if value}


def is_sheet(document: pdfium.PdfDocument) -> bool:
    """Return whether the pages were made from a spreadsheet: the rules are those of its cells."""
    return is_from_sheet(document.get_metadata_value("Producer"))


def hidden(document: pdfium.PdfDocument) -> dict[int, tuple[HiddenText, ...]]:
    """Return what was left out of pages that were made from a file of another format, by page."""
    ours = origin_note(document.get_metadata_value("Producer"))
    return left_out.by_page(document.get_metadata_value) if ours else {}


def notes(document: pdfium.PdfDocument, path: Path) -> list[str]:
    """Return plain remarks on what of the document is not read."""
    origin = origin_note(document.get_metadata_value("Producer"))
    remarks = [origin] if origin else []
    if remarks and (kinds := left_out.not_read(document.get_metadata_value)):
        remarks.append(f"{NOT_READ}{kinds}.")
    if document.get_formtype() in (pdfium_c.FORMTYPE_XFA_FULL, pdfium_c.FORMTYPE_XFA_FOREGROUND):
        remarks.append("This is an XFA form: its fixed pages were read, but not what only Adobe's software draws.")
    attachments = document.count_attachments() - bool(origin)  # ours holds the text of the file
    if attachments:
        from pincite.core.documents.formats.pdf import second_opinion

        portfolio = second_opinion.is_portfolio(path)
        kind = "is a portfolio: its cover pages were read, but not" if portfolio else "was read without"
        files = "file" if attachments == 1 else f"{attachments} files"
        remarks.append(f"This PDF {kind} the {files} it carries. Save each attachment and add it separately.")
    return remarks
