"""Pincite: chat with PDFs, with a checked quotation from a named page behind every sentence.

Its parts are imported by the names that they have in a checkout (``core``, ``pages``, ``web``), which every editor and
tool resolves; importing this package puts their folder on the path. They have no second name: ``pincite.core`` would be
another module with other enums, and is refused.
"""

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

_FOLDER = Path(__file__).parent
sys.path.insert(0, str(_FOLDER))


class _OneName(MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        package, _, name = fullname.partition(".")
        if package == "pincite" and name and name != "cli":
            raise ImportError(f"{fullname} would be a second copy of {name}: import {name} instead.", name=fullname)
        return None


sys.meta_path.insert(0, _OneName())
