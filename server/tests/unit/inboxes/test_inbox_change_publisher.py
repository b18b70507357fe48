"""Messages about changed inboxes, their batches and receivers, with routes and bus in memory."""

import asyncio
from collections.abc import Sequence
from typing import override

import pytest
from fixtures.loops import until
from fixtures.unused_ports import UnusedBus, UnusedRoutes

from tidings.bus.model import InboxChanged, decode_messages
from tidings.connections.model import GatewayId, LookupResult, Route
from tidings.inboxes import publisher
from tidings.inboxes.model import InboxId, InboxKey, NotificationId
from tidings.inboxes.ports import InboxEvent
from tidings.inboxes.publisher import InboxChangePublisher
from tidings.kernel.ids import DeviceId, TenantId, UserId

ACME = TenantId("acme")


class MemoryGateways(UnusedBus, UnusedRoutes):
    """Routes and bus in memory. The next `away` calls fail."""

    def __init__(self, **gateways: Sequence[str]) -> None:
        self.gateways = gateways
        self.published: list[tuple[str, list[InboxChanged]]] = []
        self.asked: list[list[str]] = []
        self.away = 0

    @override
    async def look_up(
        self, tenant: TenantId, users: Sequence[UserId]
    ) -> LookupResult[UserId, Sequence[Route]]:
        if self.away:
            self.away -= 1
            return LookupResult({}, frozenset(users), "gone")
        self.asked.append(list(users))
        found = {
            user: [
                Route(DeviceId(f"d{n}"), GatewayId(gateway), 1)
                for n, gateway in enumerate(self.gateways[user])
            ]
            for user in users
            if user in self.gateways
        }
        return LookupResult(found)

    @override
    async def publish_to_gateway(self, gateway: GatewayId, payload: bytes) -> bool:
        self.published.append(
            (gateway, [word for word in decode_messages(payload) if isinstance(word, InboxChanged)])
        )
        return True

    def words(self) -> list[InboxChanged]:
        return [word for _, some in self.published for word in some]


def owner(user: str, inbox: str = "default") -> InboxKey:
    return InboxKey(ACME, UserId(user), InboxId(inbox))


def open_publisher(gateways: MemoryGateways) -> InboxChangePublisher:
    return InboxChangePublisher(gateways, gateways, within_s=0.01)


async def settled(change_publisher: InboxChangePublisher) -> None:
    await until(lambda: change_publisher._debouncer.is_idle)


async def test_changes_of_a_window_are_one_message_per_inbox_and_one_payload_per_gateway() -> None:
    gateways = MemoryGateways(anna=["g1", "g2", "g1"], ben=["g1"])
    change_publisher = open_publisher(gateways)
    for notification in ("n1", "n2"):
        change_publisher.notify(owner("anna"), InboxEvent.DELIVERED, NotificationId(notification))
    change_publisher.notify(owner("anna"), InboxEvent.COUNTED)
    change_publisher.notify(owner("ben"), InboxEvent.COUNTED)
    change_publisher.notify(owner("ben", "other"), InboxEvent.COUNTED)
    change_publisher.notify(owner("cleo"), InboxEvent.COUNTED)
    await settled(change_publisher)
    assert sorted((gateway, len(words)) for gateway, words in gateways.published) == [("g1", 3), ("g2", 1)]
    of_anna = [word for word in gateways.words() if word.user == "anna"]
    assert of_anna == [InboxChanged(ACME, UserId("anna"), "default", added=("n1", "n2"))] * 2
    assert gateways.asked == [["anna", "ben", "cleo"]]


@pytest.mark.parametrize(
    ("happened", "word"),
    [
        ([InboxEvent.DELIVERED, InboxEvent.AMENDED], {"added": ("n",)}),
        ([InboxEvent.DELIVERED, InboxEvent.REDACTED], {"removed": ("n",)}),
        ([InboxEvent.AMENDED, InboxEvent.REDACTED], {"removed": ("n",)}),
        ([InboxEvent.AMENDED], {"amended": ("n",)}),
    ],
)
async def test_a_notification_is_published_with_its_last_change(
    happened: list[InboxEvent], word: dict[str, tuple[str, ...]]
) -> None:
    gateways = MemoryGateways(anna=["g1"])
    change_publisher = open_publisher(gateways)
    for each in happened:
        change_publisher.notify(owner("anna"), each, NotificationId("n"))
    await settled(change_publisher)
    assert gateways.words() == [InboxChanged(ACME, UserId("anna"), "default", **word)]  # type: ignore[arg-type]


async def test_a_message_with_too_many_notifications_says_that_there_are_more() -> None:
    gateways = MemoryGateways(anna=["g1"])
    change_publisher = open_publisher(gateways)
    for number in range(publisher.MAX_NAMED + 3):
        change_publisher.notify(owner("anna"), InboxEvent.DELIVERED, NotificationId(f"n{number:02}"))
    await settled(change_publisher)
    [word] = gateways.words()
    assert (len(word.added), word.added[-1], word.has_more) == (publisher.MAX_NAMED, "n12", True)


async def test_while_redis_is_unavailable_changes_wait_and_are_published_afterwards(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(publisher, "_RETRY_S", 0.01)
    gateways = MemoryGateways(anna=["g1"])
    gateways.away = 3
    change_publisher = open_publisher(gateways)
    change_publisher.notify(owner("anna"), InboxEvent.DELIVERED, NotificationId("n"))
    await settled(change_publisher)
    assert gateways.words() == [InboxChanged(ACME, UserId("anna"), "default", added=("n",))]


async def test_waiting_changes_are_bounded_and_dropped_ones_are_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(publisher, "MAX_PENDING_INBOXES", 2)
    gateways = MemoryGateways(anna=["g1"], ben=["g1"], cleo=["g1"])
    change_publisher = open_publisher(gateways)
    for user in ("anna", "ben", "cleo", "anna"):
        change_publisher.notify(owner(user), InboxEvent.COUNTED)
    await settled(change_publisher)
    assert ({word.user for word in gateways.words()}, change_publisher.lost) == ({"anna", "ben"}, 1)


async def test_a_change_during_a_publish_is_published_afterwards() -> None:
    gateways = MemoryGateways(anna=["g1"], ben=["g1"])
    change_publisher = open_publisher(gateways)
    change_publisher.notify(owner("anna"), InboxEvent.COUNTED)
    await until(lambda: gateways.published)
    change_publisher.notify(owner("ben"), InboxEvent.COUNTED)
    await until(lambda: len(gateways.published) == 2)
    await change_publisher.wait_idle(5)
    assert {word.user for word in gateways.words()} == {"anna", "ben"}
    await asyncio.sleep(0)
