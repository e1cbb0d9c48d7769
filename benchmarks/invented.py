"""Contracts, filings and reports of invented firms, each with calculations over its figures said in a sentence."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from core.documents.passages import split_pages
from core.domain.documents import Page, PageStatus, Passage

SPELLED = "two three four five six seven eight nine ten twelve fifteen twenty thirty sixty ninety".split()
MONTHS = "January February March April May June July August September October November December".split()
SCALED = "thousand", "million"


@dataclass(frozen=True, slots=True)
class Calculation:
    """``sentence`` has a place for the result; with any other result it is wrong."""

    kind: str
    sentence: str
    result: str

    def said(self, result: str) -> str:
        return self.sentence.replace("{}", result)


@dataclass(frozen=True, slots=True)
class Invented:
    """A document of one page, and what can be computed from it."""

    passages: tuple[Passage, ...]
    calculations: tuple[Calculation, ...]


def invented(documents: int, seed: int) -> list[Invented]:
    """Write documents, the same for the same seed."""
    rng = random.Random(seed)
    found = []
    for number in range(documents):
        written = rng.choice((_Contract, _Filing, _Report, _Plan))(rng)
        page = Page(0, "1", "\n\n".join(written.paragraphs), (), (), PageStatus.TEXT)
        passages = tuple(split_pages([page], document_id=f"written-{number}", title=f"Document {number}"))
        found.append(Invented(passages, tuple(written.calculations)))
    return found


def _divided(number: float, by: float) -> Decimal:
    """Divide exactly, so that a half is rounded as people round it."""
    return Decimal(str(number)) / Decimal(str(by))


class _Document:
    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.calculations: list[Calculation] = []
        self.paragraphs: Sequence[str] = self.write()

    def write(self) -> Sequence[str]:
        raise NotImplementedError

    def computes(self, kind: str, result: str, *sentences: str) -> None:
        """Note a calculation in one of several wordings."""
        self.calculations.append(Calculation(kind, self.rng.choice(sentences), result))

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
        self.computes(
            "difference",
            f"{sign}{more:,}",
            f"The limit of the liability of {other} in any year exceeds that for each claim by {{}}.",
            f"In any year the liability of {other} is limited to {{}} more than for each claim.",
        )
        self.computes(
            "ratio", f"{_divided(year, claim):.2f}",
            f"In any year the liability of {other} is limited to {{}} times the limit for each claim.",
            "The ratio of the limit of liability in any year to the limit for each claim is {}.",
        )  # fmt: skip
        self.computes(
            "share", f"{_divided(100 * claim, year):.1f} %",
            f"For each claim the liability of {other} is limited to {{}} of its limit in any year.",
            "The limit of the liability for each claim is {} of the limit in any year.",
        )  # fmt: skip
        self.computes(
            "sum", f"{sign}{claim + year:,}",
            f"The limits of the liability of {other} for each claim and in any year add up to {{}}.",
            "Together the limits for each claim and in any year come to {}.",
        )  # fmt: skip
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
        self._compute(rows, year, scale)
        self.computes(
            "ratio", f"{_divided(employed, sites):.1f}",
            "The company employed {} people per site on average.",
            "That is an average of {} people employed at each of the sites.",
        )  # fmt: skip
        return [
            f"In {year} the orders of {firm} rose by {rng.randrange(2, 40)} percent.",
            f"As of {self.day()} the company employed {employed:,} people at {sites} sites in "
            f"{self.word().capitalize()}.",
            f"The segment that makes {product}s was not sold to {self.firm()} before {self.day()}.",
            f"Consolidated figures in {scale}s {year} {year - 1}\n"
            + "\n".join(f"{name} {now:,} {before:,}" for name, (now, before) in rows.items()),
            f"The board paid a dividend of ${rng.randrange(1, 9)}.{rng.randrange(11, 99)} per share on {self.day()}.",
        ]

    def _compute(self, rows: dict[str, tuple[int, int]], year: int, scale: str) -> None:
        name, other = self.rng.sample(list(rows), 2)
        (now, before), (other_now, _) = rows[name], rows[other]
        rose, change = now > before, abs(now - before)
        lower = name.lower()
        self.computes(
            "growth", f"{_divided(100 * change, before):.1f} %",
            f"From {year - 1} to {year} {lower} {'grew' if rose else 'fell'} by {{}}.",
            f"{name} {'increased' if rose else 'decreased'} by {{}} in {year}.",
            f"{name} of {year} were {{}} {'above' if rose else 'below'} those of {year - 1}.",
        )  # fmt: skip
        self.computes(
            "difference", f"{change:,} {scale}",
            f"{name} {'rose' if rose else 'declined'} by {{}} between {year - 1} and {year}.",
            f"In {year} {lower} were {{}} {'higher' if rose else 'lower'} than in {year - 1}.",
        )  # fmt: skip
        self.computes(
            "share", f"{_divided(100 * min(now, other_now), max(now, other_now)):.1f} %",
            f"In {year} {(name if now < other_now else other).lower()} came to {{}} of "
            f"{(other if now < other_now else name).lower()}.",
        )  # fmt: skip
        self.computes(
            "sum", f"{now + other_now:,} {scale}",
            f"In {year} {lower} and {other.lower()} together were {{}}.",
            f"The sum of {lower} and {other.lower()} was {{}} in {year}.",
        )  # fmt: skip
        self.computes(
            "average", f"{_divided(now + before, 2):,.1f} {scale}",
            f"{name} averaged {{}} over {year - 1} and {year}.",
            f"On average {lower} were {{}} a year in {year - 1} and {year}.",
        )  # fmt: skip
        larger = {"thousand": "million", "million": "billion"}[scale]
        self.computes(
            "cell",
            f"{_divided(now, 1000):.3f} {larger}",
            f"{name} of {year} were {{}}.",
            f"In {year} {lower} were {{}}.",
        )


class _Report(_Document):
    def write(self) -> Sequence[str]:
        rng, place, device = self.rng, self.word().capitalize(), self.word()
        first, second = rng.sample([tenths / 10 for tenths in range(110, 990)], 2)
        taken, lost = rng.randrange(100, 900), rng.randrange(11, 99)
        weight, sign, price = rng.randrange(11, 80), rng.choice("$€£"), self.thousands()
        self.computes(
            "share", f"{_divided(100 * lost, taken):.1f} percent",
            "That is, {} of the samples were lost.", "The share of the samples that were lost is {}.",
        )  # fmt: skip
        self.computes(
            "difference", f"{taken - lost}",
            "{} samples were not lost, but sent on.", "After those that were lost, {} samples were left.",
        )  # fmt: skip
        self.computes(
            "difference", f"{abs(first - second):.1f} percentage points",
            f"Between the first and the second trial the efficiency {'rose' if second > first else 'fell'} by {{}}.",
            f"The efficiency of the second trial was {{}} {'higher' if second > first else 'lower'} than of the first.",
        )  # fmt: skip
        self.computes(
            "average", f"{_divided(first + second, 2):.2f} percent",
            "The average efficiency of the first and the second trial was {}.",
        )  # fmt: skip
        self.computes(
            "ratio", f"{sign}{_divided(price, weight):,.2f}",
            "Each unit costs {} per kg without transport.",
        )  # fmt: skip
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
        name, other = rng.sample(list(rows), 2)
        begin, middle, end = rows[name]
        self.computes(
            "difference", f"{sign}{budget - spent:.1f} million",
            "What is left of the budget is {}.", f"{{}} of the budget for {project} remain unspent.",
        )  # fmt: skip
        self.computes(
            "share", f"{_divided(100 * spent, budget):.1f} %",
            "By then {} of the budget had been spent.", "Spending came to {} of the budget.",
        )  # fmt: skip
        self.computes(
            "share", f"{_divided(100 * present, members):.0f} percent",
            f"{{}} of the members attended the meeting in {place}.", "{} of the members came to the meeting.",
        )  # fmt: skip
        self.computes(
            "difference", f"{members - present}",
            "{} members did not attend the meeting.", f"The meeting in {place} was missed by {{}} members.",
        )  # fmt: skip
        self.computes(
            "difference", f"{abs(first - second):,} MWh",
            f"Turbine {'A' if first > second else 'B'} yields {{}} a year more than turbine "
            f"{'B' if first > second else 'A'}.",
            "The annual yields of turbine A and turbine B differ by {}.",
        )  # fmt: skip
        self.computes("sum", f"{first + second:,} MWh", "Both turbines together yield {} a year.")
        self.computes(
            "growth", f"{_divided(100 * abs(end - begin), begin):.1f}%",
            f"Between {year - 2} and {year} the headcount of {name} {'grew' if end > begin else 'shrank'} by {{}}.",
            f"In {year} {name} had {{}} {'more' if end > begin else 'fewer'} staff than in {year - 2}.",
        )  # fmt: skip
        self.computes(
            "average", f"{_divided(begin + middle + end, 3):.1f}",
            f"The average headcount of {name} over the three years was {{}}.",
            f"{name} had an average headcount of {{}}.",
        )  # fmt: skip
        self.computes(
            "ratio", f"{_divided(end, rows[other][2]):.2f}",
            f"The headcount of {name} in {year} was {{}} times that of {other}.",
        )  # fmt: skip
        self.computes(
            "sum", f"{end + rows[other][2]}", f"In {year} {name} and {other} had a headcount of {{}} combined."
        )
        return [
            f"The budget for {project} is {sign}{budget} million, of which {sign}{spent} million were spent by "
            f"{self.day()}.",
            f"{present} of the {members} members attended the meeting in {place} on {self.day()}.",
            f"Turbine A yields {first:,} MWh a year and turbine B yields {second:,} MWh a year.",
            f"Headcount {year - 2} {year - 1} {year}\n"
            + "\n".join(f"{row} {' '.join(map(str, values))}" for row, values in rows.items()),
            f"Visitors must register at gate {rng.randrange(2, 19)} at least {rng.choice(SPELLED)} days ahead.",
        ]
