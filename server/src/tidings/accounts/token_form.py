"""Takes a token apart, with bounds, before anything in it is believed. Pure; verifies nothing.

What is read here chooses which keys to try, and nothing else. No URL and no key is ever taken from a token.
"""

import json
import re
from base64 import urlsafe_b64decode
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple

from tidings.accounts.refusals import CredentialRejectedError

MAX_TOKEN_BYTES = 8192
_FORM = re.compile(r"([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]*)")
_MAX_HEADER_CHARS = 200
"""What strangers can make us keep is bounded; headers that people use are half as long."""
NOT_IN_A_HEADER = ("jku", "jwk", "x5u", "x5c", "crit", "b64")
"""Places that bring a key along, and extensions that must be understood: none of them is."""

type Json = dict[str, Any]


class Segments(NamedTuple):
    header: str
    claims: str


def split_jwt(token: str) -> Segments:
    """Bounds come first: nothing is decoded of what is too long or has other characters."""
    if len(token) > MAX_TOKEN_BYTES:
        raise CredentialRejectedError(f"it is longer than {MAX_TOKEN_BYTES} bytes")
    form = _FORM.fullmatch(token)
    if form is None:
        raise CredentialRejectedError("it is not three parts of base64url with dots between")
    return Segments(form[1], form[2])


def read_jwt_header(segment: str) -> Mapping[str, Any]:
    return _kept_header(segment) if len(segment) <= _MAX_HEADER_CHARS else _read_object(segment, "header")


@lru_cache(maxsize=1_024)
def _kept_header(segment: str) -> Mapping[str, Any]:
    """All tokens of one key have the same one: it says how they were signed, and nothing of who comes."""
    return MappingProxyType(_read_object(segment, "header"))


def read_jwt_body(segment: str) -> Json:
    return _read_object(segment, "claims")


def _read_object(segment: str, part: str) -> Json:
    """A JSON object in which no name stands twice: else two readers could see two different claims."""
    try:
        value = _read(urlsafe_b64decode(segment + "=" * (-len(segment) % 4)).decode())
    except (ValueError, RecursionError) as error:
        raise CredentialRejectedError(f"its {part} can't be read: {type(error).__name__}") from error
    if not isinstance(value, dict):
        raise CredentialRejectedError(f"its {part} is not a JSON object")
    return value


def _once_each(pairs: list[tuple[str, Any]]) -> Json:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise CredentialRejectedError("a name stands twice in one of its JSON objects")
    return made


def _no_constant(name: str) -> float:
    raise CredentialRejectedError(f"{name} is not JSON")


_read = json.JSONDecoder(object_pairs_hook=_once_each, parse_constant=_no_constant).decode
