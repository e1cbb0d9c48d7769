"""Compare two versions of a document, sentence by sentence, whatever page or paragraph they are in.

Sentences that are equal are aligned first, as in any comparison of texts; between them, those of which more than half
stayed are paired. Line and page breaks, numbering, capitals and punctuation are no differences. Of a pair, figures,
dates, names and references are compared by code, and the trained checker decides whether other words mean the same.
"""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from functools import cached_property, partial
from heapq import nlargest
from itertools import count
from typing import TypeVar

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
CANDIDATES = 8
"""Sentences with the most rare words in common, which are compared word by word."""
_LEFT_OUT = (*FURNITURE, BlockKind.COMMENT)
_WHOLE = (BlockKind.HEADING, BlockKind.TABLE_ROW)
_WRAPPED = (BlockKind.PARAGRAPH, BlockKind.LIST_ITEM)
_ENDS = (".", "!", "?", ":", ";", "。", "！", "？", "।")
_RUN = re.compile(r"\S+")
_LABEL = re.compile(rf"(?:{ITEM_MARK}|§ ?\d{{1,4}}[a-z]?|\d{{1,3}}(?:\.\d{{1,3}}){{1,5}}\.?)(?= |$)")
"""The number or sign in front of a clause or an item."""
_TOKEN = re.compile(r"(?<![\w.,])[-−](?=\d)|\d+(?:[.,]\d+)*|[^\W\d_]+(?:['’][^\W\d_]+)*|[%‰$€£¥½¼¾]")
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

    @cached_property
    def label(self) -> str:
        found = _LABEL.match(self.text)
        return found.group() if found else ""

    @cached_property
    def key(self) -> tuple[str, ...]:
        return tuple(match.group().casefold() for match in _TOKEN.finditer(self.text, len(self.label)))

    @cached_property
    def tokens(self) -> list[_Token]:
        """Words in one spelling, and figures by their value."""
        found, position = list[_Token](), len(self.label)
        for one in quantities(self.text):
            start = one.start + len(one.text) - len(one.text.lstrip())
            if start < position:
                continue
            found += self._words(position, start)
            before = found[-1].quantity if found else None
            if before and before.value == one.value and not _TOKEN.search(self.text, before.end, start):
                start = found.pop().start  # "sixty (60) days"
            found.append(_Token(_figure(one), start, one.end, one))
            position = one.end
        return [*found, *self._words(position, len(self.text))]

    @cached_property
    def keys(self) -> list[str]:
        return [token.key for token in self.tokens]

    def _words(self, start: int, end: int) -> Iterator[_Token]:
        for match in _TOKEN.finditer(self.text, start, end):
            yield _Token(one_spelling(match.group().casefold()), *match.span())

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
            for span in spans:
                new = _statement(page, block, span, trail.path[-1:], block_number)
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
    labels = {(_bare(older[a].label), _bare(newer[b].label)) for a, b in [*equal, *((a, b) for a, b, _ in paired)]}
    renumbering = {(before, after) for before, after in labels if before and after and before != after}
    renumbered = sum(older[a].label != newer[b].label for a, b in equal)
    found, moved = list[tuple[float, Difference]](), list[Pair]()
    for a, b, elsewhere in paired:
        mine, theirs = _other_tokens(older[a], newer[b])
        if elsewhere and not mine and not theirs:
            moved.append((a, b))
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


def _statement(page: Page, block: Block, span: Span, path: tuple[str, ...], number: int) -> Statement:
    start, end = block.start + span.start, block.start + span.end
    pieces, origins, position = [], [], 0
    for run in _RUN.finditer(page.text, start, end):
        pieces.append(run.group())
        origins.append((position, Extract(page.page_index, page.page_label, *run.span())))
        position += len(run.group()) + 1
    whole = Extract(page.page_index, page.page_label, start, end)
    return Statement(" ".join(pieces), block.kind, "".join(path), number, (whole,), origins)


def _goes_on(before: Statement, after: Statement) -> bool:
    """Return whether a page break tears a sentence."""
    unfinished = before.kind not in _WHOLE and not before.text.endswith(_ENDS)
    return unfinished and after.kind not in _WHOLE and not after.label and after.text[:1].islower()


def _joined(before: Statement, after: Statement) -> Statement:
    shift = len(before.text) + 1
    origins = [*before.origins, *((start + shift, place) for start, place in after.origins)]
    extracts = (*before.extracts, *after.extracts)
    return Statement(f"{before.text} {after.text}", before.kind, before.heading, before.block, extracts, origins)


def _figure(one: Quantity) -> str:
    if one.kind == "label":
        return f"#label {one.digits}"
    if one.kind == "date":
        return f"#date {one.date}"
    return f"#{'time' if one.kind == 'time' else ''}{one.value:.12g} {one.unit or one.kind.replace('number', '')}"


def _bare(label: str) -> str:
    return re.sub(r"[^\w.]", "", label).strip(".")


# ---------------------------------------------------------------- pairs

Pair = tuple[int, int]


def _aligned(older: Sequence[Statement], newer: Sequence[Statement]) -> tuple[list[Pair], list[tuple[range, range]]]:
    """Return the equal statements in order, and what lies between them."""
    keys = [[one.key for one in side] for side in (older, newer)]
    compared = SequenceMatcher(None, keys[0], keys[1], autojunk=False)
    pairs, gaps = list[Pair](), list[tuple[range, range]]()
    for tag, a, b, c, d in compared.get_opcodes():
        if tag == "equal":
            pairs += zip(range(a, b), range(c, d), strict=True)
        else:
            gaps.append((range(a, b), range(c, d)))
    return pairs, gaps


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
    taken_a, taken_b, found = set[int](), set[int](), list[tuple[int, int, bool]]()
    for _, a, b in sorted(_likenesses(older, newer, lost, new, gap_of), key=lambda one: (-one[0], one[1], one[2])):
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
    """Return the statements of a gap that have together the same words as others there: cut in another way."""
    whole = (set[int](), set[int]())
    if not left or not right:
        return whole
    words = [
        [(word, one) for one in part for word in which[one].key] for part, which in ((left, older), (right, newer))
    ]
    before, after = ([word for word, _ in side] for side in words)
    for run in SequenceMatcher(None, before, after, autojunk=False).get_matching_blocks():
        cuts = [{at for at in range(run.size + 1) if _is_cut(side, start + at)}
                for side, start in zip(words, (run.a, run.b), strict=True)]  # fmt: skip
        if common := cuts[0] & cuts[1]:
            for own, side, start in zip(whole, words, (run.a, run.b), strict=True):
                own.update(one for _, one in side[start + min(common) : start + max(common)])
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
    for b in new:
        for word in set(newer[b].keys):
            where[word].append(b)
    for a in lost:
        shared = defaultdict[int, float](float)
        for word in set(older[a].keys):
            for b in where.get(word, ()):
                shared[b] += 1 / len(where[word])
        for b in nlargest(CANDIDATES, shared, key=shared.__getitem__):
            alike = Indel.normalized_similarity(older[a].keys, newer[b].keys)
            here = gap_of[False, a] == gap_of[True, b]
            if here and _same_row(older[a], newer[b]):
                alike = max(alike, MIN_LIKENESS)
            words = min(len(older[a].keys), len(newer[b].keys))
            long = words >= MIN_MOVED_WORDS or (alike == 1 and older[a].kind is BlockKind.HEADING)
            if alike >= (MIN_LIKENESS if here else MIN_LIKENESS_MOVED) and (here or long):
                yield alike + here, a, b


def _with_neighbours(statements: Sequence[Statement], at: int, free: list[int], other: Statement) -> Statement:
    """Return a statement with those next to it in its paragraph, as far as that makes it more like its counterpart."""
    whole = statements[at]
    alike = Indel.normalized_similarity(whole.keys, other.keys)
    for step in (1, -1):
        near = at + step
        while near in free and whole.kind not in _WHOLE and statements[near].kind not in _WHOLE:
            longer = _joined(whole, statements[near]) if step > 0 else _joined(statements[near], whole)
            closer = Indel.normalized_similarity(longer.keys, other.keys)
            if closer <= alike:
                break
            whole, alike = longer, closer
            free.remove(near)
            near += step
    return whole


def _same_row(one: Statement, other: Statement) -> bool:
    """Return whether two rows of tables begin with the same words."""
    rows = one.kind is other.kind is BlockKind.TABLE_ROW
    return rows and one.keys[:1] == other.keys[:1] and one.keys[0].isalpha()


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
    if [len(mine), len(theirs)] != [len(one) for one in numbers] or len(mine) != len(theirs):
        return False
    heads = old.kind is BlockKind.HEADING and all(one.start <= len(old.text.split(" ", 1)[0]) + 1 for one in mine)
    return heads or renumbering.issuperset(zip(*numbers, strict=True))


def _other_tokens(old: Statement, new: Statement) -> tuple[list[_Token], list[_Token]]:
    mine, theirs = list[_Token](), list[_Token]()
    for tag, a, b, c, d in SequenceMatcher(None, old.keys, new.keys, autojunk=False).get_opcodes():
        if tag != "equal" and "".join(old.keys[a:b]) != "".join(new.keys[c:d]):  # "non profit" is "nonprofit"
            mine += old.tokens[a:b]
            theirs += new.tokens[c:d]
    return mine, theirs


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
