"""Wait for what another thread does."""

import time
from collections.abc import Callable

MAX_SECONDS = 60.0


def wait_until(holds: Callable[[], bool], seconds: float = MAX_SECONDS) -> None:
    """Return as soon as a condition holds. Raises AssertionError where it does not within the time."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, f"not within {seconds:.0f} s"
        time.sleep(0.02)
