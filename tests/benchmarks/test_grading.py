"""Promise: an answer is graded as a fair reader would, whatever the spelling of figures, and vagueness is not right."""

import json
from pathlib import Path

import pytest

import benchmarks
from benchmarks import __main__ as command
from benchmarks.grading import ReferenceKind, grade, read_reference
from benchmarks.prose_grading import grade_prose

SALES = "What were the net sales of Alder Mills in 2021?"
MARGIN = "What was the gross margin of Alder Mills in 2021?"
ROW = "Net sales 8,738 8,101 7,950 7,702 7,515"


@pytest.mark.parametrize(
    ("question", "reference", "kind"),
    [
        (SALES, "8738.00", ReferenceKind.FIGURE),
        (SALES, "$8,738 million", ReferenceKind.FIGURE),
        (SALES, "Alder Mills' net sales amounted to $8,738mn.", ReferenceKind.FIGURE),
        ("How many looms does the mill have?", "1874", ReferenceKind.FIGURE),
        ("How many of the 300 looms are in use?", "300", ReferenceKind.FIGURE),
        ("How much was paid?", "Wages amounted to $97 million, and rents to $62 million.", ReferenceKind.FIGURE),
        ("What is the year end 2021 inventory?", "1874", ReferenceKind.FIGURE),
        ("In which year was the mill founded?", "1874", ReferenceKind.DATE),
        ("What is the date of the lease?", "2021-03-04", ReferenceKind.DATE),
        ("When does the lease end?", "March 4, 2031", ReferenceKind.DATE),
        ("Does the mill pay a dividend?", "No. It has never paid one.", ReferenceKind.YES_NO),
        ("Does the mill pay a dividend?", "No the mill keeps what it earns", ReferenceKind.YES_NO),
        ("Which group is the smaller one?", "no weavers of either kind", ReferenceKind.NAME),
        ("Which towns have a mill?", "['Arden', 'Byfield']", ReferenceKind.LIST),
        ("Which towns have a mill?", "Arden, Byfield, and Corran", ReferenceKind.LIST),
        ("Which towns have a mill?", "['Arden']", ReferenceKind.NAME),
        ("What is the telephone number?", "01983 555 0198", ReferenceKind.NAME),
        ("Which segment shrank?", "The linen segment shrank by 0.9%.", ReferenceKind.NAME),
    ],
)
def test_reference_kind_is_detected_from_its_form_and_the_question(
    question: str, reference: str, kind: ReferenceKind
) -> None:
    assert read_reference(question, reference).kind is kind


@pytest.mark.parametrize(
    ("question", "reference", "headline"),
    [
        (MARGIN, "8.7", "8.70%"),
        (MARGIN, "0.087", "The gross margin was 8.7%."),
        (SALES, "1577.00", "$1,577"),
        (SALES, "8738 million", "Net sales, 2021: $8.7 billion"),
        ("What were net sales in 2021 (in USD millions)?", "8738.00", "$8,738 million"),
        ("What were net sales in 2021 (in USD billions)?", "$8.70", "Net sales, 2021: 8,738"),
        ("What was spent (in USD millions)?", "1577", "Purchases of plant: $(1,577) million"),
        ("By how much did sales change?", "-0.021", "Sales fell by 2.1%."),
        ("What is the inventory?", "1874", "Inventory: $1874 million"),
        (SALES, "8738", "Net sales were 8,738 in 2021 and 8,101 in 2020."),
        ("By what percentage did sales fall?", "2.1%", "Percentage change in sales, 2020 to 2021: -2.1%"),
        ("How did sales change?", "-€40 thousand", "Change in sales, 2020 to 2021: -€40,000"),
        (SALES, "0.83", "2,912 / 3,527 = 0.83"),
        ("How many looms are there?", "2", "two looms"),
        ("How long is the notice?", "30 days", "thirty (30) days"),
    ],
)
def test_figures_agree_whatever_their_spelling(question: str, reference: str, headline: str) -> None:
    assert grade(question, reference, headline)


@pytest.mark.parametrize(
    ("question", "reference", "headline"),
    [
        (MARGIN, "8.7%", "8.9%"),
        (MARGIN, "8.7%", "$8.7 million"),
        (MARGIN, "8.7%", "8.7 years"),
        (SALES, "8738 million", "8,738 billion"),
        ("What were net sales in 2021 (in USD billions)?", "8.738", "$8.738 million"),
        ("By how much did sales change?", "-2.1%", "2.1%"),
        ("By how much did sales change?", "2.1%", "(2.1)%"),
        ("How many looms are there?", "12", "13 looms"),
        ("How long is the notice?", "30 days", "30 months"),
        (SALES, "8738", ROW),
        (SALES, "8738", "Sales of 8,738, 7 mills, 12 lorries, 340 people, 55 shops and 19 towns."),
        (SALES, "8738", "It was a good year for the mill and for the people of the town. " * 5 + "Sales: 8,738."),
        (SALES, "8738", ""),
        (SALES, "8738", "Net sales, 2021"),
    ],
)
def test_another_figure_or_one_that_is_not_singled_out_is_not_right(
    question: str, reference: str, headline: str
) -> None:
    assert not grade(question, reference, headline)


def test_dates_agree_in_every_spelling_and_need_every_part() -> None:
    question = "What is the date of the lease?"
    for headline in ("4 March 2021", "March 4, 2021", "The lease is dated 2021-03-04.", "04.03.2021", "3/4/2021"):
        assert grade(question, "2021-03-04", headline), headline
    for headline in ("March 2021", "2021", "March 5, 2021", "the fourth"):
        assert not grade(question, "2021-03-04", headline), headline
    assert grade("In which year was the mill founded?", "1874", "The mill was founded in 1874.")
    assert not grade("In which year was the mill founded?", "1874", "1875")


def test_yes_or_no_must_be_explicit() -> None:
    question = "Does the mill pay a dividend?"
    assert grade(question, "No. It has never paid one.", "No: “The mill has never paid a dividend.”")
    assert not grade(question, "No. It has never paid one.", "Yes: “The mill has paid a dividend.”")
    assert not grade(question, "No. It has never paid one.", "The mill has never paid a dividend.")


def test_names_are_right_by_their_terms_and_not_by_the_question_s() -> None:
    question = "Who wove the altar cloth of Byfield?"
    assert grade(question, "Agnes Tarrant", "Agnes M. Tarrant")
    assert grade(question, "Agnes Tarrant", "The altar cloth of Byfield was woven by Agnes Tarrant of Corran in 1874.")
    assert not grade(question, "Agnes Tarrant", "The altar cloth of Byfield")
    assert not grade(question, "Agnes Tarrant", "Agnes Miller and her sister")
    assert not grade(question, "Agnes Tarrant", "Cloth is woven in many towns. " * 3 + "One weaver was Agnes Tarrant.")


def test_sentence_answering_a_which_question_is_graded_by_its_name() -> None:
    question = "Which town had the highest sales in 2021?"
    reference = "Corran Dale contributed some 90% of the sales of the whole company in 2021."
    assert grade(question, reference, "Corran Dale, with $7,864 million")
    assert not grade(question, reference, "Arden, with 90% of the sales of the whole company")


def test_answer_to_a_choice_must_name_the_correct_option() -> None:
    question = "Is the price of linen higher or lower than in 2020?"
    assert grade(question, "lower", "lower")
    assert not grade(question, "lower", "higher")


def test_lists_are_right_by_their_items() -> None:
    question = "Which towns have a mill?"
    reference = "['Arden', 'Byfield', 'Corran and Dale']"
    assert grade(question, reference, "The towns are Byfield, Corran and Dale, and Arden.")
    assert grade(question, reference, "Arden; Byfield")
    assert not grade(question, reference, "Arden")
    assert not grade(question, reference, "Arden, Elm, Fenton, Garth, Holt and Ives")
    assert grade("What are the shares of the three?", "['46', '27', '64']", "46%, 27% and 64%")
    assert not grade("What are the shares of the three?", "['46', '27', '64']", "46%, 72% and 46%")


def test_prose_must_come_to_the_reference() -> None:
    worked_out = (
        "Sales were $8,738 million. Costs were $7,978 million. So the margin is (8,738 - 7,978) / 8,738 = 8.7%."
    )
    assert grade_prose(MARGIN, "0.087", worked_out)
    assert not grade_prose(MARGIN, "0.087", "The margin of 2020 was 9.1%. I cannot find that of 2021.")
    question = "Has Alder Mills increased its debt?"
    assert grade_prose(question, "No. It decreased.", "The debt of Alder Mills decreased in the year.")
    assert not grade_prose(question, "No. It decreased.", "The debt of Alder Mills increased in the year.")
    assert not grade_prose(question, "No. It decreased.", "The report does not mention the debt of Alder Mills.")
    reason = "No. It decreased from $940 million to $880 million."
    assert grade_prose(question, reason, "No, the debt fell to $880 million, from $940 million.")
    assert not grade_prose(question, reason, "No, the debt fell to $120 million, from $130 million.")
    none = "There are none"
    assert grade_prose("Which mills were sold?", none, "The report mentions no mills that were sold.")
    assert not grade_prose("Which mills were sold?", none, "Arden and Byfield were sold.")
    choice = "Among weaving, spinning and dyeing, which brought in the most?"
    assert grade_prose(choice, "Spinning", "All did well. Spinning brought in the most, $4 million.")
    assert not grade_prose(choice, "Spinning", "All did well. Dyeing brought in the most, $4 million.")


def test_agreement_with_people_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [
        {"question": SALES, "gold_answer": 8738, "model_answer": answer, "human_label": label}
        for answer, label in (
            ("They were $8,738.", "Correct Answer"),
            ("They were $9,999.", "Incorrect Answer"),
            ("I cannot say.", "Refusal"),
            ("They were far above $8,000.", "Correct Answer"),
        )
    ]
    file = tmp_path / "graded.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    assert command.main(["grade", str(file), "--json", "--show", str(tmp_path / "apart.jsonl")]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["answers"] == 4
    assert result["agreement"] == result["by_kind"]["figure"]["agreement"] == 0.75
    assert (result["right_ones_found"], result["wrong_ones_found"]) == (0.5, 1.0)
    assert "far above" in (tmp_path / "apart.jsonl").read_text(encoding="utf-8")


def test_a_result_is_printed_as_lines_and_tables(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sets = {"first": {"n": 12, "auroc": 0.9}, "second": {"n": 7, "auroc": 0.8125}}
    result = {"files": 3, "recall": {"at 5": 0.5}, "sets": sets, "refused": {}}
    monkeypatch.setattr(command.commands(benchmarks)["tables"], "run", lambda options: result)
    assert command.main(["tables", "somewhere"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines[:3] == [["files", "3"], ["recall"], ["at", "5", "0.500"]]
    assert lines[3:] == [["sets", "n", "auroc"], ["first", "12", "0.900"], ["second", "7", "0.812"], ["refused", "{}"]]
    assert command.main(["tables", "somewhere", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == result
