"""The years that a text names."""

import re
from functools import lru_cache

from pincite.core.text.numbers import quantities

YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")


@lru_cache(maxsize=65536)
def years_of(text: str) -> frozenset[int]:
    """Return those in dates, and those alone."""
    return frozenset(quantity.year for quantity in quantities(text) if quantity.kind == "date" and quantity.year)
