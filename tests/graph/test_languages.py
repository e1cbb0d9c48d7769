"""Quoting answers in the documents' language, with no model that knows it, and reports when they contain no answer."""

import time
from collections.abc import Iterator, Sequence

import pytest

from pincite.core.answers.quoting import Quoting
from pincite.core.domain.answers import AnswerPart
from pincite.core.domain.settings import Settings
from pincite.core.domain.turns import TraceStep
from pincite.core.graph.build import build_graph
from pincite.core.graph.context import TurnContext
from pincite.core.graph.state import TurnState
from pincite.core.questions.wording import NOT_FOUND
from pincite.core.store.library import Library
from pincite.core.text.marks import marked_text
from tests.search.shelf import Search, make_retriever

DOCUMENTS = {
    "vertrag.pdf": "Rechnungen sind innerhalb von 30 Tagen zu bezahlen.\nDer Verzugszins beträgt 1,5 % pro Monat.",
    "contrat.pdf": "Les factures sont payables sous 30 jours.\nLes pénalités de retard s'élèvent à 1,5 % par mois.",
    "contrato.pdf": "Las facturas se pagan en 30 días.\nEl interés de demora es del 1,5 % mensual.",
    "hetong.pdf": "发票应在30天内支付。逾期付款的利息为每月1.5%。",
    "keiyaku.pdf": "請求書は30日以内に支払うものとする。遅延利息は月1.5%である。",
    "aqd.pdf": "تدفع الفواتير خلال 30 يوما. فائدة التأخير هي 1.5% شهريا.",
    "dogovor.pdf": "Счета оплачиваются в течение 30 дней. Пеня за просрочку составляет 1,5 % в месяц.",
}


Opened = tuple[Settings, Search, Library]


class Nobody:
    """Progress that is not watched."""

    def step(self, text: str) -> None: ...

    def draft(self, parts: Sequence[AnswerPart]) -> None: ...

    def visited(self, step: TraceStep) -> None: ...


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Opened]:
    settings = Settings(data_dir=tmp_path_factory.mktemp("languages"))
    texts = {name: [text] for name, text in DOCUMENTS.items()}
    search, library = make_retriever(settings.data_dir, texts, settings=settings)
    yield settings, search, library


def answer_to(question: str, library: Opened) -> str:
    settings, search, documents = library
    context = TurnContext(
        settings=settings,
        model=(engine := Quoting()),
        stand_in=engine,
        choose_engine=lambda asked: engine,
        library=documents,
        documents=tuple(documents.list()),
        searcher=search.retriever,
        progress=Nobody(),
        stopped=lambda: False,
        deadline=time.monotonic() + 60,
    )
    return marked_text(TurnState(**build_graph().invoke(TurnState(question), context=context)).parts)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Wie hoch ist der Verzugszins?", "1,5 % pro Monat"),
        ("Quelles sont les pénalités de retard ?", "1,5 % par mois"),
        ("¿Cuál es el interés de demora?", "1,5 % mensual"),
        ("逾期付款的利息是多少？", "每月1.5%"),
        ("遅延利息はいくらですか？", "月1.5%"),
        ("ما هي فائدة التأخير؟", "1.5% شهريا"),
        ("Какая пеня за просрочку?", "1,5 % в месяц"),
    ],
)
def test_a_question_is_answered_in_its_language(question: str, answer: str, library: Opened) -> None:
    assert answer in answer_to(question, library)


@pytest.mark.parametrize(
    "question",
    ["Wer ist der Bürgermeister von Paris?", "¿Quién es el alcalde de París?", "巴黎市长是谁？", "Кто мэр Парижа?"],
)
def test_question_no_document_answers_is_declined_in_any_language(question: str, library: Opened) -> None:
    assert answer_to(question, library).startswith(NOT_FOUND[:27])
