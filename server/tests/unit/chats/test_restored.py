"""Rows of members and chats, compared with the end of a log that a restore has left."""

from collections.abc import Collection, Sequence
from typing import Any

import pytest

from tidings.chats.model import MAX_SMALL_MEMBERS, Chat, ChatType, Membership, Role, direct_chat_key
from tidings.chats.restored import restored_chat, restored_membership
from tidings.kernel.ids import ChatId, ChatKey, ClientKey, TenantId, UserId
from tidings.messages.model import Entry, EntryKind, Interval
from tidings.messages.ports import PastEnd

ANNA, BEN, CARL = UserId("anna"), UserId("ben"), UserId("carl")
GROUP = ChatKey(TenantId("t"), ChatId("g_1"))
DIRECT = direct_chat_key(TenantId("t"), ANNA, BEN)
END = 50


def entry(sequence: int, kind: EntryKind, **more: Any) -> Entry:
    return Entry(
        sequence=sequence,
        ordinal=sequence,
        kind=kind,
        sender=more.pop("sender", CARL),
        client_key=ClientKey(f"k{sequence}"),
        fingerprint=b"",
        created_at_ms=sequence * 1000,
        **more,
    )


def member(*intervals: Interval, role: Role = Role.MEMBER, **more: Any) -> Membership:
    return Membership(user=ANNA, role=role, intervals=intervals or (Interval(0, None),), **more)


def compared(row: Membership | None, *changes: Entry, chat: ChatKey = GROUP) -> Membership:
    found = restored_membership(chat.chat, ANNA, row, PastEnd(END, changes=changes))
    assert found is not None
    return found


@pytest.mark.parametrize(("removed", "kept"), [(END - 1, END - 1), (END, END), (END + 1, None)])
def test_a_leave_remains_up_to_the_end_of_the_log(removed: int, kept: int | None) -> None:
    assert compared(member(Interval(3, removed))).intervals == (Interval(3, kept),)


@pytest.mark.parametrize(("joined", "kept"), [(END - 1, 2), (END, 1), (END + 4, 1)])
def test_a_join_remains_up_to_the_end_of_the_log(joined: int, kept: int) -> None:
    intervals = Interval(3, 8), Interval(joined, None)
    assert compared(member(*intervals)).intervals == intervals[:kept]


def test_sequences_of_rights_are_lowered_to_the_end_of_the_log() -> None:
    """Otherwise the entries that take the lost sequences would not count as sent with this right."""
    found = compared(member(right_since=END + 5, unmuted_at=END + 6))
    assert (found.right_since, found.unmuted_at) == (END, END)


def test_a_role_from_before_the_last_join_is_not_applied() -> None:
    admin = entry(10, EntryKind.ROLE, users=(ANNA,), role="admin")
    leave, join = (
        entry(12, EntryKind.LEAVE, users=(ANNA,)),
        entry(14, EntryKind.JOIN, users=(ANNA,)),
    )
    assert compared(member(), admin).role is Role.ADMIN
    assert compared(member(), admin, leave, join).role is Role.MEMBER
    assert compared(member(Interval(0, 12), Interval(13, None)), admin, leave, join).role is Role.MEMBER


def test_the_former_owner_is_an_admin_after_a_transfer() -> None:
    transfer = entry(10, EntryKind.ROLE, users=(BEN, ANNA), role="owner")
    assert compared(member(role=Role.OWNER), transfer).role is Role.ADMIN
    assert compared(member(), entry(11, EntryKind.ROLE, users=(ANNA, BEN), role="owner")).role is Role.OWNER


@pytest.mark.parametrize("sender", [ANNA, BEN])
def test_a_block_and_its_end_change_the_rows_of_both_users(sender: UserId) -> None:
    other = BEN if sender == ANNA else ANNA
    block = entry(10, EntryKind.BLOCK, sender=sender, users=(other,), role="block")
    lifted = entry(12, EntryKind.BLOCK, sender=sender, users=(other,), role="unblock")
    found = compared(member(), block, chat=DIRECT)
    assert (found.blocks_other, found.blocked_by_other, found.right_since) == (
        sender == ANNA,
        sender == BEN,
        0,
    )
    found = compared(member(), block, lifted, chat=DIRECT)
    assert (found.blocks_other, found.blocked_by_other, found.right_since) == (False, False, 12)


LEAVE_12, JOIN_13, JOIN_15 = (
    entry(12, EntryKind.LEAVE, users=(ANNA,)),
    entry(13, EntryKind.JOIN, users=(ANNA,)),
    entry(15, EntryKind.JOIN, users=(ANNA,)),
)


def intervals_with_lost(row: Membership, *changes: Entry, lost: Collection[int] = ()) -> Sequence[Interval]:
    past = PastEnd(END, changes=changes, lost=frozenset(lost))
    found = restored_membership(GROUP.chat, ANNA, row, past)
    assert found is not None
    return found.intervals


def test_a_row_behind_its_log_gets_a_join_right_after_a_leave() -> None:
    left, back = Interval(0, 12), Interval(12)
    for row in (member(), member(left), member(left, back)):
        assert intervals_with_lost(row, LEAVE_12, JOIN_13) == (left, back)


@pytest.mark.parametrize(
    ("row", "changes", "lost", "wanted"),
    [
        pytest.param([(0, 12)], [], [12], [(0, None)], id="a lost leave"),
        pytest.param([(0, 8), (11, None)], [], [12], [(0, 8)], id="a lost join"),
        pytest.param([(0, 12), (13, None)], [], [12, 14], [(0, None)], id="both"),
        pytest.param([(0, 12), (13, 18)], [], [12, 14], [(0, 18)], id="both, and a leave that remains"),
        pytest.param([(0, 8), (11, 18)], [], [12], [(0, 8)], id="a lost join, and a leave that remains"),
        pytest.param(
            [(0, 12), (14, None)], [], [12], [(0, 12), (14, None)], id="a join that proves the leave"
        ),
        pytest.param(
            [(0, None)], [JOIN_15], [9, 12, 17], [(0, 12), (14, None)], id="a join that the row lacks"
        ),
        pytest.param([(0, None)], [JOIN_15], [], [(0, None)], id="a second join without a lost entry"),
        pytest.param([(14, None)], [JOIN_15], [12], [(14, None)], id="a join that the row has"),
    ],
)
def test_a_row_agrees_with_a_log_that_lost_entries(
    row: list[tuple[int, int | None]],
    changes: list[Entry],
    lost: list[int],
    wanted: list[tuple[int, int | None]],
) -> None:
    before = member(*(Interval(*each) for each in row))
    assert intervals_with_lost(before, *changes, lost=lost) == tuple(Interval(*each) for each in wanted)


def test_a_chat_keeps_the_sequence_at_which_it_became_large() -> None:
    row = Chat(key=GROUP, type=ChatType.GROUP, created_by=CARL, member_count=5)
    joins = [
        entry(sequence, EntryKind.JOIN, users=(ANNA,), member_count=MAX_SMALL_MEMBERS + sequence)
        for sequence in (0, 1, 2)
    ]
    found = restored_chat(GROUP, row, PastEnd(END, changes=joins))
    assert found is not None
    assert (found.large_since, found.member_count) == (1, MAX_SMALL_MEMBERS + 2)
