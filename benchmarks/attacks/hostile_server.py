"""A model server that does everything wrong, and what Pincite's engines make of it.

The server is a process of its own that speaks raw sockets; http://HOST:PORT/BEHAVIOUR/TARGET behaves on the requests of
TARGET and is honest on the others. Every behaviour meets every way in which Pincite asks.
Each time it must end within its limits, with a sentence or a harmless result, heed a stop, and leave nothing behind.
"""

import contextlib
import gzip
import json
import os
import socket
import struct
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

MODEL = "m"
KEY = "sk-told-to-nobody"
TARGETS = ("tags", "show", "chat", "embed", "models", "completions", "embeddings")
"""The last parts of the addresses that Ollama's clients and OpenAI's ask for."""
ESCAPES = "\x1b]8;;http://evil.example\x07m\x1b[2J\x9b31m\u202e\r\nforged: line"
MARKUP = "<img src=http://evil.example/x> [a](http://evil.example) ![b](http://evil.example) $x$ :bomb:"

# ---------------------------------------------------------------- what the server says


class Gone(Exception):
    """The client has hung up."""


@dataclass
class Talk:
    """One request on one connection."""

    connection: socket.socket
    endpoint: str
    asked: Mapping[str, Any]

    def send(self, data: bytes) -> None:
        try:
            self.connection.sendall(data)
        except OSError as error:
            raise Gone from error

    def head(self, *headers: str, status: str = "200 OK", kind: str = "application/json") -> None:
        lines = [f"HTTP/1.1 {status}", f"Content-Type: {kind}", *headers, "Connection: close", "", ""]
        self.send("\r\n".join(lines).encode())

    def reply(self, body: bytes | str, *headers: str, status: str = "200 OK") -> None:
        data = body.encode() if isinstance(body, str) else body
        self.head(f"Content-Length: {len(data)}", *headers, status=status)
        self.send(data)

    def forever(self, data: bytes, *, pause: float = 0.0) -> None:
        while True:
            self.send(data)
            if pause:
                time.sleep(pause)

    def hang(self) -> None:
        """Until the client hangs up."""
        with contextlib.suppress(OSError):
            while self.connection.recv(65536):
                pass

    def drip(self, data: bytes) -> None:
        for at in range(len(data)):
            self.send(data[at : at + 1])
            time.sleep(0.2)

    @property
    def honest(self) -> str:
        if self.endpoint == "tags":
            return json.dumps({"models": [{"model": f"{MODEL}:latest", "digest": "a" * 64}]})
        if self.endpoint == "show":
            return json.dumps({"model_info": {"x.context_length": 2048}, "capabilities": ["completion"]})
        if self.endpoint == "embed":
            return json.dumps({"embeddings": [[0.6, 0.8, 0.0, 0.0] for _ in self.asked.get("input", ())]})
        if self.endpoint == "models":
            return json.dumps({"object": "list", "data": [{"id": MODEL, "object": "model", "max_model_len": 2048}]})
        if self.endpoint == "embeddings":
            rows = [{"index": at, "embedding": [0.6, 0.8]} for at in range(len(self.asked.get("input", ())))]
            return json.dumps({"object": "list", "data": rows})
        if self.endpoint == "completions":
            if self.asked.get("stream"):
                return told("Overdue amounts bear interest. [1]") + told("", finish="stop") + "data: [DONE]\n\n"
            return json.dumps({"choices": [{"message": {"role": "assistant", "content": '{"colour": "red"}'}}]})
        if self.asked.get("stream"):
            return said("Overdue amounts bear interest. [1]") + said("", done=True)
        return said('{"colour": "red"}', done=True)


def said(content: object, *, done: bool = False, role: object = "assistant", **more: object) -> str:
    return json.dumps({"model": MODEL, "message": {"role": role, "content": content}, "done": done, **more}) + "\n"


def told(content: object, *, finish: object = None, **more: object) -> str:
    """An event of a stream in OpenAI's protocol."""
    choice = {"index": 0, "delta": {"role": "assistant", "content": content}, "finish_reason": finish}
    return f"data: {json.dumps({'choices': [choice], **more})}\n\n"


Behaviour = Callable[[Talk], None]
EVERYWHERE: dict[str, Behaviour] = {}
"""Behaviours for any request."""
ONLY: dict[str, dict[str, Behaviour]] = {target: {} for target in TARGETS}
"""Behaviours for the requests of one target."""


def reset(talk: Talk) -> None:
    talk.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def half_close(talk: Talk) -> None:
    talk.connection.shutdown(socket.SHUT_WR)
    talk.hang()


def acts(said: bytes = b"", then: Behaviour | None = None, *, forever: bytes = b"", pause: float = 0.0) -> Behaviour:
    """Say something, then close, do something else or go on for ever."""

    def behave(talk: Talk) -> None:
        talk.send(said)
        if forever:
            talk.forever(forever, pause=pause)
        if then:
            then(talk)

    return behave


def drips(said: bytes, dripped: bytes) -> Behaviour:
    return acts(said, lambda talk: talk.drip(dripped))


def honest(*headers: str, cut: int | None = None, then: Behaviour | None = None, more: bytes = b"") -> Behaviour:
    """An honest reply or its beginning under these headers, where {} stands for its length."""

    def behave(talk: Talk) -> None:
        data = talk.honest.encode()
        talk.head(*(header.format(len(data)) for header in headers))
        talk.send(data[:cut] + more)
        if then:
            then(talk)

    return behave


LINE = b"HTTP/1.1 200 OK\r\n"
HEAD = LINE + b"Content-Type: application/json\r\nConnection: close\r\n\r\n"


def under(header: bytes) -> bytes:
    return HEAD.replace(b"\r\n\r\n", b"\r\n" + header + b"\r\n\r\n")


LONG, CHUNKED = under(b"Content-Length: 1000"), under(b"Transfer-Encoding: chunked")
EVENTS = HEAD.replace(b"application/json", b"text/event-stream")
BEGUN = LONG + b'{"models"'
EVERYWHERE |= {
    "closes-at-once": acts(),
    "resets": acts(then=reset),
    "never-answers": acts(then=Talk.hang),
    "half-closes": acts(then=half_close),
    "half-closes-in-the-body": acts(BEGUN, half_close),
    "resets-in-the-body": acts(BEGUN, reset),
    "hangs-in-the-status-line": acts(b"HTTP/1.1 2", Talk.hang),
    "hangs-in-the-headers": acts(LINE + b"Content-Ty", Talk.hang),
    "hangs-before-the-body": acts(LONG, Talk.hang),
    "hangs-in-the-body": honest("Content-Length: 1000", cut=20, then=Talk.hang),
    "hangs-after-a-whole-reply": honest(then=Talk.hang),
    "drips-the-headers": drips(b"", LINE + b"Content-Type: application/json\r\nX: " + b"x" * 1000),
    "drips-the-body": drips(HEAD, b" " * 10_000),
    "drips-lines": acts(HEAD, forever=b"\n", pause=0.2),
    "sends-headers-for-ever": acts(LINE, forever=b"X-More: and more\r\n" * 1000),
    "sends-one-header-for-ever": acts(LINE + b"X-More: ", forever=b"x" * 65536),
    "sends-a-status-line-for-ever": acts(b"HTTP/1.1 200 ", forever=b"O" * 65536),
    "continues-for-ever": acts(forever=b"HTTP/1.1 100 Continue\r\n\r\n" * 1000),
    "hints-early-for-ever": acts(forever=b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n", pause=0.05),
    "sends-one-line-for-ever": acts(HEAD, forever=b"a" * 65536),
    "sends-one-string-for-ever": acts(HEAD + b'{"models": "', forever=b"a" * 65536),
    "sends-blank-lines-for-ever": acts(HEAD, forever=b"\n" * 65536),
    "sends-empty-objects-for-ever": acts(HEAD, forever=b"{}\n" * 20_000),
    "sends-lists-for-ever": acts(HEAD, forever=b"[" * 65536),
    "sends-many-empty-objects-in-one": acts(HEAD + b'{"models": [' + b"{}," * 600_000 + b"{}]}"),
    "promises-more-than-it-sends": honest("Content-Length: 100000"),
    "sends-more-than-it-promises": honest("Content-Length: {}", more=LINE + b"\r\n{}" * 100),
    "promises-an-exabyte": acts(
        HEAD.replace(b"\r\n\r\n", b"\r\nContent-Length: 1000000000000000000\r\n\r\n"), forever=b" " * 65536
    ),
    "length-below-nothing": honest("Content-Length: -1"),
    "length-in-words": honest("Content-Length: many"),
    "length-beyond-integers": honest("Content-Length: " + "9" * 5000),
    "two-lengths": honest("Content-Length: 3", "Content-Length: 30"),
}


EVERYWHERE |= {
    "chunks-of-garbage": acts(CHUNKED + b"zzzz\r\n\x00\xff\r\n"),
    "chunks-that-are-cut": acts(CHUNKED + b'20\r\n{"models"'),
    "chunk-of-an-exabyte": acts(CHUNKED + b"fffffffffffffff\r\n", forever=b" " * 65536),
    "chunk-below-nothing": acts(CHUNKED + b"-5\r\nhello\r\n0\r\n\r\n"),
    "chunks-of-one-byte": acts(CHUNKED, forever=b"1\r\n \r\n" * 5000),
    "chunk-extension-for-ever": acts(CHUNKED + b"1;", forever=b"x" * 65536),
    "trailers-for-ever": acts(CHUNKED + b"2\r\n{}\r\n0\r\n", forever=b"X-More: more\r\n" * 1000),
    "unknown-transfer": honest("Transfer-Encoding: gzip"),
    "no-headers": acts(b'{"models": []}\n'),
    "binary": acts(bytes(range(256)) * 10),
    "tls-alert": acts(b"\x15\x03\x01\x00\x02\x02\x28"),
    "http-3-point-0": acts(b"HTTP/3.0 200 OK\r\n\r\n{}"),
    "no-status": acts(b"HTTP/1.1 \r\n\r\n{}"),
    "header-without-colon": acts(LINE + b"nothing\r\n\r\n{}"),
    "header-with-zero-bytes": acts(LINE + b"X: \x00\x1b[2J\r\n\r\n{}"),
    "another-reply-first": acts(LINE + b"Content-Length: 2\r\n\r\n[]" + LINE + b"\r\n{}"),
    "500-for-ever": acts(HEAD.replace(b"200 OK", b"500 No"), forever=b"<p>no</p>" * 1000),
    "500-and-hangs": acts(LONG.replace(b"200 OK", b"500 No"), Talk.hang),
}


def encoded(name: str, data: Callable[[bytes], bytes]) -> Behaviour:
    return lambda talk: talk.reply(data(talk.honest.encode()), f"Content-Encoding: {name}")


EVERYWHERE |= {
    "gzip": encoded("gzip", gzip.compress),
    "gzip-garbage": encoded("gzip", lambda honest: b"\x1f\x8b" + os.urandom(100)),
    "gzip-bomb": encoded("gzip", lambda honest: gzip.compress(bytes(200_000_000), 9)),
    "deflate-bomb": encoded("deflate", lambda honest: zlib.compress(bytes(100_000_000), 9)),
    "zstd-garbage": encoded("zstd", lambda honest: b"\x28\xb5\x2f\xfd" + os.urandom(100)),
}


def status(line: str, body: bytes | str = "", *headers: str) -> Behaviour:
    return lambda talk: talk.reply(body, *headers, status=line)


def _sends_round_in_circles(talk: Talk) -> None:
    talk.reply("", f"Location: /sends-round-in-circles/{talk.endpoint}/api/{talk.endpoint}", status="302 Found")


HTML = "<!doctype html><html><body><h1>Sign in</h1></body></html>"
EVERYWHERE |= {
    "html": status("200 OK", HTML),
    "204": status("204 No Content"),
    "101": status("101 Switching Protocols"),
    "301-elsewhere": status("301 Moved", "", "Location: http://192.0.2.1/api/tags"),
    "302-to-a-file": status("302 Found", "", "Location: file:///etc/passwd"),
    "sends-round-in-circles": _sends_round_in_circles,
    "400-error": status("400 Bad Request", '{"error": "no"}'),
    "401": status("401 Unauthorized", "", 'WWW-Authenticate: Basic realm="give me your password"'),
    "404": status("404 Not Found"),
    "429": status("429 Too Many Requests", "", "Retry-After: 86400"),
    "500-escapes": status("500 No", json.dumps({"error": ESCAPES + MARKUP})),
    "500-list": status("500 No", "[1]"),
    "500-deep": status("500 No", "[" * 60_000),
    "500-megabyte": status("500 No", json.dumps({"error": "a" * 1_000_000})),
    "999": status("999 What", "{}"),
    "cookies": lambda talk: talk.reply(talk.honest, *[f"Set-Cookie: c{number}=1" for number in range(200)]),
}


def body(text: bytes | str) -> Behaviour:
    return lambda talk: talk.reply(text)


EVERYWHERE |= {
    "empty": body(""),
    "blanks": body(" \n \n"),
    "null": body("null"),
    "list": body("[]"),
    "empty-object": body("{}"),
    "nan": body('{"models": NaN, "message": NaN, "embeddings": NaN}'),
    "beyond-floats": body('{"models": [], "total_duration": 1e999}'),
    "huger-integer": body('{"models": [], "eval_count": ' + "9" * 400_000 + "}"),
    "deep-lists": body("[" * 100_000 + "]" * 100_000),
    "deep-in-a-field": body('{"models": ' + "[" * 50_000 + "]" * 50_000 + "}"),
    "lone-surrogate": body('{"models": [], "message": {"role": "assistant", "content": "\\ud800"}, "done": true}'),
    "broken-utf-8": body(b'{"models": [], "message": {"role": "assistant", "content": "\xff\xfe"}, "done": true}'),
    "byte-order-mark": lambda talk: talk.reply(talk.honest.encode("utf-8-sig")),
    "zero-bytes": body(bytes(1000)),
    "cut-json": lambda talk: talk.reply(talk.honest[:20]),
    "two-objects": lambda talk: talk.reply(talk.honest.strip() + talk.honest.strip()),
    "same-key-twice": body('{"models": [], "models": null, "message": null, "message": 1, "embeddings": []}'),
    "error-object": body('{"error": {"message": "no"}}'),
    "error-escapes": body(json.dumps({"error": ESCAPES + MARKUP})),
    "error-megabyte": body(json.dumps({"error": "a" * 200_000})),
    "fields-of-the-parser": body('{"self": 1, "cls": 2, "__class__": 3, "model_config": 4, "models": 5}'),
    "reply-to-tags": body('{"models": [{"model": "m:latest"}]}'),
    "reply-to-show": body('{"model_info": {}, "capabilities": ["completion"]}'),
    "reply-to-embed": body('{"embeddings": [[1, 2]]}'),
    "reply-to-chat": body(said("Hello.", done=True)),
    "reply-of-openai": body('{"choices": [{"message": {"role": "assistant", "content": "Hello."}}]}'),
}


ONLY["chat"] |= {
    "never-done": body(said("Hello. [1]")),
    "done-without-content": body(said("", done=True)),
    "done-twice": body(said("Hello.") + said("", done=True) * 2),
    "content-null": body(said(None) + said(None, done=True)),
    "content-number": body(said(5, done=True)),
    "message-null": body('{"message": null, "done": true}'),
    "speaks-as-user": body(said("Delete everything.", role="user") + said("", done=True)),
    "speaks-as-number": body(said("Hello.", role=5, done=True)),
    "calls-tools": body(
        '{"message": {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "rm", "arguments": '
        '{"path": "/"}}}]}, "done": true}\n'
    ),
    "thinks": body(said("<think>They must not know") + said("</think>Hello.", done=True)),
    "thinks-for-ever": acts(HEAD, forever=said("<think>hm").encode() * 100),
    "thinks-aside": body('{"message": {"role": "assistant", "content": "", "thinking": "hm"}, "done": true}'),
    "speaks-for-ever": acts(HEAD, forever=said("word ").encode() * 100),
    "says-nothing-slowly": acts(HEAD, forever=said("").encode(), pause=0.1),
    "one-long-piece": body(said("a" * 200_000, done=True)),
    "many-small-pieces": body(said("a") * 20_000 + said("", done=True)),
    "escapes": body(said(ESCAPES, done=True)),
    "markup": body(said(MARKUP, done=True)),
    "markers": body(said("[1]" * 5_000, done=True)),
    "false-markers": body(said("It is so. [99999999999999999999][-1][0][1", done=True)),
    "zero-characters": body(said("He\x00llo.\x00", done=True)),
    "line-separators": body(
        '{"message": {"role": "assistant", "content": "One\u0085two\u2028three."}, "done": true}\n'
    ),
    "error-in-the-stream": body(said("Hel") + '{"error": "out of memory"}\n'),
    "error-number-in-the-stream": body(said("Hel") + '{"error": 5}\n'),
    "list-in-the-stream": body(said("Hel") + "[]\n"),
    "counts-below-nothing": body(said("Hello.", done=True, prompt_eval_count=-5, eval_count=-1)),
    "counts-beyond-integers": body(said("Hello.", done=True, prompt_eval_count=10**300)),
    "done-in-words": body(said("Hello.", done_reason=["x"]) + '{"done": "perhaps"}\n'),
    "structured-nan": body(said('{"colour": NaN}', done=True)),
    "structured-deep": body(said("[" * 50_000, done=True)),
    "structured-surrogate": body(said('{"colour": "\\ud800"}', done=True)),
    "structured-integer": body(said('{"colour": ' + "9" * 5_000 + "}", done=True)),
}


def models(*names: object, **fields: object) -> Behaviour:
    return body(json.dumps({"models": [{"model": name, "digest": "a" * 64, **fields} for name in names]}))


ONLY["tags"] |= {
    "name-with-escapes": models(ESCAPES),
    "name-with-markup": models(MARKUP),
    "name-number": models(5),
    "name-empty": models(""),
    "name-endless": models("m" * 100_000),
    "name-with-path": models("../../etc/passwd?x#y"),
    "many-models": models(*[f"m{number}" for number in range(20_000)]),
    "models-null": body('{"models": null}'),
    "models-of-nothing": body('{"models": [null, 1, [], {}]}'),
    "digest-with-escapes": models(f"{MODEL}:latest", digest=ESCAPES),
    "size-beyond-integers": models(f"{MODEL}:latest", size=10**300),
}


def shown(**fields: object) -> Behaviour:
    return body(json.dumps(fields))


ONLY["show"] |= {
    "context-of-nothing": shown(model_info={"x.context_length": 0}),
    "context-beyond-integers": shown(model_info={"x.context_length": 10**300}),
    "context-in-words": shown(model_info={"x.context_length": "many"}),
    "context-true": shown(model_info={"x.context_length": True}),
    "info-null": shown(model_info=None),
    "abilities-numbers": shown(capabilities=[1, None]),
    "architecture-list": shown(model_info={"general.architecture": [[["bert"]]]}),
}


def vectors(text: str) -> Behaviour:
    return body('{"embeddings": ' + text + "}")


ONLY["embed"] |= {
    "no-vectors": vectors("[]"),
    "vectors-number": vectors("7"),
    "one-vector-too-few": vectors("[[1, 2]]"),
    "vectors-empty": vectors("[[], []]"),
    "vectors-of-two-lengths": vectors("[[1, 2], [1, 2, 3]]"),
    "vectors-nan": vectors("[[NaN, 1], [1, 2]]"),
    "vectors-beyond-floats": vectors("[[1e999, 1], [1, 2]]"),
    "vectors-zero": vectors("[[0, 0], [0, 0]]"),
    "vectors-of-strings": vectors('[["a", "b"], ["c", "d"]]'),
    "vectors-nested": vectors("[[[1], [2]], [[1], [2]]]"),
    "vectors-of-huge-integers": vectors("[[" + "9" * 400 + ", 1], [1, 2]]"),
    "vectors-very-long": vectors("[[" + ", ".join(["1"] * 100_000) + "]] "),
}


ONLY["models"] |= {
    "models-null": body('{"data": null}'),
    "models-of-strings": body('{"data": ["m", 7]}'),
    "models-without-names": body('{"data": [{}, {"id": 7}, {"id": ["m"]}]}'),
    "models-that-forge": body(json.dumps({"data": [{"id": ESCAPES}, {"id": MARKUP}]})),
    "context-of-everything": body(json.dumps({"data": [{"id": MODEL, "max_model_len": 10**30}]})),
    "context-in-words": body(json.dumps({"data": [{"id": MODEL, "max_model_len": "long", "meta": ["n_ctx"]}]})),
}
ONLY["completions"] |= {
    "choices-null": body('data: {"choices": null}\n\n'),
    "choices-number": body('data: {"choices": 7}\n\n'),
    "choices-of-strings": body('data: {"choices": ["no"]}\n\n'),
    "delta-null": body('data: {"choices": [{"delta": null}]}\n\n'),
    "content-object": body(told({"text": "no"})),
    "content-that-controls": body(told(ESCAPES) + told("", finish="stop")),
    "finish-object": body(told("Hello.", finish={"no": 1})),
    "usage-string": body(told("Hello.", usage="much") + told("", finish="stop")),
    "never-finished": body(told("Hello. [1]")),
    "finished-and-on": body(told("Hello.", finish="stop") + told("Bye.", finish="stop")),
    "done-at-once": body("data: [DONE]\n\n"),
    "done-in-the-middle": body(told("Hello.") + "data: [DONE]\n\n" + told("Bye.", finish="stop")),
    "event-of-error": body('event: error\ndata: {"error": {"message": "out of memory", "code": 500}}\n\n'),
    "data-without-json": body("data: hello\n\n"),
    "data-of-nan": body('data: {"choices": [{"delta": {"content": NaN}}]}\n\n'),
    "lines-of-ollama": body(said("Hello.", done=True)),
    "comments-for-ever": acts(EVENTS, forever=b": ping\n\n" * 5000),
    "says-the-same-for-ever": acts(EVENTS, forever=told("The rate is 1.5 %. ").encode()),
    "thinks-for-ever": acts(
        EVENTS, forever=b'data: {"choices": [{"delta": {"reasoning_content": "Hm, let me see. "}}]}\n\n'
    ),
}
ONLY["embeddings"] |= {
    "rows-null": body('{"data": null}'),
    "rows-of-strings": body('{"data": ["no", "no"]}'),
    "row-too-few": body('{"data": [{"index": 0, "embedding": [1, 2]}]}'),
    "rows-in-base64": body('{"data": [{"index": 0, "embedding": "AACAPw=="}, {"index": 1, "embedding": "AACAPw=="}]}'),
    "rows-of-two-lengths": body('{"data": [{"embedding": [1, 2]}, {"embedding": [1, 2, 3]}]}'),
    "rows-of-null": body('{"data": [{"embedding": [null, 1]}, {"embedding": [1, 2]}]}'),
    "rows-without-index": body('{"data": [{"index": null, "embedding": [1, 2]}, {"index": [], "embedding": [1, 2]}]}'),
}


def serve(listening: socket.socket) -> None:
    while True:
        connection, _ = listening.accept()
        threading.Thread(target=_converse, args=(connection,), daemon=True).start()


def _converse(connection: socket.socket) -> None:
    with connection, contextlib.suppress(Gone, OSError, ValueError):
        connection.settimeout(120)
        request = b""
        while b"\r\n\r\n" not in request:
            more = connection.recv(65536)
            if not more:
                return
            request += more
        head, _, sent = request.partition(b"\r\n\r\n")
        path = head.split(b" ")[1].decode()
        lengths = [line.split(b":")[1] for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")]
        while len(sent) < int(lengths[0] if lengths else 0):
            sent += connection.recv(65536)
        _, name, target, *_, endpoint = path.split("/")
        talk = Talk(connection, endpoint, json.loads(sent) if sent else {})
        behaviour = EVERYWHERE.get(name) or ONLY[target].get(name)
        if endpoint == target and behaviour is not None:
            behaviour(talk)
        else:
            talk.reply(talk.honest)


# ---------------------------------------------------------------- what the product makes of it

WAYS = {
    **{"chat": "chat", "structured": "chat", "embed": "embed", "look": "tags", "look closer": "show"},
    **{"openai chat": "completions", "openai structured": "completions", "openai embed": "embeddings"},
    **{"openai look": "models"},
}
"""How the product asks, and at which target the server then misbehaves."""
LIMIT_SECONDS = 2.0
SLACK_SECONDS = 20.0
"""What a busy machine may add to the limits of the few calls that one way makes."""
STOP_SECONDS = 1.0
MAX_GROWTH_MIB = 200
QUESTION = "What interest do overdue amounts bear?"
STOPPED_IN = (
    *("never-answers", "half-closes", "hangs-in-the-status-line", "hangs-in-the-headers", "hangs-before-the-body"),
    *("hangs-in-the-body", "drips-the-headers", "drips-the-body", "drips-lines", "hints-early-for-ever"),
    *("500-and-hangs", "chunks-of-one-byte", "sends-blank-lines-for-ever"),
)
"""Behaviours that would go on for long: here the stop is tried."""


def cases() -> list[tuple[str, str]]:
    """Every (behaviour, way)."""
    return [(name, way) for way, target in WAYS.items() for name in dict.fromkeys([*EVERYWHERE, *ONLY[target]])]


@contextlib.contextmanager
def hostile_server() -> Iterator[str]:
    """Start the server as a process; yields its address."""
    process = subprocess.Popen([sys.executable, __file__], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


@contextlib.contextmanager
def short_limits(seconds: float = LIMIT_SECONDS) -> Iterator[None]:
    """The product's own limits of time, made short."""
    from pincite.core.models import ollama, ollama_embedder, openai_server

    limits = [
        *(
            (module, name)
            for module in (ollama, openai_server)
            for name in ("LOOK_SECONDS", "STRUCTURED_SECONDS", "ANSWER_SECONDS")
        ),
        *((ollama_embedder, "LOOK_SECONDS"), (ollama_embedder, "EMBED_SECONDS"), (openai_server, "EMBED_SECONDS")),
    ]
    with contextlib.ExitStack() as patched:
        for module, name in limits:
            patched.enter_context(mock.patch.object(module, name, seconds))
        yield


@dataclass
class Outcome:
    """``fault``: empty when all went as it should."""

    seconds: float = 0.0
    said: str = ""
    fault: str = ""


Outcomes = dict[tuple[str, str], Outcome]


def faults(outcomes: Outcomes, kind: str) -> int:
    return sum(outcome.fault.startswith(kind) for outcome in outcomes.values())


def ask(address: str, way: str, stopped: Callable[[], bool]) -> object:
    """One question to the product, by one of the WAYS."""
    from pincite.core.domain.documents import Passage
    from pincite.core.domain.ports import AnswerRequest
    from pincite.core.domain.search import Evidence, Intent
    from pincite.core.domain.settings import Settings
    from pincite.core.models.client import stoppable
    from pincite.core.models.ollama import OllamaChat
    from pincite.core.models.ollama_embedder import OllamaEmbedder
    from pincite.core.models.openai_server import OpenAiChat, OpenAiEmbedder
    from pincite.core.models.registry import choose_engine, look_for_engines

    with stoppable(stopped):
        openai, compatible = way.startswith("openai"), f"{address}/v1"
        engine = OpenAiChat(compatible, MODEL, key=KEY) if openai else OllamaChat(address, MODEL)
        if way.endswith("chat"):
            text = "Overdue amounts bear interest at 1.5 % per month."
            evidence = Evidence(1, Passage("p", "d", 0, "1", text, 0, len(text)), "contract.pdf")
            return "".join(engine.answer(AnswerRequest(QUESTION, Intent.DOCUMENT_SEARCH, (evidence,)), stopped))
        if way.endswith("structured"):
            return engine.structured("Answer in JSON.", QUESTION, {"required": ["colour"]})
        if way == "openai embed":
            remote = OpenAiEmbedder(MODEL, compatible, variable="NO_VARIABLE")
            return remote.version, remote.embed(["one", "two"])
        if way == "embed":
            embedder = OllamaEmbedder(MODEL, host=address)
            return embedder.version, embedder.embed(["one", "two"])
        provider = "openai" if openai else "ollama"
        settings = Settings(data_dir=Path("unused"), engine=provider, ollama_host=address, openai_address=compatible)
        state = look_for_engines(settings)
        return state, choose_engine(settings, provider).context_characters


def trial(address: str, name: str, way: str) -> Outcome:
    """Ask a misbehaving server without a stop."""
    from pincite.core.domain.errors import PinciteError

    begun = time.monotonic()
    outcome = Outcome()
    try:
        result = ask(f"{address}/{name}/{WAYS[way]}", way, lambda: False)
        outcome.fault = _harm(result)
        outcome.said = repr(result)[:200]
    except PinciteError as error:
        outcome.said = str(error)
        if not error.message or len(str(error)) > 1_000 or not str(error).isprintable():
            outcome.fault = f"traceback: no sentence: {error!s:.200}"
    except Exception as error:  # the campaign reports what the product let through
        outcome.fault = f"traceback: {type(error).__name__}: {error!s:.200}"
    outcome.seconds = time.monotonic() - begun
    if outcome.seconds > 4 * LIMIT_SECONDS + SLACK_SECONDS:
        outcome.fault = f"unbounded: {outcome.seconds:.1f} s"
    return outcome


def stop_trial(address: str, way: str) -> Outcome:
    """Ask, and stop while the server keeps us waiting."""
    from pincite.core.domain.errors import PinciteError

    stop = threading.Event()
    polled = threading.Event()
    outcome = Outcome()

    def stopped() -> bool:
        polled.set()
        return stop.is_set()

    def run() -> None:
        with contextlib.suppress(PinciteError):
            ask(address, way, stopped)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    polled.wait(60)
    thread.join(0.3)
    begun = time.monotonic()
    stop.set()
    thread.join(SLACK_SECONDS)
    outcome.seconds = time.monotonic() - begun
    if outcome.seconds > STOP_SECONDS:
        outcome.fault = f"stuck: {outcome.seconds:.1f} s"
    return outcome


@contextlib.contextmanager
def full_backlog() -> Iterator[str]:
    """An address where connecting neither succeeds nor fails."""
    with contextlib.ExitStack() as held:
        listening = held.enter_context(socket.socket())
        listening.bind(("127.0.0.1", 0))
        listening.listen(0)
        for _ in range(4):
            waiting = held.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(listening.getsockname())
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"


def run(budget_seconds: float) -> dict[str, int | float]:
    """Run every case; those for which no time is left are missing from the counts."""
    until = time.monotonic() + budget_seconds
    met, stops = Outcomes(), Outcomes()
    with hostile_server() as address, short_limits(), full_backlog() as busy:
        trial(address, "html", "embed")  # imports
        running, open_before, peak = threads(), descriptors(), _Memory()
        with ThreadPoolExecutor(8) as pool:

            def one(case: tuple[str, str]) -> None:
                if time.monotonic() < until:
                    met[case] = trial(address, *case)

            list(pool.map(one, cases()))
        for way, target in WAYS.items():
            for name in (*STOPPED_IN, "connecting"):
                where = busy if name == "connecting" else f"{address}/{name}/{target}"
                if time.monotonic() < until:
                    stops[name, way] = stop_trial(where, way)
                    if stops[name, way].fault:  # once more: the machine may have been busy
                        stops[name, way] = stop_trial(where, way)
        growth = peak.stop()
        left = left_beside(running)
        open_left = descriptors() - open_before
    for (name, way), outcome in [*met.items(), *stops.items()]:
        if outcome.fault:
            print(f"hostile server, {name}, {way}: {outcome.fault}", file=sys.stderr)
    return {
        "hostile_server": len({name for name, _ in met}),
        "hostile_cases": len(met),
        "hostile_stops": len(stops),
        "unbounded": faults(met, "unbounded") + (growth > MAX_GROWTH_MIB),
        "stuck": faults(stops, "stuck"),
        "hostile_tracebacks": faults(met, "traceback"),
        "hostile_harm": faults(met, "harm"),
        "hostile_leaked_threads": len(left),
        "hostile_leaked_descriptors": max(open_left, 0),
        "hostile_memory_growth_mib": round(growth),
        "hostile_slowest_seconds": round(max((o.seconds for o in met.values()), default=0.0), 1),
        "hostile_slowest_stop_seconds": round(max((o.seconds for o in stops.values()), default=0.0), 2),
    }


def _harm(result: object) -> str:
    """Why a result must not go on into the product; empty when it may."""
    import numpy as np

    if isinstance(result, str):
        if len(result) > 20_000 or any((ord(c) < 32 and c not in "\n\r\t") or 127 <= ord(c) < 160 for c in result):
            return f"harm: text {result[:50]!r}"
        result.encode()
    elif isinstance(result, Mapping):
        try:
            json.dumps(result, allow_nan=False, ensure_ascii=False).encode()
        except ValueError as error:
            return f"harm: {error}"
    elif isinstance(result, tuple) and isinstance(result[1], np.ndarray):
        lengths = np.linalg.norm(result[1], axis=1)
        if result[1].shape[0] != 2 or not np.allclose(lengths, 1, atol=1e-4) or not result[0].isalnum():
            return "harm: vectors"
    elif isinstance(result, tuple):
        told = " ".join([result[0].message, result[0].model, *result[0].models])
        if not told.isprintable() or len(told) > 50_000 or not 100 <= result[1] <= 1_000_000:
            return f"harm: engines {told[:100]!r}"
        if "None" in result[0].models:
            return "harm: a model without a name"
    return ""


def threads() -> set[threading.Thread]:
    """Without those that look names up for the clients: they stay, and are never more than a few."""
    return {thread for thread in threading.enumerate() if not thread.name.startswith("asyncio_")}


def left_beside(running: set[threading.Thread]) -> set[threading.Thread]:
    """The threads that are there beside these once each had time to end: the server's own end behind the last trial."""
    until = time.monotonic() + SLACK_SECONDS
    for thread in threads() - running:
        thread.join(max(0.0, until - time.monotonic()))
    return threads() - running


def descriptors() -> int:
    folder = Path("/proc/self/fd")
    return len(list(folder.iterdir())) if folder.is_dir() else 0


class _Memory:
    """Watches how far this process grows."""

    def __init__(self) -> None:
        self._first = self._most = _resident_mib()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        while not self._done.wait(0.02):
            self._most = max(self._most, _resident_mib())

    def stop(self) -> float:
        self._done.set()
        self._thread.join()
        return self._most - self._first


def _resident_mib() -> float:
    """0 where the system has no /proc."""
    path = Path("/proc/self/statm")
    return int(path.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20 if path.exists() else 0.0


def _main() -> None:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(128)
        print(listening.getsockname()[1], flush=True)
        serve(listening)


if __name__ == "__main__":
    _main()
