"""Text messages on their way: bounded, and off the path of the answer, which takes as long whoever is to get one."""

import asyncio
import hmac
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from msgspec import Struct

from tidings.accounts.model import Challenge, ChallengeId, Device, LoginResult, Phone, User
from tidings.accounts.ports import (
    CodeStore,
    LoginLimiter,
    LoginLimitVerdict,
    SmsSender,
    TenantKeyProvider,
    TenantPolicyReader,
)
from tidings.accounts.rules import (
    MAX_TRIES,
    check_device_id,
    check_device_name,
    check_is_served,
    code_hash_input,
    credential_invalid,
    is_well_formed,
    new_challenge,
    new_code,
    parse_phone,
    rejected_for,
)
from tidings.accounts.sessions import SessionService
from tidings.accounts.users import UserService
from tidings.kernel.clock import Clock
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import TenantId
from tidings.kernel.security import Secret, SecurityEventKind, record_security_event

_log = logging.getLogger(__name__)


class SmsTask(Struct, frozen=True, kw_only=True):
    tenant: TenantId
    to: Phone
    one_time_code: Secret
    expires_at_ms: int


class SmsCodeSender:
    """Takes codes out, after the answer. Where sign-up is closed, strangers get none, and nobody is told."""

    def __init__(self, users: UserService, sender: SmsSender, *, text: str, is_sign_up_open: bool) -> None:
        self._users = users
        self._sender = sender
        self._text = text
        self._is_sign_up_open = is_sign_up_open

    async def __call__(self, errand: SmsTask) -> None:
        if not self._is_sign_up_open and await self._users.by_phone(errand.tenant, errand.to) is None:
            return
        await self._sender.send(errand.to, self._text.replace("{code}", errand.one_time_code.reveal()))


class SmsQueue:
    """`run` is to be kept running by the process. What waits when it stops is lost: people ask again."""

    def __init__(
        self,
        deliver: Callable[[SmsTask], Awaitable[None]],
        clock: Clock,
        *,
        room: int = 1000,
        workers: int = 8,
    ) -> None:
        self._deliver = deliver
        self._clock = clock
        self._queue: asyncio.Queue[SmsTask] = asyncio.Queue(room)
        self._workers = workers

    def put(self, errand: SmsTask) -> None:
        """Raises `overloaded` for everybody alike when the sender does not keep up."""
        try:
            self._queue.put_nowait(errand)
        except asyncio.QueueFull:
            raise TidingsError(Code.OVERLOADED, "Too many codes are waiting to be sent.") from None

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            for _ in range(self._workers):
                group.create_task(self._work())

    async def _work(self) -> None:
        while True:
            errand = await self._queue.get()
            try:
                await self._run_one(errand)
            finally:
                self._queue.task_done()

    async def join(self) -> None:
        """Until nothing waits and nothing is under way."""
        await self._queue.join()

    async def _run_one(self, errand: SmsTask) -> None:
        """One message that can't be sent is one person's trouble, told in the log; the next goes on."""
        if self._clock.now_ms() >= errand.expires_at_ms:
            _log.warning("a code for %s waited until its time was over, and is not sent", errand.tenant)
            return
        try:
            await self._deliver(errand)
        except Exception:  # noqa: BLE001 - a sender may raise what it likes; the next message goes on
            _log.exception("a code for %s could not be sent", errand.tenant)


@dataclass(frozen=True, slots=True, kw_only=True)
class PhoneLoginDeps:
    codes: CodeStore
    users: UserService
    sessions: SessionService
    outbox: SmsQueue
    keys: TenantKeyProvider
    limits: LoginLimiter
    tenants: TenantPolicyReader
    clock: Clock


@dataclass(frozen=True, slots=True, kw_only=True)
class PhoneLoginPolicy:
    """`is_sign_up_open`: a number that nobody has becomes a user at its first login. `sends_codes`: somebody does."""

    code_ttl_s: int = 600
    is_sign_up_open: bool = True
    sends_codes: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeAnswer:
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
    def __init__(self, deps: PhoneLoginDeps, policy: PhoneLoginPolicy) -> None:
        self._deps = deps
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
        phone = parse_phone(number)
        self._check(await self._deps.limits.admit_request(tenant, address))
        check_is_served(phone, await self._prefixes(tenant))
        self._check(await self._deps.limits.admit_code(tenant, phone, address))
        challenge, code = new_challenge(), new_code()
        expires_at_ms = self._deps.clock.now_ms() + self._policy.code_ttl_s * 1000
        hashed = await self._hash(tenant, challenge, phone, code)
        await self._deps.codes.put(tenant, challenge, hashed, expires_at_ms // 1000)
        self._deps.outbox.put(
            SmsTask(tenant=tenant, to=phone, one_time_code=Secret(code), expires_at_ms=expires_at_ms)
        )
        self.stats.requested += 1
        return Challenge(id=challenge, expires_at_ms=expires_at_ms)

    async def log_in(self, tenant: TenantId, answer: CodeAnswer, device: Device, address: str) -> LoginResult:
        """Raises `credential_invalid` for a code that is wrong, used, tried too often or too old: for all alike."""
        phone = parse_phone(answer.phone)
        check_device_id(device.id)
        check_device_name(device.name)
        self._check(await self._deps.limits.admit_try(tenant, address))
        await self._prefixes(tenant)
        await self._redeem(tenant, phone, answer)
        user, is_new = await self._user(tenant, phone)
        grant = await self._deps.sessions.begin(user, device)
        self.stats.redeemed += 1
        await self._deps.limits.remember(tenant, phone, address)
        return LoginResult(user=user, grant=grant, is_new=is_new)

    async def _redeem(self, tenant: TenantId, phone: Phone, answer: CodeAnswer) -> None:
        """A try is counted before it is compared, so that no two use the same one; and one alone deletes the code."""
        if not is_well_formed(answer.challenge, answer.one_time_code):
            raise rejected_for("malformed code", tenant=tenant)
        challenge = ChallengeId(answer.challenge)
        now_s = self._deps.clock.now_ms() // 1000
        wanted = await self._deps.codes.count_try(tenant, challenge, MAX_TRIES, now_s)
        if wanted is None:
            record_security_event(SecurityEventKind.CODE_EXHAUSTED, tenant=tenant)
            raise credential_invalid()
        hashed = await self._hash(tenant, challenge, phone, answer.one_time_code)
        if not hmac.compare_digest(wanted, hashed):
            raise rejected_for("wrong code", tenant=tenant)
        if not await self._deps.codes.redeem(tenant, challenge):
            # two requests with the right code at the same moment: the other one deleted it first
            raise rejected_for("code already used", tenant=tenant)

    async def _user(self, tenant: TenantId, phone: Phone) -> tuple[User, bool]:
        if self._policy.is_sign_up_open:
            return await self._deps.users.for_phone(tenant, phone)
        user = await self._deps.users.by_phone(tenant, phone)
        if user is None:
            raise rejected_for("nobody has the number, and sign-up is closed", tenant=tenant)
        return user, False

    async def _hash(self, tenant: TenantId, challenge: ChallengeId, phone: Phone, code: str) -> bytes:
        keys = await self._deps.keys.of(tenant)
        return keys.fingerprint(code_hash_input(tenant, challenge, phone, code))

    async def _prefixes(self, tenant: TenantId) -> Sequence[str]:
        prefixes = await self._deps.tenants.phone_prefixes(tenant)
        if prefixes is None:
            raise rejected_for(
                "the tenant has no login by phone"
            )  # without its name, which is the caller's word
        return prefixes

    def _check(self, verdict: LoginLimitVerdict) -> None:
        if verdict.is_allowed:
            return
        self.stats.limited += 1
        raise TidingsError(
            Code.RATE_LIMITED,
            "Too many codes were requested or tried.",
            hint="Wait as long as `retry_after_s` says.",
            details={"retry_after_s": verdict.retry_after_s},
        )
