"""Sessions of operators: begin, verify, end.

The token is `<session id>.<secret>`, in a cookie. Requests that change something also carry a CSRF token that is derived
from the secret: a page of another site can make the browser send the cookie, but cannot know this token.
"""

import hashlib
import hmac
import re
import secrets
from base64 import urlsafe_b64encode

from tidings.kernel.clock import Clock
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import new_ulid
from tidings.kernel.security import Secret
from tidings.operators.model import (
    ALL_TENANTS,
    IssuedSession,
    Operator,
    OperatorSession,
    OperatorSessionStore,
    Role,
)

_FORM = re.compile(r"([0-9A-Z]{26})\.([A-Za-z0-9_-]{43})")
_SECRET_BYTES = 32
MIN_KEY_CHARS = 24
BOOTSTRAP = "bootstrap_key"


class OperatorSessions:
    def __init__(
        self, store: OperatorSessionStore, clock: Clock, *, life_s: float, bootstrap_key: Secret | None
    ) -> None:
        self._store = store
        self._clock = clock
        self._life_ms = round(life_s * 1000)
        self._bootstrap_key = bootstrap_key

    @property
    def has_bootstrap_key(self) -> bool:
        return self._bootstrap_key is not None

    async def begin(self, operator: Operator) -> IssuedSession:
        secret, now_ms = secrets.token_urlsafe(_SECRET_BYTES), self._clock.now_ms()
        session = OperatorSession(
            id=new_ulid(),
            operator=operator,
            secret_hash=_hash(secret),
            created_at_ms=now_ms,
            expires_at_ms=now_ms + self._life_ms,
        )
        await self._store.add(session)
        return IssuedSession(session=session, token=Secret(f"{session.id}.{secret}"))

    def check_bootstrap_key(self, key: str) -> Operator:
        """Return the operator of the bootstrap key: an owner of all tenants. Raises `credential_invalid`."""
        known = self._bootstrap_key
        if known is None or not hmac.compare_digest(_hash(key), _hash(known.reveal())):
            raise TidingsError(Code.CREDENTIAL_INVALID, "The key is not valid.")
        return Operator(id=BOOTSTRAP, role=Role.OWNER, tenants=frozenset({ALL_TENANTS}), name="Bootstrap key")

    async def verify(self, token: str) -> OperatorSession:
        """Return the session of a token. Raises `credential_invalid` or `credential_expired`."""
        form = _FORM.fullmatch(token)
        session = await self._store.find(form[1]) if form else None
        if form is None or session is None or not hmac.compare_digest(session.secret_hash, _hash(form[2])):
            raise TidingsError(Code.CREDENTIAL_INVALID, "There is no such session.", hint="Sign in again.")
        if session.expires_at_ms <= self._clock.now_ms():
            raise TidingsError(Code.CREDENTIAL_EXPIRED, "The session has expired.", hint="Sign in again.")
        return session

    async def end(self, session: str) -> None:
        """End a session. It is refused from now on, in every process."""
        if not await self._store.delete(session):
            raise TidingsError(Code.REQUEST_INVALID, "There is no such session.")

    async def list(self) -> list[OperatorSession]:
        now_ms = self._clock.now_ms()
        return [each for each in await self._store.list() if each.expires_at_ms > now_ms]


def csrf_token(token: str) -> str:
    return urlsafe_b64encode(hmac.digest(token.encode(), b"csrf", "sha256")).decode().rstrip("=")


def _hash(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()
