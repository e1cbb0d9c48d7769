"""What every reranker promises: a relevance between 0 and 1 per candidate, the better answer higher, the same again.

FlashRank's adapter runs on a tiny cross-encoder that is built here: its logit is the number of words that question and
passage share, minus two.
"""

import json
import threading
import zipfile
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import TemplateProcessing

from pincite.core.domain.documents import Passage
from pincite.core.domain.errors import ModelUnavailableError
from pincite.core.domain.ports import Reranker
from pincite.core.domain.search import Candidate, SearchPlan, SubQuery
from pincite.core.models.flash import MODEL, FlashReranker, download, is_cached
from pincite.core.models.rank_features import FEATURES
from pincite.core.models.rerank import BuiltInReranker, load_model

WORDS = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "error",
    "189",
    "means",
    "the",
    "boiler",
    "is",
    "empty",
    "what",
    "does",
    "mean",
]
QUESTION = "what does error 189 mean"


def candidates(*texts: str) -> list[Candidate]:
    return [Candidate(Passage(f"d:{n}:0", "d", n, str(n + 1), text, 0, len(text))) for n, text in enumerate(texts)]


def tiny_cross_encoder(folder: Path) -> None:
    """Write FlashRank's files: one-hot words of both sides, the smaller count of each word, summed, minus two."""
    folder.mkdir(parents=True)
    tokenizer = Tokenizer(WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "config.json").write_text(json.dumps({"pad_token_id": 0}))
    (folder / "tokenizer_config.json").write_text(json.dumps({"model_max_length": 256, "pad_token": "[PAD]"}))
    (folder / "special_tokens_map.json").write_text(json.dumps({"pad_token": "[PAD]"}))
    table = [[1.0 if row == column and row > 3 else 0.0 for column in range(len(WORDS))] for row in range(len(WORDS))]
    nodes = [
        node("Gather", ["table", "input_ids"], "words"),
        node("Cast", ["token_type_ids"], "flat_types", to=1),
        node("Unsqueeze", ["flat_types", "last"], "types"),
        node("Mul", ["words", "types"], "passage_words"),
        node("Sub", ["words", "passage_words"], "question_words"),
        node("ReduceMax", ["question_words"], "in_question", axes=[1], keepdims=0),
        node("ReduceMax", ["passage_words"], "in_passage", axes=[1], keepdims=0),
        node("Mul", ["in_question", "in_passage"], "in_both"),
        node("ReduceSum", ["in_both", "one"], "shared", keepdims=1),
        node("Sub", ["shared", "two"], "logits"),
    ]
    graph = b"".join(field(1, part) for part in nodes) + field(2, b"tiny")
    graph += field(5, tensor("table", [len(WORDS), len(WORDS)], [x for row in table for x in row]))
    graph += (
        field(5, tensor("last", [1], [-1])) + field(5, tensor("one", [1], [1])) + field(5, tensor("two", [1], [2.0]))
    )
    graph += b"".join(field(11, value_info(name, 7)) for name in ("input_ids", "attention_mask", "token_type_ids"))
    graph += field(12, value_info("logits", 1, second=1))
    opset = field(8, number(2, 13))
    (folder / "flashrank-MiniLM-L-12-v2_Q.onnx").write_bytes(number(1, 8) + field(7, graph) + opset)


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def number(tag: int, value: int) -> bytes:
    return varint(tag << 3) + varint(value)


def field(tag: int, content: bytes | str) -> bytes:
    content = content.encode() if isinstance(content, str) else content
    return varint(tag << 3 | 2) + varint(len(content)) + content


def node(kind: str, inputs: list[str], output: str, **attributes: int | list[int]) -> bytes:
    parts = b"".join(field(1, name) for name in inputs) + field(2, output) + field(4, kind)
    for name, value in attributes.items():
        if isinstance(value, list):
            body = b"".join(number(8, item) for item in value) + number(20, 7)
        else:
            body = number(3, value) + number(20, 2)
        parts += field(5, field(1, name) + body)
    return parts


def tensor(name: str, shape: list[int], values: list[float] | list[int]) -> bytes:
    import struct

    whole = all(isinstance(value, int) for value in values)
    raw = struct.pack(f"<{len(values)}{'q' if whole else 'f'}", *values)
    return b"".join(number(1, size) for size in shape) + number(2, 7 if whole else 1) + field(8, name) + field(9, raw)


def value_info(name: str, element: int, *, second: int | None = None) -> bytes:
    sizes = field(1, field(2, "batch")) + field(1, number(1, second) if second else field(2, "length"))
    return field(1, name) + field(2, field(1, number(1, element) + field(2, sizes)))


@pytest.fixture(scope="module", params=["built-in", "FlashRank"])
def reranker(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Reranker:
    if request.param == "built-in":
        return BuiltInReranker()
    models = tmp_path_factory.mktemp("models")
    tiny_cross_encoder(models / MODEL)
    return FlashReranker(models)


def rated(reranker: Reranker, *texts: str) -> list[float]:
    plan = SearchPlan(QUESTION, QUESTION, (SubQuery(QUESTION),))
    return [candidate.scores["reranked"] for candidate in reranker.rate(plan, candidates(*texts), {}, {})]


def test_every_candidate_gets_a_relevance_in_order(reranker: Reranker) -> None:
    scores = rated(reranker, "the boiler is empty", "error 189 means the boiler is empty", "the")
    assert len(scores) == 3 and all(0 <= score <= 1 for score in scores)
    assert max(scores) == scores[1]
    assert rated(reranker) == []


def test_the_same_candidates_get_the_same_scores(reranker: Reranker) -> None:
    texts = ("error 189 means the boiler is empty", "the boiler")
    assert rated(reranker, *texts) == rated(reranker, *texts)


def test_every_reranker_states_floors_on_its_own_scale(reranker: Reranker) -> None:
    first, retry = reranker.floors
    assert 0 < retry < first < 1


def test_the_shipped_model_weighs_only_figures_that_are_computed() -> None:
    assert set(load_model().weights.keys()) <= set(FEATURES)


@pytest.mark.behaviour(
    "Ranking",
    "FlashRank's cross-encoder is fetched only when a user asks, and ranks from then on; else the built-in "
    "reranker does.",
)
def test_flashrank_never_fetches_on_its_own(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailableError, match="not on this machine"):
        FlashReranker(tmp_path)
    assert not is_cached(tmp_path) and not any(tmp_path.iterdir())


def test_weights_are_fetched_whole_or_not_at_all(tmp_path: Path) -> None:
    tiny_cross_encoder(tmp_path / "made" / MODEL)
    served = tmp_path / "served"
    served.mkdir()
    with zipfile.ZipFile(served / f"{MODEL}.zip", "w") as bundle:
        for file in (tmp_path / "made" / MODEL).iterdir():
            bundle.write(file, f"{MODEL}/{file.name}")
    (served / "broken.zip").write_bytes(b"not a zip")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(QuietHandler, directory=str(served)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    source = f"http://127.0.0.1:{server.server_address[1]}/{{}}.zip"
    try:
        fractions: list[float] = []
        download(tmp_path / "models", source=source, progress=fractions.append)
        assert is_cached(tmp_path / "models") and fractions[-1] == 1.0
        for model in ("broken", "missing"):
            with pytest.raises(ModelUnavailableError, match="could not be downloaded"):
                download(tmp_path / "models", model=model, source=source)
            assert sorted(path.name for path in (tmp_path / "models").iterdir()) == [MODEL]
    finally:
        server.shutdown()
        server.server_close()


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass
