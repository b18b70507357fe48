"""The signature of a token, by joserfc: checked for users' tokens, made for `tidings token mint`."""

import json
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, override

from joserfc import jws
from joserfc.errors import JoseError
from joserfc.jwa import JWSAlgModel
from joserfc.jwk import import_key
from joserfc.jws import JWSRegistry

from tidings.accounts.public_keys import ALGORITHMS, Jwk, PublicKey, read_key
from tidings.accounts.refusals import CredentialRejectedError


class _Registry(JWSRegistry):
    """`EdDSA` means Ed25519 here: joserfc would take Ed448 for it too, and warn of the old name with each token."""

    @override
    def get_alg(self, name: str) -> JWSAlgModel:
        return super().get_alg("Ed25519" if name == "EdDSA" else name)


_REGISTRY = _Registry(algorithms=sorted(ALGORITHMS - {"EdDSA"}), strict_check_header=False)


def check_signature(token: str, key: PublicKey) -> None:
    """Raises `CredentialRejectedError`."""
    try:
        jws.deserialize_compact(token, key.key, registry=_REGISTRY)
    except (JoseError, ValueError) as error:
        raise CredentialRejectedError(
            f"its signature is not that of key {key.kid}: {type(error).__name__}"
        ) from error


class SignatureCache:
    """Those that were good, by the digest of their token: who comes back with it is spared the dearest part.

    That a key signed a token stays true. Whether the key is still the tenant's, and the rest of what the token says,
    is looked at each time by whoever asks here.
    """

    def __init__(self, kept: int) -> None:
        self._cache = kept
        self._good: OrderedDict[bytes, PublicKey] = OrderedDict()

    def check(self, digest: bytes, token: str, key: PublicKey) -> None:
        """Raises `CredentialRejectedError`."""
        known = self._good.get(digest)
        if known is None or not _is_same(known, key):
            check_signature(token, key)
        self._good[digest] = key
        self._good.move_to_end(digest)
        if len(self._good) > self._cache:
            self._good.popitem(last=False)


def _is_same(one: PublicKey, other: PublicKey) -> bool:
    """Also if it was read anew."""
    return one is other or one.key.as_dict() == other.key.as_dict()


def sign_jws(claims: Mapping[str, Any], private: Jwk) -> str:
    """A token as a customer's server would mint it. Raises `BadKeyError`, or `JoseError` for a key without `d`."""
    key = read_key(private)
    algorithm = "ES256" if "ES256" in key.algorithms else "EdDSA"
    header = {"alg": algorithm, "kid": key.kid, "typ": "JWT"}
    numbers: dict[str, str | list[str]] = {
        name: str(private[name]) for name in ("kty", "crv", "x", "y", "d") if name in private
    }
    return jws.serialize_compact(header, json.dumps(claims), import_key(numbers), registry=_REGISTRY)
