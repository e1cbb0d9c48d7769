"""What all commands share: where the data is, the way to the terminal, exit statuses, and opening the library."""

import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from pincite.core.text.plain import LogFormatter, shown

if TYPE_CHECKING:
    from pincite.core.domain.settings import Settings
    from pincite.core.services.bootstrap import Pincite

ANSWERED, FAILED, USAGE, FLAGGED, INTERRUPTED = 0, 1, 2, 3, 130
LOG_BYTES = 1_000_000
MAX_SUMMARY_LENGTH = 200
"""Maximum number of characters of a command's summary in the list of commands."""
LOGGERS = ("pincite",)
_DATA_DIR = f"{__name__}.data_dir"


def _remember_data_dir(context: click.Context, _: click.Parameter, chosen: Path | None) -> None:
    """Store the option, which may come before or after a command; if left out after it, the earlier value remains."""
    if chosen is not None:
        context.meta[_DATA_DIR] = chosen


def data_dir_option() -> click.Option:
    return click.Option(
        ["--data-dir"],
        type=click.Path(path_type=Path),
        metavar="DIR",
        expose_value=False,
        callback=_remember_data_dir,
        help="Where documents and answers are kept.",
    )


class Command(click.Command):
    """A command on a data directory."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.params.append(data_dir_option())

    def get_short_help_str(self, limit: int = MAX_SUMMARY_LENGTH) -> str:
        """Whole, over as many lines as it takes; click would cut it to one."""
        return super().get_short_help_str(MAX_SUMMARY_LENGTH)


class EngineName(click.ParamType[str]):
    """As the registry of models names them; it is heavy, and not loaded before somebody asks."""

    name = "engine"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value.partition(":")[0] not in self._names():
            self.fail(f"{value!r} is not one of {', '.join(self._names())}.", param, ctx)
        return value

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        return f"[{'|'.join(self._names())}]"

    def _names(self) -> tuple[str, ...]:
        from pincite.core.services.registry import engine_names

        return engine_names()


def tell(text: str, *, lines: bool = False, file: TextIO | None = None, flush: bool = False) -> None:
    """Print a text; the only way to the terminal, so that control characters in a text have no effect."""
    print(shown(text, lines=lines), file=file, flush=flush)


def complain(message: str) -> int:
    tell(f"pincite: {' '.join(message.split())}", file=sys.stderr)
    return USAGE


def plural(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"


def chosen_data_dir() -> Path | None:
    directory: Path | None = click.get_current_context().meta.get(_DATA_DIR)
    return directory


def settings_here() -> "Settings":
    """Return all settings, for a command that only looks. Raises SettingsError."""
    from pincite.core.domain.settings import load_settings

    return load_settings(chosen_data_dir())


def bare_settings() -> "Settings":
    """Only where the data is: for commands that must work where ``settings.json`` cannot be read."""
    from pincite.core.domain.settings import Settings, find_data_dir

    return Settings(data_dir=find_data_dir(chosen_data_dir()))


def working_settings() -> "Settings":
    """All settings, for a command that works on the data; the log goes there. Raises SettingsError or StorageError."""
    from logging.handlers import RotatingFileHandler

    from pincite.core.store.data_dir import check_ours
    from pincite.core.store.private import keep_private

    settings = settings_here()
    check_ours(settings)
    keep_private(settings.data_dir)
    log = RotatingFileHandler(
        settings.data_dir / "pincite.log", maxBytes=LOG_BYTES, backupCount=1, encoding="utf-8", delay=True
    )
    log.setFormatter(LogFormatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    log_to(log)
    return settings


def log_to(handler: Any) -> None:
    import logging

    logging.raiseExceptions = False  # a log that cannot be written, on a full disk, is no reason for a traceback
    for name in LOGGERS:
        logging.getLogger(name).handlers[:] = [handler]


def opened(settings: "Settings") -> "closing[Pincite]":
    from pincite.core.services.bootstrap import open_pincite

    return closing(open_pincite(settings, at_work=False))
