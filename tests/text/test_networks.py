"""Products of 8-bit numbers are exact on every processor."""

import base64
import zlib

import numpy as np

from pincite.core.text.networks import open_session

PRODUCT = (
    "eNrj4LC6xsElwcWYyMWYJMSYrMTrm1jiW5rjmVeSmp5aJMSYrtXDweHAISDA7MSY5NXAUT8KRsEoGLEgShhYVgjxcfFwMAlxcDFxMAKxQxJQMBks"
    "yAYXFHBi4WIQ4AUAJwsKqg=="
)
"""An ONNX network, zlib and base64: MatMulInteger of ``a``, uint8 (1, 64), with int8 weights (64, 16) that are 127."""


def test_eight_bit_products_are_not_saturated() -> None:
    """onnxruntime saturates them on x86 processors without VNNI unless it is set to be exact."""
    session = open_session(zlib.decompress(base64.b64decode(PRODUCT)))
    [products] = session.run(None, {"a": np.full((1, 64), 255, dtype=np.uint8)})
    assert (products == 255 * 127 * 64).all()
