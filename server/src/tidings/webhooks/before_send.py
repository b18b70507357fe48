"""Ask a tenant's before-send hook about messages and edits: allow, change or refuse.

The request is signed as webhooks are. A hook that fails repeatedly is not asked for some seconds, so that its deadline
does not delay every message. Tenants without a hook pay for a look-up of their cached settings.
"""

import logging
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final, Literal

import msgspec
from msgspec import Struct

from tidings.kernel.clock import Clock, format_ms
from tidings.kernel.concurrency import retry_on_conflict
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.fair_shares import FairShares
from tidings.kernel.ids import TenantId
from tidings.messages.model import Rejection, ReviewRequest
from tidings.tenants.model import BeforeSendSettings, TenantLookup, TenantSettings, TenantStore
from tidings.webhooks import rules
from tidings.webhooks.endpoints import EndpointDirectory
from tidings.webhooks.model import Attempt, Endpoint, EndpointId, EndpointName, EndpointSettings
from tidings.webhooks.ports import WebhookTransport
from tidings.webhooks.service import WebhookService

_log = logging.getLogger(__name__)

MAX_ANSWER_BYTES: Final = 16_384
MAX_IN_FLIGHT: Final = 200
"""Requests of a process to one tenant's hook at the same time. A message above it counts as one without an answer."""
OPEN_AFTER: Final = 5
OPEN_S: Final = 10.0
_MAX_TENANTS: Final = 10_000
_DESCRIPTION: Final = "before-send hook"


class _Answer(Struct):
    """The answer of a hook. `content` is required to change a message."""

    action: Literal["allow", "change", "refuse"] = "allow"
    content: msgspec.Raw = msgspec.Raw(b"")
    reason: str = ""


type EncodeContent = Callable[[bytes], bytes | None]
"""Encodes JSON of a hook as content that is stored. Returns None if it is not valid content of a message."""

_encode = msgspec.json.Encoder().encode
_decode_answer = msgspec.json.Decoder(_Answer).decode


@dataclass(slots=True)
class CircuitBreaker:
    """Opens after consecutive failures. After `OPEN_S`, one request at a time tries again until one succeeds."""

    failures: int = 0
    open_until: float = 0.0

    def may_ask(self, now: float) -> bool:
        """Return whether to ask. If the circuit is open and its time has passed, allow this one request."""
        if self.failures < OPEN_AFTER:
            return True
        if now < self.open_until:
            return False
        self.open_until = now + OPEN_S
        return True

    def record(self, now: float, *, is_ok: bool) -> None:
        self.failures = 0 if is_ok else self.failures + 1
        if self.failures >= OPEN_AFTER:
            self.open_until = now + OPEN_S


@dataclass(slots=True)
class BeforeSendStats:
    allowed: int = 0
    changed: int = 0
    refused: int = 0
    failed: int = 0
    """Messages without an answer of the hook."""


class BeforeSendHook:
    """Use it from one event loop."""

    def __init__(
        self,
        tenants: TenantLookup,
        directory: EndpointDirectory,
        transport: WebhookTransport,
        *,
        encode_content: EncodeContent,
        clock: Clock,
        stats: BeforeSendStats,
    ) -> None:
        self._encode_content = encode_content
        self._tenants = tenants
        self._directory = directory
        self._transport = transport
        self._clock = clock
        self._stats = stats
        self._breakers: OrderedDict[TenantId, CircuitBreaker] = OrderedDict()
        self._in_flight: FairShares[TenantId] = FairShares(MAX_IN_FLIGHT)

    async def review(self, request: ReviewRequest, /) -> bytes | Rejection:
        tenant = await self._tenants.find(request.chat.tenant)
        settings = None if tenant is None else tenant.settings.before_send
        if settings is None:
            return request.body
        answer = await self._ask(request, settings)
        if answer is None:
            return self._without_answer(request, settings)
        if answer.action == "refuse":
            self._stats.refused += 1
            return Rejection(answer.reason[:500] or "The message was refused.")
        if answer.action == "allow":
            self._stats.allowed += 1
            return request.body
        self._stats.changed += 1
        return bytes(answer.content)

    def _without_answer(self, request: ReviewRequest, settings: BeforeSendSettings) -> bytes:
        self._stats.failed += 1
        if settings.on_failure == "allow":
            return request.body
        raise TidingsError(
            Code.OVERLOADED,
            "Messages cannot be checked at the moment, and nothing was sent.",
            hint="Try again later. The tenant's before-send hook does not answer.",
        )

    async def _ask(self, request: ReviewRequest, settings: BeforeSendSettings) -> _Answer | None:
        """Return the answer of the hook. None: it is missing, failed, too slow, invalid or not asked."""
        tenant, now = request.chat.tenant, self._clock.monotonic()
        breaker = self._breaker(tenant)
        if not breaker.may_ask(now) or not self._in_flight.take(tenant):
            return None
        try:
            endpoint = await self._endpoint(EndpointName(tenant, EndpointId(settings.endpoint)))
            if endpoint is None:
                breaker.record(now, is_ok=False)
                return None
            attempt = await self._post(endpoint, request, settings.timeout_ms / 1000)
        finally:
            self._in_flight.release(tenant)
        answer = self._read(attempt)
        breaker.record(self._clock.monotonic(), is_ok=answer is not None)
        if answer is None:
            reason = attempt.reason or "the answer is invalid"
            _log.warning("the before-send hook of %s did not answer: %s", tenant, reason)
        return answer

    async def _endpoint(self, name: EndpointName) -> Endpoint | None:
        """Return the endpoint of the hook. The cached endpoints do not contain a hook that was set recently."""
        found = await self._directory.find(name)
        if found is None:
            self._directory.evict(name.tenant)
            found = await self._directory.find(name)
        return found

    async def _post(self, endpoint: Endpoint, request: ReviewRequest, timeout_s: float) -> Attempt:
        now_ms, event = self._clock.now_ms(), review_id(request)
        body = _encode(
            {
                "id": event,
                "type": "message.before_send",
                "timestamp": format_ms(now_ms),
                "data": {
                    "chat": request.chat.chat,
                    "sender": request.sender,
                    "client_message_id": request.client_key,
                    "kind": request.kind,
                    "content": msgspec.Raw(request.body),
                },
            }
        )
        headers = rules.signed_headers(rules.valid_secrets(endpoint, now_ms), event, now_ms, body)
        return await self._transport.post(
            endpoint.settings.url, body, headers, timeout_s=timeout_s, max_answer_bytes=MAX_ANSWER_BYTES
        )

    def _read(self, attempt: Attempt) -> _Answer | None:
        """Return the answer, with content as it is stored. An empty answer allows the message."""
        if not attempt.is_ok:
            return None
        if not attempt.body.strip():
            return _Answer()
        try:
            answer = _decode_answer(attempt.body)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return None
        if answer.action != "change":
            return answer
        content = self._encode_content(bytes(answer.content))
        return None if content is None else _Answer(action="change", content=msgspec.Raw(content))

    def _breaker(self, tenant: TenantId) -> CircuitBreaker:
        breaker = self._breakers.get(tenant)
        if breaker is None:
            breaker = self._breakers[tenant] = CircuitBreaker()
            if len(self._breakers) > _MAX_TENANTS:
                self._breakers.popitem(last=False)
        return breaker


def review_id(request: ReviewRequest) -> str:
    """Return the id of a review: the same for retries of the same message."""
    chat = request.chat
    name = f"{chat.tenant}#{chat.chat}#{request.sender}#{request.client_key}#{request.kind}"
    return "rev_" + blake2b(name.encode(), digest_size=16).hexdigest()


class BeforeSendService:
    """Configure the before-send hook of a tenant. Processes use a change within `accounts.tenant_refresh_s`."""

    def __init__(self, webhooks: WebhookService, tenants: TenantStore, clock: Clock) -> None:
        self._webhooks = webhooks
        self._tenants = tenants
        self._clock = clock

    async def read(self, tenant: TenantId) -> tuple[Endpoint, BeforeSendSettings]:
        """Return the hook and its endpoint. Raises `webhook_not_found` if the tenant has none."""
        found = await self._tenants.read(tenant)
        settings = None if found is None else found.settings.before_send
        if settings is None:
            raise TidingsError(Code.WEBHOOK_NOT_FOUND, "The tenant has no before-send hook.")
        return await self._webhooks.read(EndpointName(tenant, EndpointId(settings.endpoint))), settings

    async def set(
        self, tenant: TenantId, url: str, timeout_ms: int, on_failure: Literal["allow", "refuse"]
    ) -> tuple[Endpoint, BeforeSendSettings, bool]:
        """Create the hook, or change it. The last value says whether it is new, with a new secret."""
        try:
            endpoint, _ = await self.read(tenant)
            endpoint, is_new = await self._webhooks.update(endpoint.name, url=url), False
        except TidingsError as error:
            if error.code is not Code.WEBHOOK_NOT_FOUND:
                raise
            settings = EndpointSettings(url=url, events=(), description=_DESCRIPTION)
            endpoint, is_new = await self._webhooks.create(tenant, settings), True
        hook = BeforeSendSettings(endpoint=endpoint.name.id, timeout_ms=timeout_ms, on_failure=on_failure)
        await self._change(tenant, hook)
        return endpoint, hook, is_new

    async def remove(self, tenant: TenantId) -> None:
        """Remove the hook. The settings first: a hook without an endpoint would not answer."""
        endpoint, _ = await self.read(tenant)
        await self._change(tenant, None)
        await self._webhooks.delete(endpoint.name)

    async def _change(self, tenant: TenantId, hook: BeforeSendSettings | None) -> None:
        async def step() -> None:
            found = await self._tenants.read(tenant)
            if found is None:
                raise TidingsError(Code.REQUEST_INVALID, f"Tenant {tenant} does not exist.")
            settings: TenantSettings = msgspec.structs.replace(found.settings, before_send=hook)
            if not await self._tenants.update(tenant, settings, found.version, self._clock.now_ms()):
                raise TidingsError(Code.WRITE_CONFLICT, "The settings were changed at the same time.")

        await retry_on_conflict(step)
