"""The state of watched chats and users, and of the chat list: receipts, typing, presence, rows.

`client_core` passes pushes and delivered entries in; this module turns them into events, and answers queries.
"""

import asyncio
from collections.abc import Callable
from math import inf
from typing import Literal, Protocol, final

from tidings_sdk.chat_list import ChatList
from tidings_sdk.codec import validate
from tidings_sdk.events import Event, PresenceChanged, ReadElsewhere, ReceiptsChanged, TypingChanged
from tidings_sdk.protocol import State
from tidings_sdk.receipts import MessageStatus, ReceiptTracker
from tidings_sdk.send_queues import RequestSender
from tidings_sdk.subscriptions import Subscriptions
from tidings_sdk.typing_state import TypingSender, TypingUsers
from tidings_wire.frames.ephemeral import Presence as PresenceRequest
from tidings_wire.frames.ephemeral import PresencePush, Receipts, Subscribe, Typing, TypingPush
from tidings_wire.frames.history import ChatRow, Entry
from tidings_wire.frames.structs import Body

type PresenceState = Literal["online", "away", "offline"]


class FrameSender(RequestSender, Protocol):
    def send(self, body: Body) -> bool: ...


@final
class EphemeralState:
    def __init__(
        self,
        session: FrameSender,
        chats: ChatList,
        *,
        user: Callable[[], str | None],
        offer: Callable[[Event], None],
        start: Callable[..., object],
    ) -> None:
        self.chats = chats
        self._session = session
        self._user = user
        self._offer = offer
        self._watching = Subscriptions(session, start)
        self._receipts = ReceiptTracker()
        self._typists = TypingUsers()
        self._own = TypingSender()
        self._presences: dict[str, PresenceChanged] = {}
        self._presence_state: PresenceState = "online"
        self._reads: dict[str, int] = {}
        self._timer: asyncio.TimerHandle | None = None

    def watch(self, *, chats: tuple[str, ...] = (), users: tuple[str, ...] = ()) -> None:
        for chat in chats:
            validate(Subscribe(chats=(chat,)))
        for user in users:
            validate(Subscribe(users=(user,)))
        self._watching.watch(chats=chats, users=users)

    def unwatch(self, *, chats: tuple[str, ...] = (), users: tuple[str, ...] = ()) -> None:
        self._watching.unwatch(chats=chats, users=users)
        for chat in chats:
            self._receipts.clear(chat)
        for user in users:
            self._presences.pop(user, None)

    def status(self, chat: str, sequence: int) -> MessageStatus:
        return self._receipts.of(chat).status(sequence, self._user() or "")

    def members(self, chat: str) -> tuple[str, ...]:
        return self._receipts.of(chat).members

    def typists(self, chat: str) -> tuple[str, ...]:
        return self._typists.of(chat)

    def presence(self, user: str) -> PresenceChanged | None:
        return self._presences.get(user)

    def set_presence(self, status: PresenceState) -> None:
        self._presence_state = status
        validate(PresenceRequest(status=status))
        self._session.send(PresenceRequest(status=status))

    def type(self, chat: str, *, is_typing: bool) -> None:
        validate(Typing(chat=chat, is_typing=is_typing))
        for is_typing_now in (self._own.begins if is_typing else self._own.ends)(chat, self._now()):
            self._session.send(Typing(chat=chat, is_typing=is_typing_now))

    def sent(self, chat: str) -> None:
        self._own.sent(chat)

    def reads(self, chat: str, sequence: int) -> None:
        """Record a read position before it is sent, so that its push is not taken for one of another device."""
        self._reads[chat] = max(self._reads.get(chat, 0), sequence)

    def has_read(self, chat: str, sequence: int) -> None:
        self.chats.read(chat, sequence)

    def on_live(self) -> None:
        self._watching.on_live()
        if self._presence_state != "online":
            self._session.send(PresenceRequest(status=self._presence_state))

    def state_changed(self, state: State) -> None:
        """Discard typing and presence when the connection ends. Receipts stay valid."""
        if state in (State.RESUMING, State.LIVE):
            return
        self._watching.on_disconnected()
        if state is State.CLOSED:
            self._presences.clear()
            self._notify_typing(self._typists.clear())

    def restored(self) -> None:
        self._receipts.clear()
        self.chats.clear()
        self._reads.clear()

    def pushed(self, body: Body) -> None:
        match body:
            case ChatRow():
                self.chats.apply_row(body)
                self._offer(body)
            case Receipts():
                self._on_push(body)
            case TypingPush(chat=chat, user=user, is_typing=True):
                is_new = self._typists.on_typing(chat, user, self._now())
                self._notify_typing({chat} if is_new else set())
            case TypingPush(chat=chat, user=user):
                self._notify_typing({chat} if self._typists.stopped(chat, user) else set())
            case PresencePush(user=user, status=status, at=at):
                self._presences[user] = PresenceChanged(user, status, at)
                self._offer(self._presences[user])

    def gave(self, chat: str, entries: list[Entry]) -> None:
        """Apply delivered entries of the log. Each arrives once, in order."""
        user = self._user() or ""
        row = self.chats.apply_entries(chat, entries, user)
        if row is not None:
            self._offer(row)
        if True in [self._saw(chat, entry, user) for entry in entries]:
            self._offer(ReceiptsChanged(chat))

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _saw(self, chat: str, entry: Entry, user: str) -> bool:
        if entry.kind == "message" and self._typists.stopped(chat, entry.by):
            self._notify_typing({chat})
        if not self._watching.is_watched(chat):
            return False
        return self._receipts.of(chat).saw(entry) and (entry.by != user or entry.kind != "message")

    def _on_push(self, receipts: Receipts) -> None:
        chat, user = receipts.chat, self._user()
        for each in receipts.members:
            if each.user == user and each.read and self._is_from_elsewhere(chat, each.read):
                self._offer(ReadElsewhere(chat, each.read))
        is_of_others = receipts.is_snapshot or any(each.user != user for each in receipts.members)
        if (
            self._watching.is_watched(chat)
            and self._receipts.of(chat).apply_receipts(receipts)
            and is_of_others
        ):
            self._offer(ReceiptsChanged(chat))

    def _is_from_elsewhere(self, chat: str, read: int) -> bool:
        return self.chats.read(chat, read) and read > self._reads.get(chat, 0)

    def _notify_typing(self, chats: set[str]) -> None:
        for chat in sorted(chats):
            self._offer(TypingChanged(chat, self._typists.of(chat)))
        self._set_timer()

    def _set_timer(self) -> None:
        self.close()
        due_at = self._typists.due_at
        if due_at < inf:
            self._timer = asyncio.get_running_loop().call_at(due_at, self._end_typing)

    def _end_typing(self) -> None:
        self._notify_typing(self._typists.end_those_due(self._now()))

    def _now(self) -> float:
        return asyncio.get_running_loop().time()
