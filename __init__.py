"""Pincite: chat with PDFs, with a checked quotation from a named page behind every sentence.

Its parts are imported by the names that they have in a checkout (``core``, ``pages``, ``web``), which every editor and
tool resolves; importing this package puts their folder on the path.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
