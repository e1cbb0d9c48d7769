"""Which process runs a turn, and whether it still lives: a process id alone would be taken over by the next process."""

import os
import subprocess
from functools import cache
from pathlib import Path


@cache
def this_worker() -> str:
    """This process's id and start time."""
    return f"{os.getpid()}:{_started(os.getpid())}"


def is_alive(worker: str) -> bool:
    """Return whether the process that wrote ``worker`` is still the one with its id."""
    identity, _, started = worker.partition(":")
    return worker == this_worker() or (identity.isdecimal() and started != "" and _started(int(identity)) == started)


def _started(process_id: int) -> str:
    """Return the process's start time in the system's own terms; empty when there is no such process."""
    status = Path(f"/proc/{process_id}/stat")
    if status.parent.parent.joinpath("self").exists():
        try:
            fields = status.read_text().rpartition(")")[2].split()
        except OSError:
            return ""
        return "" if fields[0] in "ZX" else fields[19]
    command = (
        ["powershell", "-NoProfile", "-Command", f"(Get-Process -Id {process_id}).StartTime.Ticks"]
        if os.name == "nt"
        else ["ps", "-o", "lstart=", "-p", str(process_id)]
    )
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=10, check=False).stdout.strip()
    except (OSError, subprocess.TimeoutExpired):
        return ""
