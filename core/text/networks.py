"""Open the ONNX networks that are shipped with Pincite."""

from collections.abc import Mapping
from typing import Any


def open_session(model: bytes | str, weights: Mapping[str, Any] | None = None) -> Any:
    """Return an onnxruntime session, given the network or its path, that uses one thread on the processor.

    ``weights`` are arrays by name that the network takes from outside. Processors without VNNI instructions saturate
    when they multiply 8-bit numbers, unless onnxruntime is set to be exact.
    """
    import onnxruntime  # type: ignore[import-untyped]  # ships no types; takes long to import

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.add_session_config_entry("session.x64quantprecision", "1")
    if weights:
        values = [onnxruntime.OrtValue.ortvalue_from_numpy(weight) for weight in weights.values()]
        options.add_external_initializers(list(weights), values)
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
