"""Model servers for tests that speak OpenAI's protocol: a scripted one, and llama.cpp's own."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

GGUF = (
    Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    / "test-ollama/models/SmolLM2-135M-Instruct.Q4_1.gguf"
)
"""Where the tool that starts Ollama for the tests unpacks it."""
_LLAMA = """
import sys, time, xllamacpp
params = xllamacpp.CommonParams()
params.model.path, params.n_ctx, params.n_gpu_layers, params.verbosity = sys.argv[1], 2048, 0, -1
params.model_alias = {"smollm2"}
params.cpuparams.n_threads = 2
params.n_parallel = 1
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
"""


@dataclass
class Script:
    """The replies of the fake server, and the requests that it got."""

    pieces: Sequence[str] = ("The rate is ", "1.5 % [1].")
    thoughts: Sequence[str] = ()
    reply: str = '{"colour": "red"}'
    prompt_tokens: int = 300
    finish: str | None = "stop"
    """None: it breaks off."""
    status: int = 200
    error: Any = None
    refuses: Callable[[dict[str, Any]], bool] = lambda asked: False
    """With status 400."""
    model: dict[str, Any] = field(default_factory=lambda: {"id": "m", "max_model_len": 4096})
    gate: threading.Event | None = None
    """Waited for after the first piece."""
    hung_up: threading.Event = field(default_factory=threading.Event)
    seen: list[tuple[str, dict[str, str], dict[str, Any]]] = field(default_factory=list)
    """Path, headers and body of every request."""
    address: str = ""


@contextmanager
def fake_openai_server(script: Script) -> Iterator[Script]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._see({})
            self._whole({"object": "list", "data": [script.model]})

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            self._see(asked)
            if script.status != 200 or script.refuses(asked):
                status = script.status if script.status != 200 else 400
                self._whole({"error": script.error or {"message": "refused"}}, status)
            elif self.path.endswith("/embeddings"):
                rows = [{"index": at, "embedding": _letters(text)} for at, text in enumerate(asked["input"])]
                self._whole({"object": "list", "data": rows[::-1]})
            elif asked.get("stream"):
                self._stream()
            else:
                self._whole({"choices": [{"message": {"role": "assistant", "content": script.reply}}]})

        def _see(self, asked: dict[str, Any]) -> None:
            script.seen.append((self.path, {name.lower(): value for name, value in self.headers.items()}, asked))

        def _stream(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            try:
                self.wfile.write(b": ping\n\n")
                for thought in script.thoughts:
                    self._event({"choices": [{"delta": {"reasoning_content": thought}}]})
                for number, piece in enumerate(script.pieces):
                    self._event({"choices": [{"delta": {"content": piece}, "finish_reason": None}]})
                    while number == 0 and script.gate is not None and not script.gate.wait(0.02):
                        self._event({"choices": []})
                if script.finish:
                    self._event({"choices": [{"delta": {}, "finish_reason": script.finish}]})
                    self._event({"choices": [], "usage": {"prompt_tokens": script.prompt_tokens}})
                    self.wfile.write(b"data: [DONE]\n\n")
            except OSError:
                script.hung_up.set()

        def _event(self, value: object) -> None:
            self.wfile.write(f"data: {json.dumps(value)}\n\n".encode())
            self.wfile.flush()

        def _whole(self, value: object, status: int = 200) -> None:
            body = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *values: object) -> None:
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    script.address = f"http://127.0.0.1:{server.server_port}/v1"
    try:
        yield script
    finally:
        if script.gate is not None:
            script.gate.set()
        server.shutdown()
        server.server_close()


@contextmanager
def llama_server() -> Iterator[str]:
    """The address of llama.cpp's own server with a small model, in a process of its own."""
    process = subprocess.Popen(
        [sys.executable, "-c", _LLAMA, str(GGUF)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        yield f"{process.stdout.readline().strip()}/v1"
    finally:
        process.kill()
        process.communicate()


def _letters(text: str) -> list[float]:
    """Return the count of each letter, plus a constant so that no vector is zero; 384 numbers as in MiniLM."""
    counts = [float(text.lower().count(letter)) for letter in "abcdefghijklmnopqrstuvwxyz"]
    return [1.0, *counts, *[0.0] * (384 - len(counts) - 1)]
