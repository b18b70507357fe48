"""Requests to the REST API and the bucket, with the standard library. They run in threads."""

import asyncio
import json
import shutil
import urllib.error
import urllib.request
from http.client import HTTPResponse
from pathlib import Path
from typing import Any, Final, final

from tidings_sdk.credentials import Credentials
from tidings_sdk.errors import RequestRefused, RequestTimeout
from tidings_wire.frames.structs import ErrorBody

_TIMEOUT_S: Final = 30.0
_UNAUTHORIZED: Final = 401
_SERVER_ERROR: Final = 500
_RETRYABLE: Final = frozenset({403, 408, 429})
"""Of the bucket. An expired signature is refused with 403; the next try is signed again."""


@final
class RestApi:
    def __init__(self, root: str, credentials: Credentials) -> None:
        self._root = root.rstrip("/")
        self._credentials = credentials

    async def call(self, method: str, path: str, body: object = None) -> object:
        """Send a request and return its answer. Raises `RequestRefused`, and `RequestTimeout` without an answer."""
        for is_renewed in (False, True):
            token = await self._credentials.get()
            try:
                return await asyncio.to_thread(self._send, method, path, body, token)
            except urllib.error.HTTPError as error:
                if error.code != _UNAUTHORIZED or is_renewed or not self._credentials.can_renew():
                    raise RequestRefused(_problem(error)) from None
                self._credentials.renew()
        raise AssertionError("unreachable")

    def _send(self, method: str, path: str, body: object, token: str) -> object:
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        content = None if body is None else json.dumps(body).encode()
        answer = _read(method, self._root + path, content, headers)
        return json.loads(answer) if answer else None


def put_bytes(url: str, headers: dict[str, str], content: bytes) -> None:
    """Send bytes to the bucket. Raises `RequestTimeout` if a retry may succeed, otherwise `RequestRefused`."""
    try:
        _read("PUT", url, content, headers)
    except urllib.error.HTTPError as error:
        raise _of_bucket(error) from None


def fetch_file(url: str, path: Path) -> None:
    """Write the answer to a file. Raises like `put_bytes`."""
    try:
        with _open("GET", url, None, {}) as answer, path.open("wb") as file:
            shutil.copyfileobj(answer, file)
            if answer.length:
                raise RequestTimeout(
                    f"The connection ended {answer.length} bytes before the end of the file."
                )
    except urllib.error.HTTPError as error:
        raise _of_bucket(error) from None
    except OSError as error:
        raise RequestTimeout(f"The download was interrupted: {error}") from error


def _read(method: str, url: str, content: bytes | None, headers: dict[str, str]) -> bytes:
    with _open(method, url, content, headers) as answer:
        return answer.read()


def _open(method: str, url: str, content: bytes | None, headers: dict[str, str]) -> HTTPResponse:
    # The server names URLs: it must not make this process read its own files.
    if not url.startswith(("http://", "https://")):
        raise ValueError(f"Not an address of HTTP: {url}")
    request = urllib.request.Request(url, content, headers, method=method)  # noqa: S310 - checked above
    try:
        answer: HTTPResponse = urllib.request.urlopen(request, timeout=_TIMEOUT_S)  # noqa: S310
    except urllib.error.HTTPError:
        raise
    except OSError as error:
        raise RequestTimeout(f"{method} {request.host} received no answer: {error}") from error
    return answer


def _of_bucket(error: urllib.error.HTTPError) -> Exception:
    reason = error.read(1_000).decode(errors="replace")
    if error.code >= _SERVER_ERROR or error.code in _RETRYABLE:
        return RequestTimeout(f"The bucket answered with {error.code}: {reason}")
    message = f"The bucket answered with {error.code}: {reason}"
    return RequestRefused(ErrorBody(code="upload_failed", message=message, retryable=False, hint="", docs=""))


def _problem(error: urllib.error.HTTPError) -> ErrorBody:
    try:
        found: dict[str, Any] = json.loads(error.read())
    except ValueError:
        found = {}
    return ErrorBody(
        code=found.get("code", "internal"),
        message=found.get("detail", f"The server answered with {error.code}."),
        retryable=found.get("retryable", error.code >= _SERVER_ERROR),
        hint=found.get("hint", ""),
        docs=found.get("type", ""),
        retry_after_ms=found.get("retry_after_ms"),
    )
