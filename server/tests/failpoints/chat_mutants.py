"""Mutant servers: each breaks one promise on purpose, and the checkers must catch every one.

Each function replaces the code that keeps the promise, before the process is built.
"""

from collections.abc import Awaitable, Callable, Collection, Sequence
from itertools import count
from typing import Any, Final

from tidings.app.wiring import chat_permissions
from tidings.chats.model import Membership
from tidings.chats.store.reconciler import MembershipReconciler
from tidings.connections import store as routing_store
from tidings.connections.model import LookupResult
from tidings.delivery import fanout_plan
from tidings.delivery import rules as delivery_rules
from tidings.delivery.model import ChatRow
from tidings.delivery.store import EpochReconciler, checkpoints
from tidings.gateway.hub import Hub
from tidings.gateway.transport.ports import Socket
from tidings.installation.epoch_watch import EpochWatch
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatKey, initial_epoch
from tidings.messages import rules as message_rules
from tidings.messages.history import History, VisibleEntry
from tidings.messages.model import (
    Appended,
    Entry,
    EntryKind,
    IdempotencyKey,
    Interval,
    Proposal,
    Refusal,
    SideWritesFactory,
)
from tidings.messages.rules import AppendDecision, LogView, NextStep
from tidings.messages.sender import Appender
from tidings.messages.store import log
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.operations import AccessPattern
from tidings.schema.tables.patterns import delivery as delivery_patterns

_NOW_AND_THEN: Final = 7
_ENTRY: Final = b'{"entry":'


def acks_before_commit() -> None:
    """Acknowledge a message, and never commit it."""
    honest, turn, heads = Appender.append, count(1), dict[ChatKey, int]()

    async def append(
        self: Appender[Any],
        chat: ChatKey,
        proposal: Proposal[Any],
        side_writes_at: SideWritesFactory | None = None,
    ) -> Appended:
        if proposal.draft.kind is EntryKind.MESSAGE and chat in heads and next(turn) % _NOW_AND_THEN == 0:
            return Appended(heads[chat] + 1, is_repeat=False)
        done = await honest(self, chat, proposal, side_writes_at)
        heads[chat] = max(done.sequence, heads.get(chat, 0))
        return done

    Appender.append = append  # type: ignore[method-assign]


def puts_without_condition() -> None:
    """Let two processes that append at the same time write the same sequence."""
    log.ABSENT = "attribute_exists(chat_id) OR attribute_not_exists(chat_id)"


def forgets_keys() -> None:
    """Append a repeated message a second time."""

    def find(self: LogView[Any], key: IdempotencyKey) -> None:
        del self, key

    LogView.find = find  # type: ignore[method-assign]


def leaves_out_entries() -> None:
    """Leave entries out of pushes and pages, as if the reader had no access to them."""
    honest = History.show

    async def show(self: History, chat: ChatKey, entries: Sequence[Entry]) -> list[VisibleEntry]:
        shown = await honest(self, chat, entries)
        return [
            each for each in shown if each.entry.kind is not EntryKind.MESSAGE or each.entry.sequence % 20
        ]

    History.show = show  # type: ignore[method-assign]


def drops_pushes() -> None:
    """Do not push to one device, which counts as having received the entry."""
    honest, turn = Hub.send, count(1)

    def send(self: Hub[Any], frame: bytes, sockets: Collection[Socket]) -> None:
        is_dropped = frame.startswith(_ENTRY) and next(turn) % _NOW_AND_THEN == 0
        honest(self, frame, list(sockets)[1:] if is_dropped else sockets)

    Hub.send = send  # type: ignore[method-assign]


def pushes_twice() -> None:
    honest, turn = Hub.send, count(1)

    def send(self: Hub[Any], frame: bytes, sockets: Collection[Socket]) -> None:
        honest(self, frame, sockets)
        if frame.startswith(_ENTRY) and next(turn) % _NOW_AND_THEN == 0:
            honest(self, frame, sockets)

    Hub.send = send  # type: ignore[method-assign]


def ignores_intervals() -> None:
    """Push to users who left the chat."""

    def visible(intervals: Sequence[Interval], after: int, up_to: int) -> list[tuple[int, int]]:
        del intervals
        return [(after, up_to)]

    fanout_plan.visible_ranges = visible  # type: ignore[attr-defined]


def lowers_watermarks() -> None:
    honest = DynamoClient.update

    async def update(self: DynamoClient, pattern: AccessPattern, *given: object, **more: object) -> object:
        if pattern in {delivery_patterns.RAISE_READ, delivery_patterns.RAISE_DELIVERED}:
            del more["condition"]
        return await honest(self, pattern, *given, **more)  # type: ignore[arg-type]

    DynamoClient.update = update  # type: ignore[method-assign,assignment]


def counts_one_more() -> None:
    honest = delivery_rules.unread_count

    def unread(row: ChatRow) -> int:
        return honest(row) + 1

    delivery_rules.unread_count = unread


def appends_what_it_refuses() -> None:
    refused: dict[IdempotencyKey, Code] = {}
    honest_judge, honest_append = message_rules._decide_by_status, Appender.append

    def judge(view: LogView[Any], proposal: Proposal[Any], *, is_fresh: bool, now_ms: int) -> AppendDecision:
        verdict = honest_judge(view, proposal, is_fresh=is_fresh, now_ms=now_ms)
        if not isinstance(verdict, Refusal) or proposal.draft.kind is not EntryKind.MESSAGE:
            return verdict
        refused[proposal.draft.key] = verdict.code
        return NextStep.APPEND

    async def append(
        self: Appender[Any],
        chat: ChatKey,
        proposal: Proposal[Any],
        side_writes_at: SideWritesFactory | None = None,
    ) -> Appended:
        done = await honest_append(self, chat, proposal, side_writes_at)
        if (code := refused.get(proposal.draft.key)) is not None:
            raise TidingsError(code, "Refused, and appended all the same.")
        return done

    message_rules._decide_by_status = judge
    Appender.append = append  # type: ignore[method-assign]


def keeps_the_epoch() -> None:
    """Do not report a restore: positions of devices stay valid although entries were lost."""

    def epoch(self: EpochWatch) -> int:
        del self
        return 0

    EpochWatch.current = epoch  # type: ignore[method-assign]


def believes_rows() -> None:
    """Trust rows and heads of any epoch, even where they are ahead of their log."""
    honest = EpochReconciler.__init__

    def init(self: EpochReconciler, *given: Any, **named: Any) -> None:
        honest(self, *given, **named)
        self.epoch = initial_epoch

    EpochReconciler.__init__ = init  # type: ignore[method-assign]


def believes_memberships() -> None:
    """Trust rows of members and chats of any epoch, even where the log says something else."""

    def is_reconciled(*_: object) -> bool:
        return True

    MembershipReconciler.is_reconciled = is_reconciled  # type: ignore[assignment]


def takes_silence_for_absence() -> None:
    """Treat a key whose Redis shard does not answer as a key that does not exist."""
    honest = routing_store.call_each

    async def each(call: Callable[[Any], Awaitable[Any]], keys: Sequence[Any]) -> LookupResult[Any, Any]:
        return LookupResult((await honest(call, keys)).found)

    for module in (routing_store, checkpoints):  # each has its own reference to the function
        module.call_each = each  # type: ignore[attr-defined]


def ignores_mutes() -> None:
    def check(*_: object) -> None:
        """Allow every member to send."""

    vars(chat_permissions)["check_rules"] = check


def ignores_bans() -> None:
    def is_banned(self: Membership, now_ms: int) -> bool:
        del self, now_ms
        return False

    Membership.is_banned = is_banned  # type: ignore[method-assign]


MUTANTS: Final[dict[str, Callable[[], None]]] = {
    mutant.__name__: mutant
    for mutant in (
        acks_before_commit,
        puts_without_condition,
        forgets_keys,
        leaves_out_entries,
        drops_pushes,
        pushes_twice,
        ignores_intervals,
        lowers_watermarks,
        counts_one_more,
        appends_what_it_refuses,
        keeps_the_epoch,
        believes_rows,
        believes_memberships,
        takes_silence_for_absence,
        ignores_mutes,
        ignores_bans,
    )
}
