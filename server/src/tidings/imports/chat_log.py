"""Derive the log of a chat from its lines: sequences, ordinals, membership intervals and positions. Pure.

The result depends on the lines only. So an import that is repeated or continued gives every entry the same sequence.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import batched, groupby
from typing import NamedTuple

from tidings.chats.model import MAX_SMALL_MEMBERS, Membership, Role
from tidings.delivery.model import JoinPosition, LogPosition
from tidings.imports.model import ChatLine, MemberLine, MessageLine, to_ms
from tidings.kernel.ids import UserId
from tidings.messages.model import EntryKind, Interval
from tidings.schema.tables.limits import INTERVALS, MAX_JOINS_PER_ENTRY


class MembersChange(NamedTuple):
    """The `create` entry, a join or a leave. `member_count` is the number of members after it."""

    kind: EntryKind
    sender: UserId
    users: tuple[UserId, ...]
    member_count: int


class PlannedEntry(NamedTuple):
    """An entry with its place in the log. `reply_to` is the sequence of the message that a message replies to."""

    sequence: int
    ordinal: int
    at_ms: int
    change: MembersChange | MessageLine
    reply_to: int | None = None

    @property
    def position(self) -> LogPosition:
        return LogPosition(self.sequence, self.ordinal)


@dataclass(slots=True)
class MemberState:
    """A present or former member. `named`: the last entry that they sent or that added or removed them."""

    user: UserId
    role: Role
    joined: JoinPosition
    named: LogPosition
    intervals: list[Interval] = field(default_factory=list)
    own: LogPosition | None = None

    @property
    def is_member(self) -> bool:
        return self.intervals[-1].removed is None

    @property
    def removed(self) -> int | None:
        """The last leave, which may be before the last join."""
        return max((each.removed for each in self.intervals if each.removed is not None), default=None)

    @property
    def membership(self) -> Membership:
        role = self.role if self.is_member else Role.MEMBER
        return Membership(user=self.user, role=role, intervals=tuple(self.intervals))


class _MemberEvent(NamedTuple):
    at_ms: int
    kind: EntryKind
    user: UserId
    role: Role


class ImportedChatLog:
    """The log of one chat. Call `add` for each message in the order of time, then `finish`.

    Check the members with `find_member_problem` before.
    """

    def __init__(self, chat: ChatLine, members: Sequence[MemberLine]) -> None:
        self.chat = chat
        self.head = 0
        self.ordinal = 0
        self.last_at_ms = 0
        self.member_count = 0
        self.large_since: int | None = None
        self.last_leave: int | None = None
        self.last_message: PlannedEntry | None = None
        self.members: dict[UserId, MemberState] = {}
        self.sequences: dict[str, int] = {}
        """The sequences of messages by their id."""
        self.owner = _owner(chat, members)
        self.created_by = chat.created_by or self.owner or members[0].user
        self.created_ms = 0
        self._lines = members
        self._events: list[_MemberEvent] = []
        self._next_event = 0

    def add(self, message: MessageLine) -> Iterator[PlannedEntry]:
        """Yield the message, after the joins and leaves that are not later than it."""
        at_ms = to_ms(message.at)
        yield from self._begin(at_ms)
        yield from self._member_entries(at_ms)
        self.ordinal += 1
        reply_to = None if message.reply_to is None else self.sequences.get(message.reply_to)
        planned = self._entry(at_ms, message, reply_to)
        self.sequences[message.id] = planned.sequence
        self.last_message = planned
        if (author := self.members.get(message.user)) is not None and author.is_member:
            author.own = author.named = planned.position
        yield planned

    def finish(self) -> Iterator[PlannedEntry]:
        """Yield the entries after the last message."""
        yield from self._begin(None)
        yield from self._member_entries(None)
        self._set_roles()

    @property
    def position(self) -> LogPosition:
        return LogPosition(self.head, self.ordinal)

    def _begin(self, first_ms: int | None) -> Iterator[PlannedEntry]:
        """Yield the `create` entry with the first members, once. Further members of the start join after it."""
        if self.head:
            return
        times = [] if first_ms is None else [first_ms]
        if self.chat.created_at is not None:
            times.append(to_ms(self.chat.created_at))
        self.created_ms = min(times, default=0)
        from_start: list[_MemberEvent] = []
        for event in _events(self._lines, self.created_ms):
            (from_start if event.at_ms <= self.created_ms else self._events).append(event)
        self._events.sort(key=lambda event: event.at_ms)
        from_start.sort(key=lambda event: event.user != self.owner)
        first, *others = list(batched(from_start, MAX_JOINS_PER_ENTRY)) or [()]
        yield self._changed(EntryKind.CREATE, self.created_by, first, self.created_ms)
        for chunk in others:
            yield self._changed(EntryKind.JOIN, self.created_by, chunk, self.created_ms)

    def _member_entries(self, up_to_ms: int | None) -> Iterator[PlannedEntry]:
        """Yield joins and leaves up to a time. Users who join at the same time share an entry."""
        due: list[_MemberEvent] = []
        while self._next_event < len(self._events):
            event = self._events[self._next_event]
            if up_to_ms is not None and event.at_ms > up_to_ms:
                break
            due.append(event)
            self._next_event += 1
        for (at_ms, kind), together in groupby(due, key=lambda event: (event.at_ms, event.kind)):
            size = 1 if kind is EntryKind.LEAVE else MAX_JOINS_PER_ENTRY
            for chunk in batched(together, size):
                yield self._changed(kind, chunk[0].user, chunk, at_ms)

    def _changed(
        self, kind: EntryKind, sender: UserId, events: Sequence[_MemberEvent], at_ms: int
    ) -> PlannedEntry:
        self.member_count += -1 if kind is EntryKind.LEAVE else len(events)
        change = MembersChange(kind, sender, tuple(event.user for event in events), self.member_count)
        planned = self._entry(at_ms, change)
        for event in events:
            if kind is EntryKind.LEAVE:
                self._leave(event.user, planned)
            else:
                self._join(event, planned)
        if self.member_count > MAX_SMALL_MEMBERS and self.large_since is None:
            self.large_since = planned.sequence
        return planned

    def _join(self, event: _MemberEvent, planned: PlannedEntry) -> None:
        joined = JoinPosition(planned.sequence, planned.ordinal, planned.at_ms)
        state = self.members.get(event.user)
        if state is None:
            state = MemberState(event.user, event.role, joined, planned.position)
            self.members[event.user] = state
        state.role, state.joined, state.named = event.role, joined, planned.position
        # A member sees the join itself: the interval begins before it.
        state.intervals.append(Interval(planned.sequence - 1))

    def _leave(self, user: UserId, planned: PlannedEntry) -> None:
        state = self.members[user]
        state.intervals[-1] = Interval(state.intervals[-1].joined, planned.sequence)
        state.named = planned.position
        self.last_leave = planned.sequence

    def _entry(
        self, at_ms: int, change: MembersChange | MessageLine, reply_to: int | None = None
    ) -> PlannedEntry:
        self.head += 1
        self.last_at_ms = max(self.last_at_ms, at_ms)
        return PlannedEntry(self.head, self.ordinal, self.last_at_ms, change, reply_to)

    def _set_roles(self) -> None:
        """Give the owner's role to the owner, also if no line does."""
        if self.owner is not None and self.chat.kind == "group":
            self.members[self.owner].role = Role.OWNER


def find_member_problem(chat: ChatLine, members: Sequence[MemberLine]) -> str | None:
    """Return what is wrong with the members of a chat, or None."""
    if chat.kind == "direct":
        is_complete = len(members) == len({each.user for each in members}) == 2  # noqa: PLR2004 - of a direct chat
        if not is_complete or any(each.joined_at or each.left_at for each in members):
            return f"The direct chat `{chat.id}` needs two members, without `joined_at` and `left_at`."
        return None
    if chat.name is None:
        return f"The group `{chat.id}` needs a `name`."
    if all(each.left_at is not None for each in members):
        return f"The group `{chat.id}` has no present member, so no user could read it."
    if sum(each.role is Role.OWNER and each.left_at is None for each in members) > 1:
        return f"The group `{chat.id}` has more than one owner."
    return _find_interval_problem(members)


def _find_interval_problem(members: Iterable[MemberLine]) -> str | None:
    lines: dict[UserId, list[MemberLine]] = {}
    for each in members:
        lines.setdefault(each.user, []).append(each)
    for user, found in lines.items():
        if len(found) > INTERVALS:
            return f"`{user}` joined {len(found)} times; {INTERVALS} are allowed."
        end = None
        for number, each in enumerate(found):
            if number and (each.joined_at is None or end is None or each.joined_at < end):
                return f"The memberships of `{user}` overlap: each needs `joined_at` after the `left_at` before it."
            if each.left_at and each.joined_at and each.left_at < each.joined_at:
                return f"`{user}` left before they joined."
            end = each.left_at
    return None


def _owner(chat: ChatLine, members: Sequence[MemberLine]) -> UserId | None:
    """Return the owner of a group: by role, else the creator, else the first member."""
    present = [each for each in members if each.left_at is None]
    by_role = (each.user for each in present if each.role is Role.OWNER)
    by_creation = (each.user for each in present if each.user == chat.created_by)
    return next(by_role, None) or next(by_creation, None) or next((each.user for each in present), None)


def _events(members: Iterable[MemberLine], created_ms: int) -> Iterator[_MemberEvent]:
    """Yield joins and leaves. A user who left before the log begins is left out: there is nothing that they may see."""
    for each in members:
        left_ms = None if each.left_at is None else to_ms(each.left_at)
        if left_ms is not None and left_ms <= created_ms:
            continue
        joined_ms = created_ms if each.joined_at is None else to_ms(each.joined_at)
        yield _MemberEvent(joined_ms, EntryKind.JOIN, each.user, each.role)
        if left_ms is not None:
            yield _MemberEvent(left_ms, EntryKind.LEAVE, each.user, each.role)
