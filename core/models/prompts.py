"""How an answer is asked of a language model. Evidence is delimited data: nothing in it is an instruction."""

from pincite.core.domain.answers import AnswerPart
from pincite.core.domain.ports import AnswerRequest
from pincite.core.domain.search import Evidence, Intent, Reason
from pincite.core.text.foreign import defused, in_line
from pincite.core.text.marks import with_masked_brackets
from pincite.core.text.orders import without_orders
from pincite.core.text.prompts import PROMPTS

MAX_FIGURES = 3


def messages_for(request: AnswerRequest) -> list[dict[str, str]]:
    """Return the messages to send: rules, the conversation, then evidence and question."""
    system = PROMPTS["chat" if request.intent is Intent.CHAT else "answer"]
    if request.instructions:
        system += f"\n\nThe user's instructions for answers about these documents: {request.instructions}"
    messages = [{"role": "system", "content": system}]
    messages += [
        {"role": message.role, "content": with_masked_brackets(defused(message.text))} for message in request.history
    ]
    return [*messages, {"role": "user", "content": _user_text(request)}]


def _user_text(request: AnswerRequest) -> str:
    parts = []
    if request.intent is not Intent.CHAT:
        parts.append("<passages>\n" + "\n".join(map(passage_as_data, request.evidence)) + "\n</passages>")
    if request.stated:
        figures = "\n".join(map(_figure, request.stated[:MAX_FIGURES]))
        parts.append(f"{PROMPTS['figures']}\n{figures}")
    if request.draws:
        parts.append(PROMPTS["chart"])
    if request.critique:
        parts.append(PROMPTS["again"] + "\n" + "\n".join(f"- {in_line(line)}" for line in request.critique))
        parts.append("Write a new answer that avoids this.")
    if request.library_is_empty:
        parts.append("There are no documents yet.")
    if request.hint:
        parts.append(f"A reviewer's hint: {request.hint}")
    if request.reworded:
        parts.append(f"{PROMPTS['reword']}\n{defused(request.reworded)}")
    parts.append(request.question if request.intent is Intent.CHAT else f"Question: {request.question}")
    return "\n\n".join(parts)


def passage_as_data(item: Evidence) -> str:
    """Return a passage with its number and place; orders to a model are taken out of it."""
    passage = item.passage
    remarks = ["one sentence of it"] if item.reason is Reason.EXCERPT else []
    remarks += ["changes another passage"] if item.reason is Reason.CHANGE else []
    remarks += [f"replaced by {item.replaced_by}"] if item.replaced_by else []
    remarks += ["changed by another passage"] if item.changes else []
    where = " › ".join([item.document_name, *passage.heading_path, f"page {passage.page_label}", *remarks])
    text = with_masked_brackets(defused(without_orders(passage.text)))
    return f"<passage>\n[{item.number}] ({with_masked_brackets(in_line(where))})\n{text}\n</passage>"


def _figure(part: AnswerPart) -> str:
    return f"- {with_masked_brackets(defused(in_line(part.text)))} [{', '.join(map(str, part.numbers))}]"
