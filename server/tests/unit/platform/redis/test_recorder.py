"""The recorder of the pub/sub suites."""

from fixtures.event_recorder import Recorder, vanished

from tidings.platform.redis.pubsub import ChannelLost, ChannelMessage, ChannelSubscribed


def message(number: int) -> ChannelMessage:
    return ChannelMessage(b"%d" % number)


def test_the_check_finds_messages_missing_without_a_loss() -> None:
    """The check of the pub/sub suites finds messages that are missing without a report."""
    recorder = Recorder()
    for event in (
        ChannelSubscribed(0),
        message(1),
        message(2),
        message(5),
        ChannelLost(0, ""),
        ChannelSubscribed(0),
        message(9),
    ):
        recorder(event)
    assert vanished(range(1, 10), recorder.events) == [3, 4]
    assert recorder.shape == "SmLSm"
