"""Commands that look after a data directory: `doctor`, `verify`, `repair`, `backup` and `restore`."""

import json
import logging
import sys
from contextlib import closing
from dataclasses import asdict
from pathlib import Path

import click

from pincite.commands.frame import (
    ANSWERED,
    FAILED,
    Command,
    bare_settings,
    complain,
    log_to,
    plural,
    settings_here,
    tell,
)
from pincite.core import __version__

SOUND = "Everything is as it should be."


@click.command(cls=Command)
def doctor() -> int:
    """Show what works, what does not, and what to do about it."""
    from pincite.core.services.looking import look_into

    with look_into(settings_here()) as look:
        checks, storage = look.health.checks(), look.health.storage()
    tell(f"Pincite {__version__}, Python {sys.version.split()[0]}, data in {look.settings.data_dir}")
    for check in checks:
        tell(f"{'ok  ' if check.ok else 'FAIL'}  {check.part}: {check.detail}")
        if check.hint and not check.ok:
            tell(f"      {check.hint}")
    for part, size in storage.items():
        tell(f"      {part}: {size / 2**20:,.1f} MiB")
    return ANSWERED if all(check.ok for check in checks) else FAILED


@click.command(cls=Command)
@click.argument("files", nargs=-1, metavar="[EXPORT [FILE]...]", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON list of findings.")
def verify(files: tuple[Path, ...], as_json: bool) -> int:
    """Check every file and value in the library without changing anything, or verify an export.

    For a binder or JSON file that `export` wrote, check that it is unchanged and that its quotations are in the files
    given. This needs no library.
    """
    if files:
        return _prove(files[0], files[1:], as_json=as_json)
    from pincite.core.store.upkeep.verify import verify

    found = list(verify(bare_settings()))
    if as_json:
        print(json.dumps([asdict(finding) for finding in found], indent=2))
        return FAILED if found else ANSWERED
    for finding in found:
        tell(f"{finding.kind}: {finding.sentence}")
    if not found:
        tell(SOUND)
    elif any(finding.repairable for finding in found):
        tell("Run `pincite repair` to fix what can be fixed.")
    return FAILED if found else ANSWERED


def _prove(binder: Path, sources: tuple[Path, ...], *, as_json: bool) -> int:
    from pincite.core.documents.reader import ProcessReader
    from pincite.core.domain.settings import Settings
    from pincite.core.export.proof import prove

    for file in (binder, *sources):
        if not file.is_file():
            return complain(f"{file} does not exist.")
    with closing(ProcessReader(Settings(data_dir=binder.parent))) as reader:
        found = list(prove(binder, sources, reader))
    if as_json:
        print(json.dumps([asdict(finding) for finding in found], indent=2))
    else:
        for finding in found:
            sign = {True: "holds  ", False: "FAILS  ", None: "unknown"}[finding.holds]
            tell(f"{sign}  {finding.sentence}")
    return FAILED if any(finding.holds is False for finding in found) else ANSWERED


@click.command(cls=Command)
def repair() -> int:
    """Fix what verify finds, using what is kept; anything replaced is moved aside."""
    from pincite.core.domain.settings import load_settings
    from pincite.core.services.bootstrap import open_pincite
    from pincite.core.store.upkeep.repair import Repair, go_on
    from pincite.core.store.upkeep.verify import verify

    log_to(logging.NullHandler())  # what is being mended is no place for a log
    settings = bare_settings()
    mending = Repair(settings)
    reported = 0
    for sentence in mending.files():
        reported += 1
        tell(sentence, flush=True)
    settings = load_settings(settings.data_dir)
    if settings.database_path.exists():
        with closing(open_pincite(settings)) as pincite:
            for sentence in go_on(pincite, mending):
                reported += 1
                tell(sentence, flush=True)
    left = list(verify(settings))
    for finding in left:
        tell(f"Not fixed: {finding.sentence}")
    if not left:
        tell(SOUND if reported else "There was nothing to fix.")
    return FAILED if left else ANSWERED


@click.command(cls=Command)
@click.argument("file", type=click.Path(path_type=Path))
def backup(file: Path) -> int:
    """Back up everything to one file, even while the app is running.

    FILE must not exist yet.
    """
    from pincite.core.store.upkeep.backup import backup

    done = backup(bare_settings(), file)
    tell(
        f"{file}: {plural(done.documents, 'document')}, {plural(done.sessions, 'session')}, "
        f"{done.bytes / 2**20:,.1f} MiB."
    )
    for name in done.missing:
        tell(f"The PDF of {name} is missing or changed; what was read from it is in the backup.")
    return FAILED if done.missing else ANSWERED


@click.command(cls=Command)
@click.argument("file", type=click.Path(path_type=Path))
def restore(file: Path) -> int:
    """Restore a backup to a new or empty folder."""
    from pincite.core.store.upkeep.backup import restore

    settings = bare_settings()
    done = restore(file, settings.data_dir)
    tell(
        f"Restored {plural(done.documents, 'document')} and {plural(done.sessions, 'session')} to {settings.data_dir}."
    )
    return ANSWERED


COMMANDS = (doctor, verify, repair, backup, restore)
