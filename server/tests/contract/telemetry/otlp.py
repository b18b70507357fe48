"""A real OTLP/HTTP receiver: a web server that decodes what an exporter sends."""

import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import override

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)


@dataclass(frozen=True)
class Received:
    service: str
    name: str
    trace_id: bytes
    span_id: bytes
    parent_id: bytes


@dataclass
class Receiver:
    """`status` is what it answers; `headers` are those of the last request."""

    status: int = 200
    spans: list[Received] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.headers = dict(self.headers)
                if receiver.status == 200 and self.path == "/v1/traces":
                    receiver.spans += decode(body)
                self.send_response(receiver.status)
                self.end_headers()
                self.wfile.write(ExportTraceServiceResponse().SerializeToString())

            @override
            def log_message(self, format: str, *args: object) -> None: ...

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.endpoint = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def named(self, name: str) -> Received | None:
        return next((span for span in self.spans if span.name == name), None)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def decode(body: bytes) -> list[Received]:
    request = ExportTraceServiceRequest.FromString(body)
    return [
        Received(
            attributes.get("service.name", ""), span.name, span.trace_id, span.span_id, span.parent_span_id
        )
        for resource in request.resource_spans
        for attributes in [{a.key: a.value.string_value for a in resource.resource.attributes}]
        for scope in resource.scope_spans
        for span in scope.spans
    ]
