"""The command `zotero`: add the documents of a reference manager, with what it knows of them."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pincite.commands.documents import collection_option
from pincite.commands.frame import ANSWERED, FAILED, Command, complain, opened, plural, tell, working_settings

if TYPE_CHECKING:
    from pincite.core.services.references import Reference

BIBTEX = ".bib"


@click.command(cls=Command)
@click.argument("name", required=False, metavar="[COLLECTION|FILE.bib]")
@collection_option("Put them into this collection. Default: one with the name of Zotero's collection.")
def zotero(name: str | None, collection_name: str | None) -> int:
    """Add the files of a collection of Zotero, or of a BibTeX file, with authors, titles and dates.

    Zotero must be running. Without an argument, list its collections. From Better BibTeX, export with files.
    """
    from pincite.core.services.bibtex import read_bibtex
    from pincite.core.services.zotero import Zotero

    if name is None:
        for one in Zotero().collections():
            tell(one.name)
        return ANSWERED
    references: Iterable[Reference]
    if name.lower().endswith(BIBTEX):
        path = Path(name)
        references, collection = read_bibtex(path), collection_name or path.stem
    else:
        library = Zotero()
        chosen = [one for one in library.collections() if one.name.casefold() == name.casefold()]
        if not chosen:
            return complain(f"Zotero has no collection called {name!r}. `pincite zotero` lists them.")
        references, collection = library.references(chosen[0]), collection_name or chosen[0].short_name
    return _add(references, collection)


def _add(references: "Iterable[Reference]", collection: str) -> int:
    failed, added = False, list[str]()
    with opened(working_settings()) as pincite:
        for one in pincite.references.add(references, collection=collection):
            added += [document.id for document in one.documents]
            tell(f"{one.reference.name}: {'; '.join(one.problems) or 'added'}", flush=True)
            failed |= bool(one.problems)
        pincite.ingest.wait(added)
    tell(f"{plural(len(added), 'document')} in the collection {collection}.")
    return FAILED if failed else ANSWERED


COMMANDS = (zotero,)
