"""What is told of inboxes, to whom, and how it is put together. No engine: routes and line are lists."""

import asyncio
from collections.abc import Sequence

import pytest
from fixtures.loops import until

from tidings.bus.model import InboxChanged, decode_messages
from tidings.connections.model import GatewayId, LookupResult, Route
from tidings.inboxes import publisher
from tidings.inboxes.model import InboxId, InboxKey, NotificationId
from tidings.inboxes.ports import InboxEvent
from tidings.inboxes.publisher import InboxChangePublisher
from tidings.kernel.ids import DeviceId, TenantId, UserId

ACME = TenantId("acme")


class Post:
    """Routes and line at once. `away`: so many more calls fail."""

    def __init__(self, **gateways: Sequence[str]) -> None:
        self.gateways = gateways
        self.said: list[tuple[str, list[InboxChanged]]] = []
        self.asked: list[list[str]] = []
        self.away = 0

    async def look_up(self, _: TenantId, users: Sequence[UserId]) -> LookupResult[UserId, Sequence[Route]]:
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

    async def publish_to_gateway(self, gateway: GatewayId, payload: bytes) -> bool:
        self.said.append(
            (gateway, [word for word in decode_messages(payload) if isinstance(word, InboxChanged)])
        )
        return True

    async def publish_broadcasts(self, *_: object) -> int:
        raise AssertionError

    def words(self) -> list[InboxChanged]:
        return [word for _, some in self.said for word in some]


def owner(user: str, inbox: str = "default") -> InboxKey:
    return InboxKey(ACME, UserId(user), InboxId(inbox))


def news(post: Post) -> InboxChangePublisher:
    return InboxChangePublisher(post, post, within_s=0.01)


async def settled(told: InboxChangePublisher) -> None:
    await until(lambda: told._debouncer.is_idle)


async def test_news_of_a_window_are_one_word_for_each_inbox_and_one_payload_for_each_gateway() -> None:
    post = Post(anna=["g1", "g2", "g1"], ben=["g1"])
    told = news(post)
    for notification in ("n1", "n2"):
        told.notify(owner("anna"), InboxEvent.DELIVERED, NotificationId(notification))
    told.notify(owner("anna"), InboxEvent.COUNTED)
    told.notify(owner("ben"), InboxEvent.COUNTED)
    told.notify(owner("ben", "other"), InboxEvent.COUNTED)
    told.notify(owner("cleo"), InboxEvent.COUNTED)
    await settled(told)
    assert sorted((gateway, len(words)) for gateway, words in post.said) == [("g1", 3), ("g2", 1)]
    of_anna = [word for word in post.words() if word.user == "anna"]
    assert of_anna == [InboxChanged(ACME, UserId("anna"), "default", added=("n1", "n2"))] * 2
    assert post.asked == [["anna", "ben", "cleo"]]


@pytest.mark.parametrize(
    ("happened", "word"),
    [
        ([InboxEvent.DELIVERED, InboxEvent.AMENDED], {"added": ("n",)}),
        ([InboxEvent.DELIVERED, InboxEvent.REDACTED], {"removed": ("n",)}),
        ([InboxEvent.AMENDED, InboxEvent.REDACTED], {"removed": ("n",)}),
        ([InboxEvent.AMENDED], {"amended": ("n",)}),
    ],
)
async def test_a_notification_is_told_of_by_what_became_of_it_last(
    happened: list[InboxEvent], word: dict[str, tuple[str, ...]]
) -> None:
    post = Post(anna=["g1"])
    told = news(post)
    for each in happened:
        told.notify(owner("anna"), each, NotificationId("n"))
    await settled(told)
    assert post.words() == [InboxChanged(ACME, UserId("anna"), "default", **word)]  # type: ignore[arg-type]


async def test_more_notifications_than_a_word_names_are_said_to_be_more() -> None:
    post = Post(anna=["g1"])
    told = news(post)
    for number in range(publisher.MAX_NAMED + 3):
        told.notify(owner("anna"), InboxEvent.DELIVERED, NotificationId(f"n{number:02}"))
    await settled(told)
    [word] = post.words()
    assert (len(word.added), word.added[-1], word.has_more) == (publisher.MAX_NAMED, "n12", True)


async def test_while_redis_is_away_it_is_kept_and_said_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publisher, "_RETRY_S", 0.01)
    post = Post(anna=["g1"])
    post.away = 3
    told = news(post)
    told.notify(owner("anna"), InboxEvent.DELIVERED, NotificationId("n"))
    await settled(told)
    assert post.words() == [InboxChanged(ACME, UserId("anna"), "default", added=("n",))]


async def test_what_waits_is_bounded_and_what_is_lost_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publisher, "MAX_PENDING_INBOXES", 2)
    post = Post(anna=["g1"], ben=["g1"], cleo=["g1"])
    told = news(post)
    for user in ("anna", "ben", "cleo", "anna"):
        told.notify(owner(user), InboxEvent.COUNTED)
    await settled(told)
    assert ({word.user for word in post.words()}, told.lost) == ({"anna", "ben"}, 1)


async def test_what_is_told_while_others_are_being_told_is_not_forgotten() -> None:
    post = Post(anna=["g1"], ben=["g1"])
    told = news(post)
    told.notify(owner("anna"), InboxEvent.COUNTED)
    await until(lambda: post.said)
    told.notify(owner("ben"), InboxEvent.COUNTED)
    await until(lambda: len(post.said) == 2)
    await told.wait_idle(5)
    assert {word.user for word in post.words()} == {"anna", "ben"}
    await asyncio.sleep(0)
