"""Every page in the order of the navigation: a page is a module of this folder and one line here."""

from collections.abc import Callable
from dataclasses import dataclass

from core.services.bootstrap import Pincite


@dataclass(frozen=True, slots=True)
class Page:
    """``waiting`` counts what the navigation tells beside the title."""

    module: str
    title: str
    icon: str
    waiting: Callable[[Pincite], int] = lambda app: 0

    @property
    def path(self) -> str:
        return f"pages/{self.module}.py"


PAGES = (
    Page("chat", "Chat", "forum"),
    Page("documents", "Documents", "description"),
    Page("traces", "Traces", "account_tree"),
    Page("review", "Review", "rate_review", waiting=lambda app: app.turns.count_flagged()),
    Page("settings", "Settings", "settings"),
)
