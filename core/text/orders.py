"""Text that speaks to the machine that reads it instead of to its reader: orders, false roles, marks of a prompt.

By form, not by topic: an imperative at the beginning of a clause, or marks that only prompts hold. A contract that says
what "the tenant shall ignore" is none.
"""

import re

from core.domain.answers import Span

LONGEST_ORDER = 300
"""Characters shown and withheld from where an order begins, at most to the end of its sentence."""
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
_SAYS = r"(?:say|claim|state|conclude|respond|answer|reply|tell|output|assert|repeat|confirm)s?\b"
_MUST = r"(?:should|must|shall|has to|have to|(?:is|are) (?:asked|required|instructed|told|ordered|obliged) to)"
_OURS = r"(?:answer|claim|response|citation|draft|reply|sentence|document)s?"
_GOOD = r"(?:supported|correct|true|right|approved|relevant|complete|verified|accepted|10|ten|positive|excellent)"
_SAID = r"[\"“«‘'][^\"”»’'\n]{2,120}[\"”»’']"
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
    rf"(?:only |exactly |nothing but |the (?:word|words|sentence|following) )?{_SAID}",
    rf"{_CLAUSE}(?:always (?:say|write)|(?:say|write|print|state|return) (?:only|just|exactly|nothing but)) {_SAID}",
    rf"{_CLAUSE}(?:do not|don't|never) (?:mention|reveal|tell|show|disclose|say)(?: \w{{1,12}}){{0,3}} "
    r"(?:this|these|the) (?:instructions?|prompt|notice|message|text|line)",
    rf"{_CLAUSE}(?:mark|rate|grade|judge|score|classify|treat|approve|accept|flag|report) "
    rf"(?:this|the|every|all|each|your|any) {_OURS}(?: \w{{1,12}}){{0,2}} (?:as )?{_GOOD}\b",
    rf"\b{_READER}s? (?:\w{{1,15}} ){{0,4}}?{_MUST} (?:always |only |simply |just )?{_SAYS}",
    rf"\b(?:mandatory|required|necessary|requested) (?:for|of) {_EACH}{_READER}s? to (?:always |only )?{_SAYS}",
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


def orders_in(text: str) -> list[Span]:
    """Where a text speaks to the machine, each to the end of its sentence."""
    found: list[Span] = []
    for match in _ORDER.finditer(text):
        if found and match.start() < found[-1].end:
            continue
        start = match.end() - len(match.group().lstrip(' \t\r\n.!?:;>"“”«(*-'))
        end = _ENDS.search(text, match.end(), start + LONGEST_ORDER)
        found.append(Span(start, end.end() if end else min(start + LONGEST_ORDER, len(text))))
    return found


def without_orders(text: str) -> str:
    """The text as a model is sent it: what speaks to the machine is left out, and that it was."""
    for span in reversed(orders_in(text)):
        text = f"{text[: span.start]}[…]{text[span.end :]}"
    return text
