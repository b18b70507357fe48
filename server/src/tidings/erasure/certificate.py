"""Certificates of erasures: JSON that the installation signs. Its public key is enough to verify one, without a connection.

A certificate is a JWS in its compact form (RFC 7515) with Ed25519 (RFC 9864), so other programs can verify it too. Pure.
"""

import hashlib
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from typing import Any, Final, Literal

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from msgspec import Struct

from tidings.erasure.model import Erasure
from tidings.kernel.clock import format_ms

TYPE: Final = "tidings-erasure+jws"
MAX_CHARS: Final = 4096
_PARTS: Final = 3


class CertificateError(ValueError):
    """A certificate, or a key to verify it, is not valid. The message says why."""


class Certificate(Struct, frozen=True, kw_only=True):
    """The content of a certificate. `final`: no backup has a key of the user any more. `counts`: erased items by kind.

    Without a user, the whole tenant was deleted, and `counts` has the deleted rows by table.
    """

    version: Literal[1] = 1
    state: Literal["erased", "final"]
    tenant: str
    user: str | None = None
    erasure: str
    requested_at: str
    requested_by: str
    approved_by: str | None = None
    erased_at: str
    final_at: str | None = None
    counts: dict[str, int]


def certificate_of(erasure: Erasure, now_ms: int, *, is_final: bool) -> Certificate:
    """Return the certificate of an erasure whose steps are done. `is_final`: that of the step `final`, days later."""
    return Certificate(
        state="final" if is_final else "erased",
        tenant=erasure.tenant,
        user=None if erasure.is_of_tenant else erasure.user,
        erasure=erasure.id,
        requested_at=format_ms(erasure.requested_ms),
        requested_by=erasure.requested_by,
        approved_by=None if erasure.approval is None else erasure.approval.by,
        erased_at=format_ms(erasure.step_ms if is_final else now_ms),
        final_at=format_ms(now_ms) if is_final else None,
        counts=dict(sorted(erasure.counts.items())),
    )


def public_key(seed: bytes) -> dict[str, str]:
    """Return the public key of a seed as a JWK. Its `kid` is its thumbprint (RFC 7638)."""
    members = {"crv": "Ed25519", "kty": "OKP", "x": _encode(_private(seed).public_key().public_bytes_raw())}
    digest = hashlib.sha256(json.dumps(members, separators=(",", ":"), sort_keys=True).encode()).digest()
    return {**members, "kid": _encode(digest)}


def sign(certificate: Certificate, seed: bytes) -> str:
    header = {"alg": "Ed25519", "kid": public_key(seed)["kid"], "typ": TYPE}
    signed = f"{_encode(json.dumps(header).encode())}.{_encode(msgspec.json.encode(certificate))}"
    return f"{signed}.{_encode(_private(seed).sign(signed.encode()))}"


def verify(text: str, key: Mapping[str, Any]) -> Certificate:
    """Return the content of a certificate that this key signed. Raises `CertificateError` for every other one."""
    parts = text.strip().split(".")
    if len(text) > MAX_CHARS or len(parts) != _PARTS:
        raise CertificateError("It is not a certificate: it must have three parts, separated by dots.")
    header, content, signature = (_decode(part) for part in parts)
    try:
        _public(key).verify(signature, f"{parts[0]}.{parts[1]}".encode())
    except InvalidSignature:
        raise CertificateError("The signature is not of this key, or the certificate was changed.") from None
    if _json(header).get("typ") != TYPE:
        raise CertificateError("It was signed by this key, and is no certificate of an erasure.")
    try:
        return msgspec.json.decode(content, type=Certificate)
    except msgspec.DecodeError as error:
        raise CertificateError(f"It is of an unknown version: {error}.") from error


def erased_at(text: str) -> str:
    """Return when the user was erased, from a certificate of the own table. Does not verify it."""
    return msgspec.json.decode(_decode(text.split(".")[1]), type=Certificate).erased_at


def _private(seed: bytes) -> Ed25519PrivateKey:
    return Ed25519PrivateKey.from_private_bytes(seed)


def _public(key: Mapping[str, Any]) -> Ed25519PublicKey:
    if (key.get("kty"), key.get("crv")) != ("OKP", "Ed25519") or not isinstance(key.get("x"), str):
        raise CertificateError("The key is not a public Ed25519 key in the form of a JWK.")
    try:
        return Ed25519PublicKey.from_public_bytes(_decode(key["x"]))
    except ValueError as error:
        raise CertificateError(f"The key is not a public Ed25519 key: {error}.") from error


def _json(data: bytes) -> dict[str, Any]:
    try:
        found = json.loads(data)
    except ValueError:
        found = None
    return found if isinstance(found, dict) else {}


def _encode(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def _decode(text: str) -> bytes:
    """Decode base64url. Only the text that encodes the result is accepted, so no other one has the same signature."""
    try:
        data = urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except ValueError as error:
        raise CertificateError(f"It is not base64url: {error}.") from error
    if _encode(data) != text:
        raise CertificateError("It is not base64url: it has characters that do not belong to it.")
    return data
