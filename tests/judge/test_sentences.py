"""Sentences, list items and table rows come apart where a reader would part them, and keep their place in the text."""

import pytest

from pincite.core.text.sentences import split_sentences


def parts(text: str) -> list[str]:
    return [text[span.start : span.end] for span in split_sentences(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Dr. Smith left at 5 p.m. on Monday. He was late.", ["Dr. Smith left at 5 p.m. on Monday.", "He was late."]),
        (
            "The aircraft was promised to the men for the\n† A barrel holds two hundred litres.",
            ["The aircraft was promised to the men for the", "† A barrel holds two hundred litres."],
        ),
        ("It costs 3.5 million. See No. 5 for more.", ["It costs 3.5 million.", "See No. 5 for more."]),
        ("J. R. R. Tolkien wrote it. Who read it? I did!", ["J. R. R. Tolkien wrote it.", "Who read it?", "I did!"]),
        (
            "Sales rose. [1] Costs fell [2][3]. Done.[4] End",
            ["Sales rose. [1]", "Costs fell [2][3].", "Done.[4]", "End"],
        ),
        (
            "Intro:\n- first item\n- second\n  item\n1. one\n2. two",
            ["Intro:", "- first item", "- second\n  item", "1. one", "2. two"],
        ),
        ("| a | b |\n|---|---|\n| 1 | 2 |", ["| a | b |", "|---|---|", "| 1 | 2 |"]),
        (
            "Revenue 1,200 1,100\nCost of sales (900) (850)\nThe rest is text.",
            ["Revenue 1,200 1,100", "Cost of sales (900) (850)", "The rest is text."],
        ),
        ("这是第一句。这是第二句！「真的？」是的", ["这是第一句。", "这是第二句！", "「真的？」", "是的"]),
        ("هل هذا صحيح؟ نعم. انتهى", ["هل هذا صحيح؟", "نعم.", "انتهى"]),
        ("Это стоит 5 млн руб. в год. Это дорого.", ["Это стоит 5 млн руб. в год.", "Это дорого."]),
        ("A line that wraps\nonto the next line. Then more.", ["A line that wraps\nonto the next line.", "Then more."]),
        ('He said "Stop." Then he left.', ['He said "Stop."', "Then he left."]),
        ("Das gilt z. B. für Mieter. Es endet im Mai.", ["Das gilt z. B. für Mieter.", "Es endet im Mai."]),
        ("", []),
    ],
)
def test_text_comes_apart_as_a_reader_would_part_it(text: str, expected: list[str]) -> None:
    assert parts(text) == expected


def test_every_character_but_white_space_is_in_exactly_one_span() -> None:
    text = "# Title\n\nOne. Two (see p. 4)! Three?\n\n* item a\n* item b.\n\n| x | 1 |\nlast words"
    spans = split_sentences(text)
    covered = [position for span in spans for position in range(span.start, span.end)]
    assert len(covered) == len(set(covered))
    assert "".join(text[position] for position in covered).split() == "".join(parts(text)).split()
    assert all(text[position].isspace() for position in set(range(len(text))) - set(covered))
