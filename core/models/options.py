"""Does a question fit several things in the evidence equally well? Then a person is asked which is meant.

"What is the fee?" over three contracts, or over the headings of one: each place gives another answer, none is likelier.
"""

from collections.abc import Sequence

from core.models.selection import Scored, Selection, answer_text
from core.text.questions import asks_for_a_fact
from core.text.terms import content_terms

NEAR = 3.0
"""Log-odds of the reader that a place may lie behind the best one and fit as well."""
AS_LIKELY = 0.4
"""Of the likeliest place's probability: one that is less likely than that is not meant as well."""
LEAST = 0.6
"""The probability that the evidence answers at all, below which there is nothing to choose from."""
MOST_OPTIONS, MOST_OWN_TERMS = 4, 3
"""More places than that are no choice; with more telling words of its own a question says which is meant."""


def options_of(question: str, selection: Selection) -> Sequence[tuple[str, Scored]]:
    """Places (documents, else headings) that answer equally well, each otherwise, by name; empty: nothing to ask."""
    if (
        not asks_for_a_fact(question)
        or len(set(content_terms(question))) > MOST_OWN_TERMS
        or selection.answered < LEAST
    ):
        return ()
    places: dict[tuple[str, tuple[str, ...]], Scored] = {}
    for one in sorted((one for one in selection.scored if one.answer), key=lambda one: -one.measures["span"]):
        passage = one.unit.item.passage
        places.setdefault((passage.document_id, passage.heading_path), one)
    best = max((one.measures["span"] for one in places.values()), default=0.0)
    worth = AS_LIKELY * selection.scored[0].probability if places else 1.0
    alike = [
        one for one in places.values() if one.measures["span"] >= max(0.0, best - NEAR) and one.probability >= worth
    ]
    if not 2 <= len(alike) <= MOST_OPTIONS or len({answer_text(one) for one in alike}) < len(alike):
        return ()
    if len({one.measures["passage share"] for one in alike}) > 1:
        return ()  # one of them speaks of more that the question says
    documents = [one.unit.item.document_name for one in alike]
    headings = [next(reversed(one.unit.item.passage.heading_path), "") for one in alike]
    names = documents if len(set(documents)) == len(alike) else headings
    said = set(content_terms(question))
    told = [set(content_terms(name)) for name in names]
    apart = set[str].union(*told) - set[str].intersection(*told)
    if "" in names or len(set(names)) < len(names) or said & apart:
        return ()
    return list(zip(names, alike, strict=True))
