"""The part of a run that each user receives, and its gateway."""

from typing import Any

from tidings.bus.model import DeviceTarget, PushSlice
from tidings.chats.model import Membership, Role
from tidings.connections.model import GatewayId, Route
from tidings.delivery import fanout_plan
from tidings.delivery.fanout_plan import EntrySpan
from tidings.kernel.ids import ChatId, ChatKey, ClientKey, DeviceId, TenantId, UserId
from tidings.messages.model import Entry, EntryKind, Interval

ACME = TenantId("acme")
CHAT = ChatKey(ACME, ChatId("gX"))
ANNA, BEN, CLEO = (UserId(name) for name in ("anna", "ben", "cleo"))
ONE, TWO = GatewayId("one"), GatewayId("two")


def entry(sequence: int, kind: EntryKind = EntryKind.MESSAGE, **more: Any) -> Entry:
    given = {"sender": ANNA, "ordinal": sequence, "client_key": ClientKey(str(sequence)), **more}
    return Entry(sequence=sequence, kind=kind, fingerprint=b"", created_at_ms=0, **given)


def member(user: UserId, *intervals: tuple[int, int | None]) -> Membership:
    return Membership(user=user, role=Role.MEMBER, intervals=tuple(Interval(*each) for each in intervals))


def at(gateway: GatewayId, device: str, epoch: int = 1) -> Route:
    return Route(DeviceId(device), gateway, epoch)


RUN = [entry(n) for n in range(5, 11)]


def test_each_member_gets_exactly_the_entries_of_their_intervals() -> None:
    members = [
        member(ANNA, (0, None)),
        member(BEN, (0, 6), (8, None)),
        member(CLEO, (0, 4)),
        member(UserId("dora"), (10, None)),
    ]
    assert list(fanout_plan.split_spans(members, RUN)) == [
        EntrySpan(ANNA, 5, 10),
        EntrySpan(BEN, 5, 6),
        EntrySpan(BEN, 9, 10),
    ]


def test_devices_with_equal_ranges_share_a_part_and_a_gateway_gets_only_entries_for_its_devices() -> None:
    members = [member(ANNA, (0, None)), member(BEN, (0, None)), member(CLEO, (7, None))]
    found = {
        (ACME, ANNA): [at(ONE, "a1", 3), at(ONE, "a2", 4)],
        (ACME, BEN): [at(ONE, "b1", 5)],
        (ACME, CLEO): [at(TWO, "c1", 6)],
        (TenantId("other"), ANNA): [at(TWO, "not of this tenant")],
    }
    going = fanout_plan.build_pushes([fanout_plan.plan_small(CHAT, RUN, members)], found)
    (push,) = going[ONE]
    devices = (DeviceTarget(ANNA, DeviceId("a1"), 3), DeviceTarget(ANNA, DeviceId("a2"), 4))
    assert push.parts == (PushSlice(5, 10, (*devices, DeviceTarget(BEN, DeviceId("b1"), 5))),)
    assert [each.sequence for each in push.entries] == [5, 6, 7, 8, 9, 10]
    (push,) = going[TWO]
    assert push.parts == (PushSlice(8, 10, (DeviceTarget(CLEO, DeviceId("c1"), 6),)),)
    assert [each.sequence for each in push.entries] == [8, 9, 10]


def test_only_messages_with_content_are_queued_for_other_users() -> None:
    run = [
        entry(1, EntryKind.CREATE, users=(ANNA, BEN)),
        entry(2),
        entry(3, sender=BEN),
        entry(4),
        entry(5, EntryKind.REDACTION, refers_to=4),
        entry(6, redacted_at_ms=1),
        entry(7, EntryKind.LEAVE, users=(CLEO,)),
        entry(8),
    ]
    members = [member(ANNA, (0, None)), member(BEN, (0, None)), member(CLEO, (0, 7))]
    keeps = fanout_plan.plan_small(CHAT, run, members).offline_messages
    assert {user: [each.sequence for each in kept] for user, kept in keeps.items()} == {
        ANNA: [3],
        BEN: [2, 8],
        CLEO: [2, 3],
    }


def test_in_a_large_chat_joins_and_leaves_are_pushed_to_the_routes_of_the_user() -> None:
    run = [
        entry(5),
        entry(6, EntryKind.JOIN, users=(BEN, CLEO)),
        entry(7),
        entry(8, EntryKind.LEAVE, users=(CLEO,)),
        entry(9),
        entry(10, EntryKind.LEAVE, users=(ANNA,)),
    ]
    large = fanout_plan.plan_large(CHAT, run)
    (leg,) = large.routed
    assert leg.spans == (
        EntrySpan(BEN, 6, 10),
        EntrySpan(CLEO, 6, 7),
        EntrySpan(CLEO, 8, 8),
        EntrySpan(ANNA, 10, 10),
    )
    assert leg.is_large
    assert large.on_channel == run
    assert large.offline_messages == {}
    assert fanout_plan.plan_large(CHAT, RUN).routed == ()
