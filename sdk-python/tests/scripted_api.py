"""HTTP servers with scripted answers."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, override

type Answer = Callable[[str, Any, bytes], tuple[int, bytes]]
"""Returns status and body for the method and path, the headers and the body of a request."""


@contextmanager
def serve(answer: Answer) -> Iterator[str]:
    """Run a server and return its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"] or 0))
            status, answered = answer(f"{self.command} {self.path}", self.headers, body)
            self.send_response(status)
            self.send_header("Content-Length", str(len(answered)))
            self.end_headers()
            self.wfile.write(answered)

        do_POST = do_PUT = do_DELETE = do_GET  # noqa: N815 - names of the standard library

        @override
        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


class ScriptedApi:
    """Answers every request with one body."""

    def __init__(self) -> None:
        self.paths: list[str] = []
        self.status = 200
        self.body: object = {}
        self.url = ""

    def answer(self, request: str, _: object, __: bytes) -> tuple[int, bytes]:
        self.paths.append(request.partition(" ")[2])
        return self.status, json.dumps(self.body).encode()


@contextmanager
def run_scripted_api() -> Iterator[ScriptedApi]:
    scripted = ScriptedApi()
    with serve(scripted.answer) as scripted.url:
        yield scripted
