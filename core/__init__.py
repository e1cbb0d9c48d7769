"""What Pincite does, without the user interfaces: docs/architecture.md describes the purpose of each package."""

import os

__version__ = "0.1.0"

# ONNX Runtime reports each session to its maker unless this is set before it is loaded, here or in a child process
# (https://github.com/microsoft/onnxruntime/pull/27379).
os.environ["ORT_DISABLE_TELEMETRY"] = "1"
