"""The command `watch`: keep the library as a folder is."""

import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pincite.commands.documents import collection_option
from pincite.commands.frame import ANSWERED, FAILED, Command, complain, opened, plural, tell, working_settings

MAX_LOOKS = 5

if TYPE_CHECKING:
    from pincite.core.domain.watching import WatchedFolder
    from pincite.core.services.bootstrap import Pincite


@click.command(cls=Command)
@click.argument("folder", required=False, metavar="[DIR]", type=click.Path(path_type=Path))
@collection_option("Put its documents into this collection, which is made where it is new.")
@click.option("--ignore", "ignored", multiple=True, metavar="PATTERN", help="Leave files out, such as 'drafts/*'.")
@click.option("--remove-deleted", is_flag=True, help="Remove the documents of deleted files without asking.")
@click.option("--once", is_flag=True, help="Bring the library up to date and end.")
@click.option("--stop", "stops", is_flag=True, help="Watch the folder no longer; its documents stay.")
def watch(
    folder: Path | None, collection_name: str | None, ignored: tuple[str, ...], remove_deleted: bool, once: bool,
    stops: bool,
) -> int:  # fmt: skip
    """Keep the documents of a folder as its files are: new, changed, renamed and deleted.

    The app does the same while it is open. Without DIR, list the watched folders.
    """
    with opened(working_settings()) as pincite:
        if folder is None:
            return _list(pincite)
        path = folder.expanduser().absolute().resolve()
        watched = next((one for one in pincite.watching.folders() if one.path == str(path)), None)
        if stops:
            if watched is None:
                return complain(f"{path} is not watched.")
            pincite.watching.forget(watched.id)
            return ANSWERED
        if watched is None:
            watched = pincite.watching.add(
                path, collection=collection_name or "", ignored=ignored, removes=remove_deleted
            )
        elif collection_name or ignored or remove_deleted:
            return complain(f"{path} is watched already. Use --stop first to change how.")
        if once:
            return _once(pincite, watched)
        tell(f"Watching {path} (press Ctrl-C to stop).", flush=True)
        return _go_on(pincite, watched)


def _list(pincite: "Pincite") -> int:
    for one in pincite.watching.folders():
        files = pincite.watching.files(one.id)
        gone = sum(bool(file.missing_since) for file in files)
        deleted = f", {plural(gone, 'deleted file')} to decide about in the app" if gone else ""
        tell(f"{one.path}: {plural(len(files) - gone, 'file')}{deleted}" + (f". {one.problem}" if one.problem else ""))
    return ANSWERED


def _once(pincite: "Pincite", folder: "WatchedFolder") -> int:
    from pincite.core.domain.watching import Change
    from pincite.core.services.watching import GRACE_SECONDS, SETTLE_SECONDS

    failed = False
    for _ in range(MAX_LOOKS):
        unsettled = False
        for one in pincite.watching.look(
            folder, settle_seconds=SETTLE_SECONDS, grace_seconds=GRACE_SECONDS, retry=True, patience_seconds=60.0
        ):
            unsettled |= one.change is Change.UNSETTLED
            failed |= one.change is Change.FAILED
            tell(f"{one.path}: {one.problem or one.change.value}", flush=True)
        if not unsettled:
            break
        time.sleep(SETTLE_SECONDS)
    pincite.ingest.wait()
    problem = next((one.problem for one in pincite.watching.folders() if one.id == folder.id), "")
    return complain(problem) if problem else FAILED if failed or unsettled else ANSWERED


def _go_on(pincite: "Pincite", folder: "WatchedFolder") -> int:
    """Print what changes, until Ctrl-C or until the folder is watched no longer."""
    pincite.ingest.start()
    with suppress(KeyboardInterrupt):
        for changed in pincite.watching.follow(folder.id):
            tell(f"{changed.path}: {changed.problem or changed.change.value}", flush=True)
    return ANSWERED


COMMANDS = (watch,)
