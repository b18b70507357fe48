"""Randomly mutated golden frames: bytes, numbers, strings, nesting, parts of two frames."""

import re
from collections.abc import Callable
from random import Random
from typing import Any, Final

import msgspec

from tidings_wire.frames.registry import REQUESTS as KINDS
from tools.protocol.samples.refused import REFUSED
from tools.protocol.samples.requests import REQUESTS

_GOOD: Final = [one.data for one in REQUESTS]
SEEDS: Final = [one.data for one in (*REQUESTS, *REFUSED) if len(one.data) < 1000]
_WORDS: Final = sorted({field for kind in KINDS for field in (kind.name, *kind.body.__struct_fields__)})
_NUMBER: Final = re.compile(rb"-?\d+(\.\d+)?")
_STRING: Final = re.compile(rb'"[^"\\]*"')
_NUMBERS: Final = (
    b"0 -1 1 1.5 -0 1e5 1e400 NaN Infinity 9007199254740991 9007199254740992 18446744073709551616 "
    b"999999999999999 1000000000000000 00 0x1 true null {} []"
).split()
_STRINGS: Final = [
    b'""', b'"a#b"', b'"a*"', b'"\\u0000"', b'"\\ud83d"', b'"\\udc00\\ud83d"', b'"\\n"', b'"\xc3\xa9"', b'"\xff"',
    b'"\xed\xa0\x80"', b'"' + b"x" * 65 + b'"', b'"' + b"y" * 5000 + b'"', b'"\\', b'"\x00"', b"null", b"5", b"[]",
]  # fmt: skip


def mutated(chance: Random) -> bytes:
    """Return a mutated frame. A third are valid JSON with other values, so that not all are rejected."""
    if chance.random() < 1 / 3:
        return msgspec.json.encode(_other(msgspec.json.decode(chance.choice(_GOOD)), chance))
    frame = chance.choice(SEEDS)
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        frame = chance.choice(_MUTATIONS)(frame, chance)
    return frame


def _other(value: Any, chance: Random) -> Any:
    """Return a value of the same shape; some leaves are replaced by others of their type."""
    if isinstance(value, dict):
        return {key: _other(item, chance) for key, item in value.items()}
    if isinstance(value, list):
        return [_other(item, chance) for item in value] * chance.choice((1, 1, 1, 2, 60))
    if isinstance(value, bool) or chance.random() < 0.8:
        return value
    if isinstance(value, str):
        return "".join(chance.choices('abcXYZ019-._#*/ é👋\n"\\{[', k=chance.choice((0, 1, 8, 48, 64, 65))))
    return chance.choice((0, 1, 2, chance.randrange(10**15), 10**15, -1))


def _flip(frame: bytes, chance: Random) -> bytes:
    at = chance.randrange(len(frame) + 1)
    return frame[:at] + bytes([chance.randrange(256)]) + frame[at + 1 :]


def _cut(frame: bytes, chance: Random) -> bytes:
    start, end = sorted(chance.choices(range(len(frame) + 1), k=2))
    return frame[:start] + frame[end:]


def _repeat(frame: bytes, chance: Random) -> bytes:
    start, end = sorted(chance.choices(range(len(frame) + 1), k=2))
    return frame[:end] + frame[start:end] * chance.choice((1, 2, 50)) + frame[end:]


def _splice(frame: bytes, chance: Random) -> bytes:
    other = chance.choice(SEEDS)
    return frame[: chance.randrange(len(frame) + 1)] + other[chance.randrange(len(other) + 1) :]


def _renumber(frame: bytes, chance: Random) -> bytes:
    return _replace_one(_NUMBER, frame, chance.choice(_NUMBERS), chance)


def _restring(frame: bytes, chance: Random) -> bytes:
    return _replace_one(_STRING, frame, chance.choice(_STRINGS), chance)


def _rename(frame: bytes, chance: Random) -> bytes:
    return _replace_one(_STRING, frame, b'"%s"' % chance.choice(_WORDS).encode(), chance)


def _nest(frame: bytes, chance: Random) -> bytes:
    depth = chance.choice((1, 9, 12, 13, 2000))
    opening, closing = chance.choice(((b"[", b"]"), (b'{"a":', b"}")))
    return _replace_one(_NUMBER, frame, opening * depth + b"1" + closing * depth, chance)


def _replace_one(pattern: re.Pattern[bytes], frame: bytes, by: bytes, chance: Random) -> bytes:
    found = list(pattern.finditer(frame))
    if not found:
        return frame + by
    one = chance.choice(found)
    return frame[: one.start()] + by + frame[one.end() :]


_MUTATIONS: Final[tuple[Callable[[bytes, Random], bytes], ...]] = (
    _flip, _cut, _repeat, _splice, _renumber, _restring, _rename, _nest,
)  # fmt: skip
