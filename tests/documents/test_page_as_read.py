"""Generated pages with known words, and what is read of them: nothing is fused, torn or taken as in force."""

import io
from collections.abc import Sequence
from pathlib import Path
from random import Random

import pypdf
import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as trials
from hypothesis import strategies as st
from pypdf.annotations import Line, Text
from pypdf.generic import ArrayObject, DictionaryObject, FloatObject, NameObject, NumberObject
from reportlab.lib.pagesizes import A4
from reportlab.lib.utils import simpleSplit
from reportlab.pdfgen.canvas import Canvas

from pincite.core.documents.formats.pdf.reading import OpenPdf
from pincite.core.documents.read_back import read_back
from pincite.core.domain.answers import Likeness
from pincite.core.domain.documents import BlockKind, HiddenReason, Page, hidden_summary
from pincite.core.search.stretches import pages_called
from pincite.core.text.pieces import belong_together
from tests.support.pdfs import glyphs

FEW = trials(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
LEFT, TOP, SIZE, LEADING = 90.0, 760.0, 11.0, 16.0
NOUNS = st.sampled_from(("harbour", "kitchen", "ferry", "orchard", "archive", "bridge"))
FIGURES = st.sampled_from(("$320", "2018", "1,400", "5%", "17.25", "EUR 90"))
MARKS = st.sampled_from(("1", "2", "12", "(3)", "a", "*"))


class Sheet:
    """One page, drawn line by line from the top."""

    def __init__(self) -> None:
        self._buffer = io.BytesIO()
        self.canvas = Canvas(self._buffer, pagesize=A4)
        self.y = TOP

    def line(self, text: str, *, x: float = LEFT, size: float = SIZE) -> float:
        """Draw a line; returns where it ends."""
        self.y -= LEADING
        return self.more(text, x, size=size)

    def more(self, text: str, x: float, *, size: float = SIZE, rise: float = 0.0) -> float:
        self.canvas.setFont("Helvetica", size)
        self.canvas.drawString(x, self.y + rise, text)
        return x + float(self.canvas.stringWidth(text, "Helvetica", size))

    def read(self, folder: Path, *, strike: Sequence[float] = ()) -> Page:
        self.canvas.save()
        path = folder / "page.pdf"
        path.write_bytes(self._buffer.getvalue())
        if strike:
            _struck(path, strike)
        document = OpenPdf(path, lambda page_index, what: None)
        try:
            return document.page(0, {})
        finally:
            document.close()


def _struck(path: Path, box: Sequence[float]) -> None:
    """Lay a strike-out annotation on a box: left, bottom, right, top."""
    writer = pypdf.PdfWriter(clone_from=path)
    left, bottom, right, top = box
    annotation = Line(rect=(left, bottom, right, top), p1=(left, bottom), p2=(right, bottom))
    annotation[NameObject("/Subtype")] = NameObject("/StrikeOut")
    corners = (left, top, right, top, left, bottom, right, bottom)
    annotation[NameObject("/QuadPoints")] = ArrayObject(map(FloatObject, corners))
    writer.add_annotation(0, DictionaryObject(annotation))
    with path.open("wb") as file:
        writer.write(file)


def apart(page: Page, reason: HiddenReason) -> list[str]:
    return [item.text for item in page.hidden if item.reason is reason]


@FEW
@given(noun=NOUNS, figure=FIGURES, mark=MARKS)
def test_footnote_mark_is_separated_from_the_word_it_follows(tmp_path: Path, noun: str, figure: str, mark: str) -> None:
    sheet = Sheet()
    end = sheet.line(f"The hire of the {noun} costs {figure}")
    end = sheet.more(mark, end, size=6.5, rise=4)
    sheet.more(", as was agreed.", end)
    for _ in range(3):
        sheet.line(f"The committee keeps the {noun} open for all the families of the village.")
    sheet.y -= 300
    sheet.more(f"The {noun} is closed in winter.", sheet.more(mark, LEFT, size=5, rise=3) + 2, size=8)
    page = sheet.read(tmp_path)
    assert f"The hire of the {noun} costs {figure}, as was agreed." in page.text
    assert apart(page, HiddenReason.MARK) == [mark]


def test_a_mark_behind_a_word_goes_too_and_raised_figures_open_no_numbered_line(tmp_path: Path) -> None:
    sheet = Sheet()
    end = sheet.line("The harbour")
    sheet.more(" is open.", sheet.more("1", end, size=6.5, rise=4))
    for number in range(2, 9):
        sheet.y -= LEADING
        sheet.more("A line of the text that goes on.", sheet.more(str(number), LEFT, size=6.5, rise=4) + 20)
    sheet.y -= 300
    sheet.more("It is closed in winter.", sheet.more("1", LEFT, size=5, rise=3) + 2, size=8)
    page = sheet.read(tmp_path)
    assert "The harbour is open." in page.text and "1" in apart(page, HiddenReason.MARK)


def test_exponents_stay_exponents_and_ordinals_and_formulas_stay_readable(tmp_path: Path) -> None:
    sheet = Sheet()
    end = sheet.line("The store holds 10")
    sheet.more(" records.", sheet.more("6", end, size=6.5, rise=4))
    end = sheet.line("The hall has 120 m")
    sheet.more(" of floor.", sheet.more("2", end, size=6.5, rise=4))
    end = sheet.line("It opened on the 1")
    sheet.more(" of May.", sheet.more("st", end, size=6.5, rise=4))
    end = sheet.line("The air holds CO")
    sheet.more(" at night.", sheet.more("2", end, size=6.5, rise=-2))
    text = sheet.read(tmp_path).text
    for said in ("10⁶ records", "120 m² of floor", "the 1st of May", "CO2 at night"):
        assert said in text


@FEW
@given(noun=NOUNS, step=st.sampled_from((1, 5)), first=st.sampled_from((1, 5, 95)))
def test_line_numbers_appear_in_no_sentence(tmp_path: Path, noun: str, step: int, first: int) -> None:
    sheet = Sheet()
    words = [f"the owner of the {noun} says that part {chr(97 + n)} of it was never" for n in range(22)]
    numbers: list[str] = []
    for at, said in enumerate(words):
        sheet.line(said)
        if step == 1 or at % 5 == 4:
            numbers.append(str(first + step * len(numbers)))
            sheet.more(numbers[-1], 62.0, size=9)
    page = sheet.read(tmp_path)
    assert " ".join(words) in " ".join(page.text.split())
    assert apart(page, HiddenReason.LINE_NUMBER) == numbers
    assert "excluded characters: line numbers in the margin" in hidden_summary(page.hidden)


@FEW
@given(noun=NOUNS, way=st.sampled_from(("line", "bar", "note")))
def test_what_is_struck_out_is_kept_apart(tmp_path: Path, noun: str, way: str) -> None:
    sheet = Sheet()
    sheet.line(f"The {noun} is let to the miller.")
    end = sheet.line(f"Notice for the {noun}: 21 days")
    if way == "line":
        sheet.canvas.line(LEFT, sheet.y + 3.5, end, sheet.y + 3.5)
    elif way == "bar":
        sheet.canvas.rect(LEFT, sheet.y + 3.0, end - LEFT, 0.8, stroke=0, fill=1)
    strike = (LEFT, sheet.y - 2, end, sheet.y + 9) if way == "note" else ()
    end = sheet.line(f"Notice for the {noun}: 45 days")
    sheet.canvas.line(LEFT, sheet.y - 1.5, end, sheet.y - 1.5)  # an underline strikes nothing out
    page = sheet.read(tmp_path, strike=strike)
    assert f"Notice for the {noun}: 45 days" in page.text and "21" not in page.text
    assert " ".join(apart(page, HiddenReason.STRUCK)) == f"Notice for the {noun}: 21 days"


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (("The board calls the harvest the price-", "determining factor of the trade."), "price-determining factor"),
        (("The lacquer contains small amounts of n-", "decanal and smells of oranges."), "n-decanal and smells"),
        (("The varnish on the map holds p-", "cymene and dries in a day."), "p-cymene and dries"),
        (("The members asked for more infor-", "mation on the prices."), "information on the prices"),
        (("Die Ordnung regelt das Be-", "und Entladen der Schiffe."), "Be- und Entladen"),
        (("De pachter betaalt de water-", "en stroomkosten van het schip."), "water- en stroomkosten"),
        (("Der Wasser-", "zähler wird nie abge-", "lesen, sagt die Ordnung."), "Der Wasserzähler wird nie abgelesen"),
        (("Bezoekers betalen vier euro voor een rond-", "leiding in de molen."), "een rondleiding in de molen"),
        (("De schoonmaak-", "bijdrage ligt in de kluis van het beheerders-", "kantoor."), "het beheerderskantoor"),
        (("Le loyer est payable d'avance et le rembour-", "sement suit en mars."), "le remboursement suit"),
        (("The news spread to a thous-", "and readers of the paper."), "a thousand readers"),
        (("The 24-", "hour service ends in May."), "24-hour service"),
    ],
)
def test_a_hyphen_at_a_lines_end_goes_only_where_the_word_is_known_without_it(
    tmp_path: Path, lines: Sequence[str], expected: str
) -> None:
    sheet = Sheet()
    for line in lines:
        sheet.line(line)
    assert expected in " ".join(sheet.read(tmp_path).text.split())


def test_halves_that_are_better_known_as_one_word_belong_together() -> None:
    assert belong_together("govern", "ment") and belong_together("infor", "mation")
    assert not belong_together("price", "determining") and not belong_together("n", "decanal")


@FEW
@given(ticked=st.lists(st.booleans(), min_size=1, max_size=4), before=st.booleans())
def test_checkbox_state_is_shown_in_the_line_with_its_label(tmp_path: Path, ticked: list[bool], before: bool) -> None:
    sheet = Sheet()
    for number, on in enumerate(ticked):
        sheet.line(f"The boat has sail {number}", x=LEFT + 30)
        place = {"x": LEFT if before else LEFT + 200, "y": sheet.y - 2, "size": 12}
        sheet.canvas.acroForm.checkbox(name=f"box{number}", checked=on, buttonStyle="check", **place)
        sheet.y -= 10
    lines = [" ".join(line.split()) for line in sheet.read(tmp_path).text.splitlines()]
    for number, on in enumerate(ticked):
        expected = (f"The boat has sail {number}", "[ticked]" if on else "[unticked]")
        assert " ".join(reversed(expected) if before else expected) in lines


@pytest.mark.parametrize(("flags", "found"), [(4, True), (2, False), (32, False)])
def test_comment_follows_the_text_with_its_author_unless_it_is_hidden(tmp_path: Path, flags: int, found: bool) -> None:
    sheet = Sheet()
    sheet.line("Rule 4: the rent of a plot is 75 pounds.")
    sheet.read(tmp_path)
    writer = pypdf.PdfWriter(clone_from=tmp_path / "page.pdf")
    comment = Text(rect=(LEFT, 700, LEFT + 20, 720), text="Replaced in May", title_bar="Clerk")
    comment[NameObject("/F")] = NumberObject(flags)
    writer.add_annotation(0, comment)
    with (tmp_path / "page.pdf").open("wb") as file:
        writer.write(file)
    document = OpenPdf(tmp_path / "page.pdf", lambda page_index, what: None)
    page = document.page(0, {})
    document.close()
    assert [page.text[b.start : b.end] for b in page.blocks if b.kind is BlockKind.COMMENT] == (
        ["Comment by Clerk – Replaced in May"] if found else []
    )
    asked: list[Sequence[Sequence[float]]] = []

    def recognised(boxes: Sequence[Sequence[float]]) -> list[str]:
        asked.append(boxes)
        return ["Rule 4: the rent of a plot is 75 pounds."] * len(boxes)

    assert read_back(page, 0, len(page.text), recognised).likeness is Likeness.AGREES
    assert len(asked[0]) == 1, "a comment is looked for in no picture"


def test_signatures_are_read_one_after_the_other_and_addresses_line_by_line(tmp_path: Path) -> None:
    sheet = Sheet()
    for line in ("Mr Leander Voss", "Hazel Path 31", "Osterby"):
        sheet.line(line)
    sheet.line("The caterer serves lunch on every working day, and the client pays for it by the end of the month.")
    sheet.y -= 40
    for left, right in (("_" * 20, "_" * 20), ("Marisol Teague", "Henrik Aune"), ("for the caterer", "for the client")):
        sheet.line(left)
        sheet.more(right, LEFT + 220)
    sheet.y -= 40
    sheet.line("Signed for the supplier: Imke Vandersloot, director of the whole company")
    sheet.line("Signed for the customer: Tobar Lindqvist, head of works")
    text = sheet.read(tmp_path).text
    assert "Mr Leander Voss\nHazel Path 31\nOsterby\nThe caterer" in text
    first, _, second = text[text.index("Marisol") :].partition("_" * 20)
    assert first.split() == "Marisol Teague for the caterer".split()
    assert second.split()[:5] == "Henrik Aune for the client".split()
    assert "company\nSigned for the customer" in text


def test_boxes_on_one_line_each_keep_their_label(tmp_path: Path) -> None:
    sheet = Sheet()
    sheet.line("Delivery:")
    for number, label in enumerate(("Post", "Courier")):
        x = LEFT + 80 + 90 * number
        sheet.canvas.acroForm.checkbox(name=label, checked=bool(number), x=x, y=sheet.y - 2, size=12)
        sheet.more(label, x + 20)
    lines = [" ".join(line.split()) for line in sheet.read(tmp_path).text.splitlines()]
    assert lines == ["Delivery:", "[unticked] Post", "[ticked] Courier"]


PARAGRAPHS = (
    "The physic garden was planted in 1681 by the apothecary Lukas Ferrand and holds nine hundred kinds of herbs.",
    "Seeds are exchanged with forty gardens abroad, and the head gardener writes a column on weeds for the paper.",
    "Tickets are sold at the east gate, and a walk with the gardener costs 12 francs and takes ninety minutes or more.",
)


@FEW
@given(st.permutations(PARAGRAPHS))
def test_three_columns_drawn_row_by_row_are_read_one_after_the_other(tmp_path: Path, paragraphs: list[str]) -> None:
    sheet = Sheet()
    columns = [simpleSplit(text, "Helvetica", 9, 150) for text in paragraphs]
    for row in range(max(map(len, columns))):
        sheet.y -= LEADING
        for number, column in enumerate(columns):
            if row < len(column):
                sheet.more(column[row], 40 + 175 * number, size=9)
    text = sheet.read(tmp_path).text
    assert [text.index(one) for one in paragraphs] == sorted(text.index(one) for one in paragraphs)


def test_columns_with_slightly_uneven_line_starts_are_read_one_after_the_other(tmp_path: Path) -> None:
    sheet = Sheet()
    texts = [f"{one} {two}" for one, two in (PARAGRAPHS[:2], (PARAGRAPHS[2], PARAGRAPHS[0]))]
    columns = [simpleSplit(text, "Helvetica", 9, 200) for text in texts]
    for row in range(max(map(len, columns))):
        sheet.y -= LEADING
        for number, column in enumerate(columns):
            if row < len(column):
                sheet.more(column[row], 40 + 260 * number + (0, -3.5, 0, 0.7)[row % 4], size=9)
    text = sheet.read(tmp_path).text
    assert all(one in " ".join(text.split()) for one in texts)


def test_every_fifth_line_number_at_the_right_is_found_despite_an_outdented_heading(tmp_path: Path) -> None:
    sheet = Sheet()
    sheet.line("An account of the heath", x=LEFT - 40)
    for number in range(1, 16):
        sheet.line("The heath above the village was common land until")
        if number % 5 == 0:
            sheet.more(str(number), 480)
    page = sheet.read(tmp_path)
    assert apart(page, HiddenReason.LINE_NUMBER) == ["5", "10", "15"]
    assert "until The heath" in page.text
    table = Sheet()
    for number in range(1, 6):
        table.line(f"Shelf {number} of the archive")
        table.more(str(5 * number), 480)
    assert not apart(table.read(tmp_path), HiddenReason.LINE_NUMBER), "figures on each row are no line numbers"


def test_years_that_count_on_down_a_table_are_no_line_numbers(tmp_path: Path) -> None:
    sheet = Sheet()
    for year, visitors in (
        ("Year", "Visitors"),
        ("2021", "1,940"),
        ("2022", "3,310"),
        ("2023", "3,085"),
        ("2024", "3,672"),
    ):
        sheet.line(year)
        sheet.more(visitors, LEFT + 120)
    page = sheet.read(tmp_path)
    assert not page.hidden and "2022\t3,310" in page.text


def test_two_pages_on_a_sheet_have_both_numbers_and_each_is_found_by_its_own(tmp_path: Path) -> None:
    sheet = Sheet()
    for x, said, number in ((40, "The kiln was lit in 1822.", "12"), (330, "The railway came in 1867.", "13")):
        sheet.y = TOP
        for _ in range(6):
            sheet.line(said, x=x)
        sheet.y = 60
        sheet.more(number, x + 80)
    page = sheet.read(tmp_path)
    assert page.page_label == "12–13"
    [left], [right] = pages_called(["12"], [page], 1), pages_called(["13"], [page], 1)
    assert "1822" in left.text and "1867" not in left.text and "1867" in right.text and "1822" not in right.text


def test_a_hyphen_ends_no_short_line(tmp_path: Path) -> None:
    sheet = Sheet()
    sheet.line("Das Museum gehört dem Kreis, und die Kasse ist am Nachmittag besetzt, jedoch nie")
    sheet.line("ohne einen Gast aus Rheinland-")
    sheet.line("Pfalz, der die Uhren pflegt.")
    assert "aus Rheinland-Pfalz, der" in sheet.read(tmp_path).text


@pytest.mark.parametrize("foot", ["", "{}"])
def test_section_number_at_page_top_is_not_a_page_number(tmp_path: Path, foot: str) -> None:
    canvas = Canvas(str(tmp_path / "leaflet.pdf"), pagesize=A4)
    for number, heading in ((1, "3. Use"), (2, "4. Storage")):
        canvas.drawString(LEFT, 790, heading)
        for line in range(20):
            canvas.drawString(LEFT, 760 - 16 * line, f"The tablets of bottle {number * 31 + line} are kept dry.")
        canvas.drawString(290, 40, foot.format(number))
        canvas.showPage()
    canvas.save()
    document = OpenPdf(tmp_path / "leaflet.pdf", lambda page_index, what: None)
    try:
        labels = [document.page(index, {}).page_label for index in range(2)]
    finally:
        document.close()
    assert labels == ["1", "2"]


KANA = st.sampled_from("あいうえおかきくけこさしすせそたちつてとなにぬねの月日書面。")


@FEW
@given(columns=st.lists(st.text(KANA, min_size=3, max_size=18), min_size=1, max_size=5), order=st.randoms())
def test_columns_that_run_downwards_are_read_from_the_right(tmp_path: Path, columns: list[str], order: Random) -> None:
    drawn = [(500 - 24 * at, 700, column) for at, column in enumerate(columns)]
    order.shuffle(drawn)
    path = tmp_path / "page.pdf"
    path.write_bytes(glyphs(drawn, down=True))
    document = OpenPdf(path, lambda page_index, what: None)
    assert "".join(document.page(0, {}).text.split()) == "".join(columns)
    document.close()


def test_actual_text_is_read_instead_of_the_drawn_glyphs(tmp_path: Path) -> None:
    sheet = Sheet()
    end = sheet.line("of")
    for drawn, meant, after in (("X", "fi", "ce hours: "), ("n i n e", "nine", " to five.")):
        sheet.canvas.addLiteral(f"/Span <</ActualText ({meant})>> BDC")
        end = sheet.more(drawn, end)
        sheet.canvas.addLiteral("EMC")
        end = sheet.more(after, end)
    assert sheet.read(tmp_path).text == "office hours: nine to five."
