"""Decode stored bytes: base64, gzip, ZIP and LZ4 anywhere in them, and the record batches of Kafka's segment files."""

import base64
import binascii
import io
import re
import zipfile
import zlib
from collections.abc import Iterator
from typing import Final

_MAX_DEPTH: Final = 3
_MAX_MEMBER: Final = 8 * 1024 * 1024
_BASE64: Final = re.compile(rb"[A-Za-z0-9+/_-]{32,}={0,2}")
_GZIP, _ZIP, _LZ4 = b"\x1f\x8b\x08", b"PK\x03\x04", b"\x04\x22\x4d\x18"
_TO_STANDARD: Final = bytes.maketrans(b"-_", b"+/")
_BATCH_HEAD, _ATTRIBUTES, _CODECS = 61, 21, 0b111
_NO_CODEC, _GZIP_CODEC, _LZ4_CODEC = 0, 1, 3
_IS_RAW_BLOCK: Final = 1 << 31
_HAS_CONTENT_SIZE, _HAS_BLOCK_SUMS = 1 << 3, 1 << 4
_LONG: Final = 15
_MIN_MATCH: Final = 4


def views(data: bytes, depth: int = _MAX_DEPTH) -> Iterator[bytes]:
    """Yield the bytes, and everything that can be decoded from a part of them."""
    yield data
    if depth:
        for decoded in _decoded(data):
            yield from views(decoded, depth - 1)


def _decoded(data: bytes) -> Iterator[bytes]:
    for run in _BASE64.finditer(data):
        text = run[0].rstrip(b"=").translate(_TO_STANDARD)
        whole = text[: len(text) // 4 * 4] if len(text) % 4 == 1 else text + b"=" * (-len(text) % 4)
        try:
            yield base64.b64decode(whole)
        except binascii.Error:
            continue
    for at in _places(data, _GZIP):
        if inflated := _inflate(data[at : at + _MAX_MEMBER]):
            yield inflated
    for at in _places(data, _LZ4):
        try:
            yield lz4_frame(data[at : at + _MAX_MEMBER])
        except (IndexError, ValueError):
            continue
    if _ZIP in data:
        yield from _members(data[data.index(_ZIP) :])


def _places(data: bytes, magic: bytes) -> Iterator[int]:
    at = data.find(magic)
    while at >= 0:
        yield at
        at = data.find(magic, at + 1)


def _inflate(data: bytes) -> bytes:
    """Return what can be inflated, also of a damaged end."""
    stream, found = zlib.decompressobj(wbits=31), bytearray()
    try:
        for at in range(0, len(data), 4096):
            found += stream.decompress(data[at : at + 4096])
            if stream.eof:
                break
    except zlib.error:
        pass
    return bytes(found)


def _members(data: bytes) -> Iterator[bytes]:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for name in archive.namelist():
                yield name.encode()
                yield archive.read(name)
    except (zipfile.BadZipFile, zlib.error, NotImplementedError):
        return


def record_batches(segment: bytes) -> Iterator[bytes]:
    """Yield the records of each batch of a segment, decompressed. Raises `ValueError` for an unknown codec."""
    at = 0
    while at + _BATCH_HEAD <= len(segment):
        length = int.from_bytes(segment[at + 8 : at + 12])
        if not length:
            return  # The rest of the file is allocated and not written.
        batch = segment[at : at + 12 + length]
        codec, records = batch[_ATTRIBUTES + 1] & _CODECS, batch[_BATCH_HEAD:]
        match codec:
            case 0:
                yield records
            case 1:
                yield _inflate(records)
            case 3:
                yield lz4_frame(records)
            case _:
                raise ValueError(f"a batch with the compression {codec}")
        at += 12 + length


def lz4_frame(data: bytes) -> bytes:
    """Decompress one LZ4 frame. Checksums are not verified."""
    flags = data[4]
    at = 7 + 8 * bool(flags & _HAS_CONTENT_SIZE)
    found = bytearray()
    while size := int.from_bytes(data[at : at + 4], "little"):
        length = size & ~_IS_RAW_BLOCK
        block = data[at + 4 : at + 4 + length]
        if len(block) < length:
            raise ValueError("a frame that is cut off")
        if size & _IS_RAW_BLOCK:
            found += block
        else:
            _add_lz4_block(found, block)
        at += 4 + length + 4 * bool(flags & _HAS_BLOCK_SUMS)
    return bytes(found)


def _add_lz4_block(found: bytearray, block: bytes) -> None:
    at = 0
    while at < len(block):
        token = block[at]
        literals, at = _length(block, at + 1, token >> 4)
        found += block[at : at + literals]
        at += literals
        if at >= len(block):
            return
        distance = int.from_bytes(block[at : at + 2], "little")
        match, at = _length(block, at + 2, token & _LONG)
        if not 0 < distance <= len(found):
            raise ValueError("a reference to before the start")
        for _ in range(match + _MIN_MATCH):
            found.append(found[-distance])


def _length(block: bytes, at: int, length: int) -> tuple[int, int]:
    if length == _LONG:
        while (more := block[at]) == 255:
            length, at = length + more, at + 1
        length, at = length + more, at + 1
    return length, at
