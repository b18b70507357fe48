"""Signed tokens for push providers: JSON Web Signatures with ES256 and RS256 (RFC 7515, 7518)."""

from collections.abc import Mapping
from functools import lru_cache

import msgspec
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

from tidings.kernel.errors import Code, TidingsError
from tidings.push.notification import b64url

_encode = msgspec.json.Encoder().encode
_NUMBER_BYTES = 32


@lru_cache(maxsize=1_000)
def load_key(pem: str) -> ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey:
    """Load a private key in PEM. Raise `request_invalid`. The message never contains the key."""
    try:
        key = serialization.load_pem_private_key(pem.encode(), None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise _wrong_key("it is not a private key in PEM without a password") from None
    if isinstance(key, ec.EllipticCurvePrivateKey) and isinstance(key.curve, ec.SECP256R1):
        return key
    if isinstance(key, rsa.RSAPrivateKey):
        return key
    raise _wrong_key("it must be an EC key on the curve P-256, or an RSA key")


def _wrong_key(why: str) -> TidingsError:
    return TidingsError(Code.REQUEST_INVALID, f"The private key cannot be used: {why}.")


def signed_token(pem: str, header: Mapping[str, object], claims: Mapping[str, object]) -> str:
    """Return a JWT, signed with ES256 or RS256 by the type of the key. Raise `request_invalid` for another key."""
    key = load_key(pem)
    algorithm = "ES256" if isinstance(key, ec.EllipticCurvePrivateKey) else "RS256"
    text = f"{b64url(_encode({'alg': algorithm, **header}))}.{b64url(_encode(claims))}"
    if isinstance(key, rsa.RSAPrivateKey):
        signature = key.sign(text.encode(), padding.PKCS1v15(), hashes.SHA256())
    else:
        # RFC 7518, 3.4: r and s side by side, not the DER of OpenSSL.
        r, s = decode_dss_signature(
            key.sign(text.encode(), ec.ECDSA(hashes.SHA256(), deterministic_signing=True))
        )
        signature = r.to_bytes(_NUMBER_BYTES) + s.to_bytes(_NUMBER_BYTES)
    return f"{text}.{b64url(signature)}"
