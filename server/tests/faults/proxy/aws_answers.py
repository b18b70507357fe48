"""Answers in the format of AWS: status, headers, checksum, error type, message."""

import random
import string
import zlib
from email.utils import formatdate
from http import HTTPStatus

from faults.proxy.dynamo_request import encode
from faults.proxy.http_message import Message, compose
from faults.proxy.reply import End, Reply

ERROR_PREFIX = "com.amazonaws.dynamodb.v20120810#"
REQUEST_ID_ALPHABET = string.digits + string.ascii_uppercase[:22]


def answer(status: int, raw: bytes, **headers: str) -> Message:
    """Build an answer of DynamoDB. `headers` replaces headers; write `_` for `-`."""
    named = {
        "Server": "Server",
        "Date": formatdate(usegmt=True),
        "Content-Type": "application/x-amz-json-1.0",
        "Connection": "keep-alive",
        "x-amzn-RequestId": "".join(random.choices(REQUEST_ID_ALPHABET, k=52)),
        "x-amz-crc32": str(zlib.crc32(raw)),
    } | {name.replace("_", "-"): value for name, value in headers.items()}
    start_line = f"HTTP/1.1 {status} {HTTPStatus(status).phrase}".encode()
    return compose(start_line, {name.encode(): value.encode() for name, value in named.items()}, raw)


def error(name: str, message: str, *, status: int = 400) -> Reply:
    return Reply(answer(status, encode({"__type": ERROR_PREFIX + name, "message": message})))


def capital_error(name: str, message: str, **members: object) -> Reply:
    """Build an error of a transaction, which has `Message` with a capital letter."""
    body = {"__type": ERROR_PREFIX + name, **members, "Message": message}
    return Reply(answer(400, encode(body)))


def cancelled(reasons: list[dict[str, str]]) -> Reply:
    """Build a TransactionCanceledException with one reason for each item of the transaction, in order."""
    codes = ", ".join(reason["Code"] for reason in reasons)
    text = f"Transaction cancelled, please refer cancellation reasons for specific reasons [{codes}]"
    return capital_error("TransactionCanceledException", text, CancellationReasons=reasons)


def refusal(why: str) -> Reply:
    """Build the proxy's own answer to a client that does not use its protocol."""
    body = f"fault proxy: {why}\n".encode()
    headers = {b"Content-Type": b"text/plain", b"Connection": b"close"}
    return Reply(compose(b"HTTP/1.1 400 Bad Request", headers, body), End.CLOSE)
