"""Measure a grid over generated contracts: the values found, and whether "not stated" is right.

Each contract is written by one of six families of wordings and states about four of five fields; other dates and
amounts distract. A third of the families is reported alone: nothing was tuned on it.
"""

import argparse
import random
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pincite.core.domain.documents import Document
from pincite.core.domain.grids import Cell, CellState, Column, ColumnKind
from pincite.core.domain.settings import Settings, load_settings
from pincite.core.services.bootstrap import Pincite, open_pincite
from tests.support.pdfs import prose

COLUMNS = (
    Column("client", "Client", "Who is the client?"),
    Column("begins", "Begins", "When does the contract begin?", ColumnKind.DATE),
    Column("term", "Term", "How long does the contract run?"),
    Column("fee", "Fee", "What is the fee?", ColumnKind.AMOUNT),
    Column("due", "Due", "Within how many days must invoices be paid?", ColumnKind.NUMBER),
    Column("interest", "Interest", "What is the interest on late payment?"),
    Column("cap", "Liability", "To what amount is liability limited?", ColumnKind.AMOUNT),
    Column("notice", "Notice", "What is the notice period?"),
    Column("law", "Law", "Which law applies?"),
    Column("deposit", "Deposit", "How much is the deposit?", ColumnKind.AMOUNT),
)
FAMILIES: tuple[Mapping[str, str], ...] = (
    {
        "client": "This services agreement is made between {client} (the Client) and {other} (the Contractor).",
        "begins": "The agreement begins on {begins}.",
        "term": "It runs for {term} and ends without notice.",
        "fee": "The Client pays a fee of {fee} a month.",
        "due": "Invoices are payable within {due} days of receipt.",
        "interest": "Late payments bear interest at {interest} a month.",
        "cap": "The liability of the Contractor is limited to {cap} for each event.",
        "notice": "Either party may end the agreement with a notice period of {notice}.",
        "law": "The agreement is governed by the law of {law}.",
        "deposit": "The Client pays a deposit of {deposit} on signature.",
    },
    {
        "client": "{other} provides cleaning services to {client}, hereinafter the Customer and client of {other}.",
        "begins": "Commencement date: {begins}.",
        "term": "Duration: {term} from the commencement date.",
        "fee": "Remuneration. The yearly fee amounts to {fee}, excluding VAT.",
        "due": "Each invoice must be settled no later than {due} days after its date.",
        "interest": "If the Customer pays late, interest of {interest} per year is due.",
        "cap": "The total liability of the Provider shall in no event exceed {cap}.",
        "notice": "Termination requires written notice given {notice} in advance.",
        "law": "Governing law: {law}.",
        "deposit": "A security deposit in the amount of {deposit} is to be provided.",
    },
    {
        "client": "Client: {client}. Supplier: {other}.",
        "begins": "1. Start. The work starts on {begins}.",
        "term": "2. Period. The contract is concluded for a period of {term}.",
        "fee": "3. Price. For the services the Client owes the Supplier a fee of {fee} per quarter.",
        "due": "4. Payment. Payment is due {due} days after the invoice has been received.",
        "interest": "5. Delay. Amounts not paid in time are subject to default interest of {interest}.",
        "cap": "6. Liability. The Supplier is liable up to a maximum of {cap}.",
        "notice": "7. Notice. The contract may be terminated by either side on {notice}' notice.",
        "law": "8. Law. The laws of {law} apply.",
        "deposit": "9. Deposit. Before the start the Client deposits {deposit} with the Supplier.",
    },
    {
        "client": "The undersigned, {client} as client and {other} as agency, agree as follows.",
        "begins": "This contract takes effect on {begins} and replaces all earlier ones.",
        "term": "Unless it is renewed it expires {term} after it has taken effect.",
        "fee": "The agency receives a flat fee of {fee}.",
        "due": "The client has {due} days to pay an invoice.",
        "interest": "For each year of delay the client owes {interest} interest on the sum.",
        "cap": "Whatever the cause, the agency owes no more than {cap} in damages; its liability ends there.",
        "notice": "Both sides can withdraw at any time, with {notice} of notice.",
        "law": "Disputes are decided under the law of {law}.",
        "deposit": "Upon signing, {deposit} is paid as a deposit, which is returned at the end.",
    },
    {
        "client": "{client} (client) engages {other} (consultant) on the terms below.",
        "begins": "Services are rendered from {begins} onwards.",
        "term": "The engagement lasts {term}.",
        "fee": "Fee: {fee} for the whole engagement.",
        "due": "The consultant's invoices fall due after {due} days.",
        "interest": "Overdue sums accrue interest at a rate of {interest}.",
        "cap": "The consultant's aggregate liability under this engagement is capped at {cap}.",
        "notice": "The client and the consultant may each cancel on giving {notice} prior notice.",
        "law": "This engagement is subject to the laws of {law}.",
        "deposit": "A refundable deposit of {deposit} secures the client's obligations.",
    },
    {
        "client": "Maintenance contract. The client is {client}. The maintenance company is {other}.",
        "begins": "Maintenance is carried out as of {begins}.",
        "term": "The parties are bound for {term}.",
        "fee": "The maintenance fee, payable in advance, is {fee}.",
        "due": "Bills have to be paid in {due} days.",
        "interest": "A client in arrears pays {interest} in interest.",
        "cap": "Compensation is owed up to {cap}; any further liability is excluded.",
        "notice": "Who wants to leave the contract announces it {notice} before.",
        "law": "The law of {law} governs this contract and all that follows from it.",
        "deposit": "The company keeps {deposit} of the client as a deposit.",
    },
)  # fmt: skip
KEPT = (4, 5)
"""The families that nothing was tuned on."""
DISTRACTING = (
    "The parties met for the first time on {date} at the trade fair.",
    "The insurance of the contractor covers {amount} for each loss.",
    "A previous agreement of {date} was worth {amount} and has ended.",
    "Tools of more than {amount} are registered with the office.",
    "Complaints are answered within {days} working days.",
)
LAWS = "Sweden", "Ireland", "the Netherlands", "Denmark", "England and Wales", "Portugal", "Austria", "Ontario"
MONTHS = "January February March April May June July August September October November December".split()
TERMS = "12 months", "24 months", "three years", "five years", "18 months"
NOTICES = "three months", "30 days", "six weeks", "60 days", "two months"
NAMES = "Norrland Dairy|Pellworth Yards|Quill Pumps|Halden Foods|Tarn Estates|Birch Lines|Corvane|Ash Works".split("|")
FORMS = "Ltd", "AB", "GmbH", "BV", "plc"
ABSENT = 0.2


@dataclass(frozen=True, slots=True)
class Contract:
    family: int
    text: str
    values: Mapping[str, str]
    """By column; those that are absent are not in it."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--contracts", type=int, default=200, help="how many contracts (default 200)")
    parser.add_argument("--engine", default="quoting", help="what reads unclear cells: quoting, ollama, openai:MODEL")


def written(number: int) -> Contract:
    """Return the contract of this number."""
    rng = random.Random(number)
    family = number % len(FAMILIES)
    day = f"{rng.randrange(1, 28)} {rng.choice(MONTHS)} {rng.randrange(2019, 2030)}"
    money = [f"EUR {rng.randrange(2, 900) * 100:,}" for _ in range(6)]
    client, other = (f"{name} {rng.choice(FORMS)}" for name in rng.sample(NAMES, 2))
    every = {
        "client": client, "other": other, "begins": day, "term": rng.choice(TERMS), "fee": money[0],
        "due": str(rng.choice((10, 14, 21, 30, 45, 60))), "interest": f"{rng.randrange(1, 12)}.5 %", "cap": money[1],
        "notice": rng.choice(NOTICES), "law": rng.choice(LAWS), "deposit": money[2],
    }  # fmt: skip
    stated = [one.id for one in COLUMNS if one.id == "client" or rng.random() >= ABSENT]
    other_day = f"{rng.randrange(1, 28)} {rng.choice(MONTHS)} {rng.randrange(2000, 2018)}"
    odd = [one.format(date=other_day, amount=money[3 + at % 3], days=rng.randrange(2, 9))
           for at, one in enumerate(rng.sample(DISTRACTING, 3))]  # fmt: skip
    sentences = [FAMILIES[family][field].format_map(every) for field in stated]
    for one in odd:
        sentences.insert(rng.randrange(1, len(sentences) + 1), one)
    return Contract(family, "\n".join(sentences), {field: every[field] for field in stated})


def run(options: argparse.Namespace) -> dict[str, Any]:
    contracts = [written(number) for number in range(options.contracts)]
    with tempfile.TemporaryDirectory() as work, closing(open_pincite(_settings(Path(work), options.engine))) as app:
        added = [app.ingest.add(prose([one.text]), f"contract-{number}.pdf") for number, one in enumerate(contracts)]
        app.ingest.wait()
        documents = [outcome.document for outcome in added]
        started = time.perf_counter()
        grid = app.grids.create("Contracts", COLUMNS, [one.id for one in documents])
        cells = app.grids.wait(grid.id).cells
        seconds = time.perf_counter() - started
        filled = [cell for cell in cells.values() if cell.state is CellState.FOUND]
        located = sum(_is_located(app, cell) for cell in filled)
    judged = list(_judged(contracts, documents, cells))
    kept = [one for one in judged if one[0].family in KEPT]
    read = [case for case in judged if case[2].state is CellState.FOUND and case[2].confidence is None]
    return {
        "contracts": len(contracts),
        "found_by_a_model": len(read),
        "of_them_right": sum(_is_right(*case) for case in read),
        "cells": len(judged),
        "seconds_for_200_cells": round(seconds * 200 / len(judged), 1),
        "located": round(located / max(len(filled), 1), 4),
        "all_families": _measures(judged),
        "kept_families": _measures(kept),
        "fields_of_kept_families": {
            one.id: _measures([case for case in kept if case[1].id == one.id]) for one in COLUMNS
        },
    }


def _settings(folder: Path, engine: str) -> Settings:
    return load_settings(folder).model_copy(update={"engine": engine, "ocr": False})


Case = tuple[Contract, Column, Cell]


def _judged(
    contracts: Sequence[Contract], documents: Sequence[Document], cells: Mapping[tuple[str, str], Cell]
) -> Iterator[Case]:
    for contract, document in zip(contracts, documents, strict=True):
        for column in COLUMNS:
            yield contract, column, cells[document.id, column.id]


def _measures(cases: Sequence[Case]) -> dict[str, float]:
    found = [case for case in cases if case[2].state is CellState.FOUND]
    right = sum(_is_right(*case) for case in found)
    stated = sum(column.id in contract.values for contract, column, _ in cases)
    absent = [case for case in cases if case[2].state is CellState.NOT_STATED]
    precision, recall = right / max(len(found), 1), right / max(stated, 1)
    return {
        "precision": round(precision, 3),
        "recall": round(recall, 3),
        "f1": round(2 * precision * recall / max(precision + recall, 1e-9), 3),
        "not_stated": len(absent),
        "not_stated_precision": round(
            sum(column.id not in contract.values for contract, column, _ in absent) / max(len(absent), 1), 3
        ),
        "unclear": sum(cell.state is CellState.UNCLEAR for _, _, cell in cases),
    }


def _is_right(contract: Contract, column: Column, cell: Cell) -> bool:
    wanted = contract.values.get(column.id, "")
    if not wanted:
        return False
    if column.kind is ColumnKind.DATE:
        day, month, year = wanted.split()
        return cell.value == f"{year}-{MONTHS.index(month) + 1:02d}-{int(day):02d}"
    if column.kind is ColumnKind.AMOUNT:
        return cell.value == f"{wanted.removeprefix('EUR ').replace(',', '')} EUR"
    if column.kind is ColumnKind.NUMBER:
        return cell.value.split()[0] == wanted
    return wanted.casefold() in cell.value.casefold()


def _is_located(app: Pincite, cell: Cell) -> bool:
    texts = ((app.library.page_text(*place.page), place) for place in cell.citations)
    return bool(cell.citations) and all(text[place.start : place.end] == place.quotation for text, place in texts)
