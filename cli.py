"""The command line: `pincite` opens the app; everything else works without it.

Whatever is heavy is imported by the command that needs it, so that ``--help`` and ``--version`` answer at once.
"""

import getpass
import os
import sqlite3
import sys
from collections.abc import Sequence

import click

from pincite.commands import diff, documents, grid, mcp, questions, server, tables, upkeep, watch, zotero
from pincite.commands.frame import (
    ANSWERED,
    FAILED,
    FLAGGED,
    INTERRUPTED,
    USAGE,
    Command,
    complain,
    data_dir_option,
    tell,
    working_settings,
)
from pincite.core import __version__
from pincite.core.domain.errors import PinciteError

__all__ = ["ANSWERED", "FAILED", "FLAGGED", "INTERRUPTED", "USAGE", "main"]
DEFAULT_PORT = 8501


@click.group(
    invoke_without_command=True,
    params=[data_dir_option()],
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
    epilog="Run `pincite COMMAND --help` for help on a command.",
)
@click.version_option(__version__, message="pincite %(version)s")
@click.option("--port", type=click.IntRange(1, 65535), default=DEFAULT_PORT, show_default=True, help="Port of the app.")
@click.option("--no-browser", is_flag=True, help="Do not open a browser.")
@click.option("--window", is_flag=True, help="Open in its own window (needs Chrome, Chromium, Edge or Brave).")
@click.pass_context
def pincite(context: click.Context, port: int, no_browser: bool, window: bool) -> int:
    """Chat with PDFs; every sentence of an answer carries a checked quotation from a named page.

    Without a command, opens the app in the browser.
    """
    if window and no_browser:
        raise click.UsageError("--window and --no-browser cannot be used together.", context)
    if context.invoked_subcommand is None:
        settings = working_settings()
        os.environ["PINCITE_DATA_DIR"] = str(settings.data_dir)
        from pincite.app import app
        from pincite.serve import open_app

        open_app(app, settings, port=port, headless=no_browser, window=window)
    return ANSWERED


@pincite.command(cls=Command)
def passphrase() -> int:
    """Set the passphrase that lets other machines in (read from the terminal or from stdin)."""
    from pincite.web.passphrase import Passphrase

    settings = working_settings()
    if sys.stdin.isatty():
        given = getpass.getpass("New passphrase (it is not shown): ")
        if getpass.getpass("Repeat the passphrase: ") != given:
            return complain("The two do not match. The passphrase was not changed.")
    else:
        given = sys.stdin.readline().rstrip("\n")
    Passphrase(settings.data_dir).choose(given)
    tell("The passphrase is set. Anyone signed in stays signed in until the app is restarted.")
    return ANSWERED


for module in (questions, documents, grid, diff, tables, mcp, watch, zotero, upkeep, server):
    for command in module.COMMANDS:
        pincite.add_command(command)


def main(arguments: Sequence[str] | None = None) -> int:
    """Return the exit status: 0 done or answered, 1 failed, 2 usage or input error, 3 flagged for review."""
    try:
        status: int = pincite.main(arguments, prog_name="pincite", standalone_mode=False)
        return status
    except click.UsageError as error:
        path = error.ctx.command_path if error.ctx else "pincite"
        tell(f"{path}: {error.format_message()} (see {path} --help)", file=sys.stderr)
        return USAGE
    except PinciteError as error:
        return complain(str(error))
    except click.Abort:
        return INTERRUPTED
    except sqlite3.DatabaseError as error:
        return complain(f"A database cannot be used ({error}). Run `pincite verify` for details.")
    except OSError as error:
        return complain(f"{error.filename or 'A file'} cannot be used ({error.strerror or error}).")


if __name__ == "__main__":
    sys.exit(main())
