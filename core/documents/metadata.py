"""What a document says about itself: title, author, date, language, type, company, year, each with its source.

Deterministic and cautious: a field that nothing supports is left out, so that filters never hide a document by a guess.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from core.domain.documents import BlockKind, MetadataField, MetadataSource, Page
from core.domain.ports import PdfInfo
from core.text.language import detect_language

_FIRST_PAGES = 3
_TOOL_TITLE = re.compile(
    r"^(?:microsoft (?:word|powerpoint|excel)\s*-\s*|untitled|document\d*$|slide \d+|print|\s*$)", re.I
)
_FILE_TITLE = re.compile(
    r"\.(?:docx?|pptx?|xlsx?|indd|pdf|tex|rtf|odt|qxd|dvi|html?)$|^(?=[\w-]*?\d{5})[\w-]++$|[\\/]|^https?:", re.I
)
_NOBODY = re.compile(r"^(?:user|admin\w*|owner|author|unknown|anonymous|default|root|edgar\b.*|\W*|[^@\n]*+@.*)$", re.I)
_NO_TITLE = re.compile(
    r"^(?:united states\b.*|securities and exchange.*|form \S+|table of contents|contents|index|inhalt\w*|abstract"
    r"|for (?:immediate )?release.*|\W*|\[?[\w.]{1,8}\]?)$",
    re.I,
)
_EXCHANGES = re.compile(r"stock (?:market|exchange)|^(?:the )?company$|^(?:the )?corporation$|donnelley", re.I)
_REGISTRANT = re.compile(r"([^\n]{3,80})\n\s{0,40}\(exact name of registrant", re.I)
_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "january jan januar janvier enero gennaio janeiro",
            "february feb februar février febrero febbraio fevereiro",
            "march mar märz mars marzo março",
            "april apr avril abril aprile",
            "may mai mayo maggio maio",
            "june jun juni juin junio giugno junho",
            "july jul juli juillet julio luglio julho",
            "august aug août agosto",
            "september sep sept septembre septiembre settembre setembro",
            "october oct oktober octobre octubre ottobre outubro",
            "november nov novembre noviembre novembro",
            "december dec dezember décembre diciembre dicembre dezembro",
        ),
        start=1,
    )
    for name in names.split()
}
_MONTH = "|".join(sorted(_MONTHS, key=len, reverse=True))
_DATES = (
    re.compile(
        rf"\b(?P<month>{_MONTH})\.?\s{{1,9}}(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\s{{0,9}},?\s{{1,9}}(?P<year>(?:19|20)\d\d)\b",
        re.I,
    ),
    re.compile(
        rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th|\.|er)?\s{{1,9}}(?:de\s{{1,9}})?(?P<month>{_MONTH})\.?,?\s{{1,9}}(?:de\s{{1,9}})?"
        rf"(?P<year>(?:19|20)\d\d)\b",
        re.I,
    ),
    re.compile(r"\b(?P<year>(?:19|20)\d\d)-(?P<month>\d{2})-(?P<day>\d{2})\b"),
    re.compile(r"\b(?P<year>(?:19|20)\d\d)年\s{0,9}(?P<month>\d{1,2})月\s{0,9}(?P<day>\d{1,2})日"),
)
_PERIOD_END = re.compile(r"(?:fiscal\s+)?(?:year|quarter(?:ly)?|period)(?:\s{1,9}\w{1,40})?\s{1,9}ended:?\s{0,9}", re.I)
_PDF_DATE = re.compile(r"^(?:D:)?((?:19|20)\d\d)(\d\d)?(\d\d)?")
_FILE_YEAR = re.compile(r"(?<!\d)((?:19|20)\d\d)(?!\d)")
_FILE_DATE = re.compile(r"(?<!\d)((?:19|20)\d\d)[-_.]?(0[1-9]|1[0-2])[-_.]?(0[1-9]|[12]\d|3[01])(?!\d)")
_COMPANY = re.compile(
    r"\b((?:[A-Z0-9][\w&’'.-]{0,40}+[ ,]{1,4}+(?:(?:of|and|the|&|de|für|und)[ ]{1,4}+)?){1,5}?"
    r"(?:Inc\b\.?|INC\b\.?|Incorporated|Corporation|CORPORATION|Corp\b\.?|CORP\b\.?|Company|COMPANY|LLC|L\.L\.C\.|Ltd\b\.?|LTD\b\.?"
    r"|Limited|LIMITED|GmbH|AG|SE|plc|PLC|S\.A\.|S\.p\.A\.|N\.V\.|B\.V\.|LLP|L\.P\.))(?!\w)"
)
_TYPES: tuple[tuple[str, str], ...] = (
    ("10-K", r"\bform\s+10-?k\b|(?<![a-z0-9])10-?k(?![a-z0-9])"),
    ("10-Q", r"\bform\s+10-?q\b|(?<![a-z0-9])10-?q(?![a-z0-9])"),
    ("8-K", r"\bform\s+8-?k\b|(?<![a-z0-9])8-?k(?![a-z0-9])"),
    (
        "earnings release",
        r"\bearnings\b.{0,40}\b(?:release|results|call)\b|(?:quarter|year)\w{0,9} (?:financial )?results",
    ),
    ("annual report", r"\bannual report\b|\bgeschäftsbericht\b|\brapport annuel\b|\binforme anual\b"),
    (
        "contract",
        r"^.{0,600}\b(?:agreement|contract|vertrag|contrat|contrato)\b.{0,200}\b(?:between|by and|zwischen|entre)\b",
    ),
    ("court opinion", r"\bopinion of the court\b|\bunited states court of\b|\bplaintiffs?\b.{0,300}\bdefendants?\b"),
    ("invoice", r"^\W*(?:invoice|rechnung|facture|factura)\b|\b(?:invoice|rechnung)\s*(?:no|nr|number)"),
    ("paper", r"\barxiv:|\A(?>.*?\babstract\b).{200,}\bintroduction\b|\bproceedings of\b|\bdoi\.org/10\."),
    ("thesis", r"\b(?:thesis|dissertation)\b"),
    ("handbook", r"\bhandbook\b|\bhandbuch\b"),
    (
        "manual",
        r"\b(?:user|owner|operating|service|instruction|reference)(?:’s|'s|s)? (?:manual|guide)\b"
        r"|\bbedienungsanleitung\b",
    ),
    ("policy", r"^.{0,200}\bpolicy\b"),
    ("press release", r"\bpress release\b|\bfor (?:immediate )?release\b"),
    ("report", r"^.{0,400}\breport\b"),
)
_TYPE_PATTERNS = tuple((name, re.compile(pattern, re.I | re.S)) for name, pattern in _TYPES)


def describe(info: PdfInfo, first_pages: Sequence[Page], file_name: str) -> tuple[MetadataField, ...]:
    """Return one value per field that something supports. ``first_pages`` are the document's first few, as read."""
    pages = list(first_pages)[:_FIRST_PAGES]
    text = "\n".join(page.text for page in pages)
    stem = Path(file_name).stem
    fields: list[MetadataField] = []

    def add(name: str, *values: tuple[str | None, MetadataSource]) -> tuple[str | None, MetadataSource]:
        for value, source in values:
            if value:
                fields.append(MetadataField(name, value, source))
                return value, source
        return None, MetadataSource.PDF

    pdf, first, file = MetadataSource.PDF, MetadataSource.FIRST_PAGES, MetadataSource.FILE_NAME
    add("title", (_pdf_title(info), pdf), (_page_title(pages), first), (_spaced(stem), file))
    add("author", (_pdf_author(info), pdf))
    date, dated_by = add("date", (_page_date(text), first), (_file_date(stem), file), (_pdf_date(info), pdf))
    add("language", (detect_language(text), first))
    add("document type", (_type(_spaced(stem)), file), (_type(text), first))
    add("company", (_company(text), first), (_file_company(stem, text), file))
    add("year", (_period_year(text), first), (_file_year(stem), file), (date and date[:4], dated_by))
    return tuple(fields)


def _pdf_title(info: PdfInfo) -> str | None:
    title = " ".join(re.sub(r"^microsoft \w+\s*-\s*", "", info.fields.get("title", ""), flags=re.I).split())
    return None if _TOOL_TITLE.match(title) or _FILE_TITLE.search(title) or len(title) < 4 else title[:200]


def _pdf_author(info: PdfInfo) -> str | None:
    author = " ".join(info.fields.get("author", "").split())
    return None if _NOBODY.match(author) or len(author) < 3 else author[:200]


def _page_title(pages: Sequence[Page]) -> str | None:
    """The largest heading of the first page that has one."""
    for page in pages:
        headings = [block for block in page.blocks if block.kind is BlockKind.HEADING and 1 <= block.level <= 3]
        for block in sorted(headings, key=lambda block: block.level):
            title = " ".join(page.text[block.start : block.end].split())
            if not _NO_TITLE.match(title):
                return title[:200]
    return None


def _spaced(stem: str) -> str:
    return " ".join(re.sub(r"[_+]+|(?<=\w)-(?=[A-Za-z]{2})", " ", stem).split())


def _page_date(text: str) -> str | None:
    """The end of the reported period where the pages name one, else the first full date."""
    for match in _PERIOD_END.finditer(text):
        for _, date in _dates(text[match.end() : match.end() + 40]):
            return date
    return min(_dates(text), default=(0, None))[1]


def _dates(text: str) -> Iterator[tuple[int, str]]:
    for pattern in _DATES:
        for match in pattern.finditer(text):
            month = match["month"].lower()
            number, day = int(month) if month.isdigit() else _MONTHS[month], int(match["day"])
            if 1 <= number <= 12 and 1 <= day <= 31:
                yield match.start(), f"{match['year']}-{number:02d}-{day:02d}"


def _period_year(text: str) -> str | None:
    for match in _PERIOD_END.finditer(text):
        year = _FILE_YEAR.search(text[match.end() : match.end() + 40])
        if year:
            return year.group(1)
    return None


def _pdf_date(info: PdfInfo) -> str | None:
    match = _PDF_DATE.match(info.fields.get("created", ""))
    return "-".join(part for part in match.groups() if part) if match else None


def _file_date(stem: str) -> str | None:
    match = _FILE_DATE.search(stem)
    return "-".join(match.groups()) if match else None


def _file_year(stem: str) -> str | None:
    match = _FILE_YEAR.search(stem)
    return match.group(1) if match else None


def _type(text: str) -> str | None:
    opening = text[:5000]
    return next((name for name, pattern in _TYPE_PATTERNS if pattern.search(opening)), None)


def _company(text: str) -> str | None:
    """The organisation named most often on the first pages, twice or more, or once near their top."""
    registrant = _REGISTRANT.search(text)
    if registrant:
        return " ".join(registrant.group(1).split())
    names: Counter[str] = Counter()
    spelled: dict[str, str] = {}
    for match in _COMPANY.finditer(text):
        name = " ".join(match.group(1).split()).strip(" ,")
        if _EXCHANGES.search(name):
            continue
        key = re.sub(r"[^a-z0-9]+", " ", name.lower()).strip()
        names[key] += 2 if match.start() < 1500 else 1
        spelled.setdefault(key, name)
    if not names:
        return None
    key, weight = names.most_common(1)[0]
    return spelled[key] if weight >= 2 else None


def _file_company(stem: str, text: str) -> str | None:
    """The first word of a file name like NAME_2022_10K, where the first pages know it as a name."""
    match = re.match(r"\A([A-Za-z][A-Za-z&]{2,}+)[_ -].*\d", stem)
    if not match or _type(match.group(1)):
        return None
    found = re.findall(rf"\b{re.escape(match.group(1))}\b", text, re.I)
    named = [word for word in found if word[0].isupper()]
    return Counter(named).most_common(1)[0][0] if len(named) >= 2 and 2 * len(named) > len(found) + 2 else None
