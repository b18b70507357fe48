"""The claims of a user's token, after its signature was checked: what they must be, and how long they hold. Pure."""

from dataclasses import dataclass
from typing import Any

from tidings.accounts.refusals import CredentialRejectedError
from tidings.accounts.token_form import Json
from tidings.kernel.ids import USER_ID_DESCRIPTION, DeviceId, TenantId, UserId, is_user_id
from tidings.tenants.model import Tenant

_LATEST_S = 32_503_680_000.0  # the year 3000: what lies beyond is milliseconds taken for seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimsPolicy:
    tenant: TenantId
    user: UserId
    device: DeviceId | None
    issuer: str | None = None
    audiences: frozenset[str]
    expires_at_s: float
    not_before_s: float | None
    issued_at_s: float | None

    def check(self, tenant: Tenant, now_s: float, max_lifetime_s: float) -> None:
        """The end of its time comes last: it alone may be told to the bearer, so everything else must be right."""
        if self.tenant != tenant.id:
            raise CredentialRejectedError(
                f"it is for {self.tenant}, and was signed with a key of {tenant.id}"
            )
        rules = tenant.settings.tokens
        if self.audiences.isdisjoint(rules.audiences):
            raise CredentialRejectedError(
                f"its `aud` {sorted(self.audiences)} has none of {list(rules.audiences)}"
            )
        if rules.issuer is not None and self.issuer != rules.issuer:
            raise CredentialRejectedError(f"its `iss` {self.issuer!r} is not {rules.issuer!r}")
        self._check_beginning(now_s, rules.skew_s)
        self._check_lifetime(now_s, rules.skew_s, max_lifetime_s)
        if self.expires_at_s + rules.skew_s <= now_s:
            raise CredentialRejectedError(f"it was over {now_s - self.expires_at_s:.0f} s ago", is_over=True)

    def _check_beginning(self, now_s: float, skew_s: int) -> None:
        for name, at_s in (("nbf", self.not_before_s), ("iat", self.issued_at_s)):
            if at_s is not None and at_s > now_s + skew_s:
                raise CredentialRejectedError(
                    f"its `{name}` is {at_s - now_s:.0f} s ahead; {skew_s} s are allowed"
                )

    def _check_lifetime(self, now_s: float, skew_s: int, max_lifetime_s: float) -> None:
        """Without `iat` only what is left of its life is known."""
        begins_s = now_s + skew_s if self.issued_at_s is None else self.issued_at_s
        if self.expires_at_s - begins_s > max_lifetime_s:
            raise CredentialRejectedError(
                f"it lives for more than {max_lifetime_s:.0f} s, which is the most allowed"
            )


def read_claims(claims: Json) -> ClaimsPolicy:
    expires_at_s = _time(claims, "exp")
    if expires_at_s is None:
        raise CredentialRejectedError("it has no `exp`")
    device, issuer = claims.get("device"), claims.get("iss")
    return ClaimsPolicy(
        tenant=TenantId(_text(claims, "tenant")),
        user=UserId(_id(claims, "sub")),
        device=None if device is None else DeviceId(_id(claims, "device")),
        issuer=issuer if isinstance(issuer, str) else None,
        audiences=_audiences(claims.get("aud")),
        expires_at_s=expires_at_s,
        not_before_s=_time(claims, "nbf"),
        issued_at_s=_time(claims, "iat"),
    )


def _text(claims: Json, name: str) -> str:
    value = claims.get(name)
    if not isinstance(value, str):
        raise CredentialRejectedError(f"its `{name}` is not a text")
    return value


def _id(claims: Json, name: str) -> str:
    value = _text(claims, name)
    if not is_user_id(value):
        raise CredentialRejectedError(f"its `{name}` is not an id: {USER_ID_DESCRIPTION}")
    return value


def _audiences(value: Any) -> frozenset[str]:  # noqa: ANN401 - whatever the token says
    each = value if isinstance(value, list) else [value]
    if not each or not all(isinstance(one, str) for one in each):
        raise CredentialRejectedError("its `aud` is neither a text nor a list of texts")
    return frozenset(each)


def _time(claims: Json, name: str) -> float | None:
    value = claims.get(name)
    if value is None:
        return None
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 <= value < _LATEST_S:
        raise CredentialRejectedError(f"its `{name}` is not a time in seconds since 1970")
    return float(value)
