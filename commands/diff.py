"""The command `diff`: what changed between two versions of a document."""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pincite.commands.frame import ANSWERED, FAILED, Command, complain, opened, plural, settings_here, tell

if TYPE_CHECKING:
    from pincite.core.domain.versions import Comparison, Difference
    from pincite.core.services.versions import Versions

DIFFERENT = FAILED
"""As of other programs that compare files."""


@click.command(cls=Command)
@click.argument("older", metavar="OLD")
@click.argument("newer", metavar="NEW")
@click.option("--all", "every", is_flag=True, help="Also list what only moved and what is only put in other words.")
@click.option("--csv", type=click.Path(path_type=Path), metavar="FILE", help="Write the differences.")
@click.option(
    "--json", type=click.Path(path_type=Path), metavar="FILE", help="Write the differences with their places."
)
def diff(older: str, newer: str, every: bool, csv: Path | None, json: Path | None) -> int:
    """Show what changed between two versions of a document.

    OLD and NEW are documents of the library, by name or id, or files, which are not added to it. Line and page breaks,
    numbering and running heads are no changes. Exit status 1: something may matter.
    """
    from pincite.core.services.looking import look_into
    from pincite.core.services.versions import Versions

    targets = {ending: path for ending, path in ((".csv", csv), (".json", json)) if path}
    if there := next((path for path in targets.values() if path.exists()), None):
        return complain(f"{there} already exists; it was not changed.")
    if not any(Path(name).is_file() for name in (older, newer)):
        with look_into(settings_here()) as look:
            ids = [look.library.find(name).id for name in (older, newer)]
            return _tell(Versions(look.library), ids, targets, every)
    with tempfile.TemporaryDirectory() as folder:
        files = [_file_of(name, Path(folder) / str(place)) for place, name in enumerate((older, newer))]
        settings = settings_here().model_copy(update={"data_dir": Path(folder) / "data", "automatic_backups": False})
        with opened(settings) as pincite:
            ids = [pincite.ingest.add(path, path.name).document.id for path in files]
            pincite.ingest.wait(ids)
            return _tell(pincite.versions, ids, targets, every)


def _file_of(name: str, folder: Path) -> Path:
    """Return the file of this name, or a copy of the document's."""
    from pincite.core.services.looking import look_into

    if Path(name).is_file():
        return Path(name)
    with look_into(settings_here()) as look:
        document = look.library.find(name)
        folder.mkdir(parents=True)
        copy = folder / document.pdf_name
        copy.write_bytes(look.library.file_path(document.id).read_bytes())
        return copy


def _tell(versions: "Versions", ids: Sequence[str], targets: dict[str, Path], every: bool) -> int:
    if ids[0] == ids[1]:
        tell("The two are the same file.")
        return ANSWERED
    comparison = versions.compare(ids[0], ids[1])
    for ending, path in targets.items():
        path.write_bytes(versions.export(comparison, ending))
    shown = [one for one in comparison.differences if every or one.matters]
    for one in shown:
        _tell_one(one)
    tell(_summary(comparison))
    for name, pages in zip(("OLD", "NEW"), comparison.unread, strict=True):
        if pages:
            tell(f"{plural(pages, 'page')} of {name} could not be read: what changed there is not known.")
    return DIFFERENT if any(one.matters for one in comparison.differences) else ANSWERED


def _tell_one(one: "Difference") -> None:
    from pincite.core.domain.versions import pages_in_words

    tell(" · ".join(filter(None, [one.title.capitalize(), one.about, one.heading])))
    for sign, side in (("-", one.old), ("+", one.new)):
        if side:
            tell(f"  {sign} p. {pages_in_words(side.extracts)}: {side.text}", lines=True)


def _summary(comparison: "Comparison") -> str:
    matter = sum(one.matters for one in comparison.differences)
    rest = len(comparison.differences) - matter
    told = [f"{plural(matter, 'change')} that may matter" if matter else "Nothing that may matter has changed"]
    told += [f"{rest} only moved or reworded (--all lists them)"] if rest else []
    renumbered = plural(comparison.renumbered, "numbered paragraph")
    told += [f"{renumbered} only got another number"] if comparison.renumbered else []
    return f"{'; '.join(told)}. {comparison.compared[0]} and {comparison.compared[1]} sentences compared."


COMMANDS = (diff,)
