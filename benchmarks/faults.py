"""Does Pincite hold under attack? Kills, damages, full disks, patterns, processes and sessions."""

import argparse
import json
import pkgutil
import subprocess
import sys
import time
from typing import Any

import benchmarks.attacks
from pincite.core.domain.settings import PACKAGE_ROOT

MINUTES = 20.0
SHARES = {"kills": 7, "server_kills": 4, "damages": 2, "disk_full": 1, "patterns": 3, "processes": 2, "sessions": 3}
"""Of the whole time; a campaign that ends early leaves its rest unused."""
BARS = {
    "kills": 200,
    "server_kills": 100,
    "damages": 25,
    "disk_full": 6,
    "regex": 1,
    "functions": 1,
    "processes": 3,
    "sessions": 50,
    "turns": 500,
}
"""What a full run must have tried at least."""
FAULTS = (
    *(
        "inconsistent",
        "server_inconsistent",
        "silent_losses",
        "tracebacks",
        "lost",
        "disk_full_tracebacks",
        "disk_full_hangs",
    ),
    *("super_linear", "functions_super_linear", "stale", "errors", "leaks", "crashed"),
)
"""What must be 0."""
GRACE_SECONDS = 120.0
"""Beyond its share, before a campaign counts as hanging."""

_CHILD = "import json, sys; from benchmarks.attacks import {0}; print(json.dumps({0}.run(float(sys.argv[1]))))"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    names = sorted(module.name for module in pkgutil.iter_modules(benchmarks.attacks.__path__) if module.name in SHARES)
    parser.add_argument("--only", nargs="+", choices=names, default=names, help="these campaigns alone")
    parser.add_argument("--minutes", type=float, default=MINUTES, help=f"for all campaigns (default {MINUTES:.0f})")


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Each campaign in a process of its own, one after the other: what one leaves behind must not help the next."""
    result: dict[str, Any] = {"crashed": 0}
    for name in options.only:
        began = time.monotonic()
        result |= _campaign(name, options.minutes * 60 * SHARES[name] / sum(SHARES.values()), result["crashed"])
        result[f"{name}_seconds"] = round(time.monotonic() - began, 1)
    return result


def render(result: dict[str, Any]) -> str:
    lines = []
    for key, value in result.items():
        bad = (key in FAULTS and value != 0) or (key in BARS and value < BARS[key])
        lines.append(f"{key:28} {value}{'   <-- falls short' if bad else ''}")
    return "\n".join(lines)


def _campaign(name: str, seconds: float, crashed: int) -> dict[str, Any]:
    command = [sys.executable, "-c", _CHILD.format(name), str(seconds)]
    try:
        done = subprocess.run(
            command, cwd=PACKAGE_ROOT, stdout=subprocess.PIPE, text=True, timeout=seconds + GRACE_SECONDS, check=True
        )
        counts: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    except (subprocess.SubprocessError, ValueError, IndexError) as error:
        print(f"{name}: {error}", file=sys.stderr)
        return {"crashed": crashed + 1}
    return counts
