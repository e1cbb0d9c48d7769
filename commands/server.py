"""Commands of a library that many processes share: `worker` and `migrate`."""

import signal
import threading
from contextlib import closing
from types import FrameType

import click

from pincite.commands.frame import ANSWERED, Command, settings_here, tell, working_settings

LOOK_SECONDS = 1.0


@click.command(cls=Command)
def worker() -> int:
    """Read documents, fill grids and watch folders in the background, until Ctrl-C.

    For a server on which the app runs with PINCITE_ROLE=app. With PostgreSQL several workers share the documents; one
    fills grids.
    """
    from pincite.core.services.bootstrap import open_pincite

    settings = working_settings()
    stopped = threading.Event()

    def stop(number: int, frame: FrameType | None) -> None:
        stopped.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    with closing(open_pincite(settings.but(role="all"))) as pincite:
        tell(f"Working for {pincite.database.name} (press Ctrl-C to stop).", flush=True)
        while not stopped.wait(LOOK_SECONDS):
            pincite.grids.start()  # what was begun in an app, or stopped by an error
    return ANSWERED


@click.command(cls=Command)
@click.option("--to", "target", metavar="URL", help="Copy the data directory's library to a PostgreSQL database.")
@click.option("--from", "source", metavar="URL", help="Copy a library from PostgreSQL to a new data directory.")
@click.option(
    "--files", required=True, help="Folder, or address of a bucket, of the documents' files beside PostgreSQL."
)
def migrate(target: str | None, source: str | None, files: str) -> int:
    """Copy a library between a data directory and PostgreSQL, and compare both.

    The library that is copied stays as it is. Stop Pincite first. A copy that was interrupted goes on when the same
    command is run again.
    """
    from pincite.core.store.upkeep.migrate import copy_library

    if (target is None) == (source is None):
        raise click.UsageError("Give either --to or --from.")
    here = settings_here().but(database_url="", shared_files="")
    there = here.but(database_url=target or source or "", shared_files=files)
    for line in copy_library(here, there) if target else copy_library(there, here):
        tell(line, flush=True)
    return ANSWERED


COMMANDS = (worker, migrate)
