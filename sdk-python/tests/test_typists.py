"""Typing ends automatically, is sent every few seconds only, and its end is sent while others see it."""

from math import inf

from tidings_sdk.typing_state import ENDS_AFTER_S, TYPING_EVERY_S, TypingSender, TypingUsers


def test_typing_ends_after_some_seconds_without_a_repeat() -> None:
    typists = TypingUsers()
    assert typists.on_typing("g1", "ben", 0.0)
    assert not typists.on_typing("g1", "ben", 4.0)
    assert typists.due_at == 4.0 + ENDS_AFTER_S
    assert typists.end_those_due(9.9) == set()
    assert typists.of("g1") == ("ben",)
    assert typists.end_those_due(10.0) == {"g1"}
    assert (typists.of("g1"), typists.due_at) == ((), inf)


def test_typing_ends_with_a_stop_and_chats_are_independent() -> None:
    typists = TypingUsers()
    typists.on_typing("g1", "ben", 0.0)
    typists.on_typing("g2", "ben", 0.0)
    assert typists.stopped("g1", "ben")
    assert not typists.stopped("g1", "ben")
    assert (typists.of("g1"), typists.of("g2")) == ((), ("ben",))


def test_own_typing_is_sent_every_few_seconds_only() -> None:
    own, sent = TypingSender(), 0
    for tenth in range(100):
        sent += len(own.begins("g1", tenth / 10))
    assert sent == 1 + int(9.9 / TYPING_EVERY_S)


def test_the_end_is_sent_only_while_others_see_the_typing() -> None:
    own = TypingSender()
    assert own.ends("g1", 0.0) == ()
    own.begins("g1", 1.0)
    assert own.ends("g1", 2.0) == (False,)
    assert own.ends("g1", 2.1) == ()
    assert own.begins("g1", 2.2) == (True,), "a new beginning is told at once"
    assert own.ends("g1", 3.0 + ENDS_AFTER_S) == ()


def test_typing_after_a_message_is_forwarded_again() -> None:
    """The server forwards changes at once, and a repeat only every three seconds."""
    own = TypingSender()
    own.begins("g1", 0.0)
    own.sent("g1")
    assert own.ends("g1", 0.4) == (), "the message has ended it: the line is empty"
    assert own.begins("g1", 0.5) == (False, True)
    assert own.begins("g1", 0.6) == ()
    own.sent("g1")
    assert own.begins("g1", 5.0) == (True,)
    own.sent("g2")
    assert own.begins("g2", 5.0) == (True,)
