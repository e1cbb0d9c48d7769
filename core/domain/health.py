"""What `pincite doctor` says."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class HealthCheck:
    """One line of `pincite doctor` and of the settings page."""

    part: str
    ok: bool
    detail: str
    hint: str = ""
