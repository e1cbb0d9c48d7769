"""Rich text (.rtf): read by the rules of its specification, version 1.9.1."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from pincite.core.documents.formats.content import Cell, Content, Item, Paragraph, Run, Table, layout_for
from pincite.core.documents.formats.contrast import MIN_POINTS, Color, reason_by_color
from pincite.core.documents.formats.numerals import BULLET
from pincite.core.domain.documents import COMMENT, PROPOSAL, HiddenReason

KIND = "rich text (.rtf)"
ENDINGS = (".rtf",)
_SIGNATURE = b"{\\rtf"
_TOKEN = re.compile(
    r"\\([a-zA-Z]+)(-?\d{1,10})? ?|\\'([0-9a-fA-F]{2})|\\(.)|([{}])|([^\\{}\r\n]+)|[\r\n]+|\\", re.DOTALL
)
_HEADING = re.compile(r"heading ([1-9])|title", re.IGNORECASE)
"""Names of styles."""
_MAX_GROUPS = 2_000
_SYMBOL = re.compile("[\ue000-\uf8ff]")
"""A letter of a font of symbols."""
_PAPER: Color = (255, 255, 255)
_SIGNS = {
    "tab": " ", "emdash": "—", "endash": "–", "lquote": "‘", "rquote": "’", "ldblquote": "“", "rdblquote": "”",
    "bullet": "•", "line": "\n", "~": "\u00a0", "_": "-", "emspace": " ", "enspace": " ", "qmspace": " ",
    "\\": "\\", "{": "{", "}": "}", "softline": "\n", "chftn": "",
}  # fmt: skip
_CODE_PAGES = {
    0: "cp1252", 128: "cp932", 129: "cp949", 134: "gbk", 136: "big5", 161: "cp1253", 162: "cp1254", 163: "cp1258",
    177: "cp1255", 178: "cp1256", 186: "cp1257", 204: "cp1251", 222: "cp874", 238: "cp1250", 255: "cp437",
}  # fmt: skip
"""By \\fcharset."""
_TWO_BYTES = frozenset(["cp932", "cp936", "cp949", "cp950", "gbk", "big5"])
_NOT_TEXT = frozenset(
    "pict fldinst nonshppict listtable listoverridetable rsidtbl generator themedata colorschememapping"
    " datastore latentstyles filetbl revtbl bkmkstart bkmkend xmlnstbl mmathPr template pgptbl atnid atnref atndate"
    " xe tc tcn operator keywords comment subject category manager company doccomm hlinkbase creatim revtim printim"
    " buptim listpicture pn pntxta pntxtb fontemb objdata objclass sp shprslt panose falt sn sv".split()
)
_KEPT = frozenset("shppict shpinst shptxt ud annotation atnauthor result".split())
"""Destinations that a reader may leave out, but which hold text."""
_NOTES = {"header": "Header: ", "headerl": "Header: ", "headerr": "Header: ", "headerf": "Header: ",
          "footer": "Footer: ", "footerl": "Footer: ", "footerr": "Footer: ", "footerf": "Footer: ",
          "footnote": "", "annotation": COMMENT}  # fmt: skip
_INFO = ("title", "author")
_DESTINATIONS = frozenset("fonttbl colortbl stylesheet listtext pntext info atnauthor".split())
_LOOKS = {"b": "bold", "i": "italic", "v": "vanished", "strike": "struck", "striked": "struck",
          "deleted": "deleted", "revised": "inserted"}  # fmt: skip
_NUMBERS = {"fs": "size", "cf": "color", "highlight": "ground", "cb": "ground", "chcbpat": "ground", "f": "font",
            "uc": "skips"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class _State:
    """What holds in a group; ``into``: the destination of its text."""

    into: str = ""
    bold: bool = False
    italic: bool = False
    raised: bool = False
    vanished: bool = False
    struck: bool = False
    deleted: bool = False
    inserted: bool = False
    size: int = 24
    color: int = 0
    ground: int = 0
    font: int = 0
    skips: int = 1
    style: int = 0


@dataclass
class _Flow:
    """Text of its own: that of the document, or of a note."""

    runs: list[Run] = field(default_factory=list)
    items: list[Item] = field(default_factory=list)
    label: str = ""
    level: int = 0
    cell: list[Paragraph] = field(default_factory=list)
    cells: list[Cell] = field(default_factory=list)
    rows: list[tuple[Cell, ...]] = field(default_factory=list)
    heads: bool = False
    in_table: bool = False
    is_shaded: bool = False
    """Of the paragraph or the row: on an unknown colour no letter is called hidden."""


def is_one(path: Path, name: str) -> bool:
    with path.open("rb") as file:
        return file.read(len(_SIGNATURE)) == _SIGNATURE


def save_as_pdf(path: Path, target: Path) -> None:
    from pincite.core.documents.formats.typeset import typeset

    typeset(_Reader(path.read_bytes()).content(), path.name, target)


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._source = data.decode("latin-1")
        self._page = "cp1252"
        self._state, self._groups = _State(), list[_State]()
        self._flow, self._flows = _Flow(), list[tuple[int, _Flow, str]]()
        self._bytes, self._to_skip, self._optional, self._surrogate = bytearray(), 0, False, ""
        self._colors, self._mixed = list[Color | None](), dict[str, int]()
        self._fonts, self._levels = dict[int, str](), dict[int, int]()
        self._merges, self._defined, self._row_is_shaded = list[str](), list[str](), False
        self._notes, self._lacks = list[Paragraph](), dict[str, None]()
        self._info = dict.fromkeys(_INFO, "")
        self._label, self._by = "", ""

    def content(self) -> Content:
        at = 0
        while at < len(self._source) and (token := _TOKEN.match(self._source, at)):
            at = token.end()
            word, number, code, sign, brace, text = token.groups()
            if not code and not (text and self._is_cut()):
                self._flush()
            if word == "bin":
                at += max(int(number or 0), 0)
            elif word:
                self._word(word, int(number) if number else None)
            elif code:
                self._byte(int(code, 16))
            elif brace:
                (self._open if brace == "{" else self._close)()
            elif sign == "*":
                self._optional = True
            elif sign in ("\n", "\r"):
                self._end_paragraph()
            elif sign:
                self._text(_SIGNS.get(sign, ""))
            elif text:
                self._plain(text)
        self._flush()
        if self._flow.in_table or self._flow.cells:  # a table that the file does not end
            self._end_cell()
            self._end_row()
        self._end_paragraph()
        self._end_table()
        items = (*self._flow.items, *self._notes)
        stated = self._info
        return Content("a rich text file", items, None, tuple(self._lacks), stated["title"], stated["author"],
                       layout=layout_for(items))  # fmt: skip

    # ------------------------------------------------------------ groups and words

    def _open(self) -> None:
        if len(self._groups) > _MAX_GROUPS:
            raise ValueError("too many groups within each other")
        self._groups.append(self._state)
        self._optional, self._to_skip = False, 0

    def _close(self) -> None:
        if self._flows and self._flows[-1][0] == len(self._groups):
            self._end_note()
        left = self._state
        self._state = self._groups.pop() if self._groups else self._state
        self._to_skip = 0
        if left.into in ("listtext", "pntext") and self._state.into != left.into:
            self._flow.label, self._label = " ".join(_SYMBOL.sub(BULLET, self._label).split()), ""

    def _word(self, word: str, number: int | None) -> None:
        optional, self._optional = self._optional, False
        into = self._state.into
        if into == "skip":
            return
        if word == "u" and number is not None:
            self._unicode(number % 65536)
        elif word in _NOT_TEXT or (optional and word not in _KEPT and word not in _NOTES):
            self._lacks |= {"pictures": None} if word == "pict" else {}
            self._state = replace(self._state, into="skip")
        elif word == "object":
            self._lacks["embedded objects"] = None
        elif word in _DESTINATIONS or (word in _INFO and into == "info"):
            self._state = replace(self._state, into=word)
        elif word in _NOTES:
            self._begin_note(word)
        elif word == "ansicpg" and number:
            self._page = f"cp{number}"
        elif into == "fonttbl":
            if word == "f":
                self._state = replace(self._state, font=number or 0)
            elif word == "fcharset":
                self._fonts[self._state.font] = _CODE_PAGES.get(number or 0, self._page)
        elif into == "colortbl":
            self._mixed[word] = number or 0
        elif into == "stylesheet":
            if word == "s":
                self._state = replace(self._state, style=number or 0)
            elif word == "outlinelevel" and number is not None and number < 9:
                self._levels[self._state.style] = number + 1
        elif word in _SIGNS:
            self._text(_SIGNS[word])
        else:
            self._look(word, number)

    def _look(self, word: str, number: int | None) -> None:
        if name := _LOOKS.get(word):
            self._state = replace(self._state, **{name: number != 0})  # type: ignore[arg-type]
        elif name := _NUMBERS.get(word):
            self._state = replace(self._state, **{name: number or 0})  # type: ignore[arg-type]
        elif word in ("super", "sub", "nosupersub", "up"):
            self._state = replace(self._state, raised=word == "super" or (word == "up" and bool(number)))
        elif word == "plain":
            self._state = _State(self._state.into, skips=self._state.skips)
        elif step := _STEPS.get(word):
            step(self)
        elif word == "pard":
            self._flow.level, self._flow.in_table, self._flow.is_shaded = 0, False, self._row_is_shaded
        elif word == "s":
            self._flow.level = self._levels.get(number or 0, 0)
        elif word == "outlinelevel" and number is not None:
            self._flow.level = number + 1 if number < 9 else 0
        elif word in ("intbl", "itap"):
            self._flow.in_table = number != 0
        elif word in ("cbpat", "clcbpat", "shading", "clshdng", "trcbpat"):
            self._flow.is_shaded = bool(number)
            self._row_is_shaded |= bool(number) and word != "cbpat" and word != "shading"
        elif word in ("clmgf", "clmrg", "clvmgf", "clvmrg"):
            self._merges.append(word)
        elif word == "cellx":
            self._defined.append(self._merges[-1] if self._merges else "")
            self._merges.clear()

    # ------------------------------------------------------------ text

    def _plain(self, text: str) -> None:
        if self._state.into == "colortbl":
            for _ in range(text.count(";")):
                known = {"red", "green", "blue"} <= self._mixed.keys()
                self._colors.append((self._mixed["red"], self._mixed["green"], self._mixed["blue"]) if known else None)
                self._mixed = {}
            return
        if self._to_skip:
            text, self._to_skip = text[self._to_skip :], max(self._to_skip - len(text), 0)
        if self._bytes:  # the second half of a letter
            self._bytes += text[:1].encode("latin-1")
            text = text[1:]
            self._flush()
        if any(ord(sign) > 127 for sign in text):
            self._bytes += text.encode("latin-1")
            self._flush()
        else:
            self._text(text)

    def _byte(self, value: int) -> None:
        if self._to_skip:
            self._to_skip -= 1
        else:
            self._bytes.append(value)

    def _flush(self) -> None:
        if self._bytes:
            page = self._fonts.get(self._state.font, self._page)
            try:
                text = self._bytes.decode(page, errors="replace")
            except LookupError:
                text = self._bytes.decode("cp1252", errors="replace")
            self._bytes.clear()
            self._text(text)

    def _is_cut(self) -> bool:
        """Return whether the bytes so far end within a letter of two bytes; the second may be an ASCII character."""
        page = self._fonts.get(self._state.font, self._page)
        try:
            self._bytes.decode(page)
        except UnicodeDecodeError as error:
            return page in _TWO_BYTES and error.end == len(self._bytes)
        except LookupError:
            pass
        return False

    def _unicode(self, value: int) -> None:
        self._to_skip = self._state.skips
        if 0xD800 <= value < 0xDC00:
            self._surrogate = chr(value)
            return
        text = (self._surrogate + chr(value)).encode("utf-16", "surrogatepass").decode("utf-16", errors="replace")
        self._surrogate = ""
        self._text(text)

    def _text(self, text: str) -> None:
        into, state = self._state.into, self._state
        if not text or into in ("skip", "fonttbl", "colortbl", "info"):
            return
        if into in ("listtext", "pntext"):
            self._label += text
        elif into == "stylesheet":
            if named := _HEADING.fullmatch(text.strip("; ")):
                self._levels.setdefault(state.style, int(named[1] or 1))
        elif into in _INFO:
            self._info[into] += text
        elif into == "atnauthor":
            self._by += text
        else:
            change = f"{PROPOSAL[1:]}deletion" if state.deleted else ""
            run = Run(text, state.bold, state.italic, state.raised, self._reason(state), change)
            runs = self._flow.runs
            if state.inserted:
                opened = bool(runs) and runs[-1].change == "insertion"
                runs.append(replace(run, text=text if opened else f"{PROPOSAL}insertion: {text}", change="insertion"))
            else:
                self._end_insertion()
                runs.append(run)

    def _end_insertion(self) -> None:
        if self._flow.runs and self._flow.runs[-1].change == "insertion":
            self._flow.runs.append(Run("]"))

    def _reason(self, state: _State) -> HiddenReason | None:
        if state.deleted or state.struck:
            return HiddenReason.STRUCK
        if state.vanished:
            return HiddenReason.INVISIBLE
        if state.size / 2 < MIN_POINTS:
            return HiddenReason.SMALL
        ground = self._color(state.ground) if state.ground else None if self._flow.is_shaded else _PAPER
        return reason_by_color(self._color(state.color) if state.color else (0, 0, 0), ground)

    def _color(self, number: int) -> Color | None:
        return self._colors[number] if 0 <= number < len(self._colors) else None

    # ------------------------------------------------------------ paragraphs, tables, notes

    def _end_paragraph(self) -> None:
        from pincite.core.documents.formats.word.inline import with_deletions

        if self._state.into == "skip":
            return
        self._end_insertion()
        flow = self._flow
        runs = [replace(run, change="") if run.change == "insertion" else run for run in flow.runs]
        if any(run.text.strip() for run in runs):
            paragraph = Paragraph(tuple(with_deletions(runs)), flow.level, flow.label)
            if flow.in_table or flow.cells:
                flow.cell.append(replace(paragraph, level=0))
            else:
                self._end_table()
                flow.items.append(paragraph)
        elif not flow.in_table:
            self._end_table()
        flow.runs, flow.label = [], ""

    def _end_cell(self) -> None:
        self._flow.in_table = True
        self._end_paragraph()
        merge = self._defined[len(self._flow.cells)] if len(self._flow.cells) < len(self._defined) else ""
        paragraphs, self._flow.cell = tuple(self._flow.cell), []
        if merge == "clmrg" and self._flow.cells:
            before = self._flow.cells[-1]
            self._flow.cells[-1] = replace(before, columns=before.columns + 1)
        else:
            self._flow.cells.append(Cell(paragraphs, goes_on=merge == "clvmrg" and bool(self._flow.rows)))

    def _end_row(self) -> None:
        if self._flow.cells:
            self._flow.rows.append(tuple(self._flow.cells))
        self._flow.cells, self._flow.in_table, self._row_is_shaded = [], False, False

    def _begin_row(self) -> None:
        self._merges, self._defined, self._row_is_shaded = [], [], False

    def _head(self) -> None:
        self._flow.heads |= not self._flow.rows

    def _end_table(self) -> None:
        flow = self._flow
        if flow.rows:
            flow.items.append(Table(tuple(flow.rows), flow.heads and len(flow.rows) > 1))
        flow.rows, flow.heads = [], False

    def _begin_note(self, kind: str) -> None:
        mark = ""
        if kind == "footnote":
            mark = str(sum(one.note and one.runs[0].raised for one in self._notes) + 1)
            self._flow.runs.append(Run(mark, raised=True))
        self._flows.append((len(self._groups), self._flow, kind))
        self._flow = _Flow([Run(mark, raised=True), Run(" ")] if mark else [])
        self._state = _State(skips=self._state.skips)

    def _end_note(self) -> None:
        self._end_paragraph()
        self._end_table()
        _, outer, kind = self._flows.pop()
        texts = [one for item in self._flow.items for one in _paragraphs_of(item)]
        runs = [run for paragraph in texts for run in (*paragraph.runs, Run(" "))][:-1]
        if kind == "annotation" and runs:
            text = "".join(run.text for run in runs).replace("[", "(").replace("]", ")")
            by, self._by = f"by {self._by.strip()}" if self._by.strip() else "", ""
            runs = [Run(f"{COMMENT}{by}: {text}]")]
        elif runs and any(map(str.isalpha, "".join(run.text for run in runs))):
            runs = [Run(_NOTES[kind]), *runs] if _NOTES[kind] else runs
        else:
            runs = []
        note = Paragraph(tuple(runs), note=True)
        self._notes += [note] if runs and note not in self._notes else []
        self._flow = outer


def _paragraphs_of(item: Item) -> Iterator[Paragraph]:
    if isinstance(item, Paragraph):
        yield item
    elif isinstance(item, Table):
        yield from (one for row in item.rows for cell in row for one in cell.paragraphs)


_STEPS: dict[str, Callable[[_Reader], None]] = {
    "par": _Reader._end_paragraph, "sect": _Reader._end_paragraph, "page": _Reader._end_paragraph,
    "cell": _Reader._end_cell, "nestcell": _Reader._end_paragraph, "row": _Reader._end_row,
    "trowd": _Reader._begin_row, "trhdr": _Reader._head,
}  # fmt: skip
