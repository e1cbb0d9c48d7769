"""Quoted text: a row alone, a list with the sentence before it, each part of a question that asks several things."""

from dataclasses import replace

import pytest

from pincite.core.answers import quoting
from pincite.core.answers.lists import NAMED_WHOLE
from pincite.core.answers.quoting import NOT_SURE, Quoting, part_by_part, probability_of, quotes, reply
from pincite.core.answers.relevant import MAX_RELEVANT
from pincite.core.answers.selection import (
    OF_ANOTHER,
    Selection,
    answers_with_heading,
    is_of_another,
    is_of_another_year,
    select,
)
from pincite.core.answers.units import signed, units_of, with_whole_brackets
from pincite.core.domain.answers import AnswerPart, PartKind, Span
from pincite.core.domain.documents import Passage
from pincite.core.domain.ports import AnswerRequest, AskedPiece
from pincite.core.domain.presentation import MIN_ANSWER_CONFIDENCE, MIN_DECLINE_CONFIDENCE
from pincite.core.domain.search import Evidence, Intent, TableHead
from pincite.core.questions.wording import NOT_FOUND

TEXT = "The handrail is 110 centimetres high. A visit outside the hours of the help desk costs 260 euros."
EVIDENCE = (Evidence(1, Passage("d:0:0", "d", 0, "1", TEXT, 0, len(TEXT)), "d.pdf", {"reranked": 1.0, "dense": 0.8}),)
HEIGHT, PRICE = "How high is the handrail?", "what does a visit cost?"


def _pieces(*questions: str, names: tuple[str, ...] = ("", "")) -> list[AskedPiece]:
    return [AskedPiece(one, (one,), EVIDENCE, name=name) for one, name in zip(questions, names, strict=True)]


def unanswered(question: str, evidence: object) -> Selection:
    found = select(question, EVIDENCE)
    return replace(found, answered=0.1) if question == PRICE else found


def test_every_part_has_its_answer_and_all_of_it_one_probability() -> None:
    parts = part_by_part(_pieces(HEIGHT, PRICE))
    answer_text = " ".join(part.text for part in parts)
    assert "110 centimetres" in answer_text and "260 euros" in answer_text
    alone = [part_by_part(_pieces(one, one))[0].probability or 0 for one in (HEIGHT, PRICE)]
    assert parts[0].probability == pytest.approx((alone[0] * alone[1]) ** 0.5)
    assert not any(part.probability for part in parts[1:])


def test_part_without_answer_is_reported_as_unanswered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quoting, "select", unanswered)
    *answered, last = part_by_part(_pieces(HEIGHT, PRICE))
    assert "110 centimetres" in answered[0].text
    assert last.kind is PartKind.DECLINE and last.text == "I found no answer to “what does a visit cost?”."


@pytest.mark.behaviour(
    "Router",
    "Where nothing answers, the most telling words of an English question that are in no passage searched are "
    "named, and where none of its words is, no passage is listed.",
)
def test_nothing_is_found_only_where_that_is_sure_or_no_word_occurs() -> None:
    none = Selection(select(PRICE, EVIDENCE).scored, answered=0.3, right=0.2)
    (head, where, quoted) = reply("What does a helicopter cost?", none, EVIDENCE, absent=("helicopter",))
    assert head.kind is PartKind.EVIDENCE and where.text == "d.pdf, page 1" and "260 euros" in quoted.text
    (alone,) = reply("Which helicopters hover?", none, EVIDENCE, absent=("helicopters", "hover"))
    assert alone.text == f"{NOT_FOUND} “helicopters” and “hover” do not appear in any passage searched."
    strange = "Which mayor planted the oak beside the mill?"
    far = (replace(EVIDENCE[0], scores={"reranked": 1.0, "dense": 0.2}),)
    (declined,) = reply(strange, replace(select(strange, far), answered=0.3, right=0.01), far)
    assert declined.kind is PartKind.DECLINE and declined.probability == pytest.approx(0.7), "nothing is relevant"
    near = reply(strange, replace(select(strange, EVIDENCE), answered=0.3, right=0.01), EVIDENCE)
    assert near[0].kind is PartKind.EVIDENCE, "a passage about the same thing in other words is relevant"
    sure = replace(none, answered=0.05)
    (declined,) = reply("What does a helicopter cost?", sure, EVIDENCE)
    assert declined.kind is PartKind.DECLINE and declined.probability == pytest.approx(0.95)
    assert reply("Is a helicopter free?", sure, EVIDENCE)[0].kind is PartKind.EVIDENCE, "other words may decide it"
    german = reply("Was kostet ein Hubschrauber?", sure, EVIDENCE, absent=("kostet", "Hubschrauber"))
    assert german[0].kind is PartKind.EVIDENCE, "a page in another language has other words for it"
    assert MIN_DECLINE_CONFIDENCE < 0.95


def test_answers_from_several_documents_are_grouped_under_document_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quoting, "select", unanswered)
    first, _, *_, last = part_by_part(_pieces(HEIGHT, PRICE, names=("stairs.pdf", "desk.pdf")))
    assert (first.kind, first.text) == (PartKind.NOTE, f"stairs.pdf, “{HEIGHT}”:")
    assert last.kind is PartKind.DECLINE and last.text.startswith("desk.pdf: I found no answer to “what does a visit")


def test_each_answer_is_listed_under_its_own_document_and_question() -> None:
    fees = [AnswerPart(f"Fee: {at}", (1,), PartKind.FIGURE, probability=0.9 if at % 2 else None) for at in range(1, 5)]
    asked = [(PRICE, "a.pdf", fees[:2]), (PRICE, "b.pdf", fees[2:]), (HEIGHT, "a.pdf", fees[:1])]
    parts = part_by_part([AskedPiece(one, (one,), (), tuple(stated), name) for one, name, stated in asked])
    assert [part.text.removesuffix(":") for part in parts] == [
        f"a.pdf, “{PRICE}”", "Fee: 1", f"b.pdf, “{PRICE}”", "Fee: 3", f"a.pdf, “{HEIGHT}”", "Fee: 1",
    ]  # fmt: skip


def test_what_each_of_several_documents_is_asked_needs_two_that_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    three = _pieces(HEIGHT, HEIGHT, PRICE, names=("stairs.pdf", "house.pdf", "desk.pdf"))
    monkeypatch.setattr(quoting, "select", unanswered)
    *told, last = part_by_part(three, of_each=True)
    assert last.text == "desk.pdf: I found no answer to “what does a visit cost?”."
    alone = select(HEIGHT, EVIDENCE).right
    assert probability_of(told) == pytest.approx(alone), "no decline counts"
    assert part_by_part(three[1:], of_each=True) == [], "one answers: it was asked of that one"


def test_of_several_documents_those_that_answer_surely_are_quoted_and_the_others_named() -> None:
    sure = {"a.pdf": 0.9, "b.pdf": 0.7, "c.pdf": 0.3}
    asked = [
        AskedPiece(PRICE, (PRICE,), (), (AnswerPart(f"Fee {name}", (1,), PartKind.FIGURE, probability=own),), name)
        for name, own in sure.items()
    ]
    parts = part_by_part(asked, of_each=True)
    assert [part.text for part in parts] == ["a.pdf:", "Fee a.pdf", "b.pdf:", "Fee b.pdf", NOT_SURE.format("c.pdf")]
    assert probability_of(parts) == 0.7, "that of the least sure answer"


def test_figures_that_one_question_finds_in_several_tables_are_as_sure_as_the_least() -> None:
    fees = [AnswerPart(f"Fee: {at}", (1,), PartKind.FIGURE, probability=at / 10, figures=()) for at in (9, 8)]
    of_one = [AskedPiece(PRICE, (PRICE,), (), (part,)) for part in fees]
    assert probability_of(part_by_part(of_one)) == pytest.approx(0.8)
    of_two = [replace(piece, asked=asked) for piece, asked in zip(of_one, (HEIGHT, PRICE), strict=True)]
    assert probability_of(part_by_part(of_two)) == pytest.approx(0.72)


SCORES = {"reranked": 1.0, "dense": 0.8}


def _item(text: str) -> Evidence:
    return Evidence(1, Passage("d:0:0", "d", 0, "1", text, 0, len(text)), "d.pdf", SCORES)


def test_table_row_is_one_unit_and_so_is_each_self_labelled_cell() -> None:
    rows = "Product\t100 copies\t250 copies\nFlyer\t24\t41\nPoster\t85\t176\nDelivery costs 9.50 euros.\n"
    signed = "For the buyer: Dunja Orlov\tFor the seller: Felix Baumgart"
    assert [unit.quoted for unit in units_of(_item(rows + signed))] == [
        *rows.strip().split("\n"), *signed.split("\t")
    ]  # fmt: skip


BUSES = "Stop\tBus A\tBus B\tBus C\nMill School\t6:21\t8:49\t13:14\nEnnis Bridge\t6:34\t9:02\t13:27\n"


def test_which_of_several_cells_answers_is_never_sure_and_the_rows_are_shown_below_their_heads() -> None:
    question, item = "When does Bus C stop at Mill School?", _item(BUSES)
    selection = replace(select(question, [item]), answered=0.9, right=0.9)
    head, _, table = reply(question, selection, [item])
    assert head.kind is PartKind.EVIDENCE and (head.probability or 0) < MIN_ANSWER_CONFIDENCE
    assert table.text == BUSES.rstrip("\n") and table.start == 0
    long = _item(BUSES + "".join(f"Stop {at}\t1\t2\t3\n" for at in range(20)) + "Oak Lane\t7:00\t9:30\t14:05")
    question = "When does Bus C stop at Oak Lane?"
    _, _, heads, rows = reply(question, replace(select(question, [long]), answered=0.9, right=0.9), [long])
    assert heads.text == "Stop\tBus A\tBus B\tBus C"
    assert rows.text.split("\n")[-1] == "Oak Lane\t7:00\t9:30\t14:05" and len(rows.text.split("\n")) <= 3


def test_rows_are_shown_below_the_heads_of_their_table_wherever_those_are() -> None:
    heads = "Year ended May 31,\n2019\t2018"
    body = (
        "Assets:\nCash\t4,466\t4,249\n"
        + "".join(f"Item {at}\t{at}\t{at}\n" for at in range(20))
        + "Goods\t5,622\t5,261"
    )
    text = f"Balance sheet of the quay\n{heads}\n{body}"
    begins = text.index(heads)
    item = replace(_item(text), table_heads=(TableHead(begins, len(text), begins, begins + len(heads)),))
    question = "What were the goods worth in 2018?"
    _, _, *table = reply(question, replace(select(question, [item]), answered=0.9, right=0.2), [item])
    assert table[0].text == f"Balance sheet of the quay\n{heads}" and "Goods\t5,622\t5,261" in table[1].text
    question = "How much cash was there in 2019?"
    found = replace(select(question, [item]), answered=0.9, right=0.2)
    first = next(one for one in found.scored if one.unit.quoted.startswith("Cash"))
    _, _, table_, *_ = reply(question, replace(found, scored=(first,)), [item])
    assert table_.text.startswith(f"Balance sheet of the quay\n{heads}\nAssets:\nCash\t4,466\t4,249")


def test_a_number_leads_with_what_is_counted() -> None:
    sentence = "The total of 418 euro is to be paid within 14 days of the date of this invoice."
    asked = ("Within how many days is the total to be paid?", "What is the total of the invoice?")
    answers = [quotes(question, select(question, [_item(sentence)]))[0].text for question in asked]
    assert answers[0] == "14 days" and answers[1].startswith("418") and "is" not in answers[1].split()


def test_a_list_is_quoted_whole_with_what_leads_to_it() -> None:
    kit = "The kit hangs there.\nThe first aid kit must contain:\n• two bandages\n• a rescue blanket\n• eye wash"
    question = "What must the first aid kit contain?"
    first, *_ = quotes(question, select(question, [_item(kit)]))
    assert first.text == kit[kit.index("The first") :] and first.probability


LOCKS = [
    f"Lock {at} was painted by the warden {name}." for at, name in enumerate(("Ada Bunce", "Boris Cheam", "Cy Dodd"), 4)
]


def _wardens(*lines: str) -> tuple[Evidence, ...]:
    """A page a line."""
    found = enumerate(lines, start=1)
    return tuple(
        Evidence(
            at, Passage(f"d:{at}", "d", at, str(at), line, 0, len(line)), "locks.pdf", {"reranked": 1.0, "dense": 0.8}
        )
        for at, line in found
    )


@pytest.mark.parametrize("question", ["List all the wardens.", "Who are the wardens?", "How many wardens are named?"])
def test_sentences_of_one_form_are_listed_together_where_several_things_are_asked_for(question: str) -> None:
    evidence = _wardens("Survey of the locks\n" + LOCKS[0], *LOCKS[1:], "The warden of the lock lives by the water.")
    note, *quoted = quotes(question, replace(select(question, evidence), answered=0.1))
    assert [part.text for part in quoted] == LOCKS
    assert note.text == "3 sentences of one form on pages 1 to 3. There may be more than these."
    assert quoted[0].probability == NAMED_WHOLE


def test_they_are_of_one_form_where_most_of_each_is_the_same_words() -> None:
    volunteers = {"cake stall": "Celia Marsh", "tombola": "Rupert Yeo", "pony rides": "Honor Gale"}
    stalls = [f"The {what} will be looked after by the volunteer {who}." for what, who in volunteers.items()]
    evidence = _wardens(*stalls, "The rooms will be looked after by the caretaker.")
    note, *quoted = quotes("Give me the names of all the volunteers", select("Name all the volunteers", evidence))
    assert note.text.startswith("3 sentences of one form") and [part.text for part in quoted] == stalls


def test_sentences_of_one_form_are_to_be_checked_where_more_is_asked_than_they_share() -> None:
    question = "How many wardens have left?"
    note, first, *_ = quotes(question, replace(select(question, _wardens(*LOCKS)), answered=0.1))
    assert "of one form" in note.text and 0 < (first.probability or 0) < MIN_ANSWER_CONFIDENCE
    assert reply(question, select(question, _wardens(*LOCKS)), _wardens(*LOCKS))[0].kind is PartKind.EVIDENCE


@pytest.mark.parametrize(
    "question",
    ["Which are the locks painted by Boris Cheam?", "List all locks that Greta Moss painted.",
     "List the locks of 2019.", "List all the boats."],
)  # fmt: skip
def test_they_are_not_where_a_question_singles_some_out_or_asks_for_something_else(question: str) -> None:
    parts = quotes(question, select(question, _wardens(*LOCKS)))
    assert not any("of one form" in part.text for part in parts)


def test_two_sentences_of_one_form_are_no_list() -> None:
    parts = quotes("List all the wardens.", select("List all the wardens.", _wardens(*LOCKS[:2])))
    assert not any("of one form" in part.text for part in parts)


def test_a_sentence_that_goes_on_over_the_page_is_read_as_one_and_quoted_on_both_pages() -> None:
    texts = (
        "The lamps burn colza. Of the oil that was saved in the autumn, the office gave eight barrels to the fishing",
        "fleet of Norholm, which had lost its own. The keeper lives in the tower.",
    )
    pages = [
        Evidence(page + 1, Passage(f"d:{page}", "d", page, str(page + 1), text, 0, len(text)), "d.pdf", SCORES)
        for page, text in enumerate(texts)
    ]
    question = "To whom did the office give eight barrels of oil?"
    parts = quotes(question, select(question, pages))
    quoted = [part for part in parts if part.kind is PartKind.VERBATIM]
    assert [part.numbers for part in quoted] == [(1,), (2,)]
    assert quoted[0].text.startswith("Of the oil") and quoted[1].text == "fleet of Norholm, which had lost its own."


def test_the_value_behind_a_label_that_the_question_repeats_leads_but_a_title_with_a_name_does_not() -> None:
    policy = "The bicycle is insured up to 2,900 euros against theft and damage.\nNumber of the policy: FC-724"
    question = "What is the number of the policy for the bicycle?"
    assert quotes(question, select(question, [_item(policy)]))[0].text == "FC-724"
    lake = "Lake Irma: bathing water\nThe samples of Lake Irma were analysed by the laboratory Aqualis in 2025."
    question = "Which laboratory analysed the samples of Lake Irma?"
    assert "Aqualis" in quotes(question, select(question, [_item(lake)]))[0].text


def test_a_sentence_over_two_lines_with_colons_is_one() -> None:
    wrapped = "Payment: the buyer shall pay the price within\n30 days: otherwise interest of 5 % is due."
    assert [unit.quoted for unit in units_of(_item(wrapped))] == [wrapped]


def test_lines_that_each_say_what_they_are_are_quoted_one_by_one() -> None:
    signed = "Signed for the contractor: Orla Westergaard, managing director\nSigned for the client: Pelle Ingram"
    assert [unit.quoted for unit in units_of(_item(signed))] == signed.split("\n")


LETTER = (
    "The weir was repaired in May by the firm of Ada Lunn.\nPlease pay the bill within thirty days.\n"
    "Yours faithfully,\nPerpetua Quince\nClerk of the drainage board\n"
)


def test_lines_below_last_sentence_in_letter_are_its_signatories() -> None:
    best = select("Who signed the letter?", [_item(LETTER)]).scored[0]
    assert best.answer and LETTER[best.answer.start : best.answer.end].startswith("Perpetua Quince")
    assert LETTER[best.unit.start : best.unit.end] == best.unit.quoted, "the words unchanged"


def test_they_answer_nothing_else() -> None:
    best = select("Who repaired the weir?", [_item(LETTER)]).scored[0]
    assert best.answer and "Ada Lunn" in LETTER[best.answer.start : best.answer.end]


def test_words_about_another_numbered_thing_are_never_shown_without_a_warning() -> None:
    evidence = [_item("Span 2 stands out: its largest loss, 2.35 mm, was found beside the western joint.")]
    assert select("What is the largest loss of Span 2?", evidence).right > MIN_ANSWER_CONFIDENCE
    assert select("What is the largest loss of span 1?", evidence).right <= OF_ANOTHER < MIN_ANSWER_CONFIDENCE
    assert is_of_another("Lot 7 is let to Mr Falk.", "Who rents lot 9?") and not is_of_another("Lots 7, 9", "lot 9?")


def test_words_of_other_years_only_are_never_shown_without_a_warning() -> None:
    [unit, *_] = units_of(_item("The stock of Deepdale was 44 in 2021 and 52 in 2022."))
    assert is_of_another_year(unit, "What was the stock of Deepdale in 2018?")
    assert select("What was the stock of Deepdale in 2018?", [unit.item]).right <= OF_ANOTHER
    for question in ("What was the stock of Deepdale in 2022?", "What was the stock of Deepdale?"):
        assert not is_of_another_year(unit, question)
    dated = replace(unit, item=replace(unit.item, document_name="stocks-2018.pdf"))
    assert not is_of_another_year(dated, "What was the stock of Deepdale in 2018?")


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("Within 14 days a boat may be sent back.", "Can I send it back within 30 days?"),
        ("Phase 1 and 2 end in May.", "When does Phase 2 end?"),
        ("Annex A, B and C are part of it.", "What is Annex B?"),
        ("On December 31, 2023 there was cash of 5 million.", "What was the cash in December 2023?"),
        ("Revenue\t1,200\t1,100", "What was the revenue 2023?"),
        ("Articles 3 to 7 apply.", "Does article 5 apply?"),
    ],
)
def test_what_only_looks_like_another_numbered_thing_is_none(text: str, question: str) -> None:
    assert not is_of_another(text, question)


def test_follow_up_with_words_that_match_something_else_is_never_confident() -> None:
    text = (
        "From 1 April 2025 the mooring fee for berth 7 rises to EUR 335 per day.\nThe crane is out of service in March."
    )
    evidence = (_item(text),)
    fee = "What is the mooring fee for berth 7?"
    joined = AnswerRequest(
        f"{fee} Since when?", Intent.DOCUMENT_SEARCH, evidence, read_otherwise="Which crane is out of service?"
    )
    alone = replace(joined, read_otherwise="")
    first = [next(part for part in Quoting().answer(one, lambda: False)) for one in (joined, alone)]
    assert first[0].kind is PartKind.EVIDENCE and (first[1].probability or 0) >= MIN_ANSWER_CONFIDENCE > (
        first[0].probability or 0
    )
    agreeing = replace(joined, read_otherwise="Since when is it EUR 335?")
    assert next(part for part in Quoting().answer(agreeing, lambda: False)).probability == first[1].probability


def test_a_follow_up_gets_the_sentence_without_a_headline() -> None:
    sentence = "From 1 April 2025 the mooring fee for berth 7 rises to EUR 335 per day."
    fee = "What is the mooring fee for berth 7?"
    alone = AnswerRequest(fee, Intent.DOCUMENT_SEARCH, (_item(sentence),))
    joined = replace(alone, question=f"What is the mooring fee? {fee}", read_otherwise=fee)
    headlines = [
        [part.text for part in Quoting().answer(one, lambda: False) if part.kind is PartKind.HEADLINE]
        for one in (alone, joined)
    ]
    assert headlines[0] and not headlines[1]


def test_clause_number_is_not_a_headline() -> None:
    clause = "2 Term\n2.1 This agreement takes effect on 14 September 2027 and runs for 220 days."
    question = "What is the term of the agreement?"
    found = select(question, [_item(clause)])
    mark = replace(found.scored[0], answer=Span(clause.index("2.1"), clause.index(" This")))
    [quoted] = quotes(question, replace(found, scored=(mark,), answered=0.9, right=0.9))
    assert quoted.kind is PartKind.VERBATIM and "220 days" in quoted.text


def test_a_heading_is_no_answer_to_rely_on() -> None:
    contract = "Window cleaning contract\nThis contract is concluded between Brightpane Ltd and Cawdor Academy."
    found = select("What is the term of the contract?", [_item(contract)]).scored[0]
    title = replace(found, answer=Span(0, contract.index("\n")))
    assert answers_with_heading(title)
    assert not answers_with_heading(replace(found, answer=Span(contract.index("Brightpane"), len(contract) - 1)))
    invoice = select("What is the total?", [_item("Total: 1,038.00 pounds\nPayable within fourteen days.")]).scored[0]
    assert not answers_with_heading(replace(invoice, answer=Span(7, 22))), "the line states what it is"
    prices = select("Which laundry is cheaper?", [_item("Laundry West: price list\nPrices are in pounds.")]).scored[0]
    assert answers_with_heading(replace(prices, answer=Span(0, len("Laundry West")))), "what is listed is no answer"
    table = select("What were sales by region?", [_item("Sales by region, 2024\nRegion\tSales\nNorth\t12")]).scored
    caption = next(one for one in table if one.unit.start == 0)
    assert answers_with_heading(replace(caption, answer=Span(0, len("Sales by region, 2024"))))
    [*_, signature] = signed([*units_of(_item(f"It is agreed.\n{LETTER}"))])
    assert not answers_with_heading(replace(found, unit=signature, answer=Span(signature.start, signature.start + 4)))


def test_what_a_document_is_called_is_read_before_its_passages() -> None:
    text = "Rosalind Fitch has led the company since 2021. Piers Dunmow is the finance director."
    question, item = "Who is the boss of Haldane?", _item(text)
    alone = select(question, [item])
    named = select(question, [replace(item, called=("Haldane Brooms plc", "Annual Report 2024"))])
    other = select(question, [replace(item, called=("Brackwell Brushes Ltd", "Annual Report 2024"))])
    answer = named.scored[0].answer
    assert answer and text[answer.start : answer.end] == "Rosalind Fitch"
    assert named.right > alone.right and alone.right == other.right
    longer_item = _item(f"{text} Haldane is in Kelby.")
    assert (
        select(question, [replace(longer_item, called=("Haldane Brooms plc",))]).right
        == select(question, [longer_item]).right
    )


def test_list_item_words_are_not_a_heading() -> None:
    wardens = "• Abel Thrupp, warden for Ropewalk\n• Blanche Ogden, warden for Church Lane"
    found = select("Who are the wardens?", [_item(wardens)]).scored[0]
    assert not answers_with_heading(replace(found, answer=Span(2, 13)))


def test_the_row_that_the_question_names_is_shown_first() -> None:
    lessons = _item("Day\tFirst\tSecond\n" + "".join(f"Day {at}\tMaths\tMaths\n" for at in range(9))
                    + "Monday\tLatin\tMusic\nTuesday\tHistory\tAlgebra")  # fmt: skip
    question = "What is the second lesson on Tuesday?"
    found = select(question, [lessons])
    first = next(one for one in found.scored if one.unit.quoted.startswith("Day 0"))
    others = tuple(one for one in found.scored if one is not first)
    sure = replace(found, scored=(first, *others), answered=0.9, right=0.9)
    *_, rows = reply(question, sure, [lessons])
    assert "Tuesday\tHistory\tAlgebra" in rows.text
    *_, rows = reply("Who teaches Latin?", sure, [lessons])
    assert "Day 0" in rows.text, "no row is named"


def test_passages_are_of_different_places_with_their_likeliest_words_marked() -> None:
    fees = {
        "bridge": "The fee is 400 euro per day.",
        "harbour": "The fee is 900 euro per day. Boats pay at the office.",
    }
    evidence = [
        Evidence(at, Passage(name, name, 0, "1", text, 0, len(text), ("Fees",)), f"{name}.pdf", SCORES)
        for at, (name, text) in enumerate(fees.items(), start=1)
    ]
    head, *rest = reply("What is the fee?", select("What is the fee?", evidence), evidence)
    assert head.text == MAX_RELEVANT, "two places answer equally well: neither is the answer"
    shown = {part.text for part in rest if part.kind is PartKind.NOTE}
    assert shown == {"bridge.pdf, page 1 · Fees", "harbour.pdf, page 1 · Fees"}
    quoted = {part.text: [part.text[mark.start : mark.end] for mark in part.marked] for part in rest if part.verbatim}
    assert quoted == {fees["bridge"]: ["400 euro per day"], fees["harbour"]: ["900 euro per day"]}


def test_no_more_than_five_passages_of_few_words_are_shown() -> None:
    evidence = _wardens(
        *(f"The fee of lock {at} is {at} euro. " + "It is paid there by the owners. " * 30 for at in range(9))
    )
    question = "What is the fee of the lock of Bunce?"
    parts = reply(question, replace(select(question, evidence), right=0.1, answered=0.5), evidence)
    quoted = [part.text for part in parts if part.verbatim]
    assert len(quoted) == 5 and all(len(text.split()) <= 50 for text in quoted)


def test_what_is_shown_of_a_proposed_change_has_its_label() -> None:
    text = "1. One. [Proposed insertion by R. Dahl: 5. The fee is EUR 15,000.] 6. The law is Irish."
    within, after = text.index("The fee"), text.index("6. The")
    whole = with_whole_brackets(text, within, len(text))
    assert text[whole.start :].startswith("[Proposed insertion")
    whole = with_whole_brackets(text, 0, within)
    assert text[: whole.end].endswith("EUR 15,000.]")
    assert with_whole_brackets(text, after, len(text)) == Span(after, len(text))
