"""Login by phone: send a one-time code by SMS, redeem it, begin a session.

Codes are sent in the background, so the response time does not depend on the phone number.
"""

import asyncio
import hmac
import logging
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TextIO

from msgspec import Struct

from tidings.accounts.model import Challenge, ChallengeId, Device, LoginResult, Phone, User
from tidings.accounts.ports import CodeStore, LoginLimiter, SmsSender, TenantMac
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
from tidings.limits.model import LimitVerdict
from tidings.tenants.model import TenantLookup

_log = logging.getLogger(__name__)


class SmsTask(Struct, frozen=True, kw_only=True):
    tenant: TenantId
    to: Phone
    one_time_code: Secret
    expires_at_ms: int


class ConsoleSms:
    """Prints messages. For development only: a reader of the terminal can log in as any user."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream

    async def send(self, to: Phone, text: str, /) -> None:
        print(f"SMS to {to}: {text}", file=self._stream or sys.stderr, flush=True)


class SmsCodeSender:
    """Send codes by SMS. If sign-up is closed, unknown numbers receive none; the caller sees no difference."""

    def __init__(self, users: UserService, sender: SmsSender, *, text: str, is_sign_up_open: bool) -> None:
        self._users = users
        self._sender = sender
        self._text = text
        self._is_sign_up_open = is_sign_up_open

    async def send(self, task: SmsTask) -> None:
        if not self._is_sign_up_open and await self._users.by_phone(task.tenant, task.to) is None:
            return
        await self._sender.send(task.to, self._text.replace("{code}", task.one_time_code.reveal()))


class SmsQueue:
    """A bounded queue of codes to send. The process must run `run`. Codes that wait at shutdown are lost."""

    def __init__(
        self,
        send: Callable[[SmsTask], Awaitable[None]],
        clock: Clock,
        *,
        max_waiting: int = 1000,
        workers: int = 8,
    ) -> None:
        self._send = send
        self._clock = clock
        self._queue: asyncio.Queue[SmsTask] = asyncio.Queue(max_waiting)
        self._workers = workers

    def put(self, task: SmsTask) -> None:
        """Queue a code. Raise `overloaded` if the queue is full."""
        try:
            self._queue.put_nowait(task)
        except asyncio.QueueFull:
            raise TidingsError(
                Code.OVERLOADED, "Too many codes are waiting to be sent. Try again later."
            ) from None

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            for _ in range(self._workers):
                group.create_task(self._work())

    async def _work(self) -> None:
        while True:
            task = await self._queue.get()
            try:
                await self._send_one(task)
            finally:
                self._queue.task_done()

    async def join(self) -> None:
        """Wait until the queue is empty and no code is in flight."""
        await self._queue.join()

    async def _send_one(self, task: SmsTask) -> None:
        """Send a code that has not expired. Log failures: they must not stop the queue."""
        if self._clock.now_ms() >= task.expires_at_ms:
            _log.warning("a code for %s expired in the queue and was not sent", task.tenant)
            return
        try:
            await self._send(task)
        except Exception:  # noqa: BLE001 - `SmsSender.send` may raise any error
            _log.exception("a code for %s could not be sent", task.tenant)


@dataclass(frozen=True, slots=True, kw_only=True)
class PhoneLoginDeps:
    codes: CodeStore
    users: UserService
    sessions: SessionService
    outbox: SmsQueue
    mac: TenantMac
    limits: LoginLimiter
    tenants: TenantLookup
    clock: Clock


@dataclass(frozen=True, slots=True, kw_only=True)
class PhoneLoginPolicy:
    """`is_sign_up_open`: an unknown number becomes a user at its first login. `sends_codes`: an SMS provider is set."""

    code_ttl_s: int = 600
    is_sign_up_open: bool = True
    sends_codes: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeAnswer:
    """A login attempt: the challenge, the phone number that requested it, and the code that was sent to it."""

    challenge: str
    phone: str
    one_time_code: str


@dataclass(slots=True)
class PhoneStats:
    """Codes by outcome. Many requested and few redeemed codes indicate SMS pumping."""

    requested: int = 0
    redeemed: int = 0
    limited: int = 0


class PhoneLogin:
    def __init__(self, deps: PhoneLoginDeps, policy: PhoneLoginPolicy) -> None:
        self._deps = deps
        self._policy = policy
        self.stats = PhoneStats()

    async def ask(self, tenant: TenantId, number: str, address: str) -> Challenge:
        """Send a code to `number`. The work and the answer are the same for known and unknown numbers.

        `address` is the client's address. Raises `request_invalid` for a number outside the tenant's prefixes,
        `rate_limited`, `credential_invalid` for a tenant without login by phone, and `phone_login_off` if the
        installation sends no codes.
        """
        if not self._policy.sends_codes:
            raise TidingsError(
                Code.PHONE_LOGIN_OFF,
                "Login by phone is not available: this installation sends no text messages.",
                hint="Log in with a token that your server signs. Operators: set `accounts.sms`.",
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
        """Redeem a code and begin a session. Create the user if sign-up is open.

        Raises the same `credential_invalid` for a wrong, used, expired or too often tried code.
        """
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
        """Redeem the code. The attempt is counted before the comparison, so concurrent requests cannot share one."""
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
            # Race: two requests with the right code. The other one deleted it first.
            raise rejected_for("code already used", tenant=tenant)

    async def _user(self, tenant: TenantId, phone: Phone) -> tuple[User, bool]:
        if self._policy.is_sign_up_open:
            return await self._deps.users.for_phone(tenant, phone)
        user = await self._deps.users.by_phone(tenant, phone)
        if user is None:
            raise rejected_for("unknown phone number, and sign-up is closed", tenant=tenant)
        return user, False

    async def _hash(self, tenant: TenantId, challenge: ChallengeId, phone: Phone, code: str) -> bytes:
        mac = await self._deps.mac(tenant)
        return mac(code_hash_input(tenant, challenge, phone, code))

    async def _prefixes(self, tenant: TenantId) -> Sequence[str]:
        found = await self._deps.tenants.find(tenant)
        if found is None or not found.settings.has_phone_login:
            # Without the tenant's id, which the client chose and nothing verified.
            raise rejected_for("the tenant has no login by phone")
        return found.settings.phone_prefixes

    def _check(self, verdict: LimitVerdict) -> None:
        if verdict.is_allowed:
            return
        self.stats.limited += 1
        raise TidingsError(
            Code.RATE_LIMITED,
            "Too many codes were requested or tried.",
            hint="Wait for `retry_after_s` seconds, then try again.",
            details={"retry_after_s": verdict.retry_after_s},
        )
