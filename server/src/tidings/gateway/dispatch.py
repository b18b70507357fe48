"""Calls that a connection wants made, made: a request goes in, an answer or an error comes out, nothing is raised.

Knows no socket: whatever drives a `Connection` awaits `Visit.answer` for each of its calls.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, final

from msgspec import Struct

from tidings.accounts.model import Principal
from tidings.gateway.error_frames import frame_of
from tidings.gateway.inbox_serving import INBOX_SERVED
from tidings.gateway.limits import Limits
from tidings.gateway.notices import InboxDesk
from tidings.gateway.ports import UseCases
from tidings.gateway.resume.charges import Charge
from tidings.gateway.seat import Seat
from tidings.gateway.serving import SERVED, Caller
from tidings.gateway.signs.desk import Signs
from tidings.kernel.clock import Clock
from tidings.kernel.epoch import Epoch, first_epoch
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatId, DeviceId, DeviceKey, new_ulid
from tidings.wire.bounds import PROTOCOL
from tidings.wire.frames.connecting import Connect, Resume, Resumed, Welcome
from tidings.wire.frames.notices import Counts, InboxCounts, NoticePage, Notices
from tidings.wire.frames.shape import Done
from tidings.wire.frames.signs import Presence, Subscribe, Typing, Unsubscribe
from tidings.wire.frames.table import REQUEST_BY_BODY
from tidings.wire.frames.watermarks import Ack


@dataclass(frozen=True, slots=True, kw_only=True)
class Dispatch:
    """What all connections of a process share."""

    cases: UseCases
    limits: Limits
    clock: Clock
    epoch: Epoch = first_epoch


class Desk(Protocol):
    """Where what is asked about a device itself is answered: its positions and what it looks at are known there."""

    async def resume(self, seat: Seat, asked: Resume, epoch: int, charge: Charge | None, /) -> Resumed: ...

    def acked(self, seat: Seat, delivered: Mapping[str, int], /) -> dict[str, int]:
        """Takes what it can; the rest goes the slow way."""
        ...

    @property
    def signs(self) -> Signs: ...

    @property
    def inboxes(self) -> InboxDesk: ...


@final
class Visit:
    """One connection's calls. It knows who calls from the moment in which `connect` was answered."""

    __slots__ = ("_address", "_desk", "_dispatch", "_has_resumed", "caller", "key", "principal", "seat")

    def __init__(self, dispatch: Dispatch, address: str = "", desk: Desk | None = None) -> None:
        self._dispatch = dispatch
        self._address = address
        self._desk = desk
        self._has_resumed = False
        self.seat: Seat | None = None
        self.principal: Principal | None = None
        self.caller: Caller | None = None
        self.key: DeviceKey | None = None

    async def answer(self, request: Struct) -> Struct:
        """Never raises but for cancellation."""
        try:
            return await self._answer(request)
        except Exception as error:  # noqa: BLE001 - whatever it was, the device gets an answer, and the log the rest
            return frame_of(error)

    async def _answer(self, request: Struct) -> Struct:
        if isinstance(request, Connect):
            return await self._connect(request)
        serve = SERVED.get(type(request)) or INBOX_SERVED.get(type(request))
        if serve is None:
            name = REQUEST_BY_BODY[type(request)].name
            raise TidingsError(Code.REQUEST_UNKNOWN, f"This server does not serve `{name}`.")
        if self.caller is None:
            raise TidingsError(Code.CREDENTIAL_INVALID, "Nobody has connected here.")
        if self._has_resumed or type(request) is not Resume:
            # the first resume belongs to `connect`, which was counted; every other one is a request of its own
            await self._count(self.principal)
        if self._desk is not None and self.seat is not None:
            if isinstance(request, Resume):
                resumed = await self._desk.resume(self.seat, request, self.caller.epoch, self._charge)
                self._has_resumed = self._has_resumed or not resumed.has_more
                return resumed
            if isinstance(request, Ack):
                rest = self._desk.acked(self.seat, request.delivered)
                request = Ack(delivered=rest)
            elif isinstance(request, Counts | Notices):
                self._desk.inboxes.watch(self.seat, request.inbox)
            elif isinstance(request, Subscribe | Unsubscribe | Typing | Presence):
                return await self._sign(self._desk.signs, self.seat, request)
        return self._told(request, await serve(self._dispatch.cases, self.caller, request))

    def _told(self, request: Struct, answer: Struct) -> Struct:
        """What a device is given of its inbox it need not be told again."""
        if self._desk is not None and self.seat is not None and isinstance(answer, InboxCounts | NoticePage):
            self._desk.inboxes.answered(self.seat, request, answer)
        return answer

    async def _sign(
        self, signs: Signs, seat: Seat, asked: Subscribe | Unsubscribe | Typing | Presence
    ) -> Done:
        match asked:
            case Subscribe():
                signs.subscribe(seat, asked)
            case Unsubscribe():
                signs.unsubscribe(seat, asked)
            case Typing():
                await signs.typing(seat, ChatId(asked.chat), is_typing=asked.is_typing)
            case Presence():
                if asked.status == "offline":
                    raise TidingsError(Code.REQUEST_INVALID, "Who is connected is `online` or `away`.")
                signs.presence(seat, is_away=asked.status == "away")
        return Done()

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
        principal = await self._dispatch.cases.credentials.verify(asked.credential)
        if principal.user is None:
            raise TidingsError(
                Code.FORBIDDEN,
                "The credential is not a user's.",
                hint="Servers of a tenant use REST; a socket is one device of one user.",
            )
        self.principal = principal
        self.caller = Caller(principal.tenant, principal.user, self._dispatch.epoch())
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
            limits=limits.told(),
            expires_at=expires_at_ms,
        )
