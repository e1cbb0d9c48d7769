"""What Pincite does, apart from how it is shown: docs/architecture.md says what each package is for."""

import os

__version__ = "0.1.0"

# ONNX Runtime reports each session to its maker unless this is set before it is loaded, here or in a child process
# (https://github.com/microsoft/onnxruntime/pull/27379).
os.environ["ORT_DISABLE_TELEMETRY"] = "1"
