"""Faults of the connection between client and engine: lost, cut, slow or corrupt messages."""

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import override

from faults.proxy.aws_answers import answer
from faults.proxy.fault import Exchange, Fault
from faults.proxy.http_message import Message
from faults.proxy.reply import Reply, cut, nothing

NOT_HTTP = b"\x00\xff\x16\x03\x01 this is no HTTP \x80\r\n\r\n"


@dataclass(frozen=True, slots=True)
class DropRequest(Fault):
    """Drop the request before the engine receives it, and close the client's connection."""

    reset: bool = False

    @override
    async def apply(self, exchange: Exchange) -> Reply:
        return nothing(reset=self.reset)


@dataclass(frozen=True, slots=True)
class DropAnswer(Fault):
    """Apply the request, and send no byte of the answer."""

    reset: bool = False

    @override
    async def apply(self, exchange: Exchange) -> Reply:
        await exchange.forward()
        return nothing(reset=self.reset)


class Part(StrEnum):
    HEADERS = "headers"
    HALF_BODY = "half_body"


@dataclass(frozen=True, slots=True)
class HalfAnswer(Fault):
    """Apply the request, and close the connection after the headers or in the middle of the body."""

    part: Part = Part.HALF_BODY
    reset: bool = False

    @override
    async def apply(self, exchange: Exchange) -> Reply:
        reply = await exchange.forward()
        body_bytes = len(reply.raw) - reply.head_bytes
        shown_bytes = 0 if self.part is Part.HEADERS else body_bytes // 2
        return replace(reply, sent_bytes=reply.head_bytes + shown_bytes, end=cut(reset=self.reset))


@dataclass(frozen=True, slots=True)
class SlowBytes(Fault):
    """Apply the request, and send the answer in pieces with a pause between them."""

    piece_bytes: int = 1
    pause_s: float = 0.01

    @override
    async def apply(self, exchange: Exchange) -> Reply:
        return replace(await exchange.forward(), piece_bytes=self.piece_bytes, pause_s=self.pause_s)


class Spoilt(StrEnum):
    """How an answer is corrupt. `HTTP`: it is not HTTP. All others have status 200 and complete headers."""

    HTTP = "http"
    UTF8 = "utf8"
    JSON = "json"
    CRC32 = "crc32"


@dataclass(frozen=True, slots=True)
class Garbage(Fault):
    """Apply the request, and send an unreadable answer, or with `CRC32` a readable one with a wrong checksum."""

    spoilt: Spoilt = Spoilt.JSON

    @override
    async def apply(self, exchange: Exchange) -> Reply:
        reply = await exchange.forward()
        if reply.message is None:
            return reply
        return replace(reply, message=self._spoil(reply.message))

    def _spoil(self, message: Message) -> Message:
        match self.spoilt:
            case Spoilt.HTTP:
                return replace(message, raw=NOT_HTTP)
            case Spoilt.UTF8:
                return answer(200, b'{"Attributes":{"\xff\xfe\xc0":{"S":"\x80"}}}')
            case Spoilt.JSON:
                return answer(200, message.body[:-1] + b',"Attributes":{"pk"')
            case Spoilt.CRC32:
                wrong = int(answer(200, message.body).headers[b"x-amz-crc32"]) ^ 1
                return answer(200, message.body, x_amz_crc32=str(wrong))


@dataclass(frozen=True, slots=True)
class CloseIdle(Fault):
    """Answer completely, then close a connection that the client considers alive.

    A fast client has already sent its next request on it, and that request is lost.
    """

    reset: bool = False

    @override
    async def apply(self, exchange: Exchange) -> Reply:
        return replace(await exchange.forward(), end=cut(reset=self.reset))
