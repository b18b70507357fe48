"""Lets a sign of typing through once in a while, for each chat. Knows the last few chats only."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, final

from msgspec import Struct

from tidings.accounts.model import Principal
from tidings.gateway.connected_device import ConnectedDevice
from tidings.gateway.ephemeral.service import EphemeralService
from tidings.gateway.error_frames import error_frame
from tidings.gateway.handlers import CHAT_HANDLERS, INBOX_HANDLERS, RequestContext
from tidings.gateway.inbox_notifier import InboxNotifier
from tidings.gateway.ports import GatewayUseCases
from tidings.gateway.protocol_state import ConnectionLimits
from tidings.gateway.resume.catch_up import OnCharge
from tidings.kernel.clock import Clock
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatId, DeviceId, DeviceKey, Epoch, initial_epoch, new_ulid
from tidings.kernel.security import ADDRESS
from tidings_wire.fields import PROTOCOL
from tidings_wire.frames.ephemeral import Ack, Presence, Subscribe, Typing, Unsubscribe
from tidings_wire.frames.inbox import GetCounts, InboxCounts, ListNotifications, NotificationPage
from tidings_wire.frames.registry import REQUEST_BY_BODY
from tidings_wire.frames.session import Connect, Resume, Resumed, Welcome
from tidings_wire.frames.structs import Ok


@dataclass(frozen=True, slots=True, kw_only=True)
class HandlerDeps:
    """What all connections of a process share."""

    cases: GatewayUseCases
    limits: ConnectionLimits
    clock: Clock
    epoch: Epoch = initial_epoch


class DeviceServices(Protocol):
    """Where what is asked about a device itself is answered: its positions and what it looks at are known there."""

    async def resume(
        self, device: ConnectedDevice, asked: Resume, epoch: int, charge: OnCharge | None, /
    ) -> Resumed: ...

    def acked(self, device: ConnectedDevice, delivered: Mapping[str, int], /) -> dict[str, int]:
        """Takes what it can; the rest goes the slow way."""
        ...

    @property
    def ephemeral(self) -> EphemeralService: ...

    @property
    def inboxes(self) -> InboxNotifier: ...


@final
class RequestHandler:
    """One connection's calls. It knows who calls from the moment in which `connect` was answered."""

    __slots__ = ("_address", "_dispatch", "_has_resumed", "_services", "caller", "device", "key", "principal")

    def __init__(
        self, dispatch: HandlerDeps, address: str = "", services: DeviceServices | None = None
    ) -> None:
        self._dispatch = dispatch
        self._address = address
        self._services = services
        self._has_resumed = False
        self.device: ConnectedDevice | None = None
        self.principal: Principal | None = None
        self.caller: RequestContext | None = None
        self.key: DeviceKey | None = None

    async def answer(self, request: Struct) -> Struct:
        """Never raises but for cancellation."""
        try:
            return await self._answer(request)
        except Exception as error:  # noqa: BLE001 - whatever it was, the device gets an answer, and the log the rest
            return error_frame(error)

    async def _answer(self, request: Struct) -> Struct:
        if isinstance(request, Connect):
            return await self._connect(request)
        serve = CHAT_HANDLERS.get(type(request)) or INBOX_HANDLERS.get(type(request))
        if serve is None:
            name = REQUEST_BY_BODY[type(request)].name
            raise TidingsError(Code.UNKNOWN_REQUEST, f"This server does not serve `{name}`.")
        if self.caller is None:
            raise TidingsError(Code.CREDENTIAL_INVALID, "Nobody has connected here.")
        if self._has_resumed or type(request) is not Resume:
            # the first resume belongs to `connect`, which was counted; every other one is a request of its own
            await self._count(self.principal)
        if self._services is not None and self.device is not None:
            if isinstance(request, Resume):
                resumed = await self._services.resume(self.device, request, self.caller.epoch, self._charge)
                self._has_resumed = self._has_resumed or not resumed.has_more
                return resumed
            if isinstance(request, Ack):
                rest = self._services.acked(self.device, request.delivered)
                request = Ack(delivered=rest)
            elif isinstance(request, GetCounts | ListNotifications):
                self._services.inboxes.watch(self.device, request.inbox)
            elif isinstance(request, Subscribe | Unsubscribe | Typing | Presence):
                return await self._handle_ephemeral(self._services.ephemeral, self.device, request)
        return self._reported(request, await serve(self._dispatch.cases, self.caller, request))

    def _reported(self, request: Struct, answer: Struct) -> Struct:
        """What a device is given of its inbox it need not be told again."""
        if (
            self._services is not None
            and self.device is not None
            and isinstance(answer, InboxCounts | NotificationPage)
        ):
            self._services.inboxes.answered(self.device, request, answer)
        return answer

    async def _handle_ephemeral(
        self,
        ephemeral: EphemeralService,
        device: ConnectedDevice,
        asked: Subscribe | Unsubscribe | Typing | Presence,
    ) -> Ok:
        match asked:
            case Subscribe():
                ephemeral.subscribe(device, asked)
            case Unsubscribe():
                ephemeral.unsubscribe(device, asked)
            case Typing():
                await ephemeral.typing(device, ChatId(asked.chat), is_typing=asked.is_typing)
            case Presence():
                if asked.status == "offline":
                    raise TidingsError(Code.REQUEST_INVALID, "Who is connected is `online` or `away`.")
                ephemeral.presence(device, is_away=asked.status == "away")
        return Ok()

    async def _charge(self, tokens: int) -> int | None:
        if self.principal is None:
            return None
        return await self._dispatch.cases.rates.take_work(self.principal, tokens)

    async def _count(self, principal: Principal | None) -> None:
        wait_ms = await self._dispatch.cases.rates.take(self._address, principal)
        if wait_ms is not None:
            raise TidingsError(
                Code.RATE_LIMITED,
                "Too many requests.",
                hint="Wait as long as `retry_after_ms` says, then try the same again.",
                details={"retry_after_ms": wait_ms},
            )

    async def _connect(self, asked: Connect) -> Welcome:
        """The address first: who guesses credentials is slowed down before they are looked at."""
        await self._count(None)
        ADDRESS.set(self._address)
        principal = await self._dispatch.cases.credentials.verify(asked.credential)
        if principal.user is None:
            raise TidingsError(
                Code.FORBIDDEN,
                "The credential is not a user's.",
                hint="Servers of a tenant use REST; a socket is one device of one user.",
            )
        self.principal = principal
        self.caller = RequestContext(principal.tenant, principal.user, self._dispatch.epoch())
        # which device it is says the credential, if it knows; else the device; else it gets a name here
        device = principal.device or DeviceId(asked.device or new_ulid())
        self.key = DeviceKey(principal.tenant, principal.user, device)
        return self._welcome(asked.protocol, self.key, principal.expires_at_ms, self.caller.epoch)

    def _welcome(self, protocol: int, key: DeviceKey, expires_at_ms: int | None, epoch: int) -> Welcome:
        limits = self._dispatch.limits
        return Welcome(
            protocol=min(protocol, PROTOCOL),
            user=key.user,
            device=key.device,
            epoch=epoch,
            at=self._dispatch.clock.now_ms(),
            heartbeat_s=round(limits.heartbeat_s),
            limits=limits.as_frame(),
            expires_at=expires_at_ms,
        )
