"""What every keyword index promises: any word finds, rare words count more, every script is found, no text is code."""

from collections.abc import Callable

import pytest

from pincite.core.domain.documents import Passage
from pincite.core.domain.ports import KeywordIndex
from pincite.core.store.database import Database
from pincite.core.store.schema import documents, passages

ONE, TWO = "1" * 64, "2" * 64
Fill = Callable[..., KeywordIndex]


@pytest.fixture
def fill(database: Database) -> Fill:
    """An index over these texts, one passage each, named ``document:number``."""

    def filled(*texts: str, document_id: str = ONE, context: str = "") -> KeywordIndex:
        row = {"id": document_id, "name": "a", "byte_size": 1, "added_at": "", "status": "ready"}
        made = [
            Passage(f"{document_id}:{number}", document_id, number, "", text, 0, len(text), context=context)
            for number, text in enumerate(texts)
        ]
        place = {"document_id": document_id, "start": 0, "end": 0, "embedding_key": b"\0"}
        with database.transaction():
            database.run(database.insert(documents).values(row).on_conflict_do_nothing())
            for passage in made:
                values = place | {"id": passage.id, "page_index": passage.page_index}
                database.run(database.insert(passages).values(values))
        index = database.keyword_index()
        index.add(made)
        return index

    return filled


def found(index: KeywordIndex, query: str, *documents: str) -> list[int]:
    return [int(name.split(":")[1]) for name, _ in index.search(query, document_ids=documents, limit=10)]


def test_any_word_finds_and_the_passage_with_more_and_rarer_words_comes_first(fill: Fill) -> None:
    index = fill(
        "the payment of rent", "the rent of bicycles", "the payment of salaries", "rent and payment of deposits"
    )
    assert found(index, "payment deposits rent")[:2] == [3, 0]
    assert set(found(index, "bicycles deposits")) == {1, 3}
    assert found(index, "zebra") == []
    scores = [score for _, score in index.search("payment deposits", document_ids=(), limit=10)]
    assert scores == sorted(scores, reverse=True) and scores[0] > 0


def test_search_stays_within_the_documents_asked_for(fill: Fill) -> None:
    fill("rent one", "rent two")
    index = fill("rent three", document_id=TWO)
    assert len(found(index, "rent")) == 3
    assert [name for name, _ in index.search("rent", document_ids=[TWO], limit=9)] == [f"{TWO}:0"]
    assert index.search("rent", document_ids=["3" * 64], limit=9) == []


def test_heading_and_title_find_a_passage_but_its_own_words_count_more(fill: Fill) -> None:
    fill("nothing of the kind", context="Late payment")
    index = fill("late payment is a breach", document_id=TWO)
    names = [name for name, _ in index.search("late payment", document_ids=(), limit=9)]
    assert names == [f"{TWO}:0", f"{ONE}:0"]


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("Die Kündigungsfrist beträgt drei Monate.", "kundigungsfrist"),
        ("Die Straße ist gesperrt.", "STRASSE"),
        ("Les pénalités de retard s'élèvent à trois pour cent.", "penalites"),
        ("El interés de demora será del nueve por ciento.", "interes de demora"),
        ("違約金は年率九パーセントとする。", "違約金"),
        ("東京都庁の猫", "猫"),
        ("逾期付款的违约金为每日千分之五", "违约金是多少"),
        ("계약의 해지 통지는 서면으로 한다", "해지"),
        ("تبلغ غرامة التأخير في السداد تسعة بالمئة", "ما هي غرامة التأخير؟"),
        ("وتُحسب الغَرامة يوميًا", "الغرامة"),
        ("Проценты за просрочку платежа составляют девять процентов.", "просрочка платежей"),
        ("सेवा शुल्क प्रति माह देय है", "शुल्क"),
        ("ค่าปรับการชำระล่าช้า", "ค่าปรับ"),
        ("The ﬁnancial oﬃce is closed.", "financial office"),
        ("Ｆｕｌｌ　ｗｉｄｔｈ", "full width"),
        ("Net revenues were $1,234.5 million.", "1234.5"),
        ("Employees are paid monthly.", "employee payments monthly"),
        ("Co\u00adoperation agreement", "cooperation"),
    ],
)
def test_every_script_is_found(fill: Fill, text: str, query: str) -> None:
    assert found(fill("Something else altogether.", text), query) == [1]


@pytest.mark.parametrize(
    "query",
    [
        '"',
        "rent AND",
        "NOT rent",
        "rent*",
        "text:rent",
        "(rent",
        "rent OR OR",
        "rent NEAR/2 x",
        "^rent",
        "'; DROP TABLE pages;--",
    ],
)
def test_no_text_is_read_as_syntax(fill: Fill, query: str) -> None:
    index = fill("the rent of bicycles")
    assert found(index, query) == ([0] if "rent" in query else [])
    assert found(index, "rent") == [0]


def test_stop_words_count_only_when_there_is_nothing_else(fill: Fill) -> None:
    index = fill("what is the and of", "the rent")
    assert found(index, "what is the rent") == [1]
    assert 0 in found(index, "what is the")
    assert found(index, "") == [] and found(index, "?!…") == []


def test_word_that_nearly_all_passages_have_does_not_hide_the_rare_one(fill: Fill) -> None:
    index = fill(*["the company reports revenue"] * 200, "the company sold its mill")
    assert found(index, "company mill")[0] == 200


def test_a_word_is_absent_only_where_nothing_begins_as_it_does(fill: Fill) -> None:
    fill("The penguins of Köln", document_id=TWO)
    index = fill("Volcanoes erupted in 1998", "小さい火山")
    asked = ["volcano", "eruption", "Köln", "1998", "Mongolia", "1997", "penguin", "地震"]
    assert index.absent(asked, document_ids=()) == ["Mongolia", "1997"], "scripts without spaces are not reported"
    assert index.absent(asked, document_ids=(ONE,)) == ["Köln", "Mongolia", "1997", "penguin"]
    assert index.absent(asked, document_ids=(TWO,)) == ["volcano", "eruption", "1998", "Mongolia", "1997"]
