"""Every page in the order of the navigation: a page is a module of this folder and one line here."""

from collections.abc import Callable
from dataclasses import dataclass

from pincite.core.services.bootstrap import Pincite


@dataclass(frozen=True, slots=True)
class PageEntry:
    """``waiting`` returns the count that the navigation shows next to the title."""

    module: str
    title: str
    icon: str
    waiting: Callable[[Pincite], int] = lambda app: 0
    of_admins: bool = False
    """Only admins of a server see it."""

    @property
    def path(self) -> str:
        return f"pages/{self.module}.py"


PAGES = (
    PageEntry("chat", "Chat", "forum"),
    PageEntry("documents", "Documents", "description"),
    PageEntry("grid", "Grid", "grid_on"),
    PageEntry("compare", "Compare", "difference"),
    PageEntry("traces", "Traces", "account_tree"),
    PageEntry(
        "review", "Review", "rate_review", waiting=lambda app: app.turns.count_flagged() + app.grids.count_to_review()
    ),
    PageEntry("settings", "Settings", "settings"),
    PageEntry("users", "Users", "group", of_admins=True),
)
