import asyncio

from unit.platform.lifecycle.parts import StillClock, fail, hang, nothing

from tidings.platform.lifecycle.component import (
    HealthTracker,
    Probe,
    ProbeOptions,
    TaskSupervisor,
    describe_error,
)


def test_a_component_is_not_healthy_before_the_first_answer() -> None:
    clock = StillClock()
    pulse = HealthTracker(clock, "no broker answered")
    clock.gone_s = 3
    assert not pulse.health().ok
    assert pulse.health().reason == "no broker answered for 3 s"


def test_the_reason_says_since_when_and_the_last_error() -> None:
    clock = StillClock()
    pulse = HealthTracker(clock, "no broker answered")
    pulse.answered()
    clock.gone_s = 2
    pulse.failed("connection refused")
    clock.gone_s = 12
    assert pulse.health().reason == "no broker answered for 12 s; last error: connection refused"
    assert (pulse.health().since - StillClock().now()).total_seconds() == 2


def test_a_missed_answer_within_the_grace_time_is_ignored() -> None:
    pulse = HealthTracker(StillClock(), "no answer", patience=2)
    pulse.answered()
    pulse.failed("late")
    assert pulse.health().ok
    pulse.failed("late")
    assert not pulse.health().ok
    pulse.answered()
    pulse.failed("late")
    assert pulse.health().ok


def test_an_error_is_reported_in_one_short_line_without_secrets() -> None:
    description = describe_error(OSError("can't reach\n redis://app:hunter2@cache " + "x" * 1_000))
    assert description.startswith("OSError: can't reach redis://***@cache xxx")
    assert len(description) < 330
    assert describe_error(TimeoutError()) == "TimeoutError"


def asked(ping: object, patience: int = 1) -> str:
    async def scenario() -> str:
        crashes: list[str] = []
        probe = Probe(
            "redis",
            ping,  # type: ignore[arg-type]  # a function of parts.py, each is a coroutine function
            complaint="Redis did not answer",
            tasks=TaskSupervisor(lambda name, _: crashes.append(name)),
            clock=StillClock(),
            options=ProbeOptions(timeout_s=0.02, failure_threshold=patience),
        )
        await probe.ask()
        assert crashes == []
        return probe.health().reason

    return asyncio.run(scenario())


def test_a_probe_distinguishes_silence_refusal_and_answer() -> None:
    async def own_timeout() -> None:
        raise TimeoutError("the client's own")

    assert asked(hang) == "Redis did not answer for 0 s; last error: no answer within 0.02 s"
    assert asked(fail) == "Redis did not answer for 0 s; last error: RuntimeError: token=*** is wrong"
    assert asked(own_timeout) == "Redis did not answer for 0 s; last error: TimeoutError: the client's own"
    assert asked(nothing) == ""
