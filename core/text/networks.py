"""Open the ONNX networks that are shipped with Pincite."""

from typing import Any


def open_session(model: bytes) -> Any:
    """Return an onnxruntime session of a network that uses one thread on the processor."""
    import onnxruntime  # type: ignore[import-untyped]  # ships no types; takes long to import

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
