"""The settings that hold now, and the one way to change them."""

import threading
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from pincite.core.domain.settings import Settings, save_choices
from pincite.core.export.styles import check_style
from pincite.core.services.registry import check_engine

if TYPE_CHECKING:
    from pincite.core.store.indexes import Indexes


class SettingsInForce:
    """``current`` is replaced as a whole; whoever works with it keeps what it began with."""

    def __init__(self, settings: Settings, indexes: "Indexes", *, changed: Callable[[], None]) -> None:
        """``changed`` is called once something else holds."""
        self.current = settings
        self._indexes = indexes
        self._changed = changed
        self._lock = threading.Lock()
        self._follow_index()

    def change(self, **values: Any) -> None:
        """Save what differs from what holds, and use it from the next turn on.

        Raises SettingsError or ModelUnavailableError; then nothing has changed.
        """
        with self._lock:
            previous = self.current
            chosen = {name: value for name, value in values.items() if value != getattr(previous, name)}
            changed = previous.but(**chosen)
            if "citation_style" in chosen:
                check_style(changed.citation_style)
            if changed.picture_model and "picture_model" in chosen:
                check_engine(changed.picture_model)
            save = partial(save_choices, changed.data_dir, chosen)
            self._indexes.use(changed)
            try:
                if "embedding_model" in chosen:
                    self._indexes.switch_to(changed.embedding_model, together_with=save)
                else:
                    save()
            except BaseException:
                self._indexes.use(previous)
                raise
            self.current = changed
            self._changed()

    def roll_back_embedding(self) -> bool:
        """Stop a build, or return to the index before the last switch; False when there is neither."""
        with self._lock:
            rolled_back = self._indexes.roll_back()
            self._follow_index()
        return rolled_back

    def can_roll_back_embedding(self) -> bool:
        """Return whether an index is built, or one from before the last switch is kept."""
        return self._indexes.can_roll_back()

    def _follow_index(self) -> None:
        """Return the settings with the index that the database has; the stored choice may be older after a kill."""
        name = self._indexes.wanted_name
        if name != self.current.embedding_model:
            self.current = self.current.but(embedding_model=name)
            self._indexes.use(self.current)
            save_choices(self.current.data_dir, {"embedding_model": name})
