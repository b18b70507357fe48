"""Receipts only advance, in any order. They are published together: one event per chat and window, and a user's own `read` to their devices."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from itertools import permutations
from typing import override

import pytest
from fixtures.loops import until
from fixtures.unused_ports import UnusedBus, UnusedRoutes
from hypothesis import given
from hypothesis import strategies as st

from tidings.bus.model import DeviceTarget, OwnReadAdvanced, decode_messages
from tidings.connections.model import GatewayId, LookupResult, Route
from tidings.delivery.model import WatermarkAdvanced
from tidings.ephemeral.model import MemberReceipt, ReceiptsEvent, TypingEvent, decode_event, encode_event
from tidings.ephemeral.receipts import ReceiptPublisher, apply_receipts, merge_receipts, newest_receipt
from tidings.kernel.errors import UnavailableError
from tidings.kernel.ids import ChatId, ChatKey, DeviceId, TenantId, UserId

ACME = TenantId("acme")
ONE, TWO = ChatKey(ACME, ChatId("g-1")), ChatKey(ACME, ChatId("g-2"))
ANNA, BEN = UserId("anna"), UserId("ben")
GATEWAY_1, GATEWAY_2 = GatewayId("gateway-1"), GatewayId("gateway-2")


class FakeRedis(UnusedBus, UnusedRoutes):
    """Records what is published. Anna has a device on each gateway. Calls wait for `may_continue`."""

    def __init__(self) -> None:
        self.receipts: list[tuple[ChatKey, ReceiptsEvent]] = []
        self.own_reads: list[tuple[GatewayId, OwnReadAdvanced]] = []
        self.is_unavailable = False
        self.may_continue = asyncio.Event()
        self.may_continue.set()

    @override
    async def publish_ephemeral(self, chat: ChatKey, payload: bytes) -> int:
        await self.may_continue.wait()
        if self.is_unavailable:
            raise UnavailableError("Redis")
        event = decode_event(payload)
        assert isinstance(event, ReceiptsEvent)
        self.receipts.append((chat, event))
        return 0

    @override
    async def publish_to_gateway(self, gateway: GatewayId, payload: bytes) -> bool:
        for message in decode_messages(payload):
            assert isinstance(message, OwnReadAdvanced)
            self.own_reads.append((gateway, message))
        return True

    @override
    async def look_up(
        self, tenant: TenantId, users: Sequence[UserId]
    ) -> LookupResult[UserId, Sequence[Route]]:
        assert tenant == ACME
        devices = [Route(DeviceId("phone"), GATEWAY_1, 1), Route(DeviceId("laptop"), GATEWAY_2, 2)]
        return LookupResult({user: devices for user in users if user == ANNA})


def create_publisher(redis: FakeRedis, within_s: float = 0.01) -> ReceiptPublisher:
    def report(what: str, error: BaseException) -> None:
        raise AssertionError(what) from error

    return ReceiptPublisher(redis, redis, within_s=within_s, on_error=report)


def advance(
    chat: ChatKey, user: UserId, delivered: int, read: int = 0, *, is_large: bool = False
) -> WatermarkAdvanced:
    return WatermarkAdvanced(chat, user, delivered, read, is_read=bool(read), is_large=is_large)


async def test_a_chat_has_one_event_per_window_for_any_number_of_members() -> None:
    redis = FakeRedis()
    publisher = create_publisher(redis)
    users = [UserId(f"u-{n}") for n in range(90)]
    for sequence in (3, 5, 4):
        for user in users:
            publisher.publish_soon(advance(ONE, user, sequence))
    publisher.publish_soon(advance(TWO, BEN, 1))
    await until(lambda: len(redis.receipts) == 2)
    assert dict(redis.receipts)[ONE].members == tuple(MemberReceipt(user, 5) for user in users)
    assert dict(redis.receipts)[TWO].members == (MemberReceipt(BEN, 1),)
    assert publisher.stats.advances == 271


async def test_receipts_during_a_slow_publish_are_published_together() -> None:
    redis = FakeRedis()
    redis.may_continue.clear()
    publisher = create_publisher(redis)
    publisher.publish_soon(advance(ONE, BEN, 1))
    await until(lambda: publisher._debouncer._task is not None)
    for sequence in range(2, 50):
        publisher.publish_soon(advance(ONE, BEN, sequence))
        await asyncio.sleep(0.001)
    redis.may_continue.set()
    await until(lambda: redis.receipts[-1:] == [(ONE, ReceiptsEvent((MemberReceipt(BEN, 49),)))])
    assert len(redis.receipts) == 2


async def test_in_large_chats_only_the_users_own_devices_are_notified() -> None:
    redis = FakeRedis()
    publisher = create_publisher(redis)
    publisher.publish_soon(advance(ONE, ANNA, 7, 6, is_large=True))
    publisher.publish_soon(advance(ONE, BEN, 7, 6, is_large=True))
    await until(lambda: len(redis.own_reads) == 2)
    assert dict(redis.own_reads) == {
        GATEWAY_1: OwnReadAdvanced(ACME, ANNA, ONE.chat, 6, (DeviceTarget(ANNA, DeviceId("phone"), 1),)),
        GATEWAY_2: OwnReadAdvanced(ACME, ANNA, ONE.chat, 6, (DeviceTarget(ANNA, DeviceId("laptop"), 2),)),
    }
    await publisher.wait_idle(1)
    assert redis.receipts == []


async def test_a_delivered_watermark_alone_is_not_sent_to_the_users_own_devices() -> None:
    redis = FakeRedis()
    publisher = create_publisher(redis)
    publisher.publish_soon(advance(ONE, ANNA, 7))
    await until(lambda: redis.receipts)
    assert redis.own_reads == []


async def test_receipts_without_redis_are_dropped_and_counted_and_later_ones_are_published() -> None:
    redis = FakeRedis()
    redis.is_unavailable = True
    publisher = create_publisher(redis)
    publisher.publish_soon(advance(ONE, BEN, 1))
    await until(lambda: publisher.stats.dropped == 1)
    redis.is_unavailable = False
    publisher.publish_soon(advance(ONE, BEN, 2))
    await until(lambda: redis.receipts)
    assert Counter(chat for chat, _ in redis.receipts) == {ONE: 1}


async def test_pending_receipts_are_published_when_the_process_stops() -> None:
    redis = FakeRedis()
    publisher = create_publisher(redis, within_s=3_600)
    publisher.publish_soon(advance(ONE, BEN, 1))
    await publisher.wait_idle(5)
    assert redis.receipts == [(ONE, ReceiptsEvent((MemberReceipt(BEN, 1),)))]


marks = st.integers(0, 9)
receipts = st.builds(MemberReceipt, st.sampled_from([ANNA, BEN]), marks, marks, marks)


@given(st.lists(receipts, max_size=5))
def test_merging_receipts_does_not_depend_on_their_order(some: list[MemberReceipt]) -> None:
    ends = []
    for order in permutations(some):
        known: dict[UserId, MemberReceipt] = {}
        merge_receipts(known, order)
        ends.append(known)
    assert all(end == ends[0] for end in ends)
    for receipt in some:
        known_one = ends[0][receipt.user]
        assert known_one == newest_receipt(known_one, receipt), "nothing goes back"


def test_receipts_received_during_a_read_raise_the_snapshot_and_add_no_members() -> None:
    received = {ANNA: MemberReceipt(ANNA, 5, 3), UserId("gone"): MemberReceipt(UserId("gone"), 9, 9)}
    assert apply_receipts([MemberReceipt(ANNA, 4, 4, 1), MemberReceipt(BEN, 2, 0, 1)], received) == (
        MemberReceipt(ANNA, 5, 4, 1),
        MemberReceipt(BEN, 2, 0, 1),
    )


@pytest.mark.parametrize(
    "event", [ReceiptsEvent((MemberReceipt(ANNA, 4, 2),)), TypingEvent(BEN, is_typing=False)]
)
def test_events_are_decoded_as_they_were_encoded(event: ReceiptsEvent | TypingEvent) -> None:
    assert decode_event(encode_event(event)) == event
