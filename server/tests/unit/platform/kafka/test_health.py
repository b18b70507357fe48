from tidings.platform.kafka.config import KafkaHealthTracker


class Clock:
    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def test_silence_becomes_a_reason_and_an_answer_ends_it() -> None:
    clock = Clock()
    pulse = KafkaHealthTracker("publisher", quiet_s=10, clock=clock)
    pulse.answered()
    pulse.failed("connection refused")
    assert pulse.status().is_ok, "one error is no silence"
    clock.now_s = 12
    how = pulse.status()
    assert (how.is_ok, how.reason) == (
        False,
        "no broker answered for 12 s; last error: connection refused",
    )
    pulse.answered()
    assert pulse.status().is_ok
    assert pulse.status().reason == ""


def test_an_error_before_the_first_answer_is_reported_at_once() -> None:
    pulse = KafkaHealthTracker("publisher", clock=Clock())
    assert pulse.status().is_ok
    pulse.failed("connection refused")
    assert "connection refused" in pulse.status().reason


def test_silence_is_reported_without_an_error_too() -> None:
    clock = Clock()
    pulse = KafkaHealthTracker("consumer", quiet_s=10, clock=clock)
    clock.now_s = 11
    assert pulse.status().reason == "no broker answered for 11 s"
