"""Write the sample PDFs of data/samples: a contract, a report with roman-numbered front matter, a scanned letter.

Everything in them is invented. ``python tests/make_samples.py [FOLDER]`` writes the same text every time.
"""

import random
import sys
from datetime import UTC, datetime
from pathlib import Path

from fpdf import FPDF
from PIL import Image, ImageDraw, ImageFilter, ImageFont

SAMPLES = Path(__file__).resolve().parent.parent / "data" / "samples"
NEW_PAGE = "-- new page --"
WRITTEN = datetime(2025, 3, 3, 9, 0, tzinfo=UTC)

CONTRACT = """
Agreement number HV-2025-014, dated 3 March 2025

between Halden & Vale Monitoring Ltd, 18 Foundry Lane, Bristol BS1 6TY, United Kingdom (the Supplier) and Meridian
Freight B.V., Waalhaven 212, 3088 HJ Rotterdam, the Netherlands (the Client).

# 1. Definitions

1.1 "Business Day" means a day other than a Saturday, a Sunday or a public holiday in Rotterdam.

1.2 "Deliverables" means the reports, data files and software that the Supplier hands over under a Work Order.

1.3 "Fees" means the amounts payable under clause 5 and Schedule A, excluding value added tax.

1.4 "Work Order" means a written order, signed by both parties, that names the Services, the Deliverables, the dates
and the Fees.

# 2. Services

2.1 The Supplier shall provide the monitoring, analysis and reporting services described in each Work Order (the
Services) with reasonable skill and care.

2.2 The Supplier shall appoint a project lead and shall not replace that person without ten Business Days' notice to
the Client.

2.3 The Client shall give the Supplier access to its warehouses, route data and staff as far as the Services require
it.

2.4 A change to a Work Order takes effect only when both parties have signed a change note that states its effect on
dates and Fees.

# 3. Service levels

3.1 The monitoring platform shall be available 99.5 % of each calendar month, measured between 06:00 and 22:00
Central European Time.

3.2 The Supplier shall answer a critical incident within 30 minutes and any other incident within four working
hours.

3.3 If availability falls below 99.5 % in a month, the Client receives a service credit of 5 % of that month's
platform fee; below 98.0 % the credit is 15 %. Service credits are set off against the next invoice.

# 4. Acceptance

4.1 The Client shall test each Deliverable within 15 Business Days of receiving it. A Deliverable that is not
rejected in writing within that time is accepted.

4.2 If a Deliverable is rejected with reasons, the Supplier shall correct it at its own cost and deliver it again
within ten Business Days.

# 5. Fees and invoicing

5.1 The Client shall pay the Fees set out in Schedule A. Travel is charged at cost and needs the Client's approval
above EUR 500 per trip.

5.2 The Supplier invoices monthly in arrears. Each invoice states the Work Order number, the days worked and the
Deliverables accepted in the month.

5.3 Invoices are payable within 30 days of the invoice date by bank transfer in euro.

5.4 If the Client disputes an invoice in good faith it shall say so in writing within ten Business Days of receiving
it, and shall pay the undisputed part when due.

5.5 The Supplier may adjust the day rates once a year, on 1 January, by no more than the change in the Dutch
consumer price index over the preceding twelve months.

# 6. Late payment

6.1 Where an undisputed invoice is not paid within 30 days of the invoice date, the Client shall pay a late payment
penalty of 1.5 % of the overdue amount per month, calculated daily from the day after the due date until payment is
received in full.

6.2 The Supplier may also charge a fixed sum of EUR 40 per overdue invoice for the cost of recovery.

6.3 If an undisputed invoice remains unpaid 45 days after the due date, the Supplier may suspend the Services on
five Business Days' written notice until it is paid.

6.4 The total of penalties under clause 6.1 shall not exceed 10 % of the overdue amount.

# 7. Intellectual property

7.1 Each party keeps what it owned before the Agreement.

7.2 Upon payment of the Fees the Client owns the Deliverables, except for the Supplier's tools and methods, for
which it receives a perpetual, non-exclusive licence for its own business.

# 8. Confidentiality and data

8.1 Each party shall keep the other's confidential information secret during the Agreement and for three years after
it ends, and shall use it only to perform the Agreement.

8.2 Where the Supplier processes personal data for the Client it does so only on written instructions and shall
report a personal data breach within 24 hours of learning of it.

8.3 Route data are kept in the European Union and are deleted 90 days after the end of the Agreement.

# 9. Liability

9.1 Neither party limits its liability for intent, gross negligence, death or personal injury.

9.2 Subject to clause 9.1, each party's total liability in a calendar year is limited to 125 % of the Fees paid or
payable in that year.

9.3 Subject to clause 9.1, neither party is liable for loss of profit or for indirect loss.

# 10. Term and termination

10.1 The Agreement begins on 1 April 2025 and runs for 24 months. It renews for successive periods of 12 months
unless a party gives notice at least 90 days before the end of the current period.

10.2 The Client may terminate a Work Order for convenience on 60 days' written notice and shall pay for the Services
performed until then.

10.3 A party may terminate the Agreement with immediate effect if the other commits a material breach and does not
remedy it within 30 days of written notice.

# 11. General

11.1 Neither party may assign the Agreement without the other's written consent, which may not be unreasonably
withheld.

11.2 Notices shall be in writing, to the addresses on the first page, and take effect on the second Business Day
after dispatch by registered post.

11.3 The Agreement is governed by the law of the Netherlands. The courts of Rotterdam have exclusive jurisdiction.
-- new page --
# Schedule A: Fees

Item | Unit | Fee (EUR)
Project lead | day | 1,150
Data analyst | day | 890
Field engineer | day | 760
Monitoring platform, up to 200 vehicles | month | 4,200
Each further vehicle | month | 18
Training course, up to 12 people | course | 2,400

A day is eight working hours. Half days are charged at 55 % of the day rate.

# Signatures

For the Supplier: Margaret Okafor, Managing Director, Bristol, 3 March 2025

For the Client: Joost de Vries, Chief Operating Officer, Rotterdam, 3 March 2025
"""

FRONT_MATTER = """
# Summary

The deck of the Lindholm footbridge was surveyed between 13 and 24 May 2024; 192 panels were inspected. Four panels
of Span 2 must be replaced; the rest of the bridge is sound. The work recommended for 2025 costs EUR 184,000.
-- new page --
# Symbols and abbreviations

t: thickness of a panel in mm. Loss: nominal thickness less measured thickness, in mm.

UT: ultrasonic testing. Panel 2-17: the seventeenth panel of Span 2, counted from the north.
"""

REPORT = """
# 1 Introduction

The Lindholm footbridge crosses the Aller estuary in three spans of 36 m with two approaches of 18 m. It was opened
in 1998 and carries about 2,700 people on a working day.

This report gives the results of the corrosion survey of May 2024, compares them with the survey of 2019, and says
which panels need work before the winter of 2025.

# 2 Method

The remaining thickness of every second deck panel was measured with an ultrasonic gauge at nine points, after the
coating had been removed from a disc of 20 mm at each point. The gauge was calibrated before each shift on a stepped
block; its standard uncertainty is 0.05 mm.

Loss is the nominal thickness of 12.0 mm less the measured thickness. A panel is graded A up to 1.0 mm of largest
loss, B up to 2.0 mm and C above that.
-- new page --
# 3 Results

Table 1 gives the loss for each part of the bridge. Span 2 stands out: its mean loss is 0.97 mm, and the largest
loss, 2.35 mm, was found at panel 2-17 beside the western expansion joint.

Since 2019 the mean loss of Span 2 has grown by 0.41 mm, which is 0.08 mm a year. The other spans lost 0.03 mm a
year or less in the same time.

Table 1. Loss of thickness by part of the bridge, May 2024

Span | Panels inspected | Mean loss (mm) | Largest loss (mm) | Grade
North approach | 24 | 0.31 | 0.62 | A
Span 1 | 48 | 0.44 | 1.10 | B
Span 2 | 48 | 0.97 | 2.35 | C
Span 3 | 48 | 0.52 | 1.28 | B
South approach | 24 | 0.28 | 0.55 | A
-- new page --
# 4 Discussion

Water stands on Span 2 because the scuppers at the western joint are blocked; chloride in the dust there was four
times that on Span 1. The coating of 2011 has failed on 31 % of the surface of Span 2 and on 6 % elsewhere.

At the present rate the thinnest panel reaches the limit of 3.0 mm in about eight years. The estimate assumes that
loss goes on evenly, which pitting need not do.

# 5 Recommendations

Clear and enlarge the scuppers of Span 2 before October 2024. Replace panels 2-16 to 2-19. Recoat Span 2 in 2025 at
an estimated cost of EUR 184,000. Repeat the survey of Span 2 every two years and of the rest every five.
"""

LETTER = """
Aller Harbour Authority
Quay 4, 28219 Lindholm

12 February 2025
Reference: AHA/2025/0117

To: Meridian Freight B.V.
Subject: Berth 7, change of mooring fees

Dear Ms de Vries,

From 1 April 2025 the mooring fee for berth 7 rises from
EUR 310 to EUR 335 per day. Vessels that stay longer than
14 days receive a discount of 12 percent.

The crane at berth 7 is out of service from 3 to 21 March
2025 for its yearly inspection. Please book berth 9 for
heavy cargo during this time.

Yours sincerely,
Henrik Solberg
Harbour Master
"""


class _Paper(FPDF):
    """A page with a running head, and its printed page label at the foot."""

    def __init__(self, title: str, author: str, running_head: str) -> None:
        super().__init__(format="A4")
        self.running_head = running_head
        self.set_title(title)
        self.set_author(author)
        self.set_lang("en-GB")
        self.set_creation_date(WRITTEN)
        self.set_margins(25, 25, 25)
        self.set_auto_page_break(True, margin=25)

    def header(self) -> None:
        if self.page_no() > 1:
            self.set_y(12)
            self.set_font("Helvetica", size=8)
            self.cell(0, 5, self.running_head)
            self.set_y(25)

    def footer(self) -> None:
        self.set_y(-15)
        self.set_font("Helvetica", size=8)
        self.cell(0, 5, self.get_page_label(), align="C")

    def write_text(self, text: str) -> None:
        """Set paragraphs, ``# headings``, tables with `` | `` between cells, and page breaks."""
        for block in text.replace(NEW_PAGE, f"\n{NEW_PAGE}\n").strip().split("\n\n"):
            if block.strip() == NEW_PAGE:
                self.add_page()
            elif block.startswith("# "):
                self._write_heading(block.removeprefix("# "))
            elif " | " in block:
                self._write_table(block.splitlines())
            else:
                self.set_font("Times", size=11)
                self.multi_cell(0, 5.6, " ".join(block.split()), new_x="LMARGIN", new_y="NEXT")
                self.ln(2)

    def _write_heading(self, text: str) -> None:
        self.ln(3)
        if self.will_page_break(24):
            self.add_page()
        self.start_section(text)
        self.set_font("Helvetica", "B", 12)
        self.multi_cell(0, 7, text, new_x="LMARGIN", new_y="NEXT")

    def _write_table(self, rows: list[str]) -> None:
        self.set_font("Times", size=10)
        first_column = max(len(row.split(" | ")[0]) for row in rows)
        others = rows[0].count(" | ")
        with self.table(col_widths=(first_column + 4, *[16] * others), line_height=6) as table:
            for row in rows:
                table.row(row.split(" | "))
        self.ln(3)


def write_contract(path: Path) -> None:
    paper = _Paper("Services Agreement", "Halden & Vale Monitoring Ltd", "Services Agreement HV-2025-014")
    paper.add_page(label_style="D")
    paper.set_font("Helvetica", "B", 20)
    paper.multi_cell(0, 12, "Services Agreement", new_x="LMARGIN", new_y="NEXT")
    paper.write_text(CONTRACT)
    paper.output(str(path))


def write_report(path: Path) -> None:
    title = "Corrosion Survey of the Lindholm Footbridge, 2024"
    paper = _Paper(title, "Aller Structures Laboratory", "Corrosion Survey of the Lindholm Footbridge")
    paper.add_page(label_style="r")
    paper.set_y(90)
    paper.set_font("Helvetica", "B", 22)
    paper.multi_cell(0, 12, title, align="C", new_x="LMARGIN", new_y="NEXT")
    paper.set_font("Times", size=12)
    paper.multi_cell(0, 8, "Aller Structures Laboratory\nTechnical Report 2024-07\nJune 2024", align="C")
    paper.add_page()
    paper.write_text(FRONT_MATTER)
    paper.add_page(label_style="D", label_start=1)
    paper.write_text(REPORT)
    paper.output(str(path))


def write_scan(path: Path) -> None:
    """One A4 page at 150 dpi, a little askew and speckled, without a text layer."""
    width, height = 1240, 1754
    page = Image.new("L", (width, height), 250)
    draw = ImageDraw.Draw(page)
    for line, text in enumerate(LETTER.strip().splitlines()):
        draw.text((150, 170 + 52 * line), text, fill=25, font=ImageFont.load_default(30))
    page = page.rotate(0.6, resample=Image.Resampling.BICUBIC, fillcolor=250).filter(ImageFilter.GaussianBlur(0.6))
    chance = random.Random(7)
    specks = ImageDraw.Draw(page)
    for _ in range(900):
        specks.point((chance.randrange(width), chance.randrange(height)), fill=chance.randrange(60, 200))
    paper = FPDF(format="A4")
    paper.set_title("Letter of the harbour authority (scan)")
    paper.set_creation_date(WRITTEN)
    paper.add_page()
    paper.image(page, x=0, y=0, w=210, h=297)
    paper.output(str(path))


WRITERS = {
    "service-contract.pdf": write_contract,
    "technical-report.pdf": write_report,
    "scanned-letter.pdf": write_scan,
}

if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else SAMPLES
    folder.mkdir(parents=True, exist_ok=True)
    for name, write in WRITERS.items():
        write(folder / name)
        print(folder / name, (folder / name).stat().st_size)
