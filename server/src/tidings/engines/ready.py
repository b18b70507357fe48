"""Is an engine ready? Asked in its own protocol, since an open port says little."""

import http.client
import socket
import struct

_TIMEOUT_S = 2.0
_METADATA, _VERSION_0, _NO_CLIENT_ID = 3, 0, -1


def is_dynamo_ready(port: int) -> bool:
    """DynamoDB's ListTables gives 200."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_TIMEOUT_S)
    headers = {
        "X-Amz-Target": "DynamoDB_20120810.ListTables",
        "Content-Type": "application/x-amz-json-1.0",
        "X-Amz-Date": "20260101T000000Z",
        # the local engines ask for a signature and don't check it
        "Authorization": "AWS4-HMAC-SHA256 Credential=ready/20260101/us-east-1/dynamodb/aws4_request, "
        "SignedHeaders=host, Signature=0",
    }
    try:
        connection.request("POST", "/", b"{}", headers)
        return connection.getresponse().status == http.HTTPStatus.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def is_valkey_ready(port: int) -> bool:
    """PING gives PONG."""
    try:
        with socket.create_connection(("127.0.0.1", port), _TIMEOUT_S) as sock:
            sock.sendall(b"PING\r\n")
            return sock.recv(64).startswith(b"+PONG")
    except OSError:
        return False


def is_kafka_ready(port: int, brokers: int) -> bool:
    """The metadata lists as many brokers as the cluster should have."""
    request = struct.pack(">hhihi", _METADATA, _VERSION_0, 1, _NO_CLIENT_ID, 0)
    try:
        with socket.create_connection(("127.0.0.1", port), _TIMEOUT_S) as sock:
            sock.sendall(struct.pack(">i", len(request)) + request)
            answer = sock.recv(4 + 4 + 4, socket.MSG_WAITALL)
    except OSError:
        return False
    return len(answer) == 4 + 4 + 4 and struct.unpack(">iii", answer)[2] >= brokers


def is_port_open(host: str, port: int) -> bool:
    try:
        with socket.create_connection((host, port), _TIMEOUT_S):
            return True
    except OSError:
        return False
