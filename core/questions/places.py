"""Places that a question names: pages, numbered things such as "Table 2", and years."""

import re

from text_to_num import alpha2digit

from pincite.core.questions.wording import PARTS

MAX_RANGE_PAGES = 40
MAX_SPAN_YEARS = 10

_PAGE = r"(?:\d{1,4}|[ivxlc]{1,7}|[IVXLC]{2,7}|[A-Z]{1,2}-?\d{1,3})(?!\w|\.\d)"
_BETWEEN = (
    r"\s{0,3}(?:(?i:to|through|until|and|or)\b|[-–—&,;/])\s{0,3}(?:(?i:and|or)\s{1,3})?"
    r"(?i:pages?|slides?|pp?\.)?\s{0,3}"
)
_PAGES = re.compile(
    rf"\b(?P<kind>(?i:pages?|pp?\.|pgs?\.?|slides?|pp))\s{{0,3}}(?i:no\.?|numbers?|#)?\s{{0,3}}\(?"
    rf"(?P<list>{_PAGE}(?:{_BETWEEN}{_PAGE}){{0,30}})"
)
_ONE_PAGE = re.compile(_PAGE)
_ENDS = re.compile(r"\)?\s{0,3}(?:[?.!:;,]|$)")
_COUNTED_PAGE = re.compile(
    r"\b(?:(\d{1,4})(?:st|nd|rd|th)|first|(last|final)|cover)\s+(?:cover\s+)?(?:page|slide)\b", re.IGNORECASE
)
_NUMBERED = re.compile(
    r"(?:\b(?i:tables?|figures?|fig\.?|charts?|exhibit|sections?|clauses?|paragraphs?|chapter|appendix|part|item|unit|"
    r"note|step|article|annex|equation|algorithm|schedule|case study)|§)"
    r"\s{0,4}-?\s{0,4}(?:\d+(?:[.-]\d+)*[A-Za-z]?|[A-Z]\b|[IVX]+\b)"
)
_TITLED = re.compile(rf"\b(?:{'|'.join(PARTS)})\s{{1,3}}[“\"«„](?P<title>[^“”\"«»„\n]{{1,120}})[”\"»“]", re.IGNORECASE)
_YEAR = re.compile(r"(?:\b|(?<=FY)|(?<=fy)|(?<=Q[1-4]))(?:19|20)\d{2}(?!\d)")
_YEAR_SPAN = re.compile(r"((?:19|20)\d{2})\s*(?:-|–|to|through|and)\s*(?:FY\s?)?((?:19|20)\d{2})", re.IGNORECASE)
_FISCAL_YEAR = re.compile(r"\bFY\s?['’]?((?:19|20)?\d{2})\b")


def _as_roman(number: int) -> str:
    text = ""
    for letters, value in zip("c xc l xl x ix v iv i".split(), (100, 90, 50, 40, 10, 9, 5, 4, 1), strict=True):
        text += letters * (number // value)
        number %= value
    return text


_ROMAN = {_as_roman(number): number for number in range(1, 400)}


def pages_in(question: str) -> tuple[str, ...]:
    """Pages that a question names, in figures or words, as printed or as ``first``, ``last``; ranges filled in."""
    question = alpha2digit(question, "en", threshold=0)
    found: list[str] = []
    for match in _PAGES.finditer(question):
        listed, rest = match["list"], question[match.end("list") :]
        previous: re.Match[str] | None = None
        for page in _ONE_PAGE.finditer(listed):
            between = listed[previous.end() : page.start()] if previous else ""
            if "," in between and match["kind"].lower() in ("page", "slide") and not _ENDS.match(rest):
                break  # "On page 3, 5 people sign"
            if previous and not re.search(r"[,;/&]|\b(?:and|or)\b", between, re.IGNORECASE):
                found += _pages_between(previous.group(), page.group())
            if not page.group().isalpha() or page.group().lower() in _ROMAN:  # "page civil" names none
                found.append(page.group())
            previous = page
    for match in _COUNTED_PAGE.finditer(question):
        number, last = match.groups()
        found.append("last" if last else number if number and number != "1" else "first")
    return tuple(dict.fromkeys(found))


def _pages_between(first: str, last: str) -> list[str]:
    """Return the pages between the ends of a range: 3 to 5, iv to vi, A-1 to A-3; none where the ends do not match."""
    (style, low), (other, high) = _counted(first), _counted(last)
    if style != other or not low < high <= low + MAX_RANGE_PAGES:
        return []
    return [_as_roman(number) if style == "roman" else f"{style}{number}" for number in range(low + 1, high)]


def _counted(page: str) -> tuple[str, int]:
    """Part a page's name into what is counted and the number."""
    digits = page.lstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZ-")
    if digits.isdigit():
        return page[: len(page) - len(digits)], int(digits)
    return "roman", _ROMAN.get(page.lower(), 0)


def numbered_in(question: str) -> tuple[str, ...]:
    """ "Table 2", "section 3.4"."""
    return tuple(dict.fromkeys(" ".join(match.group().split()) for match in _NUMBERED.finditer(question)))


def title_in(question: str) -> str:
    """Return the title of a section that a question gives in quotation marks, as in: the section “Late payment”."""
    match = _TITLED.search(question)
    return match["title"].strip() if match else ""


def without_places(question: str) -> str:
    """Return the question without the pages, sections and tables that it names."""
    for pattern in (_TITLED, _PAGES, _COUNTED_PAGE, _NUMBERED):
        question = pattern.sub(" ", question)
    return question


def years_in(question: str) -> tuple[str, ...]:
    """Return the years that a question names, spans filled in."""
    plain = with_plain_years(question)
    found = [match.group() for match in _YEAR.finditer(plain)]
    for match in _YEAR_SPAN.finditer(plain):
        first, last = int(match.group(1)), int(match.group(2))
        if first < last <= first + MAX_SPAN_YEARS:
            found += map(str, range(first, last))
    return tuple(sorted(set(found)))


def with_plain_years(question: str) -> str:
    """ "FY2018" and "FY18" are printed as 2018 in most documents."""
    return _FISCAL_YEAR.sub(lambda match: match[1] if len(match[1]) == 4 else f"20{match[1]}", question)
