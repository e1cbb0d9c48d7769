"""Measure what is found to have changed between two versions of generated contracts.

The versions are set in other type and widths, with other running heads, and renumbered where a clause comes or goes;
none of this is a change. Clauses of a third of the families are reported alone as well.
"""

import argparse
import random
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fpdf import FPDF

from pincite.core.documents.reader import ProcessReader
from pincite.core.documents.versions import compare
from pincite.core.domain.documents import Page
from pincite.core.domain.settings import Settings
from pincite.core.domain.versions import Concern, Difference, DifferenceKind
from pincite.core.text.checker import installed_checker
from pincite.core.text.plain import flat

Clause = tuple[str, tuple[str, ...]]
CLAUSES: tuple[Clause, ...] = (
    ("Term", ("This agreement begins on {date} and runs for {number} months.",
              "It {may} be extended once by the {client}.")),
    ("Fee", ("The {client} pays {name} a fee of {amount} for each month of service.",
             "The fee {may} be raised once a year.", "Travel costs up to {amount2} are included.")),
    ("Payment", ("Invoices are due within {number} days of receipt.",
                 "Late payments bear interest at {share} a year.", "The {client} {shall} pay by bank transfer.")),
    ("Confidentiality", ("Each party {shall} keep the information of the other party secret.",
                         "This obligation ends {number} years after the agreement.")),
    ("Liability", ("The liability of the {provider} is limited to {amount} for each event.",
                   "The {provider} is liable for loss of data {if} the {client} has kept a copy.")),
    ("Insurance", ("{name} {shall} hold insurance of at least {amount} for each claim.",
                   "Proof of cover is handed over before {date}.")),
    ("Staff", ("The {provider} {may} replace members of the team after {number} days' notice.",
               "The team is led by a person whom the {client} has approved.")),
    ("Reports", ("A report is delivered by {date} and every {number} weeks after that.",
                 "Reports {shall} name all incidents that cost more than {amount2}.")),
    ("Data protection", ("Personal data are stored in {place} and {shall} be deleted within {number} days.",
                         "The {provider} {may} use subcontractors outside {place}.")),
    ("Termination", ("Either party {may} terminate with {number} days' notice in writing.",
                     "The {client} {may} terminate at once {if} the {provider} is insolvent.",
                     "Fees for the period after {date} are repaid.")),
    ("Acceptance", ("The {client} tests each delivery within {number} working days.",
                    "A delivery counts as accepted {if} defects above {share} are reported.")),
    ("Assignment", ("Neither party {may} assign this agreement without consent.",
                    "{name} {may} assign claims for payment to {other}.")),
    ("Premises", ("The works are carried out at {place}, on {number} square metres.",
                  "Keys {shall} be returned by {date}.")),
    ("Warranty", ("The warranty period is {number} months and begins on {date}.",
                  "Costs of repair above {amount} {shall} be shared equally.")),
    ("Disputes", ("Disputes are decided by the courts of {place}.",
                  "The parties {shall} first try mediation for {number} days.")),
    ("Audit", ("The {client} {may} inspect the books of {name} once in {number} months.",
               "If charges are {share} too high, the {provider} bears the cost of the audit.")),
    ("Support", ("Support is available on working days and {shall} answer within {number} hours.",
                 "Outside these times a call costs {amount2}.")),
    ("Licences", ("The {client} {may} use the software at {number} places.",
                  "The licence ends on {date}, {if} it is renewed by {name}.")),
)  # fmt: skip
KEPT = frozenset({"Reports", "Acceptance", "Premises", "Warranty", "Audit", "Licences"})
"""Families that nothing was tuned on."""
NAMES = "Norrland Dairy", "Pellworth Yards", "Quill Pumps", "Halden Foods", "Tarn Estates", "Birch Lines"
PLACES = "Leeds", "Dublin", "Utrecht", "Vienna", "Porto", "Bergen"
MONTHS = "January February March April May June July August September October November December".split()
DUTIES = {"may": ("shall", "may not"), "shall": ("may", "shall not"), "if": ("unless", "only if")}
REWORDED = (
    ("within", "no later than", "Invoices are due"), ("for each", "per", ""), ("handed over", "delivered", ""),
    ("begins on", "starts on", ""), ("is limited to", "is restricted to", ""), ("bear interest", "carry interest", ""),
)  # fmt: skip
ADDED = (
    "Use of name", "The {provider} names the {client} in its list of customers only with consent."
), ("Force majeure", "No party is responsible for delays that it could not have prevented."), (
    "Notices", "Notices are sent by registered letter to the address of the other party."
)  # fmt: skip
CHANGES_IN_A_PAIR = range(2, 7)


@dataclass(frozen=True, slots=True)
class Made:
    """A change that was made, with the sentences before and after it."""

    what: str
    family: str
    old: str = ""
    new: str = ""


@dataclass(frozen=True, slots=True)
class Pair:
    older: tuple[Clause, ...]
    newer: tuple[Clause, ...]
    made: tuple[Made, ...]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--pairs", type=int, default=300, help="how many pairs of versions (default 300)")


def run(options: argparse.Namespace) -> dict[str, Any]:
    pairs = [written(number) for number in range(options.pairs)]
    checker = installed_checker()
    with tempfile.TemporaryDirectory() as work, closing(ProcessReader(Settings(data_dir=Path(work)))) as reader:
        read = _reading(reader, Path(work))
        judged = list[tuple[Made, bool]]()
        false, reported, rewordings = Counter[str](), 0, 0
        for number, pair in enumerate(pairs):
            older, newer = (read(set_as_pdf(one, number + side)) for side, one in enumerate((pair.older, pair.newer)))
            found = compare("old", older, "new", newer, checker).differences
            judged += [(made, any(_is(made, one) for one in found)) for made in pair.made]
            for one in (one for one in found if one.matters):
                reported += 1
                if not any(_is(made, one) for made in pair.made):
                    reworded = any(_is_place(made, one) for made in pair.made if made.what == "reworded")
                    rewordings += reworded
                    false[f"{one.kind} {' '.join(one.concerns)}".strip()] += not reworded
        long = written(7, clauses=1_100)
        older, newer = (read(set_as_pdf(one, 3 + side)) for side, one in enumerate((long.older, long.newer)))
        started = time.perf_counter()
        compare("old", older, "new", newer, checker)
        seconds = time.perf_counter() - started
    meaningful = [one for one in judged if one[0].what not in ("moved", "reworded")]
    return {
        "pairs": len(pairs),
        "meaningful_changes": len(meaningful),
        "recall": _share(found for _, found in meaningful),
        "recall_of_kept_families": _share(found for made, found in meaningful if made.family in KEPT),
        "recall_by_kind": {
            what: _share(found for made, found in judged if made.what == what)
            for what in sorted({made.what for made, _ in judged} - {"reworded"})
        },
        "reported_as_meaningful": reported,
        "false": round(sum(false.values()) / max(reported, 1), 4),
        "false_by_kind": dict(false),
        "rewordings": sum(made.what == "reworded" for made, _ in judged),
        "rewordings_called_meaningful": rewordings,
        "pages_of_long_pair": [len(older), len(newer)],
        "seconds_for_long_pair": round(seconds, 2),
    }


def written(number: int, clauses: int = 14) -> Pair:
    """Return the pair of versions of this number."""
    rng = random.Random(number)
    values = _values(rng)
    families = [CLAUSES[at % len(CLAUSES)] for at in rng.sample(range(max(clauses, len(CLAUSES))), clauses)]
    older, newer, made = list[Clause](), list[Clause](), list[Made]()
    kinds = rng.sample(["value", "value", "duty", "duty", "reworded", "sentence"], rng.choice(CHANGES_IN_A_PAIR))
    changed = dict(zip(rng.sample(range(clauses), len(kinds)), kinds, strict=True))
    for at, (family, patterns) in enumerate(families):
        own = values if clauses < len(CLAUSES) else _values(rng)
        before = tuple(_filled(one, own) for one in patterns)
        after, change = _change(changed.get(at, ""), family, patterns, before, own, rng)
        older.append((family, before))
        newer.append((family, after))
        made += change
    family, text = rng.choice(ADDED)
    clause = (family, (_filled(text, values),))
    place = rng.randrange(1, len(newer))
    if rng.random() < 0.5:
        newer.insert(place, clause)
        made.append(Made("added", family, new=clause[1][0]))
    else:
        older.insert(place, clause)
        made.append(Made("removed", family, old=clause[1][0]))
    still = [at for at, one in enumerate(newer) if one in older and one != clause]
    if still and rng.random() < 0.4:
        moving = newer.pop(rng.choice(still))
        spots = [at for at in range(len(newer) + 1) if abs(at - older.index(moving)) > 2]
        newer.insert(rng.choice(spots), moving)
        made.append(Made("moved", moving[0], moving[1][0], moving[1][0]))
    return Pair(tuple(older), tuple(newer), tuple(made))


def _values(rng: random.Random) -> dict[str, str]:
    name, other = rng.sample(NAMES, 2)
    return {
        "date": f"{rng.randrange(1, 28)} {rng.choice(MONTHS)} {rng.randrange(2020, 2030)}", "name": f"{name} Ltd",
        "other": f"{other} plc", "number": str(rng.randrange(2, 90)),
        "amount": f"EUR {rng.randrange(20, 900) * 1000:,}",
        "amount2": f"EUR {rng.randrange(1, 90) * 50:,}", "share": f"{rng.randrange(2, 19) / 2:g} %",
        "place": rng.choice(PLACES), "client": "Client", "provider": "Provider", "may": "may", "shall": "shall",
        "if": "if",
    }  # fmt: skip


def _filled(pattern: str, values: dict[str, str]) -> str:
    return pattern.format_map(values)


def _change(
    kind: str, family: str, patterns: Sequence[str], before: Sequence[str], values: dict[str, str], rng: random.Random
) -> tuple[tuple[str, ...], list[Made]]:
    """Return the clause after a change, and the change."""
    after = list(before)
    if kind == "sentence":
        after.append("This clause also binds the successors of the parties.")
        return tuple(after), [Made("added", family, new=after[-1])]
    slots = {"value": ("date", "number", "amount", "amount2", "share", "name", "place"), "duty": tuple(DUTIES)}.get(
        kind, ()
    )
    possible = [(at, slot) for at, one in enumerate(patterns) for slot in slots if f"{{{slot}}}" in one]
    if kind == "reworded":
        pairs = [(at, old, new) for at, one in enumerate(before) for old, new, begins in REWORDED
                 if old in one and one.startswith(begins)]  # fmt: skip
        if not pairs:
            return tuple(after), []
        at, old, new = rng.choice(pairs)
        after[at] = before[at].replace(old, new, 1)
        return tuple(after), [Made("reworded", family, before[at], after[at])]
    if not possible:
        return tuple(after), []
    at, slot = rng.choice(possible)
    wanted = values[slot]
    while wanted == values[slot]:
        wanted = rng.choice(DUTIES[slot]) if kind == "duty" else _values(rng)[slot]
    after[at] = _filled(patterns[at], values | {slot: wanted})
    what = {"date": "date", "name": "name", "place": "name"}.get(slot, "duty" if kind == "duty" else "figure")
    return tuple(after), [Made(what, family, before[at], after[at])]


class _Paper(FPDF):
    def __init__(self, number: int, rng: random.Random) -> None:
        super().__init__()
        self.number, self.day = number, f"{rng.randrange(1, 28)} {rng.choice(MONTHS)} {2020 + number % 2}"
        self.set_margins(*rng.choice(((20, 25), (30, 30), (25, 20))))
        self.set_auto_page_break(True, rng.choice((25, 35)))

    def header(self) -> None:
        self.set_font("helvetica", size=8)
        self.text(20, 12, f"Services agreement, draft {self.number % 2 + 1} of {self.day}")

    def footer(self) -> None:
        self.set_font("helvetica", size=8)
        self.text(100, 290, f"Page {self.page_no()}")


def set_as_pdf(clauses: Sequence[Clause], number: int) -> bytes:
    """Return a version as a PDF, in a type and width of its own."""
    rng = random.Random(number)
    paper, size = _Paper(number, rng), rng.choice((9, 10, 11, 12))
    paper.add_page()
    for at, (title, sentences) in enumerate(clauses, start=1):
        paper.set_font("helvetica", "B", size + 2)
        paper.cell(0, size * 0.8, f"{at}. {title}", new_x="LMARGIN", new_y="NEXT")
        paper.set_font("helvetica", size=size)
        paper.multi_cell(0, size * 0.5, " ".join(sentences), new_x="LMARGIN", new_y="NEXT")
        paper.ln(3)
    return bytes(paper.output())


def _reading(reader: ProcessReader, work: Path) -> Any:
    def read(data: bytes) -> list[Page]:
        path = work / "version.pdf"
        path.write_bytes(data)
        return list(reader.read(path, range(reader.open(path).page_count)))

    return read


def _is(made: Made, difference: Difference) -> bool:
    """Return whether a difference is a change that was made, of its kind and in its sentence."""
    if not _is_place(made, difference):
        return False
    kind, concerns = difference.kind, difference.concerns
    match made.what:
        case "added":
            return kind is DifferenceKind.ADDED
        case "removed":
            return kind is DifferenceKind.REMOVED
        case "moved":
            return kind is DifferenceKind.MOVED
        case "reworded":
            return kind is DifferenceKind.CHANGED and not difference.matters
        case "duty":
            return kind is DifferenceKind.CHANGED and difference.matters
        case _:
            return kind is DifferenceKind.CHANGED and Concern(made.what) in concerns


def _is_place(made: Made, difference: Difference) -> bool:
    sides = ((made.old, difference.old), (made.new, difference.new))
    return all(bool(side) == bool(said) and (not side or flat(said) in flat(side.text)) for said, side in sides)


def _share(found: Iterator[bool]) -> float:
    every = list(found)
    return round(sum(every) / max(len(every), 1), 4)
