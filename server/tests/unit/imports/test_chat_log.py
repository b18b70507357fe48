"""The log that is derived from the lines of a chat."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidings.chats.model import Role
from tidings.imports.chat_log import ImportedChatLog, MembersChange, PlannedEntry, find_member_problem
from tidings.imports.model import ChatLine, MemberLine, MessageLine
from tidings.kernel.ids import UserId
from tidings.messages.model import EntryKind, Interval, may_see

START = datetime(2024, 1, 1, tzinfo=UTC)
ADA, BEN, CLEO = UserId("ada"), UserId("ben"), UserId("cleo")
GROUP = ChatLine(id="C1", kind="group", name="General", created_at=START, created_by=ADA)


def at(minute: int) -> datetime:
    return START + timedelta(minutes=minute)


def member(
    user: UserId, joined: int | None = None, left: int | None = None, role: Role = Role.MEMBER
) -> MemberLine:
    return MemberLine(
        chat="C1",
        user=user,
        role=role,
        joined_at=None if joined is None else at(joined),
        left_at=None if left is None else at(left),
    )


def message(number: int, user: UserId = ADA, reply_to: str | None = None) -> MessageLine:
    return MessageLine(chat="C1", id=f"m{number}", user=user, at=at(number), text="hi", reply_to=reply_to)


def build(
    members: list[MemberLine], messages: list[MessageLine], chat: ChatLine = GROUP
) -> tuple[ImportedChatLog, list[PlannedEntry]]:
    log = ImportedChatLog(chat, members)
    entries = [entry for each in messages for entry in log.add(each)]
    return log, [*entries, *log.finish()]


def kinds(entries: list[PlannedEntry]) -> list[EntryKind]:
    return [e.change.kind if isinstance(e.change, MembersChange) else EntryKind.MESSAGE for e in entries]


def test_a_log_begins_with_its_creation_and_counts_only_messages() -> None:
    log, entries = build([member(ADA), member(BEN)], [message(1), message(2, BEN)])
    assert kinds(entries) == [EntryKind.CREATE, EntryKind.MESSAGE, EntryKind.MESSAGE]
    assert [(e.sequence, e.ordinal) for e in entries] == [(1, 0), (2, 1), (3, 2)]
    assert log.members[ADA].role is Role.OWNER
    assert log.members[BEN].own == (3, 2)


def test_members_join_and_leave_between_messages_by_their_times() -> None:
    log, entries = build([member(ADA), member(BEN, 2, 4)], [message(n) for n in (1, 3, 5)])
    assert kinds(entries) == [
        EntryKind.CREATE,
        EntryKind.MESSAGE,
        EntryKind.JOIN,
        EntryKind.MESSAGE,
        EntryKind.LEAVE,
        EntryKind.MESSAGE,
    ]
    assert log.members[BEN].intervals == [Interval(2, 5)]
    assert not log.members[BEN].is_member
    assert log.last_leave == 5
    assert log.member_count == 1


def test_a_user_who_joins_again_has_two_intervals() -> None:
    log, _ = build([member(ADA), member(BEN, None, 2), member(BEN, 4)], [message(n) for n in (1, 3, 5)])
    seen = [n for n in range(1, log.head + 1) if may_see(log.members[BEN].intervals, n)]
    assert seen == [1, 2, 3, 5, 6]
    assert log.members[BEN].removed == 3


def test_a_reply_names_the_sequence_of_its_parent() -> None:
    _, entries = build([member(ADA)], [message(1), message(2, reply_to="m1"), message(3, reply_to="gone")])
    assert [entry.reply_to for entry in entries] == [None, None, 2, None]


def test_a_group_with_many_members_has_join_entries_of_limited_size_and_is_large() -> None:
    users = [UserId(f"u{n}") for n in range(250)]
    log, entries = build([member(user) for user in users], [])
    changes = [entry.change for entry in entries if isinstance(entry.change, MembersChange)]
    assert [len(change.users) for change in changes] == [97, 97, 56]
    assert [change.member_count for change in changes] == [97, 194, 250]
    assert log.large_since == 2


def test_a_message_before_the_creation_moves_the_creation() -> None:
    late = ChatLine(id="C1", kind="group", name="x", created_at=at(10))
    _, entries = build([member(ADA)], [message(1)], late)
    assert [entry.at_ms for entry in entries] == [int(at(1).timestamp() * 1000)] * 2


def test_memberships_from_before_the_log_are_one_membership_or_none() -> None:
    late = ChatLine(id="C1", kind="group", name="x", created_at=at(10))
    members = [member(ADA), member(BEN, 1, 2), member(BEN, 3), member(CLEO, 1, 10)]
    log, entries = build(members, [message(11)], late)
    assert kinds(entries) == [EntryKind.CREATE, EntryKind.MESSAGE]
    assert log.members[BEN].intervals == [Interval(0)]
    assert CLEO not in log.members


def test_the_author_of_a_message_need_not_be_a_member() -> None:
    log, _ = build([member(ADA)], [message(1, CLEO)])
    assert CLEO not in log.members


@given(
    st.lists(
        st.tuples(st.sampled_from(["a", "b", "c"]), st.none() | st.integers(0, 50), st.integers(0, 50)),
        max_size=3,
        unique_by=lambda each: each[0],
    ),
    st.lists(st.integers(0, 60), max_size=20),
)
def test_sequences_are_dense_times_never_go_back_and_intervals_match_the_entries(
    others: list[tuple[str, int | None, int]], times: list[int]
) -> None:
    members = [member(ADA)]
    members += [member(UserId(u), j, None if left < (j or 0) else left) for u, j, left in others]
    lines = [
        MessageLine(chat="C1", id=f"m{n}", user=ADA, at=at(minute), text="x")
        for n, minute in enumerate(sorted(times))
    ]
    assert find_member_problem(GROUP, members) is None
    log, entries = build(members, lines)
    assert [e.sequence for e in entries] == list(range(1, len(entries) + 1))
    assert [e.at_ms for e in entries] == sorted(e.at_ms for e in entries)
    assert entries[-1].ordinal == len(times)
    joined: set[UserId] = set()
    for entry in entries:
        if isinstance(entry.change, MembersChange):
            is_leave = entry.change.kind is EntryKind.LEAVE
            joined = joined.difference(entry.change.users) if is_leave else joined.union(entry.change.users)
            assert len(joined) == entry.change.member_count
        now = {u for u, s in log.members.items() if may_see(s.intervals, entry.sequence)}
        # A leave is the last entry that its user sees.
        assert joined <= now <= joined.union(getattr(entry.change, "users", ()))
    assert joined == {user for user, state in log.members.items() if state.is_member}


@pytest.mark.parametrize(
    ("chat", "members", "reason"),
    [
        (ChatLine(id="D", kind="direct"), [member(ADA)], "needs two members"),
        (ChatLine(id="D", kind="direct"), [member(ADA), member(ADA)], "needs two members"),
        (ChatLine(id="D", kind="direct"), [member(ADA), member(BEN, 1)], "needs two members"),
        (ChatLine(id="C1", kind="group"), [member(ADA)], "needs a `name`"),
        (GROUP, [member(ADA, None, 4)], "no present member"),
        (GROUP, [], "no present member"),
        (GROUP, [member(ADA, role=Role.OWNER), member(BEN, role=Role.OWNER)], "more than one owner"),
        (GROUP, [member(ADA), member(ADA, 2)], "overlap"),
        (GROUP, [member(ADA, 1, 5), member(ADA, 4)], "overlap"),
        (GROUP, [member(BEN), member(ADA, 5, 4)], "left before they joined"),
    ],
)
def test_members_that_a_chat_cannot_have_are_reported(
    chat: ChatLine, members: list[MemberLine], reason: str
) -> None:
    assert reason in (find_member_problem(chat, members) or "")
