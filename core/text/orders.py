"""Find text with orders to the language model that reads it: documents are data, never instructions.

The usual forms of such orders are patterns. Others are found by a small model over runs of letters, which looks at
every sentence, and the trained checker, which confirms what that finds suspicious (`python -m training fit-orders`).
"""

import base64
import json
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from pincite.core.domain.answers import Span
from pincite.core.domain.logistic import LogisticModel, log_odds
from pincite.core.text.checker import ORDER_CLAIM, installed_checker
from pincite.core.text.sentences import split_sentences

MAX_ORDER_LENGTH = 300
"""Maximum number of characters that are shown and withheld."""
BUCKETS = 1 << 15
RUNS = range(2, 6)
"""Lengths of the runs of letters within words that are counted."""
MIN_PROBABILITY = 0.01
"""The checker's probabilities count as log-odds up to that of this one."""
_CLAUSE = (
    r"(?:^|[.!?:;>\n\r\"“”«(\[*#-])[ \t]{0,4}"
    r"(?:please |kindly |now |and |then |important[:,] |attention[:,] |bitte |veuillez |por favor,? )?"
)
_OLD = (
    r"(?:all |any |every )?(?:of )?(?:the |your |my |these |those )?"
    r"(?:above |previous |prior |earlier |preceding |former |existing |original |other )"
)
_RULES = r"(?:instructions?|prompts?|rules?|directions|guidelines|commands|orders|constraints|context|text|messages?)"
_MACHINE = (
    r"(?:ai|a\.i\.|llm|gpt|chat ?gpt|chat ?bot|(?:large )?language model|ai (?:assistant|model)|ki|ia|sprachmodell)"
)
_READER = (
    rf"(?:{_MACHINE}|assistant|bot|model|software|tool|machine|algorithm|automated (?:reader|system|tool|assistant)"
    r"|(?:whoever|anything|anyone|whatever) (?:reads|summari[sz]es|processes|analy[sz]es) this(?: \w{1,12}){0,2})"
)
"""What may read a page in a person's stead; where it is to speak, it is spoken to."""
_EACH = r"(?:any |all |every |the )?"
_STATE = r"(?:say|claim|state|conclude|respond|answer|reply|tell|output|assert|repeat|confirm)s?\b"
_MUST = r"(?:should|must|shall|has to|have to|(?:is|are) (?:asked|required|instructed|told|ordered|obliged) to)"
_OURS = r"(?:answer|claim|response|citation|draft|reply|sentence|document)s?"
_GOOD = r"(?:supported|correct|true|right|approved|relevant|complete|verified|accepted|10|ten|positive|excellent)"
_QUOTED = r"[\"“«‘'][^\"”»’'\n]{2,120}[\"”»’']"
_ORDERS = (
    rf"{_CLAUSE}(?:ignore|disregard|forget|override|bypass|skip) {_OLD}{_RULES}",
    rf"{_CLAUSE}(?:ignore|disregard|forget|override) (?:everything|all|anything) "
    r"(?:above|before|said|you (?:were|have been) told)",
    rf"{_CLAUSE}(?:ignorieren? sie|ignoriere|vergiss|vergessen sie|missachte) (?:alle |die |deine |ihre )?"
    r"(?:vorherigen |bisherigen |obigen |früheren )?(?:anweisungen|regeln|vorgaben|instruktionen)",
    rf"{_CLAUSE}(?:ignore[zr]?|oublie[zr]?) (?:toutes? )?(?:les |vos |tes )?(?:instructions|consignes|règles)",
    rf"{_CLAUSE}(?:ignora|ignore|olvida|olvide) (?:todas )?(?:las |sus |tus )?(?:instrucciones|reglas|órdenes)",
    rf"{_CLAUSE}(?:you are|you're|act as|pretend to be|behave as|du bist|vous êtes|eres) (?:now )?"
    rf"(?:an? |ein |une? )?(?:\w{{1,20}} ){{0,2}}{_MACHINE}\b",
    rf"\b(?:note|notice|message|instructions?|attention|memo)(?: to| for|,)? {_EACH}{_MACHINE}s?\b",
    rf"{_CLAUSE}(?:dear |hey |hello )?(?:{_MACHINE}|assistant)s?(?:[,:] ?| ?[,:])"
    r"(?:you |please |kindly |ignore |answer |say |reply |respond |do |mark |rate )",
    rf"{_CLAUSE}(?:always )?(?:answer|reply|respond|output)(?: only| just| always)?(?: with| that| as)? "
    rf"(?:only |exactly |nothing but |the (?:word|words|sentence|following) )?{_QUOTED}",
    rf"{_CLAUSE}(?:always (?:say|write)|(?:say|write|print|state|return) (?:only|just|exactly|nothing but)) {_QUOTED}",
    rf"{_CLAUSE}(?:do not|don't|never) (?:mention|reveal|tell|show|disclose|say)(?: \w{{1,12}}){{0,3}} "
    r"(?:this|these|the) (?:instructions?|prompt|notice|message|text|line)",
    rf"{_CLAUSE}(?:mark|rate|grade|judge|score|classify|treat|approve|accept|flag|report) "
    rf"(?:this|the|every|all|each|your|any) {_OURS}(?: \w{{1,12}}){{0,2}} (?:as )?{_GOOD}\b",
    rf"\b{_READER}s? (?:\w{{1,15}} ){{0,4}}?{_MUST} (?:always |only |simply |just )?{_STATE}",
    rf"\b(?:mandatory|required|necessary|requested) (?:for|of) {_EACH}{_READER}s? to (?:always |only )?{_STATE}",
    r"\b(?:correct|right|acceptable|expected|required|only|valid) (?:output|answer|response|reply|conclusion) "
    rf"(?:of|from|by|for) {_EACH}{_READER}",
    rf"{_CLAUSE}(?:for|to) {_EACH}(?:\w{{1,12}} ){{0,2}}{_READER}s? ?:",
    rf"{_CLAUSE}(?:tell|inform|assure|convince) (?:the|your|any) (?:users?|questioners?|person who asks)\b",
    r"\byour (?:developer|creator|maker|programmer)s? (?:have|has|want|require|say|order)",
    r"\b(?:reveal|repeat|print|show|output|leak) (?:your |the )?(?:system|hidden|initial|secret) "
    r"(?:prompt|instructions?|message)\b",
    r"<\|(?:im_start|start_header_id)\|?>?\s{0,4}(?:system|user|assistant|developer)\b",
    r"<\|(?:system|user|assistant)\|?>?|\[/?INST\]|<</?SYS>>",
    r"[<‹]/?(?:passages?|system|assistant|instructions?|evidence|answer)[>›]",
    r"(?:^|\n)[ \t]{0,4}(?:#{1,4} ?)?(?:system|assistant|developer) (?:prompt|message) ?:[ \t]{0,4}\S",
    rf"{_CLAUSE}(?:system|assistant|developer)(?: prompt| message)? ?: ?(?:you|now|new|always|never|from now on)\b",
    r"(?:^|\n)[ \t]{0,4}#{2,4} ?(?:instruction|system|response|human|user)s? ?:?[ \t]{0,4}(?:\n|$)",
)
_ORDER = re.compile("|".join(f"(?:{one})" for one in _ORDERS), re.IGNORECASE)
_ENDS = re.compile(r"[.!?](?=\s|$)|\n\s{0,9}\n")
Weights = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class OrderModel:
    """Weights of the runs of letters, the minimum log-odds to ask the checker, and how both are weighed."""

    letters: Weights
    bias: float
    screen: float
    both: LogisticModel
    """Of `letters` and `checker`, log-odds."""
    alone: float
    """Minimum log-odds of the letters where there is no checker."""

    def log_odds(self, text: str) -> float:
        return self.bias + float(runs_of_letters(text) @ self.letters)


def runs_of_letters(text: str) -> Weights:
    """Return the shares of the runs of letters of a text, by hash; shape (BUCKETS,), of length one."""
    counts = np.zeros(BUCKETS)
    for word in text.casefold().split():
        padded = f" {word} "
        for size in RUNS:
            for start in range(max(1, len(padded) - size + 1)):
                counts[zlib.crc32(padded[start : start + size].encode()) % BUCKETS] += 1
    shares = np.sqrt(counts)
    length = float(np.linalg.norm(shares))
    return shares / length if length else shares


def orders_in(text: str) -> list[Span]:
    """Return where a text gives orders to a language model, each to the end of its sentence."""
    found = known_orders(text)
    for span in split_sentences(text):
        known = any(one.start < span.end and span.start < one.end for one in found)
        if not known and _is_order(text[span.start : span.end]):
            found.append(Span(span.start, min(span.end, span.start + MAX_ORDER_LENGTH)))
    return sorted(found, key=lambda span: span.start)


def known_orders(text: str) -> list[Span]:
    """Return the orders in one of the usual forms."""
    found: list[Span] = []
    for match in _ORDER.finditer(text):
        if found and match.start() < found[-1].end:
            continue
        start = match.end() - len(match.group().lstrip(' \t\r\n.!?:;>"“”«(*-'))
        end = _ENDS.search(text, match.end(), start + MAX_ORDER_LENGTH)
        found.append(Span(start, end.end() if end else min(start + MAX_ORDER_LENGTH, len(text))))
    return found


def without_orders(text: str) -> str:
    """Return the text as a model is sent it: with a mark in place of each order."""
    for span in reversed(orders_in(text)):
        text = f"{text[: span.start]}[…]{text[span.end :]}"
    return text


@lru_cache(maxsize=16_384)
def _is_order(sentence: str) -> bool:
    model = shipped_order_model()
    letters = model.log_odds(sentence)
    if letters < model.screen:
        return False
    checker = installed_checker()
    if checker is None:
        return letters >= model.alone
    return model.both.log_odds(measured(letters, checker.check(ORDER_CLAIM, [sentence]).supported)) >= 0


def measured(letters: float, checked: float) -> dict[str, float]:
    """Return what the model of both weighs."""
    return {"letters": letters, "checker": log_odds(checked, least=MIN_PROBABILITY)}


@cache
def shipped_order_model() -> OrderModel:
    """Load the model that comes with the program."""
    data = json.loads(files("pincite.core.text").joinpath("orders.json").read_text(encoding="utf-8"))
    letters = np.frombuffer(base64.b64decode(data["letters"]), dtype=np.int8) * data["scale"]
    return OrderModel(letters, data["bias"], data["screen"], LogisticModel.from_json(data["both"]), data["alone"])


def packed(letters: Sequence[float] | Weights) -> tuple[str, float]:
    """Return weights as base64 of signed bytes, and their scale."""
    values = np.asarray(letters)
    scale = float(np.abs(values).max()) / 127
    return base64.b64encode(np.round(values / scale).astype(np.int8).tobytes()).decode(), scale
