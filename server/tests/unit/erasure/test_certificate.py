"""Certificates: valid ones verify, and every other text is refused."""

import json
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st
from joserfc import jws
from joserfc.jwk import import_key

from tidings.erasure.certificate import (
    MAX_CHARS,
    Certificate,
    CertificateError,
    certificate_of,
    public_key,
    sign,
    verify,
)
from tidings.erasure.model import Erasure, ErasureId
from tidings.kernel.ids import TenantId, UserId

ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
SEED = secrets.token_bytes(32)
ERASURE = Erasure(
    tenant=TenantId("acme"),
    user=UserId("anna"),
    id=ErasureId("01JCQ4Z7N3V5X9B2M8K6T1R0WD"),
    requested_ms=1_000,
    requested_by="operator:dora",
    secret=None,
    step_ms=5_000,
    counts={"messages": 214, "chats": 3},
)


def signed(*, is_final: bool = False) -> str:
    return sign(certificate_of(ERASURE, 9_000, is_final=is_final), SEED)


def changed(text: str, part: int, data: bytes) -> str:
    parts = text.split(".")
    parts[part] = urlsafe_b64encode(data).rstrip(b"=").decode()
    return ".".join(parts)


def test_a_certificate_says_what_was_erased_and_when() -> None:
    assert verify(signed() + "\n", public_key(SEED)) == Certificate(
        state="erased",
        tenant="acme",
        user="anna",
        erasure=ERASURE.id,
        requested_at="1970-01-01T00:00:01.000Z",
        requested_by="operator:dora",
        erased_at="1970-01-01T00:00:09.000Z",
        counts={"chats": 3, "messages": 214},
    )


def test_a_final_certificate_has_both_times() -> None:
    found = verify(signed(is_final=True), public_key(SEED))
    assert (found.state, found.erased_at, found.final_at) == (
        "final",
        "1970-01-01T00:00:05.000Z",
        "1970-01-01T00:00:09.000Z",
    )


def test_another_program_can_verify_it() -> None:
    key = import_key({name: str(value) for name, value in public_key(SEED).items()})
    found = jws.deserialize_compact(signed(), key, algorithms=["Ed25519"])
    assert json.loads(found.payload)["user"] == "anna"


def test_a_key_is_named_by_its_thumbprint() -> None:
    # The example of RFC 8037, appendix A.1 to A.3.
    seed = urlsafe_b64decode("nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A=")
    assert public_key(seed) == {
        "kty": "OKP",
        "crv": "Ed25519",
        "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
        "kid": "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k",
    }


def test_a_certificate_of_another_installation_is_refused() -> None:
    with pytest.raises(CertificateError, match="not of this key"):
        verify(signed(), public_key(secrets.token_bytes(32)))


def test_changed_counts_are_refused() -> None:
    content = signed().split(".")[1]
    data = json.loads(urlsafe_b64decode(content + "=="))
    data["counts"]["messages"] = 215
    with pytest.raises(CertificateError, match="was changed"):
        verify(changed(signed(), 1, json.dumps(data).encode()), public_key(SEED))


@given(st.integers(0, 2), st.integers(0, 10_000), st.integers(1, 63))
def test_every_changed_character_is_refused(part: int, at: int, by: int) -> None:
    parts = signed().split(".")
    text = list(parts[part])
    at %= len(text)
    text[at] = ALPHABET[(ALPHABET.index(text[at]) + by) % 64]
    parts[part] = "".join(text)
    with pytest.raises(CertificateError):
        verify(".".join(parts), public_key(SEED))


def test_another_encoding_of_the_same_signature_is_refused() -> None:
    text = signed()
    same = text[:-1] + ALPHABET[ALPHABET.index(text[-1]) ^ 1]
    assert urlsafe_b64decode(same.split(".")[2] + "==") == urlsafe_b64decode(text.split(".")[2] + "==")
    with pytest.raises(CertificateError, match="base64url"):
        verify(same, public_key(SEED))


@given(st.text())
def test_any_other_text_is_refused(text: str) -> None:
    with pytest.raises(CertificateError):
        verify(text, public_key(SEED))


def test_a_token_that_the_key_signed_is_no_certificate() -> None:
    private: dict[str, str | list[str]] = {
        **public_key(SEED),
        "d": urlsafe_b64encode(SEED).rstrip(b"=").decode(),
    }
    content = signed().split(".")[1]
    payload = urlsafe_b64decode(content + "==")
    token = jws.serialize_compact(
        {"alg": "Ed25519", "typ": "JWT"}, payload, import_key(private), algorithms=["Ed25519"]
    )
    with pytest.raises(CertificateError, match="no certificate"):
        verify(token, public_key(SEED))


@pytest.mark.parametrize(
    "key",
    [{}, {"kty": "OKP", "crv": "Ed25519"}, {"kty": "OKP", "crv": "Ed25519", "x": "AAAA"}, {"kty": "RSA"}],
)
def test_a_key_of_another_kind_is_refused(key: dict[str, str]) -> None:
    with pytest.raises(CertificateError, match="not a public Ed25519 key"):
        verify(signed(), key)


def test_a_long_text_is_refused() -> None:
    with pytest.raises(CertificateError, match="three parts"):
        verify("a" * MAX_CHARS + ".b.c", public_key(SEED))
