"""On a connection the entries of a chat arrive in order, without gaps or repeats, for any order of pushes."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tidings.gateway.connected_device import NEVER_JOINED, UNKNOWN, ChatPosition, ConnectedDevice, PushAction
from tidings.gateway.fanout.memberships import MembershipEffects
from tidings.kernel.ids import ChatId, ClientKey, DeviceId, DeviceKey, TenantId, UserId
from tidings.messages.model import Entry, EntryKind

CHAT = ChatId("g1")
KEY = DeviceKey(TenantId("acme"), UserId("ben"), DeviceId("phone"))
NO_SOCKET: Any = None


def connected_device(*, is_live: bool = True, position: int | None = None) -> ConnectedDevice:
    made = ConnectedDevice(KEY, NO_SOCKET)
    made.is_live = is_live
    if position is not None:
        made.positions[CHAT] = ChatPosition(position)
    return made


@given(st.lists(st.tuples(st.integers(1, 30), st.integers(0, 5), st.booleans()), max_size=60))
def test_pushes_in_any_order_are_sent_once_and_in_order(
    pushes: list[tuple[int, int, bool]],
) -> None:
    """Reads end at random times, and reach the highest recorded sequence."""
    made, got = connected_device(position=0), list[int]()
    place = made.positions[CHAT]
    highest = 0
    for first, more, reads in pushes:
        last, before = first + more, place.position
        highest = max(highest, last)
        offer = made.offered(CHAT, first, last)
        if offer is PushAction.SEND:
            got += range(max(first, before + 1), last + 1)
        elif offer is PushAction.GAP:
            place.is_reading = True
        if place.is_reading and reads:
            got += range(place.position + 1, place.ahead + 1)
            place.position, place.is_reading = place.ahead, False
    assert got == list(range(1, place.position + 1))
    assert max(place.position, place.ahead) == highest


def test_a_resuming_device_records_only_the_highest_pushed_sequence() -> None:
    made = connected_device(is_live=False, position=3)
    assert [made.offered(CHAT, n, n) for n in (4, 9, 6)] == [PushAction.DEFER] * 3
    assert (made.positions[CHAT].position, made.positions[CHAT].ahead) == (3, 9)
    assert made.behind() == [CHAT]
    assert made.offered(ChatId("new"), 5, 7) is PushAction.DEFER
    assert made.positions[ChatId("new")].position == UNKNOWN


def test_a_new_chat_on_a_live_connection_starts_with_the_first_push() -> None:
    made = connected_device()
    assert made.offered(CHAT, 40, 41) is PushAction.SEND
    assert made.offered(CHAT, 41, 41) is PushAction.DUPLICATE
    assert made.offered(CHAT, 43, 43) is PushAction.GAP


def test_an_entry_that_cannot_be_decrypted_is_a_gap() -> None:
    made = connected_device(position=3)
    assert made.on_push(CHAT, 4, 5) is PushAction.GAP
    assert (made.positions[CHAT].position, made.positions[CHAT].ahead) == (3, 5)
    assert made.on_push(CHAT, 2, 3) is PushAction.DUPLICATE


def moves(sequence: int, kind: EntryKind, *users: str) -> Entry:
    return Entry(
        sequence=sequence,
        ordinal=0,
        kind=kind,
        sender=UserId("anna"),
        client_key=ClientKey("k"),
        fingerprint=b"",
        created_at_ms=0,
        users=tuple(map(UserId, users)),
    )


class Recorder:
    """Everything that a membership entry can affect."""

    def __init__(self) -> None:
        self.left: list[ChatId] = []
        self.rows: list[ChatId] = []
        self.changed: list[int] = []
        self.rejoined: list[ChatId] = []

    def leave(self, _: ConnectedDevice, chat: ChatId) -> None:
        self.left.append(chat)

    def joined(self, _: ConnectedDevice, chat: ChatId) -> None:
        self.rows.append(chat)

    def on_membership_changed(self, _: ConnectedDevice, __: ChatId, entry: Entry) -> None:
        self.changed.append(entry.sequence)

    def on_rejoined(self, _: ConnectedDevice, chat: ChatId) -> None:
        self.rejoined.append(chat)


def test_joins_and_leaves_change_the_first_visible_sequence() -> None:
    made, recorder = connected_device(position=3), Recorder()
    parts: Any = recorder
    memberships = MembershipEffects(parts, parts, parts, recorder.on_rejoined)
    memberships.entry_sent(made, CHAT, moves(4, EntryKind.JOIN, "cleo"))
    assert made.positions[CHAT].since == NEVER_JOINED
    memberships.entry_sent(made, CHAT, moves(5, EntryKind.JOIN, "ben", "cleo"))
    assert made.positions[CHAT].since == 5
    assert recorder.rows == [CHAT]
    memberships.entry_sent(made, CHAT, moves(6, EntryKind.LEAVE, "cleo"))
    assert recorder.left == []
    memberships.entry_sent(made, CHAT, moves(7, EntryKind.LEAVE, "ben"))
    assert (made.positions[CHAT].since, recorder.left) == (NEVER_JOINED, [CHAT])
    assert recorder.changed == [4, 5, 6, 7]


def test_a_user_who_rejoins_a_chat_that_was_large_subscribes_again() -> None:
    made, recorder = connected_device(position=3), Recorder()
    parts: Any = recorder
    memberships = MembershipEffects(parts, parts, parts, recorder.on_rejoined)
    made.large_chat_channels[CHAT] = None
    memberships.entry_sent(made, CHAT, moves(4, EntryKind.LEAVE, "ben"))
    memberships.entry_sent(made, CHAT, moves(5, EntryKind.JOIN, "ben"))
    assert recorder.rejoined == [CHAT]
