"""A client that observes bytes, FIN and RST directly."""

import http.client
import json
import select
import socket
from typing import Any, Self, final


def request(operation: str = "PutItem", body: dict[str, Any] | None = None) -> bytes:
    raw = json.dumps({"TableName": "some", "Item": {}} if body is None else body).encode()
    head = f"POST / HTTP/1.1\r\nX-Amz-Target: DynamoDB_20120810.{operation}\r\nContent-Length: {len(raw)}\r\n\r\n"
    return head.encode() + raw


@final
class RawClient:
    """One connection to a local port."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=10)

    def send(self, raw: bytes) -> None:
        self._socket.sendall(raw)

    def read(self, count_bytes: int) -> bytes:
        """Read this number of bytes, or fewer if the connection ends before."""
        got = b""
        while len(got) < count_bytes and (piece := self._socket.recv(count_bytes - len(got))):
            got += piece
        return got

    def read_to_end(self) -> tuple[bytes, type[OSError] | None]:
        """Read to the end. Return the bytes, and the error that ended the connection, or None for FIN."""
        got = b""
        try:
            while piece := self._socket.recv(65536):
                got += piece
        except ConnectionError as error:
            return got, type(error)
        return got, None

    def ask(self, raw: bytes | None = None) -> tuple[bytes, type[OSError] | None]:
        self.send(request() if raw is None else raw)
        return self.read_to_end()

    def is_silent(self, for_s: float = 0.05) -> bool:
        """Return whether no bytes and no end arrive for a short time.

        It can miss a fault, and never reports a false one.
        """
        readable, _, _ = select.select([self._socket], [], [], for_s)
        return not readable

    def end(self) -> None:
        """Send FIN; answers can still arrive."""
        self._socket.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def headers_of(operation: str) -> dict[str, str]:
    """Return headers without a valid signature, which the local engines do not check."""
    return {
        "X-Amz-Target": f"DynamoDB_20120810.{operation}",
        "Content-Type": "application/x-amz-json-1.0",
        "X-Amz-Date": "20300101T000000Z",
        "Authorization": "AWS4-HMAC-SHA256 Credential=local/20300101/us-east-1/dynamodb/aws4_request, "
        "SignedHeaders=host;x-amz-date, Signature=00",
    }


def ask(port: int, operation: str, body: dict[str, Any]) -> tuple[int, dict[str, str], bytes]:
    """Return status, headers and body of one call, without validation. Both engines accept it unsigned."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("POST", "/", json.dumps(body), headers_of(operation))
        answer = connection.getresponse()
        return answer.status, dict(answer.headers), answer.read()
    finally:
        connection.close()
