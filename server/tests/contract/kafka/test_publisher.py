"""Publishing to a healthy broker, and without a broker."""

import asyncio
import os

import pytest
from contract.kafka.harness import TOPIC, make_topic, publishing, read_log

from tidings.platform.kafka.config import KafkaConfig
from tidings.platform.kafka.errors import NotAcceptedError, RejectedError, UnknownOutcomeError
from tidings.platform.kafka.publisher import KafkaPublisher, PublisherTuning

NO_BROKER = KafkaConfig(bootstrap_servers="127.0.0.1:9")


async def test_an_answer_has_partition_and_offset_and_keys_keep_their_order(connection: KafkaConfig) -> None:
    make_topic(connection, partitions=3)
    async with publishing(connection) as publisher:
        sent = [(b"key-%d" % (n % 7), b"%d" % n) for n in range(2000)]
        placed = await asyncio.gather(*(publisher.send(TOPIC, key, value) for key, value in sent))
        assert publisher.in_flight == 0
        assert publisher.health().is_ok
    log = read_log(connection)
    assert [log[place.partition][place.offset] for place in placed] == [value for _, value in sent]
    for number in range(7):
        mine = [place for place, (key, _) in zip(placed, sent, strict=True) if key == b"key-%d" % number]
        assert len({place.partition for place in mine}) == 1
        assert [place.offset for place in mine] == sorted(place.offset for place in mine)


async def test_headers_pass_through_as_bytes(connection: KafkaConfig) -> None:
    make_topic(connection)
    headers = (("traceparent", b"\x00\xff"), ("empty", b""), ("none", None))
    async with publishing(connection) as publisher:
        await publisher.send(TOPIC, b"k", b"v", headers)
    assert first_message_headers(connection) == list(headers)


def first_message_headers(connection: KafkaConfig) -> object:
    from confluent_kafka import Consumer, TopicPartition  # noqa: PLC0415 - one use

    raw = Consumer({**connection.config(), "group.id": "reader"})
    raw.assign([TopicPartition(connection.topic(TOPIC), 0, 0)])
    message = raw.poll(10)
    raw.close()
    assert message is not None
    return message.headers()


@pytest.mark.parametrize("size", [1_200_000, 2_000_000])
async def test_a_message_that_is_too_large_is_rejected_for_certain(
    connection: KafkaConfig, size: int
) -> None:
    """The smaller one is refused by the broker, the larger one already here."""
    make_topic(connection)
    async with publishing(connection) as publisher:
        with pytest.raises(RejectedError, match="MSG_SIZE_TOO_LARGE"):
            await publisher.send(TOPIC, b"k", os.urandom(size))
        await publisher.send(TOPIC, b"k", b"small")
    assert read_log(connection) == {0: [b"small"]}


async def test_without_an_answer_in_time_the_outcome_is_unknown(connection: KafkaConfig) -> None:
    async with publishing(connection, delivery_timeout_s=0.5) as publisher:
        with pytest.raises(UnknownOutcomeError, match="_MSG_TIMED_OUT"):
            await publisher.send("nobody-made-this-topic", b"k", b"v")


async def test_a_full_publisher_refuses_at_once_and_waiting_messages_time_out() -> None:
    publisher = KafkaPublisher(NO_BROKER, PublisherTuning(max_in_flight=20, max_waiting=10, wait_s=0.3))
    answers = [publisher.send(TOPIC, b"k", b"%d" % n) for n in range(31)]
    assert answers[30].done()
    with pytest.raises(NotAcceptedError, match="30 messages are waiting"):
        await answers[30]
    assert not any(answer.done() for answer in answers[:30])
    for answer in answers[20:30]:
        with pytest.raises(NotAcceptedError, match=r"no room within 0\.3 s"):
            await answer
    assert await publisher.close(0.1) == 20
    for answer in answers[:20]:
        with pytest.raises(UnknownOutcomeError):
            await answer
    with pytest.raises(NotAcceptedError, match="closing"):
        await publisher.send(TOPIC, b"k", b"late")


async def test_waiting_messages_are_sent_in_order_when_there_is_room(connection: KafkaConfig) -> None:
    make_topic(connection)
    async with publishing(connection, max_in_flight=5, max_waiting=1000) as publisher:
        answers = [publisher.send(TOPIC, b"k", b"%d" % n) for n in range(500)]
        answers[400].cancel()
        await asyncio.gather(*answers, return_exceptions=True)
    assert read_log(connection)[0] == [b"%d" % n for n in range(500) if n != 400]


async def test_health_reports_that_no_broker_answers_and_why() -> None:
    async with publishing(NO_BROKER, delivery_timeout_s=0.5) as publisher:
        with pytest.raises(UnknownOutcomeError):
            await publisher.send(TOPIC, b"k", b"v")
        assert not publisher.health().is_ok
        assert "no broker answered for" in publisher.health().reason
        assert "last error: " in publisher.health().reason
