"""Delivery status by the server's rule, from receipts and the log alone."""

from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from tidings.chats.model import Membership, Role
from tidings.delivery import watermarks as server
from tidings.delivery.model import MessageStatus
from tidings.kernel.ids import ClientKey, UserId
from tidings.messages.model import Entry as StoredEntry
from tidings.messages.model import EntryKind, Interval
from tidings_sdk import DeliveryStatus, Entry
from tidings_sdk.receipts import ChatReceipts
from tidings_wire.frames.ephemeral import MemberWatermarks, Receipts

PEOPLE = ("anna", "ben", "cleo", "dora")


def receipts(*members: MemberWatermarks, is_snapshot: bool = False) -> Receipts:
    return Receipts(chat="g1", members=members, is_snapshot=is_snapshot)


def entry(sequence: int, kind: str = "message", by: str = "anna", *users: str) -> Entry:
    return Entry(sequence=sequence, by=by, at=1, kind=kind, users=users)


def chat_of(*users: str) -> ChatReceipts:
    ticks = ChatReceipts()
    ticks.apply_receipts(
        receipts(*(MemberWatermarks(user=user, since=1) for user in users), is_snapshot=True)
    )
    return ticks


def test_a_message_is_read_when_all_members_have_read_it() -> None:
    ticks = chat_of("anna", "ben", "cleo")
    assert ticks.status(5, "anna").status is DeliveryStatus.SENT
    ticks.apply_receipts(
        receipts(MemberWatermarks(user="ben", delivered=5), MemberWatermarks(user="cleo", delivered=7))
    )
    assert ticks.status(5, "anna").status is DeliveryStatus.DELIVERED
    ticks.apply_receipts(receipts(MemberWatermarks(user="ben", read=5)))
    assert ticks.status(5, "anna") == ticks.status(4, "anna")
    assert (ticks.status(5, "anna").status, ticks.status(5, "anna").read_by) == (
        DeliveryStatus.DELIVERED,
        ("ben",),
    )
    ticks.apply_receipts(receipts(MemberWatermarks(user="cleo", read=6)))
    assert ticks.status(5, "anna").status is DeliveryStatus.READ
    assert ticks.status(6, "anna").status is DeliveryStatus.SENT


def test_watermarks_never_move_back_even_with_a_late_snapshot() -> None:
    ticks = chat_of("anna", "ben")
    ticks.apply_receipts(receipts(MemberWatermarks(user="ben", delivered=9, read=9)))
    assert not ticks.apply_receipts(receipts(MemberWatermarks(user="ben", delivered=3, read=2)))
    assert not ticks.apply_receipts(
        receipts(
            MemberWatermarks(user="anna", since=1),
            MemberWatermarks(user="ben", since=1, read=4),
            is_snapshot=True,
        )
    )
    assert ticks.status(9, "anna").status is DeliveryStatus.READ


def test_members_who_left_or_joined_later_do_not_delay_the_status() -> None:
    ticks = chat_of("anna", "ben", "cleo")
    ticks.apply_receipts(receipts(MemberWatermarks(user="ben", read=5)))
    assert ticks.status(5, "anna").status is DeliveryStatus.SENT
    assert ticks.saw(entry(6, "leave", "cleo", "cleo"))
    assert ticks.status(5, "anna").status is DeliveryStatus.READ
    assert ticks.saw(entry(7, "join", "anna", "dora"))
    assert ticks.status(5, "anna").status is DeliveryStatus.READ
    assert ticks.status(8, "anna").status is DeliveryStatus.SENT
    assert ticks.members == ("anna", "ben", "dora")


def test_a_user_absent_from_the_snapshot_is_not_a_member() -> None:
    ticks = chat_of("anna", "ben", "cleo")
    assert ticks.apply_receipts(
        receipts(
            MemberWatermarks(user="anna", since=1),
            MemberWatermarks(user="ben", since=1, read=5),
            is_snapshot=True,
        )
    )
    assert ticks.status(5, "anna").status is DeliveryStatus.READ


def test_there_is_no_status_before_the_first_snapshot() -> None:
    ticks = ChatReceipts()
    assert not ticks.saw(entry(3, "message", "ben"))
    status = ticks.status(2, "anna")
    assert (status.status, status.has_receipts) == (DeliveryStatus.SENT, False)


def test_the_only_member_of_a_chat_sees_no_delivered_status() -> None:
    assert chat_of("anna").status(5, "anna").status is DeliveryStatus.SENT


@dataclass
class Truth:
    """A chat in the state of the server."""

    head: int = 1
    intervals: dict[str, list[Interval]] = field(
        default_factory=lambda: {user: [Interval(0)] for user in PEOPLE[:3]}
    )
    delivered: dict[str, int] = field(default_factory=dict)
    read: dict[str, int] = field(default_factory=dict)
    sent: list[tuple[int, str]] = field(default_factory=list)

    def is_member(self, user: str) -> bool:
        stays = self.intervals.get(user, [])
        return bool(stays) and stays[-1].removed is None

    def statuses(self) -> list[MessageStatus]:
        members = [
            server.MemberPositions(
                Membership(user=UserId(user), role=Role.MEMBER, intervals=tuple(stays)),
                self.read.get(user, 0),
                max(self.delivered.get(user, 0), self.read.get(user, 0)),
            )
            for user, stays in self.intervals.items()
        ]
        return [server.message_status(_stored(sequence, by), members) for sequence, by in self.sent]

    def whole(self) -> Receipts:
        return receipts(
            *(
                MemberWatermarks(
                    user=user,
                    delivered=self.delivered.get(user, 0),
                    read=self.read.get(user, 0),
                    since=stays[-1].joined + 1,
                )
                for user, stays in self.intervals.items()
                if self.is_member(user)
            ),
            is_snapshot=True,
        )

    def step(self, verb: str, user: str, back: int) -> Entry | Receipts | None:
        """Apply a step if it is possible. Return what the server pushes to the client."""
        if verb == "whole":
            return self.whole()
        if verb in ("delivered", "read"):
            if not self.is_member(user):
                return None
            marks, upto = (self.read if verb == "read" else self.delivered), max(1, self.head - back)
            marks[user] = max(marks.get(user, 0), upto)
            member = (
                MemberWatermarks(user=user, read=upto)
                if verb == "read"
                else MemberWatermarks(user=user, delivered=upto)
            )
            return receipts(member)
        if self.is_member(user) == (verb == "join"):
            return None
        self.head += 1
        if verb == "message":
            self.sent.append((self.head, user))
            self.read[user] = self.head
        elif verb == "join":
            self.intervals.setdefault(user, []).append(Interval(self.head - 1))
        else:
            self.intervals[user][-1] = self.intervals[user][-1]._replace(removed=self.head)
        return entry(self.head, verb, user, *([] if verb == "message" else [user]))


def _stored(sequence: int, by: str) -> StoredEntry:
    return StoredEntry(
        sequence=sequence,
        ordinal=sequence,
        kind=EntryKind.MESSAGE,
        sender=UserId(by),
        client_key=ClientKey("k"),
        fingerprint=b"",
        created_at_ms=1,
    )


VERBS = st.sampled_from(["message", "message", "delivered", "read", "join", "leave", "whole"])


@given(st.lists(st.tuples(VERBS, st.sampled_from(PEOPLE), st.integers(0, 3)), max_size=40))
def test_the_client_derives_the_same_status_as_the_server(steps: list[tuple[str, str, int]]) -> None:
    truth, ticks = Truth(), ChatReceipts()
    ticks.apply_receipts(truth.whole())
    for step in steps:
        received = truth.step(*step)
        if isinstance(received, Receipts):
            ticks.apply_receipts(received)
        elif received is not None:
            ticks.saw(received)
        for (sequence, by), theirs in zip(truth.sent, truth.statuses(), strict=True):
            ours = ticks.status(sequence, by)
            members = set(ticks.members)
            assert members == {user for user in PEOPLE if truth.is_member(user)}
            assert ours.status.name == theirs.status.name
            assert members & set(ours.read_by) == members & set(theirs.read_by)
            assert members & set(ours.delivered_to) == members & set(theirs.delivered_to)
