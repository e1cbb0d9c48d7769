"""Parts that installed packages offer under an entry point: providers, formats, checks and exports.

The parts that Pincite comes with are found in the same way.
"""

import logging
from collections.abc import Iterator
from enum import StrEnum
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from pincite.core.domain.errors import PinciteError

log = logging.getLogger(__name__)

OWN = "pincite."
"""Beginning of the modules of Pincite's own parts."""


class Group(StrEnum):
    """The groups of entry points."""

    PROVIDERS = "pincite.providers"
    FORMATS = "pincite.formats"
    CHECKS = "pincite.checks"
    EXPORTS = "pincite.exports"


@cache
def plugins(group: Group) -> dict[str, Any]:
    """Return the parts of a group by name: Pincite's own first, then those of other packages.

    A part of another package that cannot be loaded is logged and left out. Raises PinciteError if Pincite's own parts
    are not registered.
    """
    points, found = list(_points(group)), dict[str, Any]()
    if not any(point.value.startswith(OWN) for point in points):
        raise PinciteError("Pincite is not installed completely.", hint="Install it again, with pip install.")
    for point in points:
        try:
            part = point.load()
            found[point.name] = part() if isinstance(part, type) else part
        except Exception:
            if point.value.startswith(OWN):
                raise
            log.exception("The plug-in %s of the group %s cannot be loaded", point.name, group)
    return found


def results(group: Group, *given: Any) -> Iterator[Any]:
    """Call each part of a group and yield all its results; one of another package that fails is logged and left out."""
    for name, part in plugins(group).items():
        try:
            yield from tuple(part(*given))
        except Exception:
            if name not in added(group):
                raise
            log.exception("The plug-in %s of the group %s failed", name, group)


@cache
def added(group: Group) -> dict[str, Any]:
    """Return the parts of a group that other packages offer; Pincite's own are not loaded."""
    if all(point.value.startswith(OWN) for point in entry_points(group=group)):
        return {}
    own = {point.name for point in _points(group) if point.value.startswith(OWN)}
    return {name: part for name, part in plugins(group).items() if name not in own}


def _points(group: Group) -> Iterator[EntryPoint]:
    """Yield the entry points in order, the first of each name."""
    names = set[str]()
    for point in sorted(entry_points(group=group), key=lambda one: (not one.value.startswith(OWN), one.name)):
        if point.name not in names:
            names.add(point.name)
            yield point
        elif not point.value.startswith(OWN):
            log.warning("The plug-in %s of the group %s is left out: its name is taken", point.name, group)
