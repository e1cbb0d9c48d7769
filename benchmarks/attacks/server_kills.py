"""The kills of ``kills.py`` on libraries in PostgreSQL: a process dies, the server goes on."""

import tempfile
from pathlib import Path

from benchmarks.attacks import kills
from tests.support.databases import server_in


def run(budget_seconds: float) -> dict[str, int | float]:
    folder = Path(tempfile.mkdtemp(prefix="pincite-postgresql-"))
    return {f"server_{name}": count for name, count in kills.run(budget_seconds, server=server_in(folder)).items()}
