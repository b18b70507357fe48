"""Login by phone: ask for a code, come back with it, get a session.

Nothing about asking depends on whether the number is known: no row of it is read before the answer is given.
"""

import hmac
from collections.abc import Sequence
from dataclasses import dataclass

from tidings.accounts.outbox import Errand, Outbox
from tidings.accounts.ports import CodeRows, Keys, Limits, Tenants, Verdict
from tidings.accounts.records import Challenge, ChallengeId, Device, Login, Phone, User
from tidings.accounts.refusals import refused_for
from tidings.accounts.rules import (
    MAX_TRIES,
    check_device_id,
    check_device_name,
    check_is_served,
    code_said,
    is_well_formed,
    new_challenge,
    new_code,
    phone_of,
    refused,
)
from tidings.accounts.sessions import Sessions
from tidings.accounts.users import Users
from tidings.kernel.clock import Clock
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import TenantId
from tidings.kernel.secrets import Secret
from tidings.kernel.security import SecurityEventKind, record


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    codes: CodeRows
    users: Users
    sessions: Sessions
    outbox: Outbox
    keys: Keys
    limits: Limits
    tenants: Tenants
    clock: Clock


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """`is_sign_up_open`: a number that nobody has becomes a user at its first login. `sends_codes`: somebody does."""

    code_life_s: int = 600
    is_sign_up_open: bool = True
    sends_codes: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What comes back from the person: the challenge and the number they asked with, and the code they were sent."""

    challenge: str
    phone: str
    one_time_code: str


@dataclass(slots=True)
class PhoneStats:
    """Codes by outcome. Many requested and few redeemed is the sign of SMS pumping."""

    requested: int = 0
    redeemed: int = 0
    limited: int = 0


class PhoneLogin:
    def __init__(self, world: World, policy: Policy) -> None:
        self._world = world
        self._policy = policy
        self.stats = PhoneStats()

    async def ask(self, tenant: TenantId, number: str, address: str) -> Challenge:
        """Send a code. The work and the answer are the same whether anybody has the number or not.

        `address` is where the request came from. Raises `request_invalid` for a number outside the prefixes that the
        tenant serves, `rate_limited`, `credential_invalid` for a tenant without
        login by phone, and `phone_login_off` where the installation sends no codes.
        """
        if not self._policy.sends_codes:
            raise TidingsError(
                Code.PHONE_LOGIN_OFF,
                "This installation sends no text messages, so nobody can log in by phone.",
                hint="Log in with a token that your own server signs. Operators: set accounts.sms.",
            )
        phone = phone_of(number)
        self._check(await self._world.limits.admit_request(tenant, address))
        check_is_served(phone, await self._prefixes(tenant))
        self._check(await self._world.limits.admit_code(tenant, phone, address))
        challenge, code = new_challenge(), new_code()
        expires_at_ms = self._world.clock.now_ms() + self._policy.code_life_s * 1000
        hashed = await self._hash(tenant, challenge, phone, code)
        await self._world.codes.put(tenant, challenge, hashed, expires_at_ms // 1000)
        self._world.outbox.put(
            Errand(tenant=tenant, to=phone, one_time_code=Secret(code), expires_at_ms=expires_at_ms)
        )
        self.stats.requested += 1
        return Challenge(id=challenge, expires_at_ms=expires_at_ms)

    async def log_in(self, tenant: TenantId, answer: Answer, device: Device, address: str) -> Login:
        """Raises `credential_invalid` for a code that is wrong, used, tried too often or too old: for all alike."""
        phone = phone_of(answer.phone)
        check_device_id(device.id)
        check_device_name(device.name)
        self._check(await self._world.limits.admit_try(tenant, address))
        await self._prefixes(tenant)
        await self._redeem(tenant, phone, answer)
        user, is_new = await self._user(tenant, phone)
        grant = await self._world.sessions.begin(user, device)
        self.stats.redeemed += 1
        await self._world.limits.remember(tenant, phone, address)
        return Login(user=user, grant=grant, is_new=is_new)

    async def _redeem(self, tenant: TenantId, phone: Phone, answer: Answer) -> None:
        """A try is counted before it is compared, so that no two use the same one; and one alone deletes the code."""
        if not is_well_formed(answer.challenge, answer.one_time_code):
            raise refused_for("malformed code", tenant=tenant)
        challenge = ChallengeId(answer.challenge)
        now_s = self._world.clock.now_ms() // 1000
        wanted = await self._world.codes.count_try(tenant, challenge, MAX_TRIES, now_s)
        if wanted is None:
            record(SecurityEventKind.CODE_EXHAUSTED, tenant=tenant)
            raise refused()
        hashed = await self._hash(tenant, challenge, phone, answer.one_time_code)
        if not hmac.compare_digest(wanted, hashed):
            raise refused_for("wrong code", tenant=tenant)
        if not await self._world.codes.redeem(tenant, challenge):
            # two requests with the right code at the same moment: the other one deleted it first
            raise refused_for("code already used", tenant=tenant)

    async def _user(self, tenant: TenantId, phone: Phone) -> tuple[User, bool]:
        if self._policy.is_sign_up_open:
            return await self._world.users.for_phone(tenant, phone)
        user = await self._world.users.by_phone(tenant, phone)
        if user is None:
            raise refused_for("nobody has the number, and sign-up is closed", tenant=tenant)
        return user, False

    async def _hash(self, tenant: TenantId, challenge: ChallengeId, phone: Phone, code: str) -> bytes:
        keys = await self._world.keys.of(tenant)
        return keys.fingerprint(code_said(tenant, challenge, phone, code))

    async def _prefixes(self, tenant: TenantId) -> Sequence[str]:
        prefixes = await self._world.tenants.phone_prefixes(tenant)
        if prefixes is None:
            raise refused_for(
                "the tenant has no login by phone"
            )  # without its name, which is the caller's word
        return prefixes

    def _check(self, verdict: Verdict) -> None:
        if verdict.is_allowed:
            return
        self.stats.limited += 1
        raise TidingsError(
            Code.RATE_LIMITED,
            "Too many codes were requested or tried.",
            hint="Wait as long as `retry_after_s` says.",
            details={"retry_after_s": verdict.retry_after_s},
        )
