"""Mask secrets and limit sizes of everything that leaves the process in logs and spans.

Converts any value to plain JSON types. Never raises: a value that cannot be shown is replaced by its type. It cannot
recognize every secret: keep secrets in `Secret`, or in a field whose name says so.
"""

import dataclasses
import math
import re
from collections.abc import Collection, Iterable, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from functools import lru_cache
from pathlib import PurePath
from uuid import UUID

import msgspec

from tidings.kernel.security import Secret

STARS = "***"

type Plain = str | int | float | bool | datetime | list[Plain] | dict[str, Plain] | None

_PARTS = (
    *("password", "passwd", "passphrase", "secret", "token", "authorization", "credential", "cookie"),
    *("apikey", "accesskey", "privatekey", "signingkey", "datakey", "masterkey"),
    *("onetimecode", "logincode", "verificationcode", "signature"),
)
_WHOLE = frozenset(
    {
        *("code", "otp", "pin", "pwd", "auth", "jwt", "dsn"),
        *("phone", "phonenumber", "to", "text", "content", "challenge"),
    }
)

_URL_LOGIN = re.compile(r"(?<=://)\S{0,512}(?=@)")
_BEARER = re.compile(r"(?i)\bbearer\s+\S+")
_JWT = re.compile(r"\beyJ[\w-]{8,}\.[\w-]+(?:\.[\w-]*)?")
_PAIR = re.compile(
    r"(?i)((?:password|passwd|secret|token|authorization|api[_-]?key|credential)[\w-]{0,32}[\"']?\s{0,4}[=:]\s{0,4})"
    r"(?:(?:bearer|basic)\s+)?(?:\"[^\"]*\"?|'[^']*'?|[^\s,;&)}\]]+)"
)
_OWN = re.compile(r"\b(tidings_sk|tdr)\.([\w.-]{1,32}?)\.([0-9A-Z]{26})\.[\w-]+")
"""API keys and refresh tokens of Tidings: tenant and id are shown, the secret is masked."""
_PHONE = re.compile(r"\+[1-9]\d{6,14}(?!\d)")
_AWS_KEY = re.compile(r"\b(?:AKIA|ASIA|AROA|AIDA)[A-Z0-9]{16}\b")
_HINTS = re.compile(r"[:=+]|(?i:bearer )|eyJ|tidings_sk\.|tdr\.|AKIA|ASIA|AROA|AIDA")

_MAX_DEPTH = 8
_MAX_ITEMS = 64
_MAX_KEY_CHARS = 64
_INT64, _UINT64 = -(2**63), 2**64
_SCRUB_AHEAD_CHARS = 1_024
_COST_CHARS = 16


@dataclasses.dataclass(frozen=True, slots=True)
class SizeLimits:
    """`value_chars`: maximum size of one text. `total_chars`: of all fields of a line together."""

    value_chars: int = 2_000
    total_chars: int = 16_000


@lru_cache(maxsize=4_096)
def names_a_secret(key: str) -> bool:
    """Return whether a field of this name is masked. `code` is a one-time code; use `error_code`, `exit_code`."""
    folded = key.lower().replace("_", "").replace("-", "").replace(".", "").replace(" ", "")
    return folded in _WHOLE or any(part in folded for part in _PARTS)


@lru_cache(maxsize=4_096)
def _is_short(key: str) -> bool:
    return len(key) <= _MAX_KEY_CHARS and key.isascii()


def mask_secrets(text: str) -> str:
    """Mask credentials and phone numbers inside a text.

    It recognizes a login in a URL, a bearer token, a JWT, `password=…`, API keys and refresh tokens of Tidings, ids of
    AWS access keys, and phone numbers in E.164.
    """
    if not _HINTS.search(text):
        return text
    text = _OWN.sub(rf"\1.\2.\3.{STARS}", text)
    text = _AWS_KEY.sub(STARS, text)
    text = _PHONE.sub(f"+{STARS}", text)
    text = _URL_LOGIN.sub(STARS, text)
    text = _PAIR.sub(rf"\1{STARS}", text)
    text = _BEARER.sub(f"Bearer {STARS}", text)
    return _JWT.sub(STARS, text)


def mask_fields(fields: Mapping[str, object], bounds: SizeLimits) -> dict[str, Plain]:
    return _Walk(bounds).mapping(fields, 0)


def mask_text(text: str, bounds: SizeLimits) -> str:
    return _Walk(bounds).text(text)


class _Walk:
    """Convert the fields of one line. `left` is the number of characters that remain."""

    __slots__ = ("left", "limit")

    def __init__(self, bounds: SizeLimits) -> None:
        self.limit = bounds.value_chars
        self.left = bounds.total_chars

    def value(self, value: object, depth: int) -> Plain:
        kind = type(value)
        self.left -= _COST_CHARS
        if kind is str:
            return self.text(value)  # type: ignore[arg-type]  # mypy does not follow `type(...) is`
        if value is None or kind is bool:
            return value  # type: ignore[return-value]  # as above
        if kind is int:
            return self.number(value)  # type: ignore[arg-type]  # as above
        try:
            return self.rare(value, depth)
        except Exception:  # noqa: BLE001 - a broken __repr__ or __iter__ must not fail the caller
            return f"<{kind.__name__} that can't be shown>"

    def rare(self, value: object, depth: int) -> Plain:  # noqa: PLR0911 - a table: a line per kind of value
        match value:
            case Secret():
                return STARS
            case float():
                return float(value) if math.isfinite(value) else str(float(value))
            case datetime() if value.tzinfo is not None:
                return value
            case bytes() | bytearray() | memoryview():
                return f"<{len(value)} bytes>"
            case Enum():
                return self.value(value.value, depth + 1)
            case str():
                return self.text(str.__str__(value))
            case int():
                return self.number(int(value))
            case date() | time() | timedelta() | Decimal() | UUID() | PurePath():
                return self.text(str(value))
            case BaseException():
                return self.text(f"{type(value).__name__}: {value}")
            case _:
                return self.nested(value, depth)

    def nested(self, value: object, depth: int) -> Plain:
        if depth >= _MAX_DEPTH:
            return "<too deep>"
        if isinstance(value, Mapping):
            return self.mapping(value, depth + 1)
        if (fields := _fields(value)) is not None:
            return self.mapping({name: getattr(value, name, None) for name in fields}, depth + 1)
        if isinstance(value, Collection):
            return self.items(value, depth + 1)
        return self.text(repr(value))

    def mapping(
        self, mapping: Mapping[object, object] | Mapping[str, object], depth: int
    ) -> dict[str, Plain]:
        plain: dict[str, Plain] = {}
        for key, value in mapping.items():
            if len(plain) >= _MAX_ITEMS or self.left <= 0:
                plain["…"] = f"<{len(mapping) - len(plain)} more>"
                break
            name = key if type(key) is str and _is_short(key) else self.text(str(key))
            plain[name] = self.masked(value) if names_a_secret(name) else self.value(value, depth)
        return plain

    def masked(self, value: object) -> Plain:
        """Mask everything except None and flags."""
        return value if value is None or value is True or value is False else STARS

    def items(self, items: Iterable[object], depth: int) -> list[Plain]:
        plain: list[Plain] = []
        for item in items:
            if len(plain) >= _MAX_ITEMS or self.left <= 0:
                plain.append("<more>")
                break
            plain.append(self.value(item, depth))
        return plain

    def number(self, number: int) -> Plain:
        if _INT64 <= number < _UINT64:
            return number
        return f"<integer of {number.bit_length()} bits>"

    def text(self, text: str) -> str:
        length = len(text)
        text = mask_secrets(text) if length <= self.limit and length <= self.left else self.cut(text)
        self.left -= len(text)
        # Encoders reject lone surrogates.
        return text if text.isascii() else text.encode("utf-8", "replace").decode()

    def cut(self, text: str) -> str:
        """Cut a text. Secrets are masked before the cut, so that none is split and missed."""
        limit = min(self.limit, max(self.left, 0))
        return mask_secrets(text[: limit + _SCRUB_AHEAD_CHARS])[:limit] + f"… ({len(text)} chars)"


def _fields(value: object) -> tuple[str, ...] | None:
    if isinstance(value, msgspec.Struct):
        return value.__struct_fields__
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return tuple(field.name for field in dataclasses.fields(value))
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return tuple(value._fields)
    return None
