"""The door: tells three kinds of credentials apart and has each verified by its own rules.

An API key is known by its prefix; a token of ours by `typ` and issuer; any other is a user's token of a tenant. Which
kind something claims to be opens nothing: each kind has keys and algorithms of its own, and knows no others.
"""

from typing import Protocol

from tidings.accounts.api_keys import PREFIX
from tidings.accounts.model import Principal
from tidings.accounts.refusals import RefusedError, refusal
from tidings.accounts.token_form import read_body, read_header, split

ACCESS_TYP = "at+jwt"
ISSUER = "tidings"


class AccessTokens(Protocol):
    """Short tokens that Tidings issues itself, for sessions that began with a phone code."""

    async def verify(self, token: str) -> Principal:
        """Raises `credential_invalid` or `credential_expired`."""
        ...


class Verifier(Protocol):
    async def verify(self, text: str, /) -> Principal: ...


class Credentials:
    def __init__(self, api_keys: Verifier, access: AccessTokens, users: Verifier) -> None:
        self._api_keys = api_keys
        self._access = access
        self._users = users

    async def verify(self, bearer: str) -> Principal:
        """Raises `credential_invalid` or `credential_expired`; `keys_unavailable` while it can't be decided."""
        if bearer.startswith(PREFIX):
            return await self._api_keys.verify(bearer)
        try:
            is_own = is_access_token(bearer)
        except RefusedError as refused:
            raise refusal(refused) from refused
        return await (self._access.verify(bearer) if is_own else self._users.verify(bearer))


def is_access_token(token: str) -> bool:
    """By what it says of itself. Raises `RefusedError` for what is no token at all."""
    segments = split(token)
    if read_header(segments.header).get("typ") != ACCESS_TYP:
        return False
    return read_body(segments.claims).get("iss") == ISSUER
