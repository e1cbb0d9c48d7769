"""Networks give the same numbers on every processor."""

from importlib.resources import files

import numpy as np

from pincite.core.text.networks import open_session


def test_eight_bit_products_are_not_saturated() -> None:
    """onnxruntime saturates them on x86 processors without VNNI unless this is set."""
    session = open_session(files("pincite.core.text").joinpath("checker.onnx").read_bytes())
    assert session.get_session_options().get_session_config_entry("session.x64quantprecision") == "1"
    vectors = np.random.default_rng(0).standard_normal((1, 64, 384)).astype(np.float32) * 0.3
    [logits] = session.run(None, {"vectors": vectors})
    assert np.allclose(logits[0, 0], [2.1407, 0.1926, -3.0411], atol=0.01)
