"""The door: tells three kinds of credentials apart and has each verified by its own rules.

An API key is known by its prefix; a token of ours by `typ` and issuer; any other is a user's token of a tenant. Which
kind something claims to be opens nothing: each kind has keys and algorithms of its own, and knows no others.
"""

from typing import Protocol

from tidings.accounts.api_keys import PREFIX
from tidings.accounts.model import Principal
from tidings.accounts.refusals import CredentialRejectedError, to_public_error
from tidings.accounts.revocations import Revocation
from tidings.accounts.token_form import read_jwt_body, read_jwt_header, split_jwt
from tidings.kernel.ids import TenantId, UserId

ACCESS_TYP = "at+jwt"
ISSUER = "tidings"


class CredentialVerifier(Protocol):
    async def verify(self, text: str, /) -> Principal: ...


class UserVerifier(CredentialVerifier, Protocol):
    async def recheck(self, principal: Principal, /) -> None:
        """Raise if the credential that this principal came from would be refused now."""
        ...

    def evict(self, revocation: Revocation, /) -> None: ...


class AdmissionCheck(Protocol):
    async def check(self, principal: Principal, /) -> None: ...

    def evict(self, tenant: TenantId, user: UserId, /) -> None: ...


class CredentialVerifierChain:
    """`access`: short tokens that Tidings issues itself, for sessions that began with a phone code."""

    def __init__(
        self,
        api_keys: CredentialVerifier,
        access: UserVerifier,
        users: UserVerifier,
        admission: AdmissionCheck,
    ) -> None:
        self._api_keys = api_keys
        self._access = access
        self._users = users
        self._admission = admission

    async def verify(self, bearer: str) -> Principal:
        """Raise `credential_invalid`, `credential_expired`, `forbidden` for a suspended user; `keys_unavailable` while
        it can't be decided. A user who was not known exists from here on.
        """
        if bearer.startswith(PREFIX):
            return await self._api_keys.verify(bearer)
        try:
            is_own = is_access_token(bearer)
        except CredentialRejectedError as refused:
            raise to_public_error(refused) from refused
        principal = await (self._access.verify(bearer) if is_own else self._users.verify(bearer))
        await self._admission.check(principal)
        return principal

    async def recheck(self, principal: Principal) -> None:
        """Raise what `verify` would raise now for the user's credential that gave this principal."""
        await (self._users if principal.session is None else self._access).recheck(principal)
        await self._admission.check(principal)

    def evict(self, revocation: Revocation) -> None:
        """Read again what this revocation is about."""
        if revocation.user is not None:
            self._admission.evict(revocation.tenant, revocation.user)
        self._access.evict(revocation)
        self._users.evict(revocation)


def is_access_token(token: str) -> bool:
    """By what it says of itself. Raises `CredentialRejectedError` for what is no token at all."""
    segments = split_jwt(token)
    if read_jwt_header(segments.header).get("typ") != ACCESS_TYP:
        return False
    return read_jwt_body(segments.claims).get("iss") == ISSUER
