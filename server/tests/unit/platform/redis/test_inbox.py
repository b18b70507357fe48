"""The bounded inbox: what does not fit is a loss, told like any other."""

from fixtures.event_recorder import Recorder, vanished
from fixtures.loops import run
from fixtures.redis_event_queue import EventQueue
from hypothesis import given, settings
from hypothesis import strategies as st

from tidings.platform.redis.pubsub import ChannelEvent, ChannelLost, ChannelMessage, ChannelSubscribed


def message(number: int) -> ChannelMessage:
    return ChannelMessage(b"%d" % number)


def put(inbox: EventQueue, *events: ChannelEvent) -> None:
    for event in events:
        inbox.put(event)


async def drained(inbox: EventQueue) -> list[ChannelEvent]:
    events: list[ChannelEvent] = []
    while inbox._events:
        events.append(await anext(inbox))
    return events


async def test_events_come_in_order() -> None:
    inbox = EventQueue()
    put(
        inbox,
        ChannelSubscribed(1.0),
        message(1),
        ChannelLost(2.0, "gone"),
        ChannelSubscribed(3.0, 2.0),
        message(2),
    )
    assert await drained(inbox) == [
        ChannelSubscribed(1.0),
        message(1),
        ChannelLost(2.0, "gone"),
        ChannelSubscribed(3.0, 2.0),
        message(2),
    ]


async def test_a_reader_that_falls_behind_is_told_once_and_again_when_it_has_caught_up() -> None:
    inbox = EventQueue(max_events=3)
    put(inbox, ChannelSubscribed(1.0), *(message(n) for n in range(10)))
    told = await drained(inbox)
    assert told[:3] == [ChannelSubscribed(1.0), message(0), message(1)]
    lost, standing = told[3:]
    assert isinstance(lost, ChannelLost)
    assert "fallen behind" in lost.reason
    assert isinstance(standing, ChannelSubscribed)
    assert standing.lost_since == lost.since
    inbox.put(message(11))
    assert await drained(inbox) == [message(11)]


async def test_bytes_are_bounded_too() -> None:
    inbox = EventQueue(max_bytes=100)
    inbox.put(ChannelSubscribed(1.0))
    for _ in range(10):
        inbox.put(ChannelMessage(b"x" * 60))
    told = await drained(inbox)
    assert [type(event) for event in told] == [
        ChannelSubscribed,
        ChannelMessage,
        ChannelMessage,
        ChannelLost,
        ChannelSubscribed,
    ]


async def test_a_loss_behind_an_overrun_is_not_hidden_by_catching_up() -> None:
    inbox = EventQueue(max_events=2)
    put(inbox, ChannelSubscribed(1.0), message(1), message(2), ChannelLost(5.0, "gone"))
    told = await drained(inbox)
    assert [type(event) for event in told] == [ChannelSubscribed, ChannelMessage, ChannelLost]
    inbox.put(ChannelSubscribed(9.0, 5.0))
    assert [type(event) for event in await drained(inbox)] == [ChannelSubscribed]


def test_a_reckoning_that_finds_what_vanished() -> None:
    """The check that the suites use is held against a story with a hole."""
    heard = Recorder()
    for event in (
        ChannelSubscribed(0),
        message(1),
        message(2),
        message(5),
        ChannelLost(0, ""),
        ChannelSubscribed(0),
        message(9),
    ):
        heard(event)
    assert vanished(range(1, 10), heard.events) == [3, 4]
    assert heard.shape == "SmLSm"


@settings(deadline=None)
@given(st.lists(st.sampled_from("mmmmLSr")), st.integers(1, 5))
def test_nothing_vanishes_unseen_whatever_the_reader_does(story: list[str], max_events: int) -> None:
    """`m` a message comes, `L` the subscription is lost, `S` it stands again, `r` the reader reads one."""

    async def tell() -> None:
        inbox, heard, number, is_standing, put = EventQueue(max_events), Recorder(), 0, True, []
        inbox.put(ChannelSubscribed(0.0))
        for sign in [*story, "S", *"r" * 50, "m"]:
            if sign == "m" and is_standing:
                number += 1
                inbox.put(message(number))
                put.append(number)
            elif sign == "L" and is_standing:
                inbox.put(ChannelLost(0.0, "gone"))
                is_standing = False
            elif sign == "S" and not is_standing:
                inbox.put(ChannelSubscribed(0.0, 0.0))
                is_standing = True
            elif sign == "r" and inbox._events:
                heard(await anext(inbox))
            assert len(inbox._events) <= max_events + 1
        for event in await drained(inbox):
            heard(event)
        assert vanished(put, heard.events) == []
        states = heard.shape.replace("m", "")
        assert "LL" not in states
        assert "SS" not in states
        assert heard.payloads[-1] == b"%d" % number

    run(tell())
