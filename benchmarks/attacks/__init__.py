"""Attacks on a running Pincite: each module has ``run(budget_seconds)`` and returns flat counts."""
