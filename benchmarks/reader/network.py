"""The reader's network: MiniLM's encoder with four numbers a token, in PyTorch; weights come from and go to ONNX.

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

WIDTH, LAYERS, HEADS, EPSILON = 384, 6, 12, 1e-12
FROZEN = 2
"""The embeddings and so many of the lowest layers stay as MiniLM's: it costs a third less, and they know words."""
OUTPUTS = 4
"""Start and end of the answer for each token; of the first token also whether any answers, and whether it bears."""
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
    """(batch, length) token ids → (batch, length, OUTPUTS) numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.positions, self.kinds = (nn.Embedding(count, WIDTH) for count in (30522, 512, 2))
        self.norm = nn.LayerNorm(WIDTH, EPSILON)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.head = nn.Linear(WIDTH, OUTPUTS)
        nn.init.normal_(self.head.weight, std=0.02)
        nn.init.zeros_(self.head.bias)

    def forward(self, ids: Tensor, kinds: Tensor, attended: Tensor, dropout: float = 0.1) -> Tensor:
        mask = attended[:, None, None, :]
        with torch.no_grad():
            states = self.norm(self.words(ids) + self.positions(torch.arange(ids.shape[1])) + self.kinds(kinds))
            for layer in self.layers[:FROZEN]:
                states = layer(states, mask, 0.0)
        for layer in self.layers[FROZEN:]:
            states = layer(states, mask, dropout)
        numbers: Tensor = self.head(states)
        return numbers


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
    for number in range(LAYERS):
        for ours, theirs in _PARTS.items():
            stem = f"inner.encoder.layer.{number}.{theirs}"
            names[f"layers.{number}.{ours}.bias"] = f"{stem}.bias"
            names[f"layers.{number}.{ours}.weight"] = matrices.get(f"{stem}.bias", f"{stem}.weight")
    return names


def start_from(path: Path) -> Reader:
    """A reader with the weights of MiniLM's file and an untrained head, or with those of an exported reader."""
    model = onnx.load(path)
    stored = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    reader = Reader()
    state = reader.state_dict()
    for ours, theirs in names_in(model).items():
        values = stored[theirs] if theirs in stored else stored[f"{theirs}_q"] * stored[f"{theirs}_scale"]
        values = values.T if values.ndim == 2 and "layers." in ours else values
        state[ours] = torch.tensor(np.ascontiguousarray(values), dtype=torch.float32)
    for name in ("head.weight", "head.bias"):
        if name in stored:
            state[name] = torch.tensor(np.ascontiguousarray(stored[name].T))
    reader.load_state_dict(state)
    return reader


def export(reader: Reader, minilm: Path, target: Path) -> None:
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
