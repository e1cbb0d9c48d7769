"""What changed between two versions as CSV and JSON."""

import csv
import io
import json

from pincite.core.domain.codec import to_plain
from pincite.core.domain.versions import Comparison, Difference, Side, pages_in_words
from pincite.core.text.plain import no_formula

HEADS = ("Change", "About", "May matter", "Heading", "Older page", "Older text", "Newer page", "Newer text")


def as_csv(comparison: Comparison, older: str, newer: str) -> bytes:
    """One line for each difference; what a spreadsheet would run as a formula has an apostrophe before it."""
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    names = {"Older text": older, "Newer text": newer}
    writer.writerow(no_formula(names.get(one, one)) for one in HEADS)
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


def _line(one: Difference) -> list[str]:
    def told(side: Side | None) -> tuple[str, str]:
        return (pages_in_words(side.extracts), side.text) if side else ("", "")

    return [one.title, one.about, "yes" if one.matters else "no", one.heading, *told(one.old), *told(one.new)]


FORMS = {".csv": as_csv, ".json": as_json}
"""How a comparison is written, by the ending of the file."""
