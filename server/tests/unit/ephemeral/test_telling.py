"""Gains go out together: one word for a chat and window, and a user's own `read` to where his devices are."""

import asyncio
from collections import Counter
from collections.abc import Sequence

from fixtures.loops import until

from tidings.bus.model import DeviceTarget, OwnReadAdvanced
from tidings.bus.model import decode_messages as decode_words
from tidings.connections.model import GatewayId, LookupResult, Route
from tidings.delivery.model import WatermarkAdvanced
from tidings.ephemeral.model import MemberReceipt, ReceiptsEvent, decode_event
from tidings.ephemeral.receipts import ReceiptPublisher
from tidings.kernel.errors import UnavailableError
from tidings.kernel.ids import ChatId, ChatKey, DeviceId, TenantId, UserId

ACME = TenantId("acme")
ONE, TWO = ChatKey(ACME, ChatId("g-1")), ChatKey(ACME, ChatId("g-2"))
ANNA, BEN = UserId("anna"), UserId("ben")
HERE, THERE = GatewayId("here"), GatewayId("there")


class Line:
    """Writes down what is said. `is_away`: nobody answers. `go`: nothing is taken before."""

    def __init__(self) -> None:
        self.signs: list[tuple[ChatKey, ReceiptsEvent]] = []
        self.own: list[tuple[GatewayId, OwnReadAdvanced]] = []
        self.is_away = False
        self.go = asyncio.Event()
        self.go.set()

    async def publish_ephemeral(self, chat: ChatKey, payload: bytes) -> int:
        await self.go.wait()
        if self.is_away:
            raise UnavailableError
        sign = decode_event(payload)
        assert isinstance(sign, ReceiptsEvent)
        self.signs.append((chat, sign))
        return 0

    async def publish_to_gateway(self, gateway: GatewayId, payload: bytes) -> bool:
        for word in decode_words(payload):
            assert isinstance(word, OwnReadAdvanced)
            self.own.append((gateway, word))
        return True

    async def publish_to_chat(self, chat: ChatKey, payload: bytes) -> int:
        raise NotImplementedError

    async def publish_presence(self, tenant: TenantId, user: UserId, payload: bytes) -> int:
        raise NotImplementedError

    async def look_up(
        self, tenant: TenantId, users: Sequence[UserId]
    ) -> LookupResult[UserId, Sequence[Route]]:
        assert tenant == ACME
        devices = [Route(DeviceId("phone"), HERE, 1), Route(DeviceId("laptop"), THERE, 2)]
        return LookupResult({user: devices for user in users if user == ANNA})


def telling(line: Line, within_s: float = 0.01) -> ReceiptPublisher:
    def report(what: str, error: BaseException) -> None:
        raise AssertionError(what) from error

    return ReceiptPublisher(line, line, within_s=within_s, on_error=report)


def gain(
    chat: ChatKey, user: UserId, delivered: int, read: int = 0, *, is_large: bool = False
) -> WatermarkAdvanced:
    return WatermarkAdvanced(chat, user, delivered, read, is_read=bool(read), is_large=is_large)


async def test_however_many_got_further_a_chat_has_one_word() -> None:
    line = Line()
    told = telling(line)
    people = [UserId(f"u-{n}") for n in range(90)]
    for at in (3, 5, 4):
        for user in people:
            told.publish_soon(gain(ONE, user, at))
    told.publish_soon(gain(TWO, BEN, 1))
    await until(lambda: len(line.signs) == 2)
    assert dict(line.signs)[ONE].members == tuple(MemberReceipt(user, 5) for user in people)
    assert dict(line.signs)[TWO].members == (MemberReceipt(BEN, 1),)
    assert told.stats.advances == 271


async def test_what_comes_while_redis_is_slow_waits_and_goes_together() -> None:
    line = Line()
    line.go.clear()
    told = telling(line)
    told.publish_soon(gain(ONE, BEN, 1))
    await until(lambda: told._debouncer.is_flushing)
    for at in range(2, 50):
        told.publish_soon(gain(ONE, BEN, at))
        await asyncio.sleep(0.001)
    line.go.set()
    await until(lambda: line.signs[-1:] == [(ONE, ReceiptsEvent((MemberReceipt(BEN, 49),)))])
    assert len(line.signs) == 2


async def test_a_users_own_read_goes_to_his_devices_of_large_chats_too_and_to_nobody_else_there() -> None:
    line = Line()
    told = telling(line)
    told.publish_soon(gain(ONE, ANNA, 7, 6, is_large=True))
    told.publish_soon(gain(ONE, BEN, 7, 6, is_large=True))
    await until(lambda: len(line.own) == 2)
    assert dict(line.own) == {
        HERE: OwnReadAdvanced(ACME, ANNA, ONE.chat, 6, (DeviceTarget(ANNA, DeviceId("phone"), 1),)),
        THERE: OwnReadAdvanced(ACME, ANNA, ONE.chat, 6, (DeviceTarget(ANNA, DeviceId("laptop"), 2),)),
    }
    await told.wait_idle(1)
    assert line.signs == []


async def test_delivered_alone_is_not_told_to_ones_own_devices() -> None:
    line = Line()
    told = telling(line)
    told.publish_soon(gain(ONE, ANNA, 7))
    await until(lambda: line.signs)
    assert line.own == []


async def test_without_redis_it_is_lost_and_counted_and_the_next_is_not() -> None:
    line = Line()
    line.is_away = True
    told = telling(line)
    told.publish_soon(gain(ONE, BEN, 1))
    await until(lambda: told.stats.dropped == 1)
    line.is_away = False
    told.publish_soon(gain(ONE, BEN, 2))
    await until(lambda: line.signs)
    assert Counter(chat for chat, _ in line.signs) == {ONE: 1}


async def test_what_waits_when_the_process_ends_gets_out() -> None:
    line = Line()
    told = telling(line, within_s=3_600)
    told.publish_soon(gain(ONE, BEN, 1))
    await told.wait_idle(5)
    assert line.signs == [(ONE, ReceiptsEvent((MemberReceipt(BEN, 1),)))]
