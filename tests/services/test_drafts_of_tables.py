"""What becomes of a model's sentences about a table of a real PDF, below a title and a head with its scale."""

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from pincite.core.domain.presentation import present
from pincite.core.domain.search import Mode
from pincite.core.domain.settings import Settings
from pincite.core.services.bootstrap import open_pincite
from pincite.core.text.marks import plain_text
from tests.model_servers import Script, fake_openai_server
from tests.support import pdfs

TITLE = "Alder Foods plc: Annual report 2022"
WITH_INCOME = [["(EUR million)", "2022", "2021"], ["Revenue", "512", "480"], ["Net income", "44", "39"]]
WITHOUT_INCOME = [
    ["", "2022", "2021"],
    ["Revenue (EUR million)", "512", "480"],
    ["Operating margin", "12.5 %", "11.0 %"],
]
Draft = Callable[[str], tuple[bool, str]]


@pytest.fixture(scope="module", params=[WITH_INCOME, WITHOUT_INCOME], ids=["scale in the head", "scale in the row"])
def draft(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Draft]:
    """Ask for the revenue of 2022 with a model that writes one sentence; whether it is kept, and the tier."""
    script = Script(reply='{"claims": []}')
    folder = tmp_path_factory.mktemp("data")
    with fake_openai_server(script):
        settings = Settings(data_dir=folder, engine="openai:m", openai_address=script.address, ocr=False)
        with closing(open_pincite(settings)) as app:
            document = app.ingest.add(pdfs.table(request.param, title=TITLE, ruled=True), "alder.pdf").document
            assert app.ingest.wait([document.id], timeout_seconds=300)

            def asked(sentence: str) -> tuple[bool, str]:
                script.pieces = (f"{sentence} [1].",)
                session = app.sessions.create().id
                started = app.runner.ask(session, "What was the revenue in 2022?", mode=Mode.DOCUMENTS)
                turn = app.runner.wait(started, 300).turn
                return sentence in plain_text(turn.parts), present(turn).tier.value

            yield asked


@pytest.mark.parametrize(
    "sentence",
    ["Revenue in 2022 was EUR 512 million", "The revenue in 2022 was €512m", "EUR 512 million",
     "Revenue in 2022 was $\\text{EUR } 512\\,\\mathrm{m}$"],
)  # fmt: skip
def test_a_sentence_that_states_the_cell_is_an_answer(draft: Draft, sentence: str) -> None:
    assert draft(sentence) == (True, "answered")


@pytest.mark.parametrize(
    "sentence",
    [
        "Alder Foods had revenue of €512 million in 2022",
        "Revenue was 512 million euros in 2022",
        "In 2022, revenue amounted to EUR 512 million",
    ],
)
def test_a_sentence_with_other_words_is_kept(draft: Draft, sentence: str) -> None:
    assert draft(sentence)[0]


@pytest.mark.parametrize(
    "sentence",
    ["Revenue in 2022 was EUR 480 million", "Net income in 2022 was EUR 512 million",
     "Revenue in 2022 was EUR 512 billion", "Revenue in 2022 was not EUR 512 million",
     "Revenue in 2022 was less than EUR 512 million", "Revenue fell to EUR 512 million in 2022"],
)  # fmt: skip
def test_a_false_sentence_is_never_an_answer(draft: Draft, sentence: str) -> None:
    kept, tier = draft(sentence)
    assert not kept or tier != "answered"


@pytest.mark.behaviour("Plans", "The instructions of a collection are given to the model with each of its questions.")
def test_the_instructions_of_a_collection_reach_the_model(tmp_path: Path) -> None:
    script = Script(pieces=("Der Umsatz 2022 betrug 512 Mio. Euro [1].",), reply='{"claims": []}')
    with fake_openai_server(script):
        settings = Settings(data_dir=tmp_path, engine="openai:m", openai_address=script.address, ocr=False)
        with closing(open_pincite(settings)) as app:
            document = app.ingest.add(pdfs.table(WITH_INCOME, title=TITLE, ruled=True), "alder.pdf").document
            assert app.ingest.wait([document.id], timeout_seconds=300)
            reports = app.collections.create("Reports")
            app.collections.add(reports.id, [document.id])
            app.collections.instruct(reports.id, "  Answer in German.  ")
            assert app.collections.get(reports.id).instructions == "Answer in German."
            for collection, instructed in ((reports.id, True), ("", False)):
                script.seen.clear()
                session = app.sessions.create(collection_id=collection).id
                app.runner.wait(app.runner.ask(session, "What was the revenue in 2022?", mode=Mode.DOCUMENTS), 300)
                assert ("Answer in German." in str(script.seen)) is instructed
