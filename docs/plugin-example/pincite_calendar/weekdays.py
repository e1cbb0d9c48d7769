"""A check: the weekday of a date in a claim is right."""

import re
from collections.abc import Iterator
from datetime import date

from pincite.core.judge.checks import Finding, FindingKind
from pincite.core.judge.sources import Sources

DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
NAMED = re.compile(rf"({'|'.join(DAYS)}),? (\d{{4}})-(\d\d)-(\d\d)")


def check_weekdays(claim: str, evidence: Sources) -> Iterator[Finding]:
    for found in NAMED.finditer(claim):
        try:
            day = DAYS[date(int(found[2]), int(found[3]), int(found[4])).weekday()]
        except ValueError:
            continue
        if day != found[1]:
            yield Finding(FindingKind.REPORTED, f"{found[0].partition(' ')[2]} is a {day}")
