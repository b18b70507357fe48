"""What is known of others and of the user's chats, joined: watched chats and users, ticks, typing, presence, rows.

`device` hands over what was pushed and what was given out; here it becomes events, and answers to who asks.
"""

import asyncio
from collections.abc import Callable
from math import inf
from typing import Literal, Protocol, final

from tidings_sdk.chat_list import ChatList
from tidings_sdk.codec import check
from tidings_sdk.connection import State
from tidings_sdk.events import Event, Presence, ReadElsewhere, TicksChanged, TypingChanged
from tidings_sdk.frames.reading import ChatRow, Entry
from tidings_sdk.frames.shape import Body
from tidings_sdk.frames.signs import Presence as PresenceTold
from tidings_sdk.frames.signs import PresencePush, Subscribe, Typing, TypingPush
from tidings_sdk.frames.watermarks import Receipts
from tidings_sdk.lanes import Asking
from tidings_sdk.ticks import Status, Ticks
from tidings_sdk.typists import OwnTyping, Typists
from tidings_sdk.watching import Watching

type Appearance = Literal["online", "away", "offline"]


class Saying(Asking, Protocol):
    def say(self, body: Body) -> bool: ...


@final
class Signs:
    def __init__(
        self,
        session: Saying,
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
        self._watching = Watching(session, start)
        self._ticks = Ticks()
        self._typists = Typists()
        self._own = OwnTyping()
        self._presences: dict[str, Presence] = {}
        self._appearance: Appearance = "online"
        self._reads: dict[str, int] = {}
        self._timer: asyncio.TimerHandle | None = None

    def watch(self, *, chats: tuple[str, ...] = (), users: tuple[str, ...] = ()) -> None:
        for chat in chats:
            check(Subscribe(chats=(chat,)))
        for user in users:
            check(Subscribe(users=(user,)))
        self._watching.watch(chats=chats, users=users)

    def unwatch(self, *, chats: tuple[str, ...] = (), users: tuple[str, ...] = ()) -> None:
        self._watching.unwatch(chats=chats, users=users)
        for chat in chats:
            self._ticks.forget(chat)
        for user in users:
            self._presences.pop(user, None)

    def status(self, chat: str, sequence: int) -> Status:
        return self._ticks.of(chat).status(sequence, self._user() or "")

    def members(self, chat: str) -> tuple[str, ...]:
        return self._ticks.of(chat).members

    def typists(self, chat: str) -> tuple[str, ...]:
        return self._typists.of(chat)

    def presence(self, user: str) -> Presence | None:
        return self._presences.get(user)

    def appear(self, appearance: Appearance) -> None:
        self._appearance = appearance
        check(PresenceTold(status=appearance))
        self._session.say(PresenceTold(status=appearance))

    def type(self, chat: str, *, is_typing: bool) -> None:
        check(Typing(chat=chat, is_typing=is_typing))
        for word in (self._own.begins if is_typing else self._own.ends)(chat, self._now()):
            self._session.say(Typing(chat=chat, is_typing=word))

    def sent(self, chat: str) -> None:
        self._own.sent(chat)

    def reads(self, chat: str, sequence: int) -> None:
        """About to be told: what comes back of it is not from elsewhere."""
        self._reads[chat] = max(self._reads.get(chat, 0), sequence)

    def has_read(self, chat: str, sequence: int) -> None:
        self.chats.read(chat, sequence)

    def went_live(self) -> None:
        self._watching.went_live()
        if self._appearance != "online":
            self._session.say(PresenceTold(status=self._appearance))

    def state_changed(self, state: State) -> None:
        """What others do can't be seen from here any more; how far they got stays true."""
        if state in (State.RESUMING, State.LIVE):
            return
        self._watching.went_away()
        if state is State.CLOSED:
            self._presences.clear()
            self._tell_typing(self._typists.forget())

    def restored(self) -> None:
        self._ticks.forget()
        self.chats.forget()
        self._reads.clear()

    def pushed(self, body: Body) -> None:
        match body:
            case ChatRow():
                self.chats.told(body)
                self._offer(body)
            case Receipts():
                self._heard(body)
            case TypingPush(chat=chat, user=user, is_typing=True):
                is_new = self._typists.heard(chat, user, self._now())
                self._tell_typing({chat} if is_new else set())
            case TypingPush(chat=chat, user=user):
                self._tell_typing({chat} if self._typists.stopped(chat, user) else set())
            case PresencePush(user=user, status=status, at=at):
                self._presences[user] = Presence(user, status, at)
                self._offer(self._presences[user])

    def gave(self, chat: str, entries: list[Entry]) -> None:
        """Entries of the log, in order, each once."""
        user = self._user() or ""
        row = self.chats.came(chat, entries, user)
        if row is not None:
            self._offer(row)
        if True in [self._saw(chat, entry, user) for entry in entries]:
            self._offer(TicksChanged(chat))

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _saw(self, chat: str, entry: Entry, user: str) -> bool:
        if entry.kind == "message" and self._typists.stopped(chat, entry.by):
            self._tell_typing({chat})
        if not self._watching.is_watched(chat):
            return False
        return self._ticks.of(chat).saw(entry) and (entry.by != user or entry.kind != "message")

    def _heard(self, receipts: Receipts) -> None:
        chat, user = receipts.chat, self._user()
        for each in receipts.members:
            if each.user == user and each.read and self._is_from_elsewhere(chat, each.read):
                self._offer(ReadElsewhere(chat, each.read))
        is_of_others = receipts.is_all or any(each.user != user for each in receipts.members)
        if self._watching.is_watched(chat) and self._ticks.of(chat).heard(receipts) and is_of_others:
            self._offer(TicksChanged(chat))

    def _is_from_elsewhere(self, chat: str, read: int) -> bool:
        return self.chats.read(chat, read) and read > self._reads.get(chat, 0)

    def _tell_typing(self, chats: set[str]) -> None:
        for chat in sorted(chats):
            self._offer(TypingChanged(chat, self._typists.of(chat)))
        self._set_timer()

    def _set_timer(self) -> None:
        self.close()
        due_at = self._typists.due_at
        if due_at < inf:
            self._timer = asyncio.get_running_loop().call_at(due_at, self._end_typing)

    def _end_typing(self) -> None:
        self._tell_typing(self._typists.end_those_due(self._now()))

    def _now(self) -> float:
        return asyncio.get_running_loop().time()
