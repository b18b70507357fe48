"""The use cases that the edge calls, joined by whoever runs it."""

from dataclasses import dataclass, field

from tidings.accounts.find import FindUserByPhone
from tidings.accounts.phone import PhoneLogin
from tidings.accounts.sessions import SessionService
from tidings.accounts.users import UserService
from tidings.api.ports import (
    ApiCredentials,
    ApiLimits,
    ApiTelemetry,
    MessageSending,
    NoApiLimits,
    NoApiTelemetry,
)
from tidings.broadcasts.estimate import ReachEstimator
from tidings.broadcasts.people import ProfileService
from tidings.broadcasts.segments import SegmentService
from tidings.chats.look import ChatQueries
from tidings.chats.manage import ChatCommands
from tidings.chats.model import MemberStatus
from tidings.delivery.chat_list import ChatList
from tidings.delivery.status import MessageStatusReader
from tidings.delivery.watermarks import WatermarkService
from tidings.jobs.track import JobService
from tidings.messages.change import MessageEdits
from tidings.messages.history import History
from tidings.notices.broadcast import BroadcastService
from tidings.notices.defaults import InboxDefaultsService
from tidings.notices.inboxes import InboxConfigCache, InboxConfigService
from tidings.notices.mark import InboxMarker
from tidings.notices.read import InboxQueries
from tidings.notices.recall import RecallProofs, RecallService
from tidings.notices.send import NotificationSender
from tidings.signs.own_rows import ChatRowNotifier
from tidings.signs.visibility import PresenceQuery


@dataclass(frozen=True, slots=True, kw_only=True)
class NotificationServices:
    """`known` reads inboxes through a cache, `inboxes` as they stand."""

    inboxes: InboxConfigService
    defaults: InboxDefaultsService
    known: InboxConfigCache
    read: InboxQueries
    mark: InboxMarker
    send: NotificationSender
    broadcast: BroadcastService
    estimate: ReachEstimator
    segments: SegmentService
    profile_service: ProfileService
    recall: RecallService
    prove: RecallProofs
    jobs: JobService


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiServices:
    credentials: ApiCredentials
    chats: ChatCommands
    queries: ChatQueries
    send: MessageSending
    change: MessageEdits[MemberStatus]
    history: History
    chat_list: ChatList
    marking: WatermarkService
    statuses: MessageStatusReader
    visibility: PresenceQuery
    own_rows: ChatRowNotifier
    phone: PhoneLogin
    sessions: SessionService
    users: UserService
    find_by_phone: FindUserByPhone
    notifications: NotificationServices
    limits: ApiLimits = field(default_factory=NoApiLimits)
    telemetry: ApiTelemetry = field(default_factory=NoApiTelemetry)
