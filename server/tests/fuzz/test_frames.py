"""The short form of `just fuzz frames`."""

from fuzz.frames import blocks, run


def test_mutated_frames_are_answered_or_close_the_connection_and_nothing_raises() -> None:
    seen = run(20_000, seed=7)
    assert seen["call"] > 1_000, "too few valid frames: only refusals are tested"
    assert seen["request_invalid"] > 1_000
    assert seen["close frame_invalid"] > 10
    assert not {name for name in seen if name == "internal"}


def test_mutated_frames_leak_no_memory() -> None:
    run(2_000, seed=8)
    before = blocks()
    run(6_000, seed=9)
    assert blocks() - before < 1_000
