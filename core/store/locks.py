"""Which process does what only one may do at a time."""

from pathlib import Path
from typing import Protocol

import filelock


class WorkLock(Protocol):
    """Held by one process; whoever loses its process loses the lock."""

    def take(self) -> bool:
        """Return whether this process has the lock, taking it where it is free."""

    def release(self) -> None: ...


class Claim(Protocol):
    """Which piece of work a thread does, of those that any process may do; held for one at a time."""

    def take(self, what: str) -> bool:
        """Return whether this piece is now this thread's: false where another has it."""

    def held(self) -> bool:
        """Return whether what was taken is still this thread's: it is not once the connection was lost."""

    def release(self) -> None:
        """Leave all that was taken to others."""

    def close(self) -> None:
        """Give the connection back that it holds."""


class OnlyProcess:
    """Claims where one process does all of the work, a thread for each kind of it."""

    def take(self, what: str) -> bool:
        return True

    def held(self) -> bool:
        return True

    def release(self) -> None: ...

    def close(self) -> None: ...


class Elsewhere:
    """The lock of a process that leaves the work to others."""

    def take(self) -> bool:
        return False

    def release(self) -> None: ...


class FileLock:
    """A lock on a file, for the processes of one machine."""

    def __init__(self, path: Path) -> None:
        self._lock = filelock.FileLock(path, thread_local=False)

    def take(self) -> bool:
        if not self._lock.is_locked:
            try:
                self._lock.acquire(blocking=False)
            except filelock.Timeout:
                return False
        return True

    def release(self) -> None:
        self._lock.release()
