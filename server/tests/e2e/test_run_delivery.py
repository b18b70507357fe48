"""`tidings run delivery`: chat lists are updated, whichever process starts first, dies or starts late."""

import asyncio
import signal
from typing import Any

from contract.kafka.harness import read_log
from contract.telemetry.running import eventually
from e2e.conftest import Api, Start
from fixtures.engines import Namespace

from tidings.kernel.ids import ChatId, TenantId
from tidings.messages.model import CommittedEvent, encode_event
from tidings.platform.kafka.config import KafkaConfig
from tidings.platform.kafka.publisher import KafkaPublisher


def unread_of(api: Api, user: str, count: int) -> Any:
    chats = api.ask("GET", "/v1/chats", user=user).body.get("chats", ())  # none if rate limited
    return next((chat for chat in chats if chat["unread"] == count), None)


def send(api: Api, chat: str, key: str, text: str = "hi") -> None:
    sent = api.ask("POST", f"/v1/chats/{chat}/messages", {"text": text, "client_message_id": key})
    assert sent.status == 201, sent.body


def direct(api: Api) -> str:
    return str(api.ask("POST", "/v1/chats", {"type": "direct", "user": "ben"}).body["id"])


def test_chat_lists_are_updated_and_the_process_is_healthy(start: Start) -> None:
    api, delivery = start(), start(kind="delivery")
    chat = direct(api)
    send(api, chat, "k1")
    line = eventually(lambda: unread_of(api, "ben", 1), "line in the chat list of ben")
    assert (line["id"], line["last"]["text"]) == (chat, "hi")
    ready = delivery.wait_for_status("/readyz", 200)
    assert ready["components"]["delivery"]["ok"]
    counted = (
        'tidings_delivery_total{what="handled"} 2.0',
        'tidings_delivery_total{what="offline"} 1.0',
        "tidings_delivery_seconds_count 2.0",
    )
    eventually(
        lambda: all(each in delivery.get("/metrics")[1] for each in counted) or None, "two entries handled"
    )
    assert 'tidings_events_published_total{outcome="ok"} 2.0' in api.get("/metrics")[1]
    delivery.popen.terminate()
    assert delivery.exit_code() == 0


def test_messages_sent_before_the_worker_starts_are_processed(start: Start) -> None:
    api = start()
    chat = direct(api)
    for n in range(3):
        send(api, chat, f"k{n}")
    start(kind="delivery")
    eventually(lambda: unread_of(api, "ben", 3), "three unread")


def test_another_worker_takes_over_from_a_killed_one(start: Start) -> None:
    api, first = start(), start(kind="delivery")
    chat = direct(api)
    send(api, chat, "k1")
    eventually(lambda: unread_of(api, "ben", 1), "first line")
    first.popen.send_signal(signal.SIGKILL)
    assert first.exit_code() == -signal.SIGKILL
    send(api, chat, "k2")
    start(kind="delivery")
    send(api, chat, "k3")
    eventually(lambda: unread_of(api, "ben", 3), "three unread", deadline_s=120)


def test_without_kafka_sends_are_acknowledged_and_the_api_is_ready(start: Start) -> None:
    api = start(TIDINGS_KAFKA_BOOTSTRAP_SERVERS="127.0.0.1:9")
    send(api, direct(api), "k1")
    assert api.wait_for_status("/readyz", 200)["ready"]
    api.popen.terminate()
    assert api.exit_code() == 0


def test_invalid_events_go_to_the_dead_letter_topic_and_delay_nothing(
    start: Start, kafka: str, space: Namespace
) -> None:
    api, delivery = start(), start(kind="delivery")
    connection = KafkaConfig(bootstrap_servers=kafka, topic_prefix=space.topic_prefix)

    async def publish() -> None:
        publisher = KafkaPublisher(connection)
        for value in (b"nonsense", encode_event(CommittedEvent(TenantId("a#b"), ChatId("g"), ())), None):
            await publisher.send("messages", b"key", value)
        await publisher.close()

    asyncio.run(publish())
    chat = direct(api)
    send(api, chat, "k1")
    eventually(lambda: unread_of(api, "ben", 1), "line in the chat list of ben")
    values = eventually(lambda: _dead(connection, 3), "three dead letters")
    assert b"nonsense" in values
    assert delivery.popen.poll() is None


def _dead(connection: KafkaConfig, count: int) -> list[bytes] | None:
    found = [value for values in read_log(connection, "messages-dead").values() for value in values]
    return found if len(found) >= count else None
