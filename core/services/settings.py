"""The settings that hold now, and the one way to change them."""

import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from pincite.core.domain.errors import AccessError, SettingsError
from pincite.core.domain.settings import Settings, save_choices
from pincite.core.export.styles import PLAIN, check_style, style_names
from pincite.core.services.registry import check_engine

if TYPE_CHECKING:
    from pincite.core.store.indexes import Indexes


OF_USERS = frozenset({"engine", "score_floor", "candidates", "kept", "citation_style"})
"""What each user of a server chooses; the rest is the admins'."""
HOLD_SECONDS = 5.0
"""How long what a user chose is used without a look at the database: it may be changed in another process."""


class SettingsInForce:
    """``current`` is replaced as a whole; whoever works with it keeps what it began with."""

    def __init__(self, settings: Settings, indexes: "Indexes", *, changed: Callable[[], None]) -> None:
        """``changed`` is called once something else holds."""
        self._current = settings
        self._indexes = indexes
        self._changed = changed
        self._lock = threading.Lock()
        self._follow_index()

    @property
    def current(self) -> Settings:
        return self._current

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
            self._current = changed
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
            self._current = self.current.but(embedding_model=name)
            self._indexes.use(self.current)
            save_choices(self.current.data_dir, {"embedding_model": name})


class UserSettings(SettingsInForce):
    """What a user chose, and else what holds for everybody."""

    def __init__(
        self,
        everybodys: SettingsInForce,
        chosen: Callable[[], Mapping[str, Any]],
        save: Callable[[Mapping[str, Any]], None],
        is_admin: Callable[[], bool],
    ) -> None:
        self._everybodys, self._chosen, self._save, self._is_admin = everybodys, chosen, save, is_admin
        self._lock = threading.Lock()
        self._made: tuple[Settings, Mapping[str, Any], float, Settings] | None = None

    @property
    def current(self) -> Settings:
        """The same object for as long as nothing changes."""
        base, moment = self._everybodys.current, time.monotonic()
        with self._lock:
            if self._made and self._made[0] is base and moment - self._made[2] < HOLD_SECONDS:
                return self._made[3]
            chosen = {name: value for name, value in self._chosen().items() if name in OF_USERS}
            if self._made and self._made[:2] == (base, chosen):
                made = self._made[3]
            else:
                made = base.but(**chosen) if chosen else base
            self._made = base, chosen, moment, made
            return made

    def change(self, **values: Any) -> None:
        """Raises also AccessError."""
        chosen = {name: value for name, value in values.items() if value != getattr(self.current, name)}
        own = {name: value for name, value in chosen.items() if name in OF_USERS}
        if len(own) < len(chosen) and not self._is_admin():
            raise AccessError("Only an admin changes this.", hint="Ask one.")
        checked = self.current.but(**own)
        if own.get("citation_style", PLAIN) not in (PLAIN, *style_names()):
            raise SettingsError("This is not the name of a citation style.", hint="Choose one of the list.")
        check_style(checked.citation_style)
        self._everybodys.change(**{name: value for name, value in chosen.items() if name not in own})
        self._save(own)
        with self._lock:
            self._made = None

    def roll_back_embedding(self) -> bool:
        """Raises AccessError."""
        if not self._is_admin():
            raise AccessError("Only an admin changes this.", hint="Ask one.")
        return self._everybodys.roll_back_embedding()

    def can_roll_back_embedding(self) -> bool:
        return self._is_admin() and self._everybodys.can_roll_back_embedding()
