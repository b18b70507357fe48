"""Headers of tokens are parsed once, cached, and immutable."""

import json
from base64 import urlsafe_b64encode

import pytest

from tidings.accounts import jwt
from tidings.accounts.jwt import read_jwt_header
from tidings.accounts.rules import CredentialRejectedError


def segment(**header: object) -> str:
    return urlsafe_b64encode(json.dumps(header).encode()).decode().rstrip("=")


def test_tokens_of_one_key_have_their_header_read_once() -> None:
    one = segment(alg="EdDSA", kid="01JCQ", typ="JWT")
    assert read_jwt_header(one) is read_jwt_header(one)
    assert dict(read_jwt_header(one)) == {"alg": "EdDSA", "kid": "01JCQ", "typ": "JWT"}
    assert not hasattr(read_jwt_header(one), "__setitem__"), "the next reader gets the same"


def test_a_long_header_is_read_and_not_cached() -> None:
    kept = jwt._cached_header.cache_info().currsize
    assert read_jwt_header(segment(kid="x" * 4_000))["kid"] == "x" * 4_000
    assert jwt._cached_header.cache_info().currsize == kept


def test_a_header_that_was_refused_is_refused_again() -> None:
    twice = urlsafe_b64encode(b'{"alg":"none","alg":"EdDSA"}').decode().rstrip("=")
    for _ in range(2):
        with pytest.raises(CredentialRejectedError):
            read_jwt_header(twice)
