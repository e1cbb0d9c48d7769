"""Compare two versions of a document, sentence by sentence, whatever page or paragraph they are in.

Sentences that are equal are aligned first, as in any comparison of texts; between them, those of which more than half
stayed are paired. Line and page breaks, numbering, capitals and punctuation are no differences. Of a pair, figures,
dates, names and references are compared by code, and the trained checker decides whether other words mean the same.
"""

import re
import unicodedata
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from functools import cached_property, partial
from heapq import nlargest
from itertools import count, pairwise
from typing import NamedTuple, TypeVar

from rapidfuzz.distance import Indel, LCSseq

from pincite.core.documents.passages import HeadingTrail
from pincite.core.domain.answers import Span
from pincite.core.domain.documents import FURNITURE, Block, BlockKind, Page, PageReason
from pincite.core.domain.versions import Comparison, Concern, Difference, DifferenceKind, Extract, Side
from pincite.core.text.checker import Checker
from pincite.core.text.numbers import Quantity, one_spelling, quantities
from pincite.core.text.sentences import ITEM_MARK, split_sentences
from pincite.core.text.terms import FUNCTION_WORDS

Means = Callable[[str, str], bool]
"""Whether two sentences mean the same."""
MIN_LIKENESS, MIN_LIKENESS_MOVED = 0.5, 0.7
"""Minimum share of common words of a changed sentence; of one that is at another place as well."""
MIN_MOVED_WORDS = 4
MAX_CHECKED = 60
"""Number of sentences that the checker compares; others that differ in words may differ in meaning."""
MIN_SAME = 0.9
"""Minimum probability of the checker that each of two sentences supports the other, for both to mean the same."""
CANDIDATES, NEAR, MAX_SHARED = 8, 2, 50
"""Sentences with the most rare words in common, and those at the same place, which are compared word by word; a word in
more sentences than the last is not rare."""
MAX_BY_RUNS, MAX_WORDS_COMPARED = 40_000, 10**9
"""Products of two lengths up to which the longest common runs are looked for, and up to which words are compared."""
MAX_LABELLED = 60
"""Characters of a sentence in which its number may go on as a figure."""
_LEFT_OUT = (*FURNITURE, BlockKind.COMMENT)
_WHOLE = (BlockKind.HEADING, BlockKind.TABLE_ROW)
_WRAPPED = (BlockKind.PARAGRAPH, BlockKind.LIST_ITEM)
_ENDS = (".", "!", "?", ":", ";", "。", "！", "？", "।")
_RUN = re.compile(r"\S+")
_LABEL = re.compile(rf"(?:{ITEM_MARK}|§ ?\d{{1,4}}[a-z]?|\d{{1,3}}(?:\.\d{{1,3}}){{1,5}}\.?)(?= |$)")
"""The number or sign in front of a clause or an item."""
_OF_CLAUSES = re.compile(r"§|\d{1,4}\.\d|\d{1,4}\.?$")
_BY_CATEGORY = {name: "".join(chr(one) for one in range(0x20000) if unicodedata.category(chr(one)) in kinds)
                for name, kinds in (("marks", ("Mn", "Mc")), ("money", ("Sc",)))}  # fmt: skip
"""Vowel signs and accents, which belong to words, and signs of currencies."""
_LETTER = rf"[^\W\d_][{re.escape(_BY_CATEGORY['marks'])}]*"
_TOKEN = re.compile(
    rf"(?<![\w.,])(?<![\w.,)]\s)[-−+±](?=\s?\d)|\d+(?:[.,]\d+)*|[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]"
    rf"|(?:{_LETTER})+(?:['’](?:{_LETTER})+)*|[%‰½¼¾<>≤≥≠=☐☑☒✓✗{re.escape(_BY_CATEGORY['money'])}]"
)
_CODE = re.compile(r"0\d+")
"""A number that counts nothing."""
_WEIGHT = {concern: place for place, concern in enumerate(Concern)}


@dataclass(frozen=True, slots=True)
class _Token:
    key: str
    start: int
    end: int
    quantity: Quantity | None = None


@dataclass(eq=False)
class Statement:
    """A sentence, heading, list item or table row; one that a page break tears has two extracts."""

    text: str
    kind: BlockKind
    heading: str
    block: int
    """Position of its block in the document."""
    extracts: tuple[Extract, ...]
    origins: list[tuple[int, Extract]] = field(default_factory=list)
    """Where the words that begin at a position of ``text`` are on the page."""
    first: bool = True
    """It begins its block, so that it may have a number."""

    @cached_property
    def label(self) -> str:
        found = _LABEL.match(self.text) if self.first and self.kind is not BlockKind.TABLE_ROW else None
        if found is None or any(one.start < found.end() < one.end for one in quantities(self.text[:MAX_LABELLED])):
            return ""  # "2.5 million euros are lent"
        return found.group()

    @property
    def number(self) -> str:
        """The number of a clause; empty for an item of a list."""
        bare = re.sub(r"[^\w.§]", "", self.label).strip(".")
        several = "." in bare or "§" in bare
        return bare if _OF_CLAUSES.match(bare) and (several or self.kind is not BlockKind.LIST_ITEM) else ""

    @cached_property
    def key(self) -> tuple[str, ...]:
        return tuple(_spelled(match.group()) for match in _TOKEN.finditer(self.text, len(self.label)))

    @cached_property
    def tokens(self) -> list[_Token]:
        """Words in one spelling, and figures by their value."""
        found, position = list[_Token](), len(self.label)
        for one in quantities(self.text):
            start = one.start + len(one.text) - len(one.text.lstrip())
            if start < position:
                continue
            found += self._words(position, start)
            before = found[-1] if found else None
            if before and before.quantity and before.quantity.value == one.value and self._in_brackets(before, start):
                start = found.pop().start  # "sixty (60) days"
            found.append(_Token(_figure(one), start, one.end, one))
            position = one.end
        return [*found, *self._words(position, len(self.text))]

    @cached_property
    def keys(self) -> list[str]:
        return [token.key for token in self.tokens]

    def _in_brackets(self, words: _Token, start: int) -> bool:
        """Return whether a number follows that words spell, in brackets."""
        return self.text[words.start].isalpha() and self.text[words.end : start + 1].strip().startswith("(")

    def _words(self, start: int, end: int) -> Iterator[_Token]:
        for match in _TOKEN.finditer(self.text, start, end):
            yield _Token(one_spelling(_spelled(match.group())), *match.span())

    def places(self, spans: Iterable[Span]) -> tuple[Extract, ...]:
        """Return where parts of ``text`` are on their pages, neighbouring words as one."""
        starts, found = [start for start, _ in self.origins], list[Extract]()
        for span in spans:
            before: Extract | None = None
            for start, origin in self.origins[max(bisect_right(starts, span.start) - 1, 0) :]:
                if start >= span.end:
                    break
                left, right = max(span.start - start, 0), min(span.end - start, origin.end - origin.start)
                if left < right and before and before.page_index == origin.page_index:
                    found[-1] = before = replace(before, end=origin.start + right)
                elif left < right:
                    before = replace(origin, start=origin.start + left, end=origin.start + right)
                    found.append(before)
        return tuple(found)


def statements_of(pages: Iterable[Page]) -> list[Statement]:
    """Return what the pages state, in order; running heads, contents and comments are left out."""
    trail, found, block_number = HeadingTrail(), list[Statement](), 0
    for page in pages:
        first_of_page = True
        for block in page.blocks or (Block(0, len(page.text), BlockKind.PARAGRAPH),):
            if block.kind in _LEFT_OUT:
                continue
            block_number += 1
            text = page.text[block.start : block.end]
            if block.kind is BlockKind.HEADING:
                trail.enter(text, max(block.level, 1))
            unwrapped = text.replace("\n", " ") if block.kind in _WRAPPED else text
            spans = [Span(0, len(text))] if block.kind in _WHOLE else split_sentences(unwrapped)
            for place, span in enumerate(spans):
                new = _statement(page, block, span, trail.path[-1:], block_number, first=place == 0)
                if first_of_page and found and _goes_on(found[-1], new):
                    found[-1] = _joined(found[-1], new)
                elif new.key or new.label:
                    found.append(new)
                first_of_page = False
    return found


def differences(older: Sequence[Statement], newer: Sequence[Statement], same: Means) -> tuple[list[Difference], int]:
    """Return what differs, in the order of the newer version, and how many statements were only renumbered."""
    older, newer = list(older), list(newer)
    equal, gaps = _aligned(older, newer)
    paired, lost, new = _paired(older, newer, gaps)
    for a, b, _ in paired:
        older[a], newer[b] = _with_neighbours(older, a, lost, newer[b]), _with_neighbours(newer, b, new, older[a])
    renumbering = _renumbering([(older[a], newer[b]) for a, b in [*equal, *((a, b) for a, b, _ in paired)]])
    found, moved, renumbered = list[tuple[float, Difference]](), list[Pair](), 0
    causes = any(one.label for one in [*(older[a] for a in lost), *(newer[b] for b in new)])
    causes = causes or any(elsewhere and older[a].label for a, _, elsewhere in paired)
    for a, b in equal:
        if older[a].label != newer[b].label:
            renumbered += causes
            if not causes:  # nothing came or went
                found.append((b, _numbered_otherwise(older[a], newer[b])))
    for a, b, elsewhere in paired:
        mine, theirs = _other_tokens(older[a], newer[b])
        if not mine and not theirs:
            moved += [(a, b)] if elsewhere else []
        elif _follows(older[a], mine, theirs, renumbering):
            renumbered += 1
        else:
            found.append((b, _changed(older[a], newer[b], mine, theirs, elsewhere, same)))
    for run in _runs(moved, lambda one, other: _next(older, one[0], other[0]) and _next(newer, one[1], other[1])):
        old, now = _whole(older, [a for a, _ in run]), _whole(newer, [b for _, b in run])
        found.append((run[0][1], Difference(DifferenceKind.MOVED, old, now)))
    stayed = sorted([*equal, *((a, b) for a, b, elsewhere in paired if not elsewhere)])
    for added in _runs(new, partial(_next, newer)):
        place = max((one for one in stayed if one[1] < added[0]), default=None)
        near = older[place[0]].extracts[-1] if place else None
        found.append((added[0], Difference(DifferenceKind.ADDED, None, _whole(newer, added), near=near)))
    for removed in _runs(lost, partial(_next, older)):
        place = max((one for one in stayed if one[0] < removed[0]), default=None)
        near = newer[place[1]].extracts[-1] if place else None
        at = place[1] + 0.5 if place else -1
        found.append((at, Difference(DifferenceKind.REMOVED, _whole(older, removed), None, near=near)))
    return [one for _, one in sorted(found, key=lambda one: one[0])], renumbered


def compare(
    older_id: str, older: Sequence[Page], newer_id: str, newer: Sequence[Page], checker: Checker | None
) -> Comparison:
    """Compare the pages of two versions; without a checker every rewording may change the meaning."""

    left = count(MAX_CHECKED, -1)

    def same(one: str, other: str) -> bool:
        return (
            checker is not None
            and next(left) > 0
            and all(checker.check(claim, [text]).supported >= MIN_SAME for claim, text in ((one, other), (other, one)))
        )

    statements = statements_of(older), statements_of(newer)
    found, renumbered = differences(*statements, same)
    counts = len(statements[0]), len(statements[1])
    return Comparison(older_id, newer_id, tuple(found), counts, renumbered, (_unread(older), _unread(newer)))


def _unread(pages: Sequence[Page]) -> int:
    return sum(not page.text.strip() and page.reason != PageReason.BLANK for page in pages)


# ---------------------------------------------------------------- statements


def _statement(page: Page, block: Block, span: Span, path: tuple[str, ...], number: int, *, first: bool) -> Statement:
    start, end = block.start + span.start, block.start + span.end
    pieces, origins, position = [], [], 0
    for run in _RUN.finditer(page.text, start, end):
        pieces.append(run.group())
        origins.append((position, Extract(page.page_index, page.page_label, *run.span())))
        position += len(run.group()) + 1
    whole = Extract(page.page_index, page.page_label, start, end)
    return Statement(" ".join(pieces), block.kind, "".join(path), number, (whole,), origins, first)


def _goes_on(before: Statement, after: Statement) -> bool:
    """Return whether a page break tears a sentence."""
    unfinished = before.kind not in _WHOLE and not before.text.endswith(_ENDS)
    return unfinished and after.kind not in _WHOLE and not after.label and after.text[:1].islower()


def _joined(before: Statement, after: Statement) -> Statement:
    shift = len(before.text) + 1
    origins = [*before.origins, *((start + shift, place) for start, place in after.origins)]
    extracts = (*before.extracts, *after.extracts)
    text = f"{before.text} {after.text}"
    return Statement(text, before.kind, before.heading, before.block, extracts, origins, before.first)


def _figure(one: Quantity) -> str:
    if one.kind == "label":
        return f"#label {one.digits}"
    if one.kind == "date":
        return f"#date {one.date}"
    if _CODE.fullmatch(one.text.strip()):
        return f"#code {one.text.strip()}"
    return f"#{'time' if one.kind == 'time' else ''}{one.value!r} {one.unit or one.kind.replace('number', '')}"


def _spelled(word: str) -> str:
    return unicodedata.normalize("NFC", word.casefold())


# ---------------------------------------------------------------- pairs

Pair = tuple[int, int]


def _aligned(older: Sequence[Statement], newer: Sequence[Statement]) -> tuple[list[Pair], list[tuple[range, range]]]:
    """Return the equal statements in order, and what lies between them."""
    pairs, gaps, a, b = list[Pair](), list[tuple[range, range]](), 0, 0
    equal = _equal_runs([one.key for one in older], [one.key for one in newer])
    for run in [*equal, _Run(len(older), len(newer), 0)]:
        if a < run.a or b < run.b:
            gaps.append((range(a, run.a), range(b, run.b)))
        pairs += zip(range(run.a, run.a + run.size), range(run.b, run.b + run.size), strict=True)
        a, b = run.a + run.size, run.b + run.size
    return pairs, gaps


class _Run(NamedTuple):
    a: int
    b: int
    size: int


def _equal_runs(before: Sequence[Hashable], after: Sequence[Hashable]) -> list[_Run]:
    """Return what both have in the same order, in runs; of long sequences the most, whatever its runs."""
    if len(before) * len(after) <= MAX_BY_RUNS:
        runs = SequenceMatcher(None, before, after, autojunk=False).get_matching_blocks()
        return [_Run(*one) for one in runs if one.size]
    numbers = dict[Hashable, int]()
    first, second = ([numbers.setdefault(one, len(numbers)) for one in side] for side in (before, after))
    return [
        _Run(one.src_start, one.dest_start, one.src_end - one.src_start)
        for one in LCSseq.opcodes(first, second)
        if one.tag == "equal"
    ]


def _paired(
    older: Sequence[Statement], newer: Sequence[Statement], gaps: Sequence[tuple[range, range]]
) -> tuple[list[tuple[int, int, bool]], list[int], list[int]]:
    """Return the pairs that changed or moved, with whether they moved, and what only one version has."""
    lost, new, gap_of = list[int](), list[int](), dict[tuple[bool, int], int]()
    for number, (left, right) in enumerate(gaps):
        whole_left, whole_right = _same_words(older, newer, left, right)
        lost += [one for one in left if one not in whole_left]
        new += [one for one in right if one not in whole_right]
        gap_of |= {(False, one): number for one in left} | {(True, one): number for one in right}

    def apart(a: int, b: int) -> int:
        left, right = gaps[gap_of[False, a]][0], gaps[gap_of[True, b]][1]
        return abs((a - left.start) - (b - right.start))

    alike = _likenesses(older, newer, lost, new, gap_of)
    taken_a, taken_b, found = set[int](), set[int](), list[tuple[int, int, bool]]()
    for _, a, b in sorted(alike, key=lambda one: (-one[0], apart(one[1], one[2]), one[1], one[2])):
        if a in taken_a or b in taken_b:
            continue
        taken_a.add(a)
        taken_b.add(b)
        found.append((a, b, gap_of[False, a] != gap_of[True, b]))
    ordered = list[tuple[int, int, bool]]()
    for number in range(len(gaps)):
        inside = sorted((a, b) for a, b, moved in found if not moved and gap_of[False, a] == number)
        kept = _longest_rising([b for _, b in inside])
        ordered += [(a, b, place not in kept) for place, (a, b) in enumerate(inside)]
    ordered += [one for one in found if one[2]]
    return ordered, [one for one in lost if one not in taken_a], [one for one in new if one not in taken_b]


def _same_words(
    older: Sequence[Statement], newer: Sequence[Statement], left: range, right: range
) -> tuple[set[int], set[int]]:
    """Return the sentences of a gap that have the same words as one sentence there which is cut into several."""
    whole = (set[int](), set[int]())
    words = [
        [(word, one) for one in part if which[one].kind not in _WHOLE for word in which[one].key]
        for part, which in ((left, older), (right, newer))
    ]
    before, after = ([word for word, _ in side] for side in words)
    if not before or not after or len(before) * len(after) > MAX_WORDS_COMPARED:
        return whole
    for run in _equal_runs(before, after):
        cuts = [{at for at in range(run.size + 1) if _is_cut(side, start + at)}
                for side, start in zip(words, (run.a, run.b), strict=True)]  # fmt: skip
        for start, end in pairwise(sorted(cuts[0] & cuts[1])):
            if all(any(start < at < end for at in own) for own in cuts):
                continue  # other words begin a sentence
            for own, side, begin in zip(whole, words, (run.a, run.b), strict=True):
                own.update(one for _, one in side[begin + start : begin + end])
    return whole


def _is_cut(words: Sequence[tuple[str, int]], at: int) -> bool:
    """Return whether a statement ends before this word."""
    return at in (0, len(words)) or words[at - 1][1] != words[at][1]


def _likenesses(
    older: Sequence[Statement],
    newer: Sequence[Statement],
    lost: Sequence[int],
    new: Sequence[int],
    gap_of: dict[tuple[bool, int], int],
) -> Iterator[tuple[float, int, int]]:
    """Yield how alike those statements are that may be the same one, by the share of words in common and in order."""
    where = defaultdict[str, list[int]](list)
    in_gap = defaultdict[int, list[int]](list)
    for b in new:
        in_gap[gap_of[True, b]].append(b)
        for word in set(newer[b].keys):
            where[word].append(b)
    passed = defaultdict[int, int](int)
    for a in lost:
        shared, gap = defaultdict[int, float](float), gap_of[False, a]
        for word in set(older[a].keys):
            if len(others := where.get(word, ())) <= MAX_SHARED:
                for b in others:
                    shared[b] += 1 / len(others)
        place, passed[gap] = passed[gap], passed[gap] + 1
        near = in_gap[gap][max(place - NEAR, 0) : place + NEAR + 1]
        for b in dict.fromkeys([*nlargest(CANDIDATES, shared, key=shared.__getitem__), *near]):
            alike = Indel.normalized_similarity(older[a].keys, newer[b].keys)
            here = gap == gap_of[True, b]
            words = min(len(older[a].keys), len(newer[b].keys))
            long = words >= MIN_MOVED_WORDS or (alike == 1 and older[a].kind is BlockKind.HEADING)
            if alike >= (MIN_LIKENESS if here else MIN_LIKENESS_MOVED) and (here or long):
                yield alike + here, a, b
            elif here and (_same_row(older[a], newer[b]) or _same_number(older[a], newer[b])):
                yield alike, a, b  # unless either of them is more like another


def _with_neighbours(statements: Sequence[Statement], at: int, free: list[int], other: Statement) -> Statement:
    """Return a statement with those next to it in its paragraph, as far as that makes it more like its counterpart."""
    whole = statements[at]
    alike = Indel.normalized_similarity(whole.keys, other.keys)
    for step in (1, -1):
        near = at + step
        while near in free and whole.kind not in _WHOLE and _may_go_on(statements[near], whole, step):
            longer = _joined(whole, statements[near]) if step > 0 else _joined(statements[near], whole)
            closer = Indel.normalized_similarity(longer.keys, other.keys)
            if closer <= alike:
                break
            whole, alike = longer, closer
            free.remove(near)
            near += step
    return whole


def _may_go_on(near: Statement, whole: Statement, step: int) -> bool:
    """Return whether both are of one paragraph, or the first has no end."""
    first = whole if step > 0 else near
    return near.kind not in _WHOLE and (near.block == whole.block or not first.text.endswith(_ENDS))


def _same_row(one: Statement, other: Statement) -> bool:
    """Return whether two rows of tables begin with the same words."""
    rows = one.kind is other.kind is BlockKind.TABLE_ROW
    return rows and one.keys[:1] == other.keys[:1] and one.keys[0].isalpha()


def _same_number(one: Statement, other: Statement) -> bool:
    """Return whether two clauses at one place have one number, whatever their words."""
    return bool(one.number) and one.number == other.number and one.kind not in _WHOLE and other.kind not in _WHOLE


def _longest_rising(values: Sequence[int]) -> set[int]:
    """Return the positions of a longest subsequence that rises, which is what the values and their order share."""
    shared = LCSseq.opcodes(values, sorted(values))
    return {place for one in shared if one.tag == "equal" for place in range(one.src_start, one.src_end)}


# ---------------------------------------------------------------- differences


def _changed(
    old: Statement, new: Statement, mine: Sequence[_Token], theirs: Sequence[_Token], moved: bool, same: Means
) -> Difference:
    concerns = {*_concerns(old, mine), *_concerns(new, theirs)}
    if not concerns:
        reworded = _has_content(mine) and _has_content(theirs) and same(old.text, new.text)
        concerns = {Concern.WORDING if reworded else Concern.MEANING}
    weighed = tuple(sorted(concerns, key=_WEIGHT.__getitem__))
    return Difference(DifferenceKind.CHANGED, _side(old, mine), _side(new, theirs), weighed, moved)


def _has_content(tokens: Iterable[_Token]) -> bool:
    """Return whether more changed than "may", "not" or "if", which the checker may overlook."""
    return any(token.key not in FUNCTION_WORDS for token in tokens)


def _follows(
    old: Statement, mine: Sequence[_Token], theirs: Sequence[_Token], renumbering: set[tuple[str, str]]
) -> bool:
    """Return whether nothing but numbers of clauses differs, which follow a renumbering; or a heading's own number."""
    numbers = [[one.quantity.digits for one in side if one.quantity and one.quantity.kind == "label"]
               for side in (mine, theirs)]  # fmt: skip
    if [len(mine), len(theirs)] != [len(one) for one in numbers] or len(mine) != len(theirs) or not mine:
        return False
    heads = old.kind is BlockKind.HEADING and all(one.start <= len(old.text.split(" ", 1)[0]) + 1 for one in mine)
    return heads or renumbering.issuperset(zip(*numbers, strict=True))


def _other_tokens(old: Statement, new: Statement) -> tuple[list[_Token], list[_Token]]:
    mine, theirs, a, b = list[_Token](), list[_Token](), 0, 0
    for run in [*_equal_runs(old.keys, new.keys), _Run(len(old.keys), len(new.keys), 0)]:
        if not _written_apart(old.keys[a : run.a], new.keys[b : run.b]):
            mine += old.tokens[a : run.a]
            theirs += new.tokens[b : run.b]
        a, b = run.a + run.size, run.b + run.size
    return mine, theirs


def _written_apart(one: Sequence[str], other: Sequence[str]) -> bool:
    """Return whether both are one word: "non profit" is "nonprofit", but "not able" is not "notable"."""
    return (
        min(len(one), len(other)) == 1 and "".join(one) == "".join(other) and FUNCTION_WORDS.isdisjoint((*one, *other))
    )


def _renumbering(pairs: Iterable[tuple[Statement, Statement]]) -> set[tuple[str, str]]:
    """Return the numbers of clauses that became others, each surely one."""
    became = defaultdict[str, set[str]](set)
    for old, new in pairs:
        if old.number and new.number:
            became[old.number].add(new.number)
    return {(before, min(after)) for before, after in became.items() if len(after) == 1 and before not in after}


def _numbered_otherwise(old: Statement, new: Statement) -> Difference:
    before, after = (
        replace(_side(one), differing=(Span(0, len(one.label)),), marks=one.places([Span(0, len(one.label))]))
        for one in (old, new)
    )
    return Difference(DifferenceKind.CHANGED, before, after, (Concern.REFERENCE,))


def _concerns(statement: Statement, tokens: Sequence[_Token]) -> Iterator[Concern]:
    first = statement.tokens[0].start if statement.tokens else 0
    for token in tokens:
        if token.quantity:
            kind = token.quantity.kind
            yield Concern.DATE if kind == "date" else Concern.REFERENCE if kind == "label" else Concern.FIGURE
        elif token.start > first and statement.text[token.start].isupper():
            yield Concern.NAME


def _side(statement: Statement, tokens: Sequence[_Token] = ()) -> Side:
    spans = list[Span]()
    for token in tokens:
        if spans and not _TOKEN.search(statement.text, spans[-1].end, token.start):
            spans[-1] = Span(spans[-1].start, token.end)
        else:
            spans.append(Span(token.start, token.end))
    marks = statement.places(spans) or statement.extracts
    return Side(statement.text, statement.heading, statement.extracts, tuple(spans), marks)


Item = TypeVar("Item")


def _runs(items: Iterable[Item], follows: Callable[[Item, Item], bool]) -> Iterator[list[Item]]:
    run = list[Item]()
    for item in items:
        if run and not follows(run[-1], item):
            yield run
            run = []
        run.append(item)
    if run:
        yield run


def _next(statements: Sequence[Statement], one: int, other: int) -> bool:
    """Return whether a statement is the next under the same heading."""
    return other == one + 1 and statements[one].heading == statements[other].heading


def _whole(statements: Sequence[Statement], run: Sequence[int]) -> Side:
    chosen = [statements[place] for place in run]
    extracts = list[Extract]()
    for place in (place for one in chosen for place in one.extracts):
        if extracts and extracts[-1].page_index == place.page_index:
            extracts[-1] = replace(extracts[-1], end=place.end)
        else:
            extracts.append(place)
    return Side("\n".join(one.text for one in chosen), chosen[0].heading, tuple(extracts), (), tuple(extracts))
