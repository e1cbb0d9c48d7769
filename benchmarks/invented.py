"""Contracts, filings, reports and plans of invented firms, one page each."""

import random
from collections.abc import Sequence

from pincite.core.documents.passages import split_pages
from pincite.core.domain.documents import Page, PageStatus, Passage

SPELLED = "two three four five six seven eight nine ten twelve fifteen twenty thirty sixty ninety".split()
MONTHS = "January February March April May June July August September October November December".split()
SCALED = "thousand", "million"


def invented(documents: int, seed: int) -> list[Passage]:
    """Return the passages of as many documents, the same for the same seed."""
    rng = random.Random(seed)
    found = list[Passage]()
    for number in range(documents):
        written = rng.choice((_Contract, _Filing, _Report, _Plan))(rng)
        page = Page(0, "1", "\n\n".join(written.paragraphs), (), (), PageStatus.TEXT)
        found += split_pages([page], document_id=f"written-{number}", title=f"Document {number}")
    return found


class _Document:
    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.paragraphs: Sequence[str] = self.write()

    def write(self) -> Sequence[str]:
        raise NotImplementedError

    def word(self) -> str:
        consonants = "b br d f g k kl l m n p r s st t v".split()
        return "".join(self.rng.choice(consonants) + self.rng.choice("aeiou") for _ in range(3))

    def firm(self) -> str:
        return self.word().capitalize() + self.rng.choice((" Holding", " Group", " Works", ""))

    def thousands(self) -> int:
        return self.rng.randrange(10, 999) * 1000 + self.rng.randrange(100, 999)

    def day(self) -> str:
        return f"{self.rng.randrange(1, 28)} {self.rng.choice(MONTHS)} {self.rng.randrange(1990, 2030)}"


class _Contract(_Document):
    def write(self) -> Sequence[str]:
        rng, firm, other, thing = self.rng, self.firm(), self.firm(), self.word()
        sign, claim, more = rng.choice("$€£"), self.thousands(), self.thousands()
        year = claim + more
        return [
            f"This agreement between {firm} and {other} begins on {self.day()} and ends on {self.day()}.",
            f"The supplier shall deliver {rng.randrange(11, 99)} {thing}s within {rng.randrange(11, 60)} days of an "
            f"order. The buyer must pay every invoice within {rng.choice(SPELLED)} Business Days of its receipt.",
            f"A late payment bears interest at {rng.randrange(1, 9)}.{rng.randrange(1, 9)} % per month until then.",
            f"{rng.randrange(3, 9)}.{rng.randrange(1, 9)} The liability of {other} is limited to {sign}{claim:,} for "
            f"each claim and {sign}{year:,} in any year.",
            f"The buyer may not assign its rights under clause {rng.randrange(2, 19)} without the written consent of "
            f"{firm}.",
            f"Either party may end this agreement on {rng.choice(SPELLED)} months' notice to {other}.",
        ]


class _Filing(_Document):
    def write(self) -> Sequence[str]:
        rng, firm, product = self.rng, self.firm(), self.word()
        year = rng.randrange(1995, 2024)
        names = ("Net sales", "Operating profit", "Interest expense")
        rows = {name: (rng.randrange(1_100, 9_999), rng.randrange(1_100, 9_999)) for name in names}
        employed, sites = rng.randrange(2_100, 9_999), rng.randrange(11, 80)
        scale = rng.choice(SCALED)
        return [
            f"In {year} the orders of {firm} rose by {rng.randrange(2, 40)} percent.",
            f"As of {self.day()} the company employed {employed:,} people at {sites} sites in "
            f"{self.word().capitalize()}.",
            f"The segment that makes {product}s was not sold to {self.firm()} before {self.day()}.",
            f"Consolidated figures in {scale}s {year} {year - 1}\n"
            + "\n".join(f"{name} {now:,} {before:,}" for name, (now, before) in rows.items()),
            f"The board paid a dividend of ${rng.randrange(1, 9)}.{rng.randrange(11, 99)} per share on {self.day()}.",
        ]


class _Report(_Document):
    def write(self) -> Sequence[str]:
        rng, place, device = self.rng, self.word().capitalize(), self.word()
        first, second = rng.sample([tenths / 10 for tenths in range(110, 990)], 2)
        taken, lost = rng.randrange(100, 900), rng.randrange(11, 99)
        weight, sign, price = rng.randrange(11, 80), rng.choice("$€£"), self.thousands()
        return [
            f"The {device} was measured for {rng.randrange(11, 90)}.5 hours at a depth of {rng.randrange(100, 900)} "
            "meters.",
            f"Its efficiency reached {first} percent in the first trial and {second} percent in the second trial at "
            f"{place}.",
            f"Of {taken} samples {lost} were lost, and the rest was sent to {self.word().capitalize()} on "
            f"{self.day()}.",
            f"The crew did not open the valve of berth {rng.randrange(2, 19)} during the {rng.choice(SPELLED)} days of "
            "the storm.",
            f"Each unit weighs {weight} kg and costs {sign}{price:,} without transport.",
        ]


class _Plan(_Document):
    def write(self) -> Sequence[str]:
        rng, project, place, sign = self.rng, self.word().capitalize(), self.word().capitalize(), self.rng.choice("$€£")
        budget, spent = rng.randrange(500, 999) / 10, rng.randrange(100, 499) / 10
        members, present = rng.randrange(200, 900), rng.randrange(60, 199)
        first, second = rng.sample(range(2_100, 9_900), 2)
        year = rng.randrange(1998, 2024)
        rows = {name: [rng.randrange(110, 990) for _ in range(3)] for name in ("North", "South", "Harbour")}
        return [
            f"The budget for {project} is {sign}{budget} million, of which {sign}{spent} million were spent by "
            f"{self.day()}.",
            f"{present} of the {members} members attended the meeting in {place} on {self.day()}.",
            f"Turbine A yields {first:,} MWh a year and turbine B yields {second:,} MWh a year.",
            f"Headcount {year - 2} {year - 1} {year}\n"
            + "\n".join(f"{row} {' '.join(map(str, values))}" for row, values in rows.items()),
            f"Visitors must register at gate {rng.randrange(2, 19)} at least {rng.choice(SPELLED)} days ahead.",
        ]
