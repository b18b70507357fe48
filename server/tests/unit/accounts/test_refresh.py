"""Refresh tokens without a table: format, classification and rotation."""

import hashlib
import hmac
import os

import pytest
from msgspec.structs import replace

from tidings.accounts.model import Device, Session, SessionId
from tidings.accounts.ports import Mac
from tidings.accounts.session_tokens import (
    MAX_REFRESH_TOKEN_CHARS,
    PresentedToken,
    TokenUse,
    check_retry_key,
    classify_use,
    format_token,
    has_valid_mac,
    next_token,
    parse_token,
    token_hash,
)
from tidings.kernel.errors import TidingsError
from tidings.kernel.ids import DeviceId, TenantId, UserId, new_ulid

ACME = TenantId("acme")
SESSION = SessionId("01ARZ3NDEKTSV4RRFFQ69G5FAV")
KEY, OTHER_KEY = "k" * 16, "o" * 16


def mac_with(key: bytes) -> Mac:
    return lambda data: hmac.digest(key, data, hashlib.sha256)


MAC = mac_with(b"acme's key")


def presented(secret: bytes) -> PresentedToken:
    found = parse_token(format_token(ACME, SESSION, secret, MAC))
    assert found is not None
    return found


def row(**changes: object) -> Session:
    first = Session(
        tenant=ACME,
        session=SESSION,
        user=UserId("anna"),
        device=Device(id=DeviceId("d")),
        token_hash=token_hash(b"now" * 8),
        epoch=0,
        created_at_ms=0,
        refreshed_at_ms=0,
        expires_at_ms=1,
    )
    return replace(first, **changes)


def test_a_token_is_parsed_as_it_was_formatted() -> None:
    secret = os.urandom(32)
    found = parse_token(format_token(ACME, SESSION, secret, MAC))
    assert found is not None
    assert (found.tenant, found.session, found.secret) == (ACME, SESSION, secret)
    assert has_valid_mac(found, MAC)


def test_a_tenant_name_may_contain_dots() -> None:
    found = parse_token(format_token(TenantId("acme.eu"), SESSION, b"s" * 32, MAC))
    assert found is not None
    assert found.tenant == "acme.eu"


def test_the_longest_token_is_parsed() -> None:
    longest = format_token(TenantId("t" * 32), SessionId(new_ulid()), b"s" * 32, MAC)
    assert len(longest) <= MAX_REFRESH_TOKEN_CHARS
    assert parse_token(longest)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda _: "",
        lambda t: t[:-1],
        lambda t: t + "A",
        lambda t: t + "\n",
        lambda t: t.replace("tdr.", "tdx."),
        lambda t: t.replace(".acme.", "._system."),
        lambda t: t.replace(".acme.", ".a#b."),
        lambda t: t.replace(".acme.", ".."),
        lambda t: t[:-1] + "=",
        lambda t: t * 100,
    ],
)
def test_an_invalid_token_is_not_parsed(spoil: object) -> None:
    assert callable(spoil)
    assert parse_token(spoil(format_token(ACME, SESSION, b"s" * 32, MAC))) is None


def test_a_tag_depends_on_tenant_session_secret_and_key() -> None:
    good = presented(b"s" * 32)
    assert has_valid_mac(good, MAC)
    assert not has_valid_mac(good, mac_with(b"another tenant's key"))
    assert not has_valid_mac(good._replace(tenant=TenantId("acme2")), MAC)
    assert not has_valid_mac(good._replace(session=SessionId(new_ulid())), MAC)
    assert not has_valid_mac(good._replace(secret=b"t" * 32), MAC)
    assert not has_valid_mac(good._replace(tag=b""), MAC)


def test_the_next_token_is_the_same_only_for_a_retry() -> None:
    one = next_token(presented(b"s" * 32), KEY, MAC)
    assert one == next_token(presented(b"s" * 32), KEY, MAC)
    others = {
        next_token(presented(b"t" * 32), KEY, MAC),
        next_token(presented(b"s" * 32), OTHER_KEY, MAC),
        next_token(presented(b"s" * 32), KEY, mac_with(b"another")),
        next_token(presented(b"s" * 32)._replace(session=SessionId(new_ulid())), KEY, MAC),
    }
    assert len(one) == 32
    assert len(others | {one}) == 5


def test_the_use_of_a_token_is_classified() -> None:
    now, before, older = (presented(each * 32) for each in (b"n", b"b", b"o"))
    rotated = row(token_hash=now.hash, previous_hash=before.hash, rotation_key_hash=token_hash(KEY.encode()))
    assert classify_use(rotated, now, None) is TokenUse.CURRENT
    assert classify_use(rotated, now, OTHER_KEY) is TokenUse.CURRENT
    assert classify_use(rotated, before, KEY) is TokenUse.RETRY
    assert classify_use(rotated, before, OTHER_KEY) is TokenUse.OTHER
    assert classify_use(rotated, before, None) is TokenUse.OTHER
    assert classify_use(rotated, older, KEY) is TokenUse.OTHER
    without_key = replace(rotated, rotation_key_hash=None)
    assert classify_use(without_key, before, KEY) is TokenUse.OTHER
    assert classify_use(without_key, before, None) is TokenUse.OTHER
    assert classify_use(row(token_hash=now.hash), before, KEY) is TokenUse.OTHER


@pytest.mark.parametrize("key", ["", "short", "k" * 15, "k" * 65, "k" * 15 + " ", "ä" * 16])
def test_a_guessable_or_binary_retry_key_is_refused(key: str) -> None:
    with pytest.raises(TidingsError):
        check_retry_key(key)


def test_a_retry_key_is_absent_or_long_enough() -> None:
    assert check_retry_key(None) is None
    assert check_retry_key(KEY) == KEY
    assert check_retry_key("k" * 64)
