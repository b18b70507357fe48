"""The permissions over their whole matrix, and the arithmetic of intervals."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tidings.chats.model import (
    ChatType,
    Membership,
    MemberStatus,
    Role,
    chat_type,
    direct_chat_key,
    group_chat_key,
    member_status_of,
)
from tidings.chats.rules import (
    MAX_INTERVALS,
    OF_EVERY_ROLE,
    PERMISSIONS,
    ChatAction,
    check_permission,
    removal_action,
    with_join,
    with_leave,
)
from tidings.kernel.errors import Code
from tidings.kernel.ids import ChatId, ClientKey, TenantId, UserId
from tidings.messages.model import Interval, may_see, visible_ranges
from tidings.schema.tables.limits import INTERVALS

# Written out by hand, so that a change of the table is seen twice: columns are group owner, admin, member; direct.
MATRIX = """
read           yes yes yes yes
send           yes yes yes yes
react          yes yes yes yes
edit_own       yes yes yes yes
redact_own     yes yes yes yes
redact_others  yes yes no  no
rename         yes yes no  no
add_members    yes yes no  no
remove_member  yes yes no  no
remove_admin   yes no  no  no
change_role    yes no  no  no
transfer       yes no  no  no
leave          no  yes yes no
block          no  no  no  yes
change_rules   yes yes no  no
"""
COLUMNS = (
    (ChatType.GROUP, Role.OWNER),
    (ChatType.GROUP, Role.ADMIN),
    (ChatType.GROUP, Role.MEMBER),
    (ChatType.DIRECT, Role.MEMBER),
)
EXPECTED = {
    (ChatAction(line.split()[0]), column): word == "yes"
    for line in MATRIX.strip().splitlines()
    for column, word in zip(COLUMNS, line.split()[1:], strict=True)
}
SILENCED = {ChatAction.SEND, ChatAction.REACT, ChatAction.EDIT_OWN}


def test_the_matrix_has_every_action() -> None:
    assert {action for action, _ in EXPECTED} == set(ChatAction)


@pytest.mark.parametrize(("action", "column"), list(EXPECTED))
def test_every_role_has_the_permissions_of_the_matrix(
    action: ChatAction, column: tuple[ChatType, Role]
) -> None:
    expected = None if EXPECTED[action, column] else Code.FORBIDDEN
    assert check_permission(action, MemberStatus(*column)) is expected


@pytest.mark.parametrize(("action", "kind"), list(product(ChatAction, ChatType)))
def test_a_non_member_has_no_permissions(action: ChatAction, kind: ChatType) -> None:
    assert check_permission(action, MemberStatus(kind, None)) is Code.NOT_A_MEMBER


@pytest.mark.parametrize(("action", "after"), list(product(ChatAction, [None, 0, 10**6])))
def test_a_non_member_gets_chat_not_found(action: ChatAction, after: int | None) -> None:
    for chat in (ChatId("dCHAT"), ChatId("gCHAT")):
        assert check_permission(action, member_status_of(chat, None), after) is Code.CHAT_NOT_FOUND


@pytest.mark.parametrize("action", list(ChatAction))
def test_a_block_prevents_sending_and_nothing_else(action: ChatAction) -> None:
    free = check_permission(action, MemberStatus(ChatType.DIRECT, Role.MEMBER))
    blocked = check_permission(action, MemberStatus(ChatType.DIRECT, Role.MEMBER, is_blocked=True))
    assert blocked is (Code.BLOCKED if action in SILENCED else free)


def test_a_retry_from_before_a_rejoin_is_refused() -> None:
    back = MemberStatus(ChatType.GROUP, Role.MEMBER, since=7)
    assert check_permission(ChatAction.SEND, back, 6) is Code.NOT_A_MEMBER
    assert check_permission(ChatAction.SEND, back, 7) is None
    assert check_permission(ChatAction.SEND, back, None) is None


ENTRIES = {
    ChatType.GROUP: ["join", "leave", "promote", "demote", "hand over", "message"],
    ChatType.DIRECT: ["block", "unblock", "message"],
}
IN_A_GROUP = {"promote": Role.ADMIN, "demote": Role.MEMBER, "hand over": Role.OWNER}


def after_entry(what: str, row: Membership, sequence: int) -> Membership:
    """The row as the stores leave it with this entry."""
    match what:
        case "join" if not row.is_member:
            return with_join(row.user, row, Role.MEMBER, sequence)
        case "leave" if row.is_member:
            return with_leave(row, sequence)
        case "promote" | "demote" | "hand over" if row.is_member:
            return replace(row, role=IN_A_GROUP[what], right_since=sequence)
        case "block":
            return replace(row, blocked_by_other=True)
        case "unblock" if row.blocked_by_other:
            return replace(row, blocked_by_other=False, right_since=sequence)
        case _:
            return row


def standings(kind: ChatType, entries: list[str]) -> list[MemberStatus]:
    """At each head of a log whose first entry lets the user in; `standings[h - 1]` is the one at head h."""
    chat = ChatId(kind.value)
    row = with_join(UserId("u"), None, Role.MEMBER, 1)
    rows = [row := after_entry(what, row, sequence) for sequence, what in enumerate(["create", *entries], 1)]
    return [member_status_of(chat, row) for row in rows]


@pytest.mark.parametrize(("kind", "action"), list(product(ChatType, ChatAction)))
@given(data=st.data())
def test_a_retry_is_refused_if_an_earlier_attempt_may_have_been_refused(
    kind: ChatType, action: ChatAction, data: st.DataObject
) -> None:
    """An attempt may wait while another is decided, at any head from `after` on."""
    at_heads = standings(kind, data.draw(st.lists(st.sampled_from(ENTRIES[kind]), max_size=8)))
    after = data.draw(st.integers(1, len(at_heads)))
    was_refused = any(check_permission(action, standing) for standing in at_heads[after - 1 :])
    is_refused = check_permission(action, at_heads[-1], after) is not None
    assert is_refused or not was_refused
    if action in OF_EVERY_ROLE[kind]:
        assert is_refused == was_refused, "and nobody else is"


def test_a_role_that_a_chat_does_not_have_has_no_permissions() -> None:
    assert (ChatType.DIRECT, Role.OWNER) not in PERMISSIONS
    assert check_permission(ChatAction.SEND, MemberStatus(ChatType.DIRECT, Role.OWNER)) is Code.FORBIDDEN


def test_an_owner_cannot_be_removed() -> None:
    assert removal_action(Role.OWNER) is None
    assert removal_action(Role.ADMIN) is ChatAction.REMOVE_ADMIN


def test_a_row_has_room_for_every_interval() -> None:
    assert MAX_INTERVALS == INTERVALS


def test_direct_chats_are_the_same_for_both_and_groups_for_every_try() -> None:
    tenant, anna, ben = TenantId("acme"), UserId("anna"), UserId("ben")
    assert direct_chat_key(tenant, anna, ben) == direct_chat_key(tenant, ben, anna)
    assert direct_chat_key(tenant, anna, ben) != direct_chat_key(tenant, anna, UserId("cleo"))
    group = group_chat_key(tenant, anna, ClientKey("k"))
    assert group == group_chat_key(tenant, anna, ClientKey("k"))
    assert (chat_type(group.chat), chat_type(direct_chat_key(tenant, anna, ben).chat)) == (
        ChatType.GROUP,
        ChatType.DIRECT,
    )


stays = st.lists(st.integers(1, 50), min_size=1, max_size=15, unique=True).map(sorted)


@given(stays, st.integers(0, 60), st.integers(0, 60))
def test_the_visible_part_of_a_range_has_exactly_the_visible_sequences(
    turns: list[int], after: int, up_to: int
) -> None:
    """Turns: sequences at which the user joins, leaves, joins …"""
    row: Membership | None = None
    for number, sequence in enumerate(turns):
        is_joining = number % 2 == 0
        row = (
            with_join(UserId("u"), row, Role.MEMBER, sequence)
            if is_joining
            else with_leave(row or _none(), sequence)
        )
    assert row is not None
    seen = {n for low, high in visible_ranges(row.intervals, after, up_to) for n in range(low + 1, high + 1)}
    assert seen == {n for n in range(after + 1, up_to + 1) if may_see(row.intervals, n)}
    assert seen == {n for n in range(after + 1, up_to + 1) if _is_inside(turns, n)}


def _none() -> Membership:
    raise AssertionError("left before joining")


def _is_inside(turns: list[int], sequence: int) -> bool:
    """Return visibility without intervals: from the join to the leave, both included."""
    inside = False
    for number, turn in enumerate(turns):
        is_joining = number % 2 == 0
        if turn < sequence or (turn == sequence and is_joining):
            inside = is_joining
    return inside


def test_an_interval_has_both_of_its_entries() -> None:
    row = with_leave(with_join(UserId("u"), None, Role.MEMBER, 5), 9)
    assert row.intervals == (Interval(4, 9),)
    assert [n for n in range(1, 15) if may_see(row.intervals, n)] == [5, 6, 7, 8, 9]
