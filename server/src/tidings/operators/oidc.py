"""Sign in with an OpenID Connect provider: authorization code flow with PKCE.

The browser carries `PendingLogin` in an encrypted cookie from the start of a login to the callback. The callback is accepted
only with the `state` of this login, and the ID token only with its `nonce`, for this client and from this issuer.
"""

import hmac
import secrets
from base64 import urlsafe_b64encode
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any, Protocol
from urllib.parse import urlencode

import msgspec
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet
from msgspec import Struct

from tidings.kernel.clock import Clock
from tidings.kernel.errors import UnavailableError
from tidings.kernel.security import Secret
from tidings.operators.model import ALL_TENANTS, Operator, Role

ALGORITHMS = ["RS256", "PS256", "ES256", "Ed25519"]
LOGIN_S = 600
SKEW_S = 60
_TEXT_BYTES = 256


class LoginRefusedError(Exception):
    """A login that must not succeed. `code` is shown to the operator, the message only logged."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class OidcOptions(Struct, frozen=True, kw_only=True):
    """`redirect_uri` must be registered with the provider. Claims name the role and the tenants of an operator."""

    issuer: str
    client_id: str
    client_secret: Secret | None
    redirect_uri: str
    scope: str
    role_claim: str
    tenants_claim: str


class PendingLogin(Struct, frozen=True, kw_only=True):
    state: str
    nonce: str
    verifier: str
    return_to: str
    expires_at_ms: int


class OidcTransport(Protocol):
    """Calls the provider. Raises `UnavailableError` if it cannot be reached or does not answer with JSON."""

    async def get(self, url: str, /) -> Mapping[str, Any]: ...

    async def post(
        self, url: str, form: Mapping[str, str], basic: tuple[str, str] | None, /
    ) -> tuple[int, Mapping[str, Any]]: ...


class OidcLogin:
    def __init__(
        self,
        options: OidcOptions,
        transport: OidcTransport,
        clock: Clock,
        is_tenant_id: Callable[[str], bool],
    ) -> None:
        self._options = options
        self._transport = transport
        self._clock = clock
        self._is_tenant_id = is_tenant_id
        self._metadata: Mapping[str, Any] | None = None

    async def start(self, return_to: str) -> tuple[str, PendingLogin]:
        """Return the address of the provider for the browser, and the login to continue at the callback."""
        pending = PendingLogin(
            state=secrets.token_urlsafe(32),
            nonce=secrets.token_urlsafe(32),
            verifier=secrets.token_urlsafe(48),
            return_to=return_to,
            expires_at_ms=self._clock.now_ms() + LOGIN_S * 1000,
        )
        options = self._options
        query = {
            "response_type": "code",
            "client_id": options.client_id,
            "redirect_uri": options.redirect_uri,
            "scope": options.scope,
            "state": pending.state,
            "nonce": pending.nonce,
            "code_challenge": _base64(sha256(pending.verifier.encode()).digest()),
            "code_challenge_method": "S256",
        }
        endpoint = await self._endpoint("authorization_endpoint")
        return f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(query)}", pending

    async def finish(self, pending: PendingLogin | None, query: Mapping[str, str]) -> Operator:
        """Return the operator. Raises `LoginRefusedError`, or `UnavailableError` for the provider."""
        if pending is None or pending.expires_at_ms <= self._clock.now_ms():
            raise LoginRefusedError(
                "login_expired", "no login was started in this browser, or it has expired"
            )
        if not hmac.compare_digest(pending.state.encode(), query.get("state", "").encode()):
            raise LoginRefusedError("login_refused", "the state is of another login")
        if query.get("iss", self._options.issuer) != self._options.issuer:
            raise LoginRefusedError("login_refused", "the answer is from another issuer")
        if "code" not in query:
            raise LoginRefusedError(
                "login_refused", f"the provider answered {query.get('error', 'without a code')}"
            )
        return self._operator(await self._claims(query["code"], pending))

    async def _claims(self, code: str, pending: PendingLogin) -> Mapping[str, Any]:
        options = self._options
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": options.redirect_uri,
            "code_verifier": pending.verifier,
        }
        basic = None
        if options.client_secret is None:
            form["client_id"] = options.client_id
        else:
            basic = (options.client_id, options.client_secret.reveal())
        status, answer = await self._transport.post(await self._endpoint("token_endpoint"), form, basic)
        token = answer.get("id_token")
        if status != 200 or not isinstance(token, str):  # noqa: PLR2004 - HTTP
            raise LoginRefusedError(
                "login_refused", f"the token endpoint answered {status} {answer.get('error')}"
            )
        return await self._verified(token, pending.nonce)

    async def _verified(self, token: str, nonce: str) -> Mapping[str, Any]:
        """Verify signature, issuer, audience, times and nonce of the ID token."""
        keys = await self._transport.get(await self._endpoint("jwks_uri"))
        rules = jwt.JWTClaimsRegistry(
            now=self._clock.now_ms() // 1000,
            leeway=SKEW_S,
            iss={"essential": True, "value": self._options.issuer},
            aud={"essential": True, "value": self._options.client_id},
            nonce={"essential": True, "value": nonce},
            exp={"essential": True},
            iat={"essential": True},
            sub={"essential": True},
        )
        try:
            decoded = jwt.decode(token, KeySet.import_key_set(dict(keys)), algorithms=ALGORITHMS)  # type: ignore[arg-type]
            rules.validate(decoded.claims)
        except (JoseError, ValueError) as error:
            raise LoginRefusedError("login_refused", f"the ID token is refused: {error}") from error
        claims = decoded.claims
        audiences = claims["aud"] if isinstance(claims["aud"], list) else [claims["aud"]]
        if len(audiences) > 1 and claims.get("azp") != self._options.client_id:
            raise LoginRefusedError("login_refused", "the ID token was issued to another client")
        return claims

    def _operator(self, claims: Mapping[str, Any]) -> Operator:
        role, tenants = claims.get(self._options.role_claim), claims.get(self._options.tenants_claim, [])
        listed = [tenants] if isinstance(tenants, str) else tenants
        named = frozenset(
            each
            for each in (listed if isinstance(listed, list) else [])
            if isinstance(each, str) and (each == ALL_TENANTS or self._is_tenant_id(each))
        )
        if role not in tuple(Role) or not named:
            raise LoginRefusedError(
                "no_role", f"{claims['sub']} has the role {role!r} and the tenants {tenants!r}"
            )
        return Operator(
            id=f"oidc:{_text(claims, 'sub')}",
            role=Role(role),
            tenants=named,
            name=_text(claims, "name"),
            email=_text(claims, "email"),
        )

    async def _endpoint(self, name: str) -> str:
        """Return an endpoint from the provider's metadata, which is read once and kept."""
        if self._metadata is None:
            url = f"{self._options.issuer.rstrip('/')}/.well-known/openid-configuration"
            found = await self._transport.get(url)
            if found.get("issuer") != self._options.issuer:
                raise UnavailableError(f"OIDC: the provider calls itself {found.get('issuer')!r}")
            self._metadata = found
        endpoint = self._metadata.get(name)
        if not isinstance(endpoint, str):
            raise UnavailableError(f"OIDC: the provider has no {name}")
        return endpoint


def encode_pending(pending: PendingLogin) -> str:
    return msgspec.json.encode(pending).decode()


def decode_pending(text: str | None) -> PendingLogin | None:
    try:
        return None if text is None else msgspec.json.decode(text, type=PendingLogin)
    except msgspec.DecodeError:
        return None


def _text(claims: Mapping[str, Any], name: str) -> str:
    value = claims.get(name)
    return value[:_TEXT_BYTES] if isinstance(value, str) else ""


def _base64(raw: bytes) -> str:
    return urlsafe_b64encode(raw).decode().rstrip("=")
