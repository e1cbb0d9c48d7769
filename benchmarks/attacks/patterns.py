"""Can a text hold the program for longer than its length explains? Every regular expression, and the functions around.

Each pattern of the tree gets texts made from its own parse tree: what leads to a repetition, the repetition pumped, and
an end that fails. Each is timed at growing lengths in a child process that is killed when it does not come back.
"""

import ast
import contextlib
import importlib
import itertools
import multiprocessing
import pkgutil
import re
import re._constants as codes  # type: ignore[import-not-found]  # typeshed has the older sre_constants only
import re._parser as parser  # type: ignore[import-not-found]  # typeshed has the older sre_parse only
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from pincite.core.answers.selection import measure_units
from pincite.core.documents.formats.pdf.garbling import garbling
from pincite.core.documents.metadata import describe
from pincite.core.documents.passages import split_pages
from pincite.core.domain.answers import AnswerPart
from pincite.core.domain.documents import Page, PageStatus, Passage
from pincite.core.domain.ports import PdfInfo
from pincite.core.domain.questions import Question
from pincite.core.domain.search import Evidence, Mode
from pincite.core.domain.turns import Exchange
from pincite.core.graph.nodes import router
from pincite.core.judge.claims import extract_claims
from pincite.core.judge.judge import judge_answer
from pincite.core.judge.restated import changes
from pincite.core.questions.mentions import resolve_mentions
from pincite.core.questions.plan import plan_question
from pincite.core.questions.reading import read_question
from pincite.core.store.keywords import index_terms
from pincite.core.text import markdown
from pincite.core.text.language import detect_language
from pincite.core.text.marks import read_marks
from pincite.core.text.numbers import quantities
from pincite.core.text.quotations import best_quotation, locate
from pincite.core.text.sentences import split_sentences
from pincite.core.text.terms import content_terms
from pincite.pages.components.answer import answer_markdown
from pincite.pages.components.words import plain_headings

ROOT = Path(__file__).parents[2]
PARTS = ("core", "pages")
GROWTH = 24.0
"""Times longer at eight times the length; linear is 8, quadratic 64."""


@dataclass(frozen=True, slots=True)
class Lengths:
    """Of texts, in characters; what takes less than ``noticeable_seconds`` of the long one is not looked at again."""

    short: int
    long: int
    noticeable_seconds: float


FULL, BRIEF = Lengths(1_500, 12_000, 0.05), Lengths(800, 6_400, 0.05)
GIVE_UP_SECONDS = 10.0
"""Of processor time for one call; the system ends the child then."""
SILENT_SECONDS = 60.0
"""Where the system cannot count processor time (Windows), and for what waits instead of working."""
GENERIC = (
    " ", "\n", "\t", " \n", "a", "A", "0", "_", ".", ",", "-", "*", "#", "|", "(", "[", "<", "'", '"', "“", "$",
    "@", ":", "a ", "A ", "Aa ", "Aa", "a.", "A. ", "a, ", "1 ", "1,", "1,000 - ", "1,000 ", "1.", "1-", "$1 ",
    "[1, ", "[1] ", "(a", "thank you ", "page 1, ", "not ", "a'", "a-", "A-", "www.", "://", "a@", "é", "中", "é",
    "\xad", "</passages>", "Jan 1 ", "| a ", "a\n", "1. ", "# a\n", "and ", "the ", "Is it so? ", "A. B. ", "“a ",
    "'a ",
)  # fmt: skip
"""Pieces that hostile texts commonly consist of."""
FEW = (" ", "\n", "a", "0", "A ", "1,", "1,000 - ", "thank you ", "A. ", "[1, ", "(a", "a@", "“")
ENDS = ("", "\x00", "q", "!", "\n\x00")
_PALETTE = "aA0 .,-_\n\t'’\"“”()[]|#*$%:;/&?!@<é中–\x01"


@dataclass(frozen=True, slots=True)
class Suspect:
    """One pattern or function, with the text that made it slow."""

    name: str
    text: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Found:
    """A pattern and its place in the code."""

    where: str
    pattern: str | bytes
    flags: int


def short_run() -> tuple[list[Suspect], int]:
    """Try every pattern and function with the fewest texts that find what this was written for; a test's share."""
    patterns = [("pattern", one.where, (one.pattern, one.flags, True)) for one in all_patterns()]
    return attack([*patterns, *(("function", name, (name, True)) for name in functions())], float("inf"))


def run(budget_seconds: float) -> dict[str, int | float]:
    """Try every pattern and function; if the budget ends early, the result counts those not tried."""
    patterns = all_patterns()
    until = time.monotonic() + budget_seconds
    slow, untried = attack([("pattern", p.where, (p.pattern, p.flags, False)) for p in patterns], until)
    held, unheld = attack([("function", name, (name, False)) for name in functions()], until)
    return {
        "regex": len(patterns),
        "super_linear": len(slow),
        "functions": len(functions()),
        "functions_super_linear": len(held),
        "untried": untried + unheld,
    }


def all_patterns() -> list[Found]:
    """Return every pattern of the tree: compiled ones that modules hold, and those that calls spell out."""
    found: dict[tuple[str | bytes, int], str] = {}
    for path in sorted(itertools.chain.from_iterable((ROOT / part).rglob("*.py") for part in PARTS)):
        for line, pattern, flags in _spelled_out(path):
            found.setdefault((pattern, flags), f"{path.relative_to(ROOT)}:{line}")
    for name in _module_names():
        module = importlib.import_module(name)
        for attribute, value in vars(module).items():
            for compiled in _compiled_in(value):
                found.setdefault((compiled.pattern, compiled.flags & ~re.DEBUG), f"{name}.{attribute}")
    return [Found(where, pattern, flags) for (pattern, flags), where in found.items()]


def _module_names() -> list[str]:
    """Return every module that may be imported without drawing a page."""
    names = []
    for part in ("pincite.core", "pincite.pages.components"):
        names += [m.name for m in pkgutil.walk_packages(importlib.import_module(part).__path__, f"{part}.")]
    return [name for name in names if not name.endswith("__main__")]


def _compiled_in(value: object, depth: int = 3) -> Iterator[re.Pattern[Any]]:
    if isinstance(value, re.Pattern):
        yield value
    elif callable(value) and hasattr(value, "cache_info") and getattr(value, "__name__", "").endswith("_patterns"):
        yield from _compiled_in(value(), depth)
    elif depth and isinstance(value, dict):
        for item in value.values():
            yield from _compiled_in(item, depth - 1)
    elif depth and isinstance(value, list | tuple | set | frozenset):
        for item in value:
            yield from _compiled_in(item, depth - 1)


def _spelled_out(path: Path) -> Iterator[tuple[int, str | bytes, int]]:
    """Yield the literal patterns of calls of ``re``; of an f-string the fixed parts with a word in each gap."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args):
            continue
        if not (isinstance(node.func.value, ast.Name) and node.func.value.id == "re"):
            continue
        pattern = _literal(node.args[0])
        flags = re.IGNORECASE if "IGNORECASE" in ast.dump(node) or "attr='I'" in ast.dump(node) else 0
        if pattern is not None:
            with contextlib.suppress(re.error):
                yield node.lineno, pattern, re.compile(pattern, flags).flags
    return


def _literal(node: ast.expr) -> str | bytes | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str | bytes):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "word" for part in node.values)
    return None


# --- texts from a pattern's own parse tree


def texts_against(pattern: str | bytes, flags: int, *, few: bool = False) -> list[Callable[[int], str]]:
    """Return makers of texts of about a given length, made from the pattern, or of generic pieces."""
    plain = pattern.decode("latin-1") if isinstance(pattern, bytes) else pattern
    pumps = list(dict.fromkeys(_pumps(parser.parse(plain, flags & ~re.UNICODE), "")))
    repeated = {character for _, pump in pumps for character in pump}
    generic = [("", piece) for piece in (FEW if few else GENERIC) if repeated & set(piece)]
    pieces = [*generic, *pumps[: 8 if few else 120]]
    makers: list[Callable[[int], str]] = []
    seen = set()
    for prefix, pump in pieces:
        if not pump:
            continue
        for start, piece in {(prefix, pump), ("", prefix + pump), ("", pump)}:
            for end in ENDS[2:3] if few else ENDS if prefix or pump in (" ", "a", "0") else ENDS[:3]:
                if (start, piece, end) not in seen:
                    seen.add((start, piece, end))
                    makers.append(_Text(start, piece, end))
    return makers


@dataclass(frozen=True, slots=True)
class _Text:
    start: str
    piece: str
    end: str

    def __call__(self, length: int) -> str:
        return self.start + self.piece * max(1, length // len(self.piece)) + self.end


def _pumps(tree: Any, before: str) -> Iterator[tuple[str, str]]:
    """Yield each repetition of a tree, as (what leads to it, what it repeats)."""
    prefix = before
    for code, value in tree:
        if code in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
            _, most, body = value
            if most > 8:
                yield from ((prefix, sample) for sample in _samples(body, 10) if sample)
            yield from _pumps(body, prefix)
        elif code is codes.BRANCH:
            for option in value[1]:
                yield from _pumps(option, prefix)
        elif code is codes.SUBPATTERN:
            yield from _pumps(value[-1], prefix)
        elif code is codes.ATOMIC_GROUP:
            yield from _pumps(value, prefix)
        elif code in (codes.ASSERT, codes.ASSERT_NOT):
            yield from _pumps(value[1], prefix)
        prefix += next(iter(_samples([(code, value)], 1)), "")


def _samples(tree: Any, most: int) -> list[str]:
    """Some strings that a tree matches, the lookarounds left out."""
    found = [""]
    for code, value in tree:
        options = _options(code, value, most)
        if not options:
            continue
        found = [a + b for a, b in itertools.islice(itertools.product(found, options), most * 3)]
    return list(dict.fromkeys(found))[: most * 3]


def _options(code: Any, value: Any, most: int) -> list[str]:
    if code is codes.LITERAL:
        return [chr(value)]
    if code is codes.NOT_LITERAL:
        return [next(c for c in _PALETTE if ord(c) != value)]
    if code is codes.ANY:
        return ["a", " ", "0"][:most]
    if code is codes.IN:
        return _of_class(value)[:most]
    if code in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
        least, _, body = value
        once = _samples(body, most)
        return [piece * max(least, 1) for piece in once] + ([""] if least == 0 else [])
    if code is codes.BRANCH:
        each = [_samples(option, 2) for option in value[1]]
        return [sample for group in itertools.zip_longest(*each) for sample in group if sample is not None][: most * 4]
    if code is codes.SUBPATTERN:
        return _samples(value[-1], most)
    if code is codes.ATOMIC_GROUP:
        return _samples(value, most)
    return []


def _of_class(members: Any) -> list[str]:
    """Characters of a class: some of the palette that it takes, and its own."""
    own = [chr(v) for code, v in members if code is codes.LITERAL] + [
        chr(v[0]) for code, v in members if code is codes.RANGE
    ]
    return list(dict.fromkeys([c for c in _PALETTE if _takes(members, c)] + own))


def _takes(members: Any, character: str) -> bool:
    kinds: dict[Any, Callable[[str], bool]] = {
        codes.CATEGORY_DIGIT: str.isdigit, codes.CATEGORY_SPACE: str.isspace,
        codes.CATEGORY_WORD: lambda c: c.isalnum() or c == "_",
    }  # fmt: skip
    opposite = {
        codes.CATEGORY_NOT_DIGIT: codes.CATEGORY_DIGIT, codes.CATEGORY_NOT_SPACE: codes.CATEGORY_SPACE,
        codes.CATEGORY_NOT_WORD: codes.CATEGORY_WORD,
    }  # fmt: skip
    negated = bool(members) and members[0][0] is codes.NEGATE
    taken = False
    for code, value in members:
        if code is codes.LITERAL:
            taken |= ord(character) == value
        elif code is codes.RANGE:
            taken |= value[0] <= ord(character) <= value[1]
        elif code is codes.CATEGORY:
            taken |= kinds[value](character) if value in kinds else not kinds[opposite[value]](character)
    return taken is not negated


# --- timing, in a child that may be killed


def attack(tasks: Sequence[tuple[str, str, Any]], until: float) -> tuple[list[Suspect], int]:
    """Return what grew faster than its text, and how many of the tasks were left when time ran out."""
    suspects: list[Suspect] = []
    child = _Child()
    try:
        for number, task in enumerate(tasks):
            if time.monotonic() > until:
                return suspects, len(tasks) - number
            suspect = child.try_one(task)
            if suspect is not None:
                suspects.append(suspect)
    finally:
        child.stop()
    return suspects, 0


@dataclass
class _Child:
    """One process that times texts; restarted after it had to be killed."""

    _process: Any = None
    _ends: list[Connection] = field(default_factory=list)

    def try_one(self, task: tuple[str, str, Any]) -> Suspect | None:
        if self._process is None:
            context = multiprocessing.get_context("spawn")
            mine, theirs = context.Pipe()
            self._process = context.Process(target=_serve, args=(theirs,), daemon=True)
            self._process.start()
            theirs.close()
            self._ends = [mine]
            mine.recv()
        mine = self._ends[0]
        mine.send(task)
        trying = ""
        with contextlib.suppress(EOFError):
            while mine.poll(SILENT_SECONDS):
                kind, *payload = mine.recv()
                if kind == "trying":
                    trying = payload[0]
                else:
                    return payload[0] if payload else None
        self.stop()
        return Suspect(task[1], trying, GIVE_UP_SECONDS)

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.join()
            for end in self._ends:
                end.close()
            self._process = None


def _serve(end: Connection) -> None:
    known = functions()
    end.send(("ready",))
    while True:
        kind, name, what = end.recv()
        few = what[-1]
        if kind == "pattern":
            pattern = re.compile(*what[:2])
            makers = texts_against(*what[:2], few=few)
            calls: list[Callable[[str], object]] = [_matches(pattern), _finds(pattern)]
        else:
            pieces = FEW if few else GENERIC
            makers = [_Text("", piece, stop) for piece in pieces for stop in ("", "q")[few:]]
            calls = [known[what[0]]]
        worst: Suspect | None = None
        for make in makers:
            end.send(("trying", repr(make)))
            for call in calls:
                seconds = _outgrows(call, make, BRIEF if few else FULL)
                if seconds and (worst is None or seconds > worst.seconds):
                    worst = Suspect(name, repr(make), seconds)
            if worst is not None:
                break
        end.send(("done", worst) if worst else ("done",))


def _matches(pattern: re.Pattern[Any]) -> Callable[[str], object]:
    return lambda text: pattern.match(text.encode("utf-8") if isinstance(pattern.pattern, bytes) else text)


def _finds(pattern: re.Pattern[Any]) -> Callable[[str], object]:
    """Searching through to the end is what ``sub``, ``split`` and ``finditer`` do; one ``search`` is a part of it."""

    def find(text: str) -> object:
        return sum(1 for _ in pattern.finditer(text.encode("utf-8") if isinstance(pattern.pattern, bytes) else text))

    return find


def _outgrows(call: Callable[[str], object], make: Callable[[int], str], lengths: Lengths) -> float:
    """Return the seconds at the longest length if they grew clearly faster than the text, else 0."""
    long = float("inf")
    for _ in range(4):
        long = min(long, _seconds(call, make(lengths.long)))
        if long < lengths.noticeable_seconds:
            return 0.0
        if long < GROWTH * min(_seconds(call, make(lengths.short)) for _ in range(3)):
            return 0.0
    return long


def _seconds(call: Callable[[str], object], text: str) -> float:
    """Return the processor time of a call in seconds; other work at the same time can only add to it."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_VIRTUAL, GIVE_UP_SECONDS)
    started = time.process_time()
    call(text)
    return time.process_time() - started


# --- the functions around


def functions() -> dict[str, Callable[[str], object]]:
    """Return the functions that take text from a document, a person or a model, each as a function of one text."""
    page = "The tenant pays a rent of $1,200 within 30 days. The landlord may end the lease on 4 May 2021."
    info = PdfInfo(1, (), {})
    before = Exchange("", "Who pays?", "The tenant and the landlord.")
    item = Evidence(1, Passage("d:0:0", "d", 0, "1", page, 0, len(page)), "d.pdf", {"reranked": 1.0})

    def read(text: str) -> Question:
        return read_question(text, (before,), (), lambda document_id: "")

    return {
        "router by rule": lambda text: router._by_rule(read(text), Mode.AUTO, ()),
        "resolve_mentions": lambda text: resolve_mentions(text, ()),
        "plan_question": lambda text: plan_question(read(text)),
        "split_sentences": split_sentences,
        "quantities": quantities,
        "content_terms": content_terms,
        "extract_claims": lambda text: extract_claims((AnswerPart(text, (1,)),)),
        "judge an answer": lambda text: judge_answer("Who pays?", (AnswerPart(text, (1,)),), [page]),
        "judge by a source": lambda text: judge_answer("Who pays?", (AnswerPart(page, (1,)),), [text]),
        "locate": lambda text: (locate(page, text), locate(text[:200], text), locate(text, page)),
        "best_quotation": lambda text: best_quotation(page, [text]),
        "measure_units": lambda text: measure_units(text, [item], None),
        "measure_units of a page": lambda text: measure_units(
            "Who pays the rent?", [replace(item, passage=replace(item.passage, text=text, end=len(text)))], None
        ),
        "describe": lambda text: describe(
            replace(info, fields={"title": text, "author": text}), [_page(text)], f"{text}.pdf"
        ),
        "split_pages": lambda text: list(split_pages([_page(text)], document_id="d", title=text[:100])),
        "escape": lambda text: (markdown.escape(text), markdown.escape_lines(text), markdown.tame(text)),
        "plain_headings": plain_headings,
        "answer_markdown": lambda text: answer_markdown((AnswerPart(text, (1,)),), None),
        "read_marks": lambda text: read_marks(text, {1: page}),
        "changes": lambda text: (changes(text, page), changes(page, text)),
        "index_terms": lambda text: list(index_terms(text)),
        "garbling": garbling,
        "language": detect_language,
    }


def _page(text: str) -> Page:
    return Page(0, "1", text, (), (), PageStatus.TEXT)


def render_suspects(suspects: Iterable[Suspect]) -> str:
    """One line each, for the message of a test that fails."""
    return "\n".join(f"{one.name}: {one.seconds:.2f} s with {one.text[:200]}" for one in suspects)
