"""A real HTTP server on loopback that speaks the OpenAI chat-completions protocol from a script.

In a test::

    with ScriptedServer(script=[Answer(status=429, headers={"Retry-After": "1"})]) as server:
        ...                       # the first request gets the 429, all later ones the default
        assert len(server.requests) == 2

As a process, for runs that are killed (prints its port, logs one JSON line per request)::

    python tests/llm_server.py --port 0 --latency 3 --recording events.jsonl --log log.jsonl
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import hashlib
import json
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Literal, Self

from promptpo.llm.recording import load_recording

DEFAULT_TEXT = "```python\nclass Policy:\n    def act(self, obs):\n        return 0\n```\n"


@dataclass(frozen=True)
class Answer:
    """What one request gets.

    ``kind``: "reply" a completion or, for a ``status`` of 400 and above, an error body;
    "reset" closes the connection with RST; "hang" never answers; "garbage" sends ``text`` as it is;
    "endless" sends it again and again until the client goes. ``members`` replace those of the
    completion (None: the member is left out), ``packed`` sends it as gzip, asked or not.
    """

    text: str | None = DEFAULT_TEXT
    status: int = 200
    finish_reason: str = "stop"
    headers: Mapping[str, str] = field(default_factory=dict)
    latency: float = 0.0
    kind: Literal["reply", "reset", "hang", "garbage", "endless"] = "reply"
    members: Mapping[str, Any] = field(default_factory=dict)
    packed: bool = False
    error: Mapping[str, Any] = field(default_factory=lambda: {"message": "scripted fault"})


@dataclass
class Received:
    """One request as it came; ``answered`` turns true once the whole reply was handed over."""

    number: int
    time: float
    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]
    answered: bool = False
    answered_at: float = 0.0

    @property
    def call(self) -> str:
        """The call's name in the run, e.g. ``r01_c02_policy``; empty where none was sent."""
        return self.headers.get("x-promptpo-call", "")

    @property
    def messages_sha256(self) -> str:
        """Tells prompts apart."""
        text = json.dumps(self.body.get("messages"), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    def as_json(self) -> str:
        """One line of the log."""
        names = ("number", "time", "path", "answered", "answered_at", "call", "messages_sha256")
        return json.dumps({name: getattr(self, name) for name in names})


Script = Callable[[Received], Answer]


def in_turn(answers: Iterable[Answer], default: Answer) -> Script:
    """A script that gives each request the next answer, then ``default`` for ever."""
    waiting = iter(answers)
    return lambda _: next(waiting, default)


def first_tries(answers: Sequence[Answer], default: Answer) -> Script:
    """A script that gives the first try of candidate n the n-th answer, any later ``default``."""
    left = dict(enumerate(answers, 1))
    return lambda request: left.pop(int(request.call[5:].partition("_")[0]), default)


def from_recording(path: Path, default: Answer) -> Script:
    """A script that answers each call with the reply that a recording holds under its name."""
    replies = load_recording(path).replies
    texts = {str(key): recorded.reply.text for key, recorded in replies.items()}
    return lambda request: replace(default, text=texts.get(request.call, default.text))


class ScriptedServer:
    """Serves a script until the ``with`` block ends; ``requests`` holds all that came."""

    def __init__(
        self,
        script: Script | Iterable[Answer] = (),
        *,
        default: Answer | None = None,
        latency: float = 0.0,
        port: int = 0,
        log: Path | None = None,
    ) -> None:
        default = default or Answer()
        self.script = script if callable(script) else in_turn(script, default)
        self.latency = latency
        self.log = log
        self.requests: list[Received] = []
        self.in_flight = self.most_in_flight = 0
        self.lock = threading.Lock()
        self.stopping = threading.Event()
        self.http = _Http(("127.0.0.1", port), _Handler)
        self.http.owner = self

    @property
    def port(self) -> int:
        """The port that the system gave."""
        return int(self.http.server_address[1])

    @property
    def url(self) -> str:
        """What ``--api-base`` takes."""
        return f"http://127.0.0.1:{self.port}/v1"

    def calls(self, *, answered: bool = False) -> dict[str, int]:
        """Requests (or only answered ones) by the call's name."""
        counts: dict[str, int] = {}
        for request in self.requests:
            if request.answered or not answered:
                counts[request.call] = counts.get(request.call, 0) + 1
        return counts

    def __enter__(self) -> Self:
        threading.Thread(target=self.http.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stopping.set()
        self.http.shutdown()
        self.http.server_close()

    def receive(self, path: str, headers: Mapping[str, str], body: Mapping[str, Any]) -> Received:
        """Count a request and number it from 0."""
        with self.lock:
            lower = {name.lower(): value for name, value in headers.items()}
            request = Received(len(self.requests), time.time(), path, lower, body)
            self.requests.append(request)
            self.in_flight += 1
            self.most_in_flight = max(self.in_flight, self.most_in_flight)
        self.write_log(request)
        return request

    def write_log(self, request: Received) -> None:
        """Append a request to the log: once when it comes, once more when it is answered."""
        if self.log is not None:
            with self.lock, self.log.open("a", encoding="utf-8") as file:
                file.write(request.as_json() + "\n")


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128
    owner: ScriptedServer

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that are killed or cancelled break connections; that is part of the tests."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Http

    def log_message(self, format: str, *args: Any) -> None:
        """Tests read ``requests`` instead."""

    def do_POST(self) -> None:
        owner = self.server.owner
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        request = owner.receive(self.path, dict(self.headers), body)
        try:
            with owner.lock:
                answer = owner.script(request)
            owner.stopping.wait(answer.latency or owner.latency)
            self.give(request, answer)
        finally:
            with owner.lock:
                owner.in_flight -= 1

    def give(self, request: Received, answer: Answer) -> None:
        if answer.kind == "hang":
            self.server.owner.stopping.wait()
            self.close_connection = True
        elif answer.kind == "reset":
            linger = struct.pack("ii", 1, 0)
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            self.close_connection = True
            self.connection.close()
        elif answer.kind == "endless":
            self.send_endless((answer.text or "x").encode())
        else:
            self.send_body(answer, self.content(request, answer).encode())
            request.answered = answer.status < 400
            request.answered_at = time.time()
            self.server.owner.write_log(request)

    def content(self, request: Received, answer: Answer) -> str:
        if answer.kind == "garbage":
            return answer.text or ""
        if answer.status >= 400:
            return json.dumps({"error": answer.error})
        message = {"role": "assistant", "content": answer.text}
        asked = sum(len(m["content"]) for m in request.body["messages"]) // 4
        written = len(answer.text or "") // 4
        completion = {
            "id": f"chatcmpl-{request.number}",
            "object": "chat.completion",
            "created": int(time.time()),
            "model": request.body["model"],
            "choices": [{"index": 0, "message": message, "finish_reason": answer.finish_reason}],
            "usage": {
                "prompt_tokens": asked,
                "completion_tokens": written,
                "total_tokens": asked + written,
            },
        }
        merged = {**completion, **answer.members}
        return json.dumps({k: v for k, v in merged.items() if v is not None})

    def send_endless(self, piece: bytes) -> None:
        self.close_connection = True
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        piece *= max(1, (1 << 16) // len(piece))
        with contextlib.suppress(OSError):  # the client has gone
            while not self.server.owner.stopping.is_set():
                self.wfile.write(piece)

    def send_body(self, answer: Answer, body: bytes) -> None:
        self.send_response(answer.status)
        if answer.packed:
            body = gzip.compress(body)
            self.send_header("Content-Encoding", "gzip")
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()


def main() -> None:
    """Serve until killed; the first line of standard output is the port."""
    parser = argparse.ArgumentParser(description="Scripted OpenAI-compatible server.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--latency", type=float, default=0.0, help="seconds per reply")
    parser.add_argument("--reply", type=Path, help="file with the text of every reply")
    parser.add_argument("--recording", type=Path, help="events.jsonl whose replies are served")
    parser.add_argument("--status", type=int, default=200, help="status of every reply")
    parser.add_argument("--log", type=Path, help="file that receives one JSON line per request")
    args = parser.parse_args()
    text = args.reply.read_text(encoding="utf-8") if args.reply else DEFAULT_TEXT
    default = Answer(text=text, status=args.status)
    script = from_recording(args.recording, default) if args.recording else ()
    server = ScriptedServer(
        script, default=default, latency=args.latency, port=args.port, log=args.log
    )
    with server:
        sys.stdout.write(f"{server.port}\n")
        sys.stdout.flush()
        threading.Event().wait()


if __name__ == "__main__":
    main()
