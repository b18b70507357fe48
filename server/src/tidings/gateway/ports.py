"""Dependencies of a gateway: use cases, stores, options, and the two ports that it declares itself."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from tidings.accounts.model import Principal
from tidings.bus.model import Push
from tidings.bus.ports import BusPublisher, BusSubscriber
from tidings.chats.model import MemberStatus
from tidings.connections.model import ConnectionRegistry, GatewayId
from tidings.delivery.chat_list import ChatList
from tidings.delivery.ports import ChatRowReader, HeadCopier, OfflineCheckPublisher, OfflineQueue
from tidings.delivery.watermarks import WatermarkService
from tidings.gateway.ephemeral.service import EphemeralDeps
from tidings.gateway.resume.catch_up import CatchUpOptions
from tidings.gateway.resume.resume_deps import ResumeOptions
from tidings.inboxes.broadcasts.log import BroadcastLogCache
from tidings.inboxes.broadcasts.segments import BroadcastTargeting
from tidings.inboxes.config_service import InboxConfigCache
from tidings.inboxes.marker import InboxMarker
from tidings.inboxes.preference_service import PreferenceService
from tidings.inboxes.queries import InboxQueries
from tidings.kernel.clock import Clock, SystemClock
from tidings.kernel.failpoints import NO_FAILPOINTS, Failpoints
from tidings.messages.edits import MessageEdits
from tidings.messages.history import History
from tidings.messages.sender import MessageSender
from tidings.push.badge import BadgeReader
from tidings.push.preferences import PushPreferencesService
from tidings.push.providers_cache import PushProviders
from tidings.push.registrations import PushRegistrations

type ErrorReporter = Callable[[str, BaseException], None]


type TracePush = Callable[[Push], AbstractContextManager[None]]
"""Opens the spans of a traced push, until its frames are written."""


class RequestLimiter(Protocol):
    """Rate limits of requests. An unavailable engine never makes a method raise."""

    async def take(self, address: str, principal: Principal | None, /) -> int | None:
        """Count a request. Return None if it is allowed, else the wait in milliseconds until the next attempt.

        Without a principal, only the address is limited.
        """
        ...

    async def take_work(self, principal: Principal, tokens: int, /) -> int | None:
        """Charge a user for the work that one of their requests caused. Return the same as `take`."""
        ...


class GatewayCredentials(Protocol):
    async def verify(self, bearer: str, /) -> Principal:
        """Raise `credential_invalid` or `credential_expired`, without the reason."""
        ...


class InboxUseCases(NamedTuple):
    known: InboxConfigCache
    read: InboxQueries
    mark: InboxMarker
    logs: BroadcastLogCache
    audience: BroadcastTargeting
    preferences: PreferenceService


class PushUseCases(NamedTuple):
    registrations: PushRegistrations
    preferences: PushPreferencesService
    providers: PushProviders
    badge: BadgeReader


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayUseCases:
    """Use cases that request handlers call. Without `inboxes` or `push`, their requests are refused as unknown."""

    credentials: GatewayCredentials
    limiter: RequestLimiter
    sender: MessageSender[MemberStatus]
    edits: MessageEdits[MemberStatus]
    history: History
    watermarks: WatermarkService
    inboxes: InboxUseCases | None = None
    push: PushUseCases | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeOptions:
    """Options of a gateway node.

    renew_every_s: interval at which the leases of all routes are renewed.
    ack_flush_s: a user's `delivered` watermark in a chat is written at most once in this time.
    broadcast_spread_s: period over which the connected devices are notified of a broadcast.
    """

    renew_every_s: float = 10.0
    ack_flush_s: float = 60.0
    broadcast_spread_s: float = 30.0
    resume: ResumeOptions = field(default_factory=ResumeOptions)
    ranges: CatchUpOptions = field(default_factory=CatchUpOptions)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeDeps:
    """Dependencies of a gateway node. `gateway` is a new id at each start of the process."""

    gateway: GatewayId
    routes: ConnectionRegistry
    bus: BusPublisher
    subscriber: BusSubscriber
    rows: ChatRowReader
    head_copier: HeadCopier
    queue: OfflineQueue
    chat_list: ChatList
    history: History
    watermarks: WatermarkService
    ephemeral: EphemeralDeps
    offline_checks: OfflineCheckPublisher
    inboxes: InboxUseCases | None = None
    trace_push: TracePush | None = None
    failpoints: Failpoints = NO_FAILPOINTS
    clock: Clock = field(default_factory=SystemClock)
    options: NodeOptions = field(default_factory=NodeOptions)
