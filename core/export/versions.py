"""What changed between two versions as CSV and JSON."""

import csv
import io
import json
from collections.abc import Sequence

from pincite.core.domain.codec import to_plain
from pincite.core.domain.keys import in_words
from pincite.core.domain.versions import Comparison, Difference, Extract, Side
from pincite.core.text.plain import no_formula

HEADS = ("Change", "About", "May matter", "Heading", "Older page", "Older text", "Newer page", "Newer text")


def as_csv(comparison: Comparison, older: str, newer: str) -> bytes:
    """One line for each difference; what a spreadsheet would run as a formula has an apostrophe before it."""
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow([older if one == "Older text" else newer if one == "Newer text" else one for one in HEADS])
    for one in comparison.differences:
        writer.writerow(map(no_formula, _line(one)))
    return out.getvalue().encode("utf-8-sig")


def as_json(comparison: Comparison, older: str, newer: str) -> bytes:
    plain = to_plain(comparison)
    plain["differences"] = [
        one | {"matters": difference.matters}
        for one, difference in zip(plain["differences"], comparison.differences, strict=True)
    ]
    return json.dumps({"older": older, "newer": newer, **plain}, ensure_ascii=False, indent=1).encode()


def pages_in_words(extracts: Sequence[Extract]) -> str:
    """For example "3" or "3, 4": labels as printed on the pages."""
    return ", ".join(dict.fromkeys(one.page_label or str(one.page_index + 1) for one in extracts))


def kind_in_words(difference: Difference) -> str:
    return in_words(difference.kind) + " and moved" * difference.moved


def heading_of(difference: Difference) -> str:
    return next((side.heading for side in (difference.new, difference.old) if side and side.heading), "")


def _line(one: Difference) -> list[str]:
    def told(side: Side | None) -> tuple[str, str]:
        return (pages_in_words(side.extracts), side.text) if side else ("", "")

    about = ", ".join(map(in_words, one.concerns))
    return [kind_in_words(one), about, "yes" if one.matters else "no", heading_of(one), *told(one.old), *told(one.new)]
