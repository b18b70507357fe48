"""A REST API that answers every GET request with one body."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import override


class ScriptedApi:
    def __init__(self) -> None:
        self.paths: list[str] = []
        self.status = 200
        self.body: object = {}
        self.url = ""


@contextmanager
def run_scripted_api() -> Iterator[ScriptedApi]:
    scripted = ScriptedApi()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            scripted.paths.append(self.path)
            body = json.dumps(scripted.body).encode()
            self.send_response(scripted.status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        @override
        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        scripted.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield scripted
        server.shutdown()
        thread.join()
