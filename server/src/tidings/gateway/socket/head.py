"""Reads the head of an HTTP request as it comes in, within bounds. Judges its form, not its content."""

from dataclasses import dataclass
from typing import final

import httptools

from tidings.gateway.socket.ports import UpgradeRefusal
from tidings.kernel.errors import Code

_TOO_LARGE = UpgradeRefusal(431, Code.REQUEST_INVALID, "The request's head is too large")
_MALFORMED = UpgradeRefusal(400, Code.REQUEST_INVALID, "This is not a request in HTTP/1.1")


class BadRequestHeadError(Exception):
    """The bytes are no head that we read on."""

    def __init__(self, refusal: UpgradeRefusal) -> None:
        super().__init__(refusal.title)
        self.refusal = refusal


@dataclass(frozen=True, slots=True)
class RequestHead:
    """`fields` in order, names in lower case. `rest` came behind the head: the first frames, of an eager client."""

    method: str
    target: str
    version: str
    fields: tuple[tuple[str, str], ...]
    rest: bytes = b""

    def values(self, name: str) -> list[str]:
        return [value for known, value in self.fields if known == name]

    def tokens(self, name: str) -> list[str]:
        """A list header, over all of its lines."""
        parts = (part.strip() for value in self.values(name) for part in value.split(","))
        return [part for part in parts if part]


@final
class RequestHeadParser:
    """For one connection. The methods named `on_…` are httptools'."""

    def __init__(self, max_bytes: int, max_headers: int) -> None:
        self._parser = httptools.HttpRequestParser(self)
        self._max_headers = max_headers
        self._left_bytes = max_bytes
        self._target = b""
        self._fields: list[tuple[str, str]] = []
        self._is_whole = False

    def feed(self, data: bytes) -> RequestHead | None:
        """The head once it is whole. Raises `BadRequestHeadError`."""
        rest = b""
        try:
            self._parser.feed_data(data[: self._left_bytes])
        except httptools.HttpParserUpgrade as upgrade:
            rest = data[upgrade.args[0] :]
        except httptools.HttpParserError as error:
            raise BadRequestHeadError(self._refusal()) from error
        self._left_bytes -= len(data)
        if self._is_whole:
            return self._head(rest)
        if self._left_bytes <= 0:
            raise BadRequestHeadError(_TOO_LARGE)
        return None

    def let_go(self) -> None:
        """It is not fed any more. The parser and it hold each other, and memory should not wait for the collector."""
        del self._parser

    def _refusal(self) -> UpgradeRefusal:
        return _TOO_LARGE if len(self._fields) > self._max_headers else _MALFORMED

    def _head(self, rest: bytes) -> RequestHead:
        if len(self._fields) > self._max_headers:
            raise BadRequestHeadError(_TOO_LARGE)
        method, version = self._parser.get_method().decode("ascii"), self._parser.get_http_version()
        return RequestHead(method, self._target.decode("latin-1"), version, tuple(self._fields), rest)

    def on_url(self, url: bytes) -> None:
        self._target += url

    def on_header(self, name: bytes, value: bytes) -> None:
        self._fields.append((name.decode("latin-1").lower(), value.decode("latin-1").strip()))
        if len(self._fields) > self._max_headers:
            raise BadRequestHeadError(_TOO_LARGE)

    def on_headers_complete(self) -> None:
        self._is_whole = True
