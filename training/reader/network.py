"""The readers' networks: an encoder with four numbers a token, in PyTorch; weights come from and go to files.

The installed MiniLM file keeps each matrix as int8 with one scale a column (a row of the embeddings), and so does the
reader's: its graph is that file's, with other weights and the head behind it.
"""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx
import torch
from numpy.typing import NDArray
from onnx import helper, numpy_helper
from torch import Tensor, nn
from torch.nn import functional

from pincite.core.text.e5_file import E5File

WIDTH, HEADS, EPSILON = 384, 12, 1e-12
MINILM_LAYERS, E5_LAYERS = 6, 12
MICROSOFT = "com.microsoft"
OUTPUTS = 4
"""Outputs of a reader: start and end of the answer per token; for the first also answerable, and relevant."""
Weights = dict[str, NDArray[np.float32]]


class Layer(nn.Module):
    """One of BERT's: attention, then two dense layers, each added to what came in and normalised."""

    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value, self.attended = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.widen, self.narrow = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
        self.attention_norm, self.norm = (nn.LayerNorm(WIDTH, EPSILON) for _ in range(2))

    def forward(self, states: Tensor, mask: Tensor, dropout: float) -> Tensor:
        batch, length, _ = states.shape

        def split(projected: Tensor) -> Tensor:
            return projected.view(batch, length, HEADS, WIDTH // HEADS).transpose(1, 2)

        mixed = functional.scaled_dot_product_attention(
            split(self.query(states)), split(self.key(states)), split(self.value(states)), attn_mask=mask
        )
        mixed = self.attended(mixed.transpose(1, 2).reshape(batch, length, WIDTH))
        states = self.attention_norm(states + functional.dropout(mixed, dropout, self.training))
        wide = self.narrow(functional.gelu(self.widen(states)))
        normed: Tensor = self.norm(states + functional.dropout(wide, dropout, self.training))
        return normed


class Reader(nn.Module):
    """(batch, length) token ids → (batch, length, outputs) numbers. The embeddings stay as they are."""

    def __init__(self, words: int, layers: int, outputs: int = OUTPUTS) -> None:
        super().__init__()
        self.words, self.positions, self.kinds = (nn.Embedding(count, WIDTH) for count in (words, 512, 2))
        self.norm = nn.LayerNorm(WIDTH, EPSILON)
        self.layers = nn.ModuleList(Layer() for _ in range(layers))
        self.head = nn.Linear(WIDTH, outputs)
        nn.init.normal_(self.head.weight, std=0.02)
        nn.init.zeros_(self.head.bias)
        for part in (self.words, self.positions, self.kinds, self.norm):
            part.requires_grad_(requires_grad=False)

    def forward(self, ids: Tensor, kinds: Tensor, attended: Tensor, dropout: float = 0.1) -> Tensor:
        mask = attended[:, None, None, :]
        places = torch.arange(ids.shape[1], device=ids.device)
        states = self.norm(self.words(ids) + self.positions(places) + self.kinds(kinds))
        for layer in self.layers:
            states = layer(states, mask, dropout)
        numbers: Tensor = self.head(states)
        return numbers

    def learned(self) -> dict[str, Tensor]:
        """What training changes."""
        return {name: values for name, values in self.named_parameters() if values.requires_grad}


_EMBEDDINGS = {
    "words.weight": "inner.embeddings.word_embeddings.weight",
    "positions.weight": "inner.embeddings.position_embeddings.weight",
    "kinds.weight": "inner.embeddings.token_type_embeddings.weight",
    "norm.weight": "inner.embeddings.LayerNorm.weight",
    "norm.bias": "inner.embeddings.LayerNorm.bias",
}
_PARTS = {
    "query": "attention.self.query",
    "key": "attention.self.key",
    "value": "attention.self.value",
    "attended": "attention.output.dense",
    "widen": "intermediate.dense",
    "narrow": "output.dense",
    "attention_norm": "attention.output.LayerNorm",
    "norm": "output.LayerNorm",
}


def names_in(model: onnx.ModelProto) -> dict[str, str]:
    """The network's parameters by their names in the file; matrices have none of their own there but their bias's."""
    names = dict(_EMBEDDINGS)
    behind = {output: node.input[1] for node in model.graph.node if node.op_type == "MatMul" for output in node.output}
    matrices = {
        name: behind[other]
        for node in model.graph.node
        if node.op_type == "Add"
        for name, other in (tuple(node.input), tuple(reversed(node.input)))
        if name.endswith(".bias") and other in behind
    }
    for number in range(MINILM_LAYERS):
        for ours, theirs in _PARTS.items():
            stem = f"inner.encoder.layer.{number}.{theirs}"
            names[f"layers.{number}.{ours}.bias"] = f"{stem}.bias"
            names[f"layers.{number}.{ours}.weight"] = matrices.get(f"{stem}.bias", f"{stem}.weight")
    return names


def start_from_minilm(path: Path) -> Reader:
    """Return a reader with the weights of MiniLM's file and an untrained head."""
    model = onnx.load(path)
    stored = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    reader = Reader(30_522, MINILM_LAYERS)
    state = reader.state_dict()
    for ours, theirs in names_in(model).items():
        values = stored[theirs] if theirs in stored else stored[f"{theirs}_q"] * stored[f"{theirs}_scale"]
        values = values.T if values.ndim == 2 and "layers." in ours else values
        state[ours] = torch.tensor(np.ascontiguousarray(values), dtype=torch.float32)
    reader.load_state_dict(state)
    return reader


def export_minilm(reader: Reader, minilm: Path, target: Path) -> None:
    """Write the int8 ONNX file: inputs as MiniLM's, output ``numbers`` (1, length, OUTPUTS)."""
    model = onnx.load(minilm)
    weights: Weights = {name: value.detach().numpy() for name, value in reader.state_dict().items()}
    fresh: dict[str, NDArray[np.generic]] = {}
    stored = {tensor.name for tensor in model.graph.initializer}
    for ours, theirs in names_in(model).items():
        values = weights[ours].T if weights[ours].ndim == 2 and "layers." in ours else weights[ours]
        if theirs in stored:
            fresh[theirs] = np.ascontiguousarray(values)
        else:
            axis = 0 if "layers." in ours else 1
            scale = np.maximum(np.abs(values).max(axis=axis, keepdims=True), 1e-12) / 127
            fresh[f"{theirs}_q"] = np.rint(values / scale).astype(np.int8)
            fresh[f"{theirs}_scale"] = scale.astype(np.float32)
    for tensor in model.graph.initializer:
        if tensor.name in fresh:
            tensor.CopyFrom(numpy_helper.from_array(fresh[tensor.name], tensor.name))
    _add_head(model, weights)
    onnx.checker.check_model(model)
    onnx.save(model, target)


def _add_head(model: onnx.ModelProto, weights: Mapping[str, NDArray[np.float32]]) -> None:
    states = model.graph.output[0]
    matrix = np.ascontiguousarray(weights["head.weight"].T)
    model.graph.initializer.extend(
        [numpy_helper.from_array(matrix, "head.weight"), numpy_helper.from_array(weights["head.bias"], "head.bias")]
    )
    model.graph.node.extend(
        [
            helper.make_node("MatMul", [states.name, "head.weight"], ["head.product"]),
            helper.make_node("Add", ["head.product", "head.bias"], ["numbers"]),
        ]
    )
    del model.graph.output[:]
    shape = ["batch", "length", OUTPUTS]
    model.graph.output.append(helper.make_tensor_value_info("numbers", onnx.TensorProto.FLOAT, shape))


def start_from_e5(stored: E5File, outputs: int = OUTPUTS) -> Reader:
    """Return a reader with multilingual E5's weights and an untrained head."""
    reader = Reader(stored.vocabulary, E5_LAYERS, outputs)
    state = reader.state_dict()
    state["words.weight"] = torch.from_numpy(stored.matrix("emb.word", WIDTH))
    state["positions.weight"] = torch.from_numpy(stored.vector("emb.pos").reshape(-1, WIDTH).copy())
    state["kinds.weight"] = torch.from_numpy(stored.vector("emb.type").reshape(-1, WIDTH)[[0, 0]].copy())
    for ours, theirs in {"norm.weight": "emb.ln.w", "norm.bias": "emb.ln.b"}.items():
        state[ours] = torch.from_numpy(stored.vector(theirs).copy())
    for number in range(E5_LAYERS):
        for ours, theirs in _E5_PARTS.items():
            stem, name = f"l{number}.{theirs}", f"layers.{number}.{ours}"
            wide = 4 * WIDTH if ours == "narrow" else WIDTH
            norm = ours.endswith("norm")
            values = stored.vector(f"{stem}.w") if norm else stored.matrix(f"{stem}.w", wide)
            state[f"{name}.weight"] = torch.from_numpy(values.copy())
            state[f"{name}.bias"] = torch.from_numpy(stored.vector(f"{stem}.b").copy())
    reader.load_state_dict(state)
    return reader


def set_from_reader(reader: Reader, path: Path, *, head: bool = False) -> None:
    """Give the layers, and the `head` too, the weights of a file that `export_e5` wrote; the embeddings stay."""
    stored = {tensor.name: numpy_helper.to_array(tensor) for tensor in onnx.load(path).graph.initializer}
    state = reader.state_dict()
    for name in state:
        if name.startswith("layers.") and name in stored:
            scale = stored.get(f"{name.removesuffix('.weight')}.scale")
            values = stored[name] if scale is None else stored[name].T.astype(np.float32) * scale[:, None]
            state[name] = torch.tensor(np.ascontiguousarray(values))
    if head:
        state["head.weight"] = torch.tensor(np.ascontiguousarray(stored["head.weight"].T))
        state["head.bias"] = torch.tensor(stored["head.bias"])
    reader.load_state_dict(state)


_E5_PARTS = {
    "query": "q",
    "key": "k",
    "value": "v",
    "attended": "ao",
    "widen": "fi",
    "narrow": "fo",
    "attention_norm": "aln",
    "norm": "oln",
}


def export_e5(reader: Reader, target: Path) -> None:
    """Write the layers as int8: input ``vectors`` (1, length, WIDTH), the words' own; output as of `export_minilm`.

    The embeddings of 250,000 words stay where they are, in E5's file.
    """
    weights: Weights = {name: value.detach().numpy() for name, value in reader.state_dict().items()}
    graph = _Graph()
    places = graph.add_tensor("positions", weights["positions.weight"] + weights["kinds.weight"][0])
    zero = graph.add_tensor("zero", np.array([0], np.int64))
    length = graph.node("Shape", ["vectors"], "length", start=1, end=2)
    placed = graph.node("Add", ["vectors", graph.node("Slice", [places, zero, length, zero], "placed")], "together")
    states = graph.node("LayerNormalization", [placed, *graph.pair("norm", weights)], "read", epsilon=EPSILON)
    for number in range(E5_LAYERS):
        states = _e5_layer(graph, weights, f"layers.{number}", states)
    product = graph.node("MatMul", [states, graph.add_tensor("head.weight", weights["head.weight"].T)], "head.product")
    graph.node("Add", [product, graph.add_tensor("head.bias", weights["head.bias"])], "numbers")
    made = helper.make_graph(
        graph.nodes,
        "reader",
        [helper.make_tensor_value_info("vectors", onnx.TensorProto.FLOAT, ["batch", "length", WIDTH])],
        [helper.make_tensor_value_info("numbers", onnx.TensorProto.FLOAT, ["batch", "length", len(reader.head.bias)])],
        graph.tensors,
    )
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid(MICROSOFT, 1)]
    onnx.save(helper.make_model(made, opset_imports=opsets, ir_version=10), target)


class _Graph:
    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.tensors: list[onnx.TensorProto] = []

    def add_tensor(self, name: str, values: NDArray[np.generic]) -> str:
        self.tensors.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def pair(self, stem: str, weights: Weights) -> tuple[str, str]:
        """Return the weight and the bias of one part."""
        return self.add_tensor(f"{stem}.weight", weights[f"{stem}.weight"]), self.add_tensor(
            f"{stem}.bias", weights[f"{stem}.bias"]
        )

    def node(self, kind: str, inputs: list[str], output: str, domain: str = "", **attributes: object) -> str:
        self.nodes.append(helper.make_node(kind, inputs, [output], domain=domain, **attributes))
        return output

    def dense(self, stem: str, weights: Weights, states: str) -> str:
        """Return a matrix as int8 with one scale a column."""
        values = weights[f"{stem}.weight"]
        scale = np.maximum(np.abs(values).max(axis=1), 1e-12) / 127
        whole = self.add_tensor(f"{stem}.weight", np.rint(values / scale[:, None]).astype(np.int8).T)
        scales = self.add_tensor(f"{stem}.scale", scale.astype(np.float32))
        bias = self.add_tensor(f"{stem}.bias", weights[f"{stem}.bias"])
        return self.node("DynamicQuantizeMatMul", [states, whole, scales, "", bias], f"{stem}.out", MICROSOFT)


def _e5_layer(graph: _Graph, weights: Weights, stem: str, states: str) -> str:
    def added(part: str, more: str) -> str:
        inputs = [states, more, *graph.pair(f"{stem}.{part}", weights)]
        return graph.node("SkipLayerNormalization", inputs, f"{stem}.{part}.out", MICROSOFT, epsilon=EPSILON)

    split = [graph.dense(f"{stem}.{part}", weights, states) for part in ("query", "key", "value")]
    mixed = graph.node("MultiHeadAttention", split, f"{stem}.mixed", MICROSOFT, num_heads=HEADS)
    states = added("attention_norm", graph.dense(f"{stem}.attended", weights, mixed))
    wide = graph.node("Gelu", [graph.dense(f"{stem}.widen", weights, states)], f"{stem}.wide", MICROSOFT)
    return added("norm", graph.dense(f"{stem}.narrow", weights, wide))
