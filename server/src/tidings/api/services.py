"""The use cases that the edge calls, joined by whoever runs it."""

from dataclasses import dataclass, field

from tidings.accounts.find import FindByPhone
from tidings.accounts.phone import PhoneLogin
from tidings.accounts.sessions import Sessions
from tidings.accounts.users import Users
from tidings.api.ports import Credentials, Limits, NoLimits, NoTelemetry, Sending, Telemetry
from tidings.broadcasts.estimate import Estimate
from tidings.broadcasts.people import People
from tidings.broadcasts.segments import Segments
from tidings.chats.look import Look
from tidings.chats.manage import Manage
from tidings.chats.model import Standing
from tidings.delivery.chat_list import ChatList
from tidings.delivery.status import Statuses
from tidings.delivery.watermarks import Marking
from tidings.jobs.track import Track
from tidings.messages.change import Change
from tidings.messages.history import History
from tidings.notices.broadcast import Broadcast
from tidings.notices.defaults import InboxDefaults
from tidings.notices.inboxes import Inboxes, InboxReader
from tidings.notices.mark import Mark
from tidings.notices.read import Read
from tidings.notices.recall import Prove, Recall
from tidings.notices.send import SendNotice
from tidings.signs.own_rows import OwnRows
from tidings.signs.visibility import Visibility


@dataclass(frozen=True, slots=True, kw_only=True)
class NoticeServices:
    """`known` reads inboxes through a cache, `inboxes` as they stand."""

    inboxes: Inboxes
    defaults: InboxDefaults
    known: InboxReader
    read: Read
    mark: Mark
    send: SendNotice
    broadcast: Broadcast
    estimate: Estimate
    segments: Segments
    people: People
    recall: Recall
    prove: Prove
    jobs: Track


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    credentials: Credentials
    chats: Manage
    look: Look
    send: Sending
    change: Change[Standing]
    history: History
    chat_list: ChatList
    marking: Marking
    statuses: Statuses
    visibility: Visibility
    own_rows: OwnRows
    phone: PhoneLogin
    sessions: Sessions
    users: Users
    find_by_phone: FindByPhone
    notices: NoticeServices
    limits: Limits = field(default_factory=NoLimits)
    telemetry: Telemetry = field(default_factory=NoTelemetry)
