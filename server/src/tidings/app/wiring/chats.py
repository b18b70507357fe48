"""Wire chat lists, watermarks, message status and chats to their stores."""

from dataclasses import dataclass
from typing import NamedTuple

from tidings.app.wiring.chat_permissions import CHANGE_PERMISSIONS, permission_check, rules_check
from tidings.app.wiring.message_traces import MessageTraces, TracedMessageLog, TracedMessageSender
from tidings.chats.commands import ChatCommands
from tidings.chats.items import chat_from_item
from tidings.chats.model import DEFAULT_MAX_MEMBERS, MemberStatus
from tidings.chats.queries import DirectChatCache
from tidings.chats.rules import ChatAction
from tidings.chats.store import DynamoChatStore
from tidings.delivery.audience import StoredAudience
from tidings.delivery.chat_list import ChatList
from tidings.delivery.chat_rows import ChatRowProjector, Previews
from tidings.delivery.model import WatermarkAdvanced
from tidings.delivery.ports import AudienceReader, OnRead, OnWatermarkAdvanced
from tidings.delivery.store import (
    DynamoChatRowReader,
    DynamoChatRowWriter,
    DynamoWatermarkStore,
    EpochReconciler,
)
from tidings.delivery.watermarks import MessageStatusReader, WatermarkService
from tidings.kernel.clock import Clock, SystemClock
from tidings.kernel.ids import Epoch, TenantId, initial_epoch
from tidings.messages import sender
from tidings.messages.edits import MessageEdits
from tidings.messages.history import History
from tidings.messages.past_log import PastLog
from tidings.messages.ports import (
    AppendDeps,
    AttachmentCheck,
    BeforeSend,
    KeyProvider,
    OnCommit,
    ReadIntervals,
)
from tidings.messages.sender import Appender, MessageSender
from tidings.messages.store import DynamoEditStore, DynamoLogReader, DynamoMessageLog
from tidings.platform.dynamo.client import DynamoClient
from tidings.tenants.model import TenantLookup


def _ignore_advanced(_: WatermarkAdvanced) -> None:
    """Ignore advanced watermarks, for tools and tests: the message status is derived when it is read."""


class ChatListServices(NamedTuple):
    """The use cases of the chat list. The delivery worker writes the rows, see `build_row_projector`.

    `directs` is the process's cache of direct chats.
    """

    marking: WatermarkService
    chat_list: ChatList
    statuses: MessageStatusReader
    directs: DirectChatCache


def build_past_log(
    client: DynamoClient, clock: Clock, epoch: Epoch, *, is_read_only: bool = False
) -> PastLog:
    writer = None if is_read_only else DynamoMessageLog(client, clock)
    return PastLog(DynamoLogReader(client), epoch, writer)


def build_chat_store(
    client: DynamoClient, clock: Clock, epoch: Epoch, *, is_read_only: bool = False
) -> DynamoChatStore:
    """Build the store of chats. With `is_read_only`, rows of an earlier epoch are compared, but not written back."""
    past = build_past_log(client, clock, epoch, is_read_only=is_read_only)
    return DynamoChatStore(client, clock, past, is_read_only=is_read_only)


def build_epoch_reconciler(
    client: DynamoClient, epoch: Epoch, *, is_read_only: bool = False
) -> EpochReconciler:
    """Build the reconciler that every store of rows needs. With `initial_epoch`, rows are trusted unchanged."""
    clock = SystemClock()
    past = build_past_log(client, clock, epoch, is_read_only=is_read_only)
    memberships = DynamoChatStore(client, clock, past, is_read_only=is_read_only)
    return EpochReconciler(client, DynamoLogReader(client), memberships, past, is_read_only=is_read_only)


def build_chat_row_reader(client: DynamoClient, epoch: Epoch = initial_epoch) -> DynamoChatRowReader:
    return DynamoChatRowReader(client, build_epoch_reconciler(client, epoch), chat_from_item)


def build_chat_row_writer(client: DynamoClient, epoch: Epoch = initial_epoch) -> DynamoChatRowWriter:
    return DynamoChatRowWriter(client, build_epoch_reconciler(client, epoch))


def build_watermark_store(
    client: DynamoClient, clock: Clock, epoch: Epoch = initial_epoch
) -> DynamoWatermarkStore:
    return DynamoWatermarkStore(client, clock, build_epoch_reconciler(client, epoch))


def build_chat_lists(
    client: DynamoClient,
    keys: KeyProvider,
    clock: Clock,
    on_advanced: OnWatermarkAdvanced = _ignore_advanced,
    *,
    on_read: OnRead | None = None,
    epoch: Epoch = initial_epoch,
) -> ChatListServices:
    """Build the use cases. `on_advanced` is called with each watermark that advanced, `on_read` with each read."""
    chats, log, lists = (
        build_chat_store(client, clock, epoch),
        DynamoLogReader(client),
        build_chat_row_reader(client, epoch),
    )
    directs, watermarks = DirectChatCache(chats), build_watermark_store(client, clock, epoch)
    audience = StoredAudience(directs)
    return ChatListServices(
        WatermarkService(watermarks, lists, chats, log, on_advanced, on_read=on_read),
        ChatList(lists, watermarks, chats, keys, clock),
        MessageStatusReader(audience, watermarks),
        directs,
    )


def build_row_projector(
    client: DynamoClient, keys: KeyProvider, audience: AudienceReader, epoch: Epoch = initial_epoch
) -> ChatRowProjector:
    writer, log = build_chat_row_writer(client, epoch), DynamoLogReader(client)
    return ChatRowProjector(writer, audience, log, Previews(keys, sender.preview_of))


@dataclass(frozen=True, slots=True)
class ChatServices:
    """Of chats and messages, as one process has them: they share the views of the chats' logs."""

    appends: Appender[MemberStatus]
    rows: DynamoChatStore
    reader: DynamoLogReader
    sender: MessageSender[MemberStatus]
    change: MessageEdits[MemberStatus]
    history: History


def build_chat_services(
    client: DynamoClient,
    keys: KeyProvider,
    clock: Clock,
    on_commit: OnCommit,
    intervals: ReadIntervals,
    *,
    epoch: Epoch,
    traces: MessageTraces | None = None,
    before_send: BeforeSend | None = None,
    attachments: AttachmentCheck | None = None,
) -> ChatServices:
    """Build the use cases of chats. `on_commit` is called with each commit, and does not delay the answer."""
    rows, reader = build_chat_store(client, clock, epoch), DynamoLogReader(client)
    edits = DynamoEditStore(client)
    appends = _build_appender(client, rows, clock, on_commit, epoch=epoch, traces=traces)
    return ChatServices(
        appends=appends,
        rows=rows,
        reader=reader,
        sender=_build_sender(
            appends, edits, keys, clock, traces=traces, before_send=before_send, attachments=attachments
        ),
        change=MessageEdits(
            appends,
            reader,
            edits,
            keys=keys,
            permissions=CHANGE_PERMISSIONS,
            clock=clock,
            before_send=before_send,
        ),
        history=History(reader, intervals, keys, clock),
    )


def _build_sender(
    appends: Appender[MemberStatus],
    edits: DynamoEditStore,
    keys: KeyProvider,
    clock: Clock,
    *,
    traces: MessageTraces | None,
    before_send: BeforeSend | None,
    attachments: AttachmentCheck | None,
) -> MessageSender[MemberStatus]:
    kind = MessageSender if traces is None else TracedMessageSender
    sender = kind(
        appends,
        edits,
        keys=keys,
        may_send=permission_check(ChatAction.SEND),
        obeys=rules_check(ChatAction.SEND),
        clock=clock,
        before_send=before_send,
        attachments=attachments,
    )
    if isinstance(sender, TracedMessageSender) and traces is not None:
        sender.traces = traces
    return sender


def _build_appender(
    client: DynamoClient,
    rows: DynamoChatStore,
    clock: Clock,
    on_commit: OnCommit,
    *,
    epoch: Epoch,
    traces: MessageTraces | None = None,
) -> Appender[MemberStatus]:
    if traces is None:
        log = DynamoMessageLog(client, clock)
    else:
        log = TracedMessageLog(client, clock)
        log.traces = traces
    return Appender(AppendDeps(log, rows.member_status, clock, epoch=epoch, on_commit=on_commit))


def build_chat_commands(
    client: DynamoClient, clock: Clock, on_commit: OnCommit, *, epoch: Epoch, tenants: TenantLookup
) -> ChatCommands:
    """Build the commands of chats for a worker, which neither sends nor reads messages."""
    rows = build_chat_store(client, clock, epoch)
    return make_chat_commands(
        rows, _build_appender(client, rows, clock, on_commit, epoch=epoch), tenants, clock
    )


def make_chat_commands(
    rows: DynamoChatStore, appends: Appender[MemberStatus], tenants: TenantLookup, clock: Clock
) -> ChatCommands:
    """Build the commands with the tenants' own limits of members."""

    async def max_members(tenant: TenantId) -> int:
        found = await tenants.find(tenant)
        return DEFAULT_MAX_MEMBERS if found is None else found.settings.max_members

    return ChatCommands(rows, appends, max_members, clock)
