"""Answers as data: the manifest as JSON."""

from pincite.core.export.manifest import Exhibits, Manifest, as_json

ENDING, LABEL = ".json", "Export for programs (JSON)"


def write(manifest: Manifest, exhibits: Exhibits) -> bytes:
    """Return the manifest as JSON."""
    return as_json(manifest).encode()
