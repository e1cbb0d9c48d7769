"""Commands on the library: `add`, `retry`, `list`, `rename` and `remove`."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pincite.commands.frame import ANSWERED, Command, complain, opened, plural, settings_here, tell, working_settings
from pincite.core.domain.errors import CollectionError, DocumentError, PasswordNeededError

if TYPE_CHECKING:
    from pincite.core.domain.documents import Collection
    from pincite.core.services.bootstrap import Pincite
    from pincite.core.services.looking import Look

password_option = click.option(
    "--password", metavar="PASSWORD", help="Password for the PDFs, if they need one; not stored."
)
name_argument = click.argument("name")


def collection_option(does: str) -> Callable[[Callable[..., int]], Callable[..., int]]:
    return click.option("--collection", "collection_name", metavar="NAME", help=does)


def collection_named(pincite: "Pincite | Look", name: str) -> "Collection":
    """Raises CollectionError."""
    if (collection := pincite.collections.find(name)) is None:
        names = ", ".join(one.name for one in pincite.collections.list())
        raise CollectionError(
            f"There is no collection called {name!r}.",
            hint=f"There are: {names}." if names else "Make one with `pincite add --collection NAME FILE.pdf`.",
        )
    return collection


@click.command(cls=Command)
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@collection_option("Put them into this collection, which is made where it is new.")
@password_option
def add(files: tuple[str, ...], collection_name: str | None, password: str | None) -> int:
    """Add PDFs and files of other formats and wait until they are indexed. A FILE may be the address of a web page."""
    with opened(working_settings()) as pincite:
        collection = None
        if collection_name is not None:
            collection = pincite.collections.find(collection_name) or pincite.collections.create(collection_name)
        failed, added = 0, list[str]()
        for path in files:
            try:
                added += add_one(pincite, path, password)
            except DocumentError as error:
                failed = complain(str(error))
        if collection:
            pincite.collections.add(collection.id, added)
        pincite.ingest.wait(added)
        for document_id in added:
            failed = _tell_outcome(pincite, document_id) or failed
        return failed


def add_one(pincite: "Pincite", file: str, password: str | None) -> list[str]:
    """Return the ids of the document and of the files that came with it. Raises DocumentError."""
    from pincite.core.domain.documents import DocumentStatus
    from pincite.core.services.web_pages import is_address

    if is_address(file):
        return pincite.documents.add_web_page(file).ids
    path = Path(file)
    if not path.is_file():
        stored = any(document.name == str(path) for document in pincite.library.list())
        raise DocumentError(
            f"There is no file {path}.", hint=f"It is already in the library: use --document {path}." if stored else ""
        )
    try:
        outcome = pincite.ingest.add(path, path.name, password=password)
    except PasswordNeededError as error:
        error.hint = "Pass the password with --password; it is used once and not stored."
        raise
    if outcome.known and outcome.document.status is not DocumentStatus.READY:
        tell(f"{path.name} was added before but not finished; continuing with it.", file=sys.stderr)
        pincite.ingest.retry(outcome.document.id)
    elif outcome.known:
        tell(f"{path.name} is already in the library as {outcome.document.name}.", file=sys.stderr)
    elif outcome.replaces:
        tell(f"{path.name}: the old version stays; `pincite remove {outcome.replaces.id}` removes it.", file=sys.stderr)
    return outcome.ids


def _tell_outcome(pincite: "Pincite", document_id: str) -> int:
    from pincite.core.domain.documents import DocumentStatus

    document = pincite.library.get(document_id)
    if document.status in (DocumentStatus.FAILED, DocumentStatus.CANCELLED):
        return complain(f"{document.name}: {document.message}")
    tell(f"{document.name}: {plural(document.page_count, 'page')}, {plural(document.passage_count, 'passage')}")
    for note in document.notes:
        tell(f"  {note}")
    return ANSWERED


@click.command(cls=Command)
@name_argument
def retry(name: str) -> int:
    """Read the failed pages of a document again and finish whatever is unfinished.

    NAME is its name or id.
    """
    with opened(working_settings()) as pincite:
        document = pincite.library.find(name)
        pincite.ingest.retry(document.id)
        pincite.ingest.wait([document.id])
        return _tell_outcome(pincite, document.id)


@click.command("list", cls=Command)
@collection_option("List only the documents of this collection.")
def list_documents(collection_name: str | None) -> int:
    """List the documents."""
    from pincite.core.services.looking import look_into

    with look_into(settings_here()) as look:
        documents = look.library.list()
        if collection_name is not None:
            members = collection_named(look, collection_name).document_ids
            documents = [document for document in documents if document.id in members]
    if not documents and collection_name is not None:
        tell("This collection has no documents yet.")
    elif not documents:
        tell("There are no documents yet. Add one with `pincite add FILE.pdf`.")
    width = max((len(document.name) for document in documents), default=0)
    for document in documents:
        tell(
            f"{document.name:<{width}}  {plural(document.page_count, 'page'):>11}  "
            f"{plural(document.passage_count, 'passage'):>15}  "
            f"{document.byte_size / 1024:>8,.0f} KiB  {document.added_at[:10]}  {document.status}  {document.id[:12]}"
        )
    return ANSWERED


@click.command(cls=Command)
@name_argument
@click.option("--purge-answers", is_flag=True, help="Also delete the answers that quote it.")
def remove(name: str, purge_answers: bool) -> int:
    """Remove a document and everything derived from it.

    NAME is its name or id.
    """
    with opened(working_settings()) as pincite:
        document = pincite.library.find(name)
        if not purge_answers:
            pincite.ingest.remove(document.id)
            tell(f"Removed {document.name} ({document.id[:12]}). Answers that quote it keep their text.")
            return ANSWERED
        purged = pincite.deletion.document_with_answers(document.id)
    tell(f"Removed {document.name} ({document.id[:12]}) and {plural(purged.answers, 'answer')} that quoted it.")
    if not purged.scrubbed:
        tell("Deleted text may remain in unused parts of the files, because another Pincite is using them.")
    return ANSWERED


@click.command(cls=Command)
@name_argument
@click.argument("new_name")
def rename(name: str, new_name: str) -> int:
    """Give a document another name.

    NAME is its name or id.
    """
    if not new_name.strip():
        return complain("A document needs a name.")
    with opened(working_settings()) as pincite:
        document = pincite.library.find(name)
        pincite.library.rename(document.id, new_name)
        tell(f"{document.name} ({document.id[:12]}) is now called {pincite.library.get(document.id).name}.")
    return ANSWERED


COMMANDS = (add, retry, list_documents, rename, remove)
