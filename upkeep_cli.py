"""The commands that look after a data directory: `verify`, `repair`, `backup` and `restore`."""

import argparse
import json
import logging
from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from core.text.plain import shown

if TYPE_CHECKING:
    from core.domain.settings import Settings

SOUND, WRONG = 0, 1


def add_commands(command: Callable[..., argparse.ArgumentParser]) -> None:
    verify = command("verify", _verify, "check every file and every value of the library, and change nothing")
    verify.add_argument("--json", action="store_true", help="print one JSON list of findings")
    command("repair", _repair, "mend what verify finds, from what is kept; what is replaced is moved aside")
    backup = command("backup", _backup, "write everything into one file, also while the app runs")
    backup.add_argument("file", type=Path, metavar="FILE", help="where to; it must not exist yet")
    restore = command("restore", _restore, "bring a backup back into a new or empty folder")
    restore.add_argument("file", type=Path, metavar="FILE", help="the backup")


def _verify(chosen: argparse.Namespace) -> int:
    from core.store.upkeep.verify import verify

    found = list(verify(_bare_settings(chosen)))
    if chosen.json:
        print(json.dumps([asdict(finding) for finding in found], indent=2))
        return WRONG if found else SOUND
    for finding in found:
        print(shown(f"{finding.kind}: {finding.sentence}"))
    if not found:
        print("Everything is as it should be.")
    elif any(finding.repairable for finding in found):
        print("`pincite repair` mends what can be mended.")
    return WRONG if found else SOUND


def _repair(chosen: argparse.Namespace) -> int:
    from core.domain.settings import load_settings
    from core.services.bootstrap import open_pincite
    from core.store.upkeep.repair import Repair, go_on
    from core.store.upkeep.verify import verify

    _no_log()
    settings = _bare_settings(chosen)
    repair = Repair(settings)
    said = 0
    for sentence in repair.files():
        said += 1
        print(shown(sentence), flush=True)
    settings = load_settings(settings.data_dir)
    if settings.database_path.exists():
        with closing(open_pincite(settings)) as pincite:
            for sentence in go_on(pincite, repair):
                said += 1
                print(shown(sentence), flush=True)
    left = list(verify(settings))
    for finding in left:
        print(shown(f"Not mended: {finding.sentence}"))
    if not left:
        print("Everything is as it should be." if said else "There was nothing to mend.")
    return WRONG if left else SOUND


def _backup(chosen: argparse.Namespace) -> int:
    from core.store.upkeep.backup import backup

    done = backup(_bare_settings(chosen), chosen.file)
    size = f"{done.bytes / 2**20:,.1f} MiB"
    print(shown(f"{chosen.file}: {done.documents} documents, {done.sessions} sessions, {size}."))
    for name in done.missing:
        print(shown(f"The PDF of {name} is missing or changed; what was read from it is in the backup."))
    return WRONG if done.missing else SOUND


def _restore(chosen: argparse.Namespace) -> int:
    from core.store.upkeep.backup import restore

    settings = _bare_settings(chosen)
    done = restore(chosen.file, settings.data_dir)
    print(shown(f"Restored {done.documents} documents and {done.sessions} sessions into {settings.data_dir}."))
    return SOUND


def _bare_settings(chosen: argparse.Namespace) -> "Settings":
    """Only where the data is: these commands must work where ``settings.json`` cannot be read."""
    from core.domain.settings import Settings, find_data_dir

    return Settings(data_dir=find_data_dir(chosen.data_dir))


def _no_log() -> None:
    """What is being mended is no place for a log."""
    logging.getLogger("pincite").handlers[:] = [logging.NullHandler()]
