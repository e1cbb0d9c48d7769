"""A language model server that speaks Ollama's protocol and sends its sentence only as fast as the test allows."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SENTENCE = "The late payment penalty is 1.5 % of the overdue amount per month [1]."
MODEL = "slow:latest"
BEFORE_THE_GATE = 5


class SlowModel:
    """``address`` for OLLAMA_HOST; the answer waits after its first words until ``go_on`` is set."""

    def __init__(self) -> None:
        self.go_on = threading.Event()
        self.address = ""

    def pieces(self) -> Iterator[str]:
        for number, word in enumerate(SENTENCE.split(" ")):
            if number == BEFORE_THE_GATE:
                assert self.go_on.wait(300), "the test never let the answer go on"
            yield word if number == 0 else f" {word}"


@contextmanager
def slow_model() -> Iterator[SlowModel]:
    model = SlowModel()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._reply({"models": [{"model": MODEL, "name": MODEL}]})

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if self.path == "/api/show":
                self._reply({"capabilities": ["completion"], "model_info": {}, "details": {}})
            elif asked.get("stream"):
                self.send_response(200)
                self.send_header("Content-Type", "application/x-ndjson")
                self.end_headers()
                for piece in model.pieces():
                    self._line({"model": MODEL, "message": {"role": "assistant", "content": piece}, "done": False})
                self._line({"model": MODEL, "message": {"role": "assistant", "content": ""}, "done": True})
            else:
                self._reply({"model": MODEL, "message": {"role": "assistant", "content": "no JSON"}, "done": True})

        def _reply(self, value: object) -> None:
            body = json.dumps(value).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def _line(self, value: object) -> None:
            self.wfile.write(json.dumps(value).encode() + b"\n")
            self.wfile.flush()

        def log_message(self, format: str, *values: object) -> None:
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    model.address = f"http://127.0.0.1:{server.server_port}"
    try:
        yield model
    finally:
        model.go_on.set()
        server.shutdown()
        server.server_close()
