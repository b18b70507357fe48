"""What a request costs beyond itself: a limit on requests alone lets one of them name a thousand users.

The weights follow what the tables are asked for; `docs/explanation/rate-limits.md` has the reasons.
"""

from tidings.api.door import rate_limited_error
from tidings.api.ports import ApiLimits, RateLimitState
from tidings.kernel.ids import TenantId, UserId

_MEMBERS_PER_TOKEN = 4
_RECIPIENTS_PER_TOKEN = 100
_TOKENS_PER_NUMBER = 20
"""For each phone number that is looked up: nobody should be able to try a country's numbers one by one."""


async def charge_members(limits: ApiLimits, tenant: TenantId, user: UserId, count: int) -> None:
    """Raises `rate_limited`. Nothing has been done then."""
    await _charge(limits, tenant, user, count // _MEMBERS_PER_TOKEN)


async def charge_recipients(limits: ApiLimits, tenant: TenantId, count: int) -> None:
    """The same for a notice, which a tenant's server sends."""
    await _charge(limits, tenant, None, count // _RECIPIENTS_PER_TOKEN)


async def charge_number(limits: ApiLimits, tenant: TenantId, user: UserId) -> None:
    """Charge a user for one phone number that they look up. Raises `rate_limited`, before anything is looked up."""
    _refuse(await limits.charge_look_up(tenant, user, _TOKENS_PER_NUMBER))


async def count_new_chat(limits: ApiLimits, tenant: TenantId, user: UserId) -> None:
    """Count a chat against the number that a user may create in a day; raise `rate_limited` when there is none left."""
    _refuse(await limits.admit_chat(tenant, user))


async def _charge(limits: ApiLimits, tenant: TenantId, user: UserId | None, tokens: int) -> None:
    if tokens == 0:
        return
    _refuse(await limits.charge(tenant, user, tokens))


def _refuse(allowance: RateLimitState | None) -> None:
    if allowance is not None and not allowance.is_allowed:
        raise rate_limited_error(allowance)
