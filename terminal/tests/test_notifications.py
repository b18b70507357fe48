"""Loaded notifications, and the changes applied to them."""

import pytest

from tidings_sdk import BroadcastUpdate, InboxCounts, InboxUpdate, Notification
from tidings_terminal import formatting
from tidings_terminal.notifications import NotificationBuffer

COUNTS = InboxCounts(inbox="default", version=1, at=1)


def notification(name: str, title: str = "hello", *, is_read: bool = False) -> Notification:
    return Notification(id=name, at=1, delivered_at=1, message={"title": title}, is_read=is_read)


def notifications(*names: str, cursor: str | None = None) -> NotificationBuffer:
    made = NotificationBuffer()
    made.begin([notification(name) for name in names], cursor)
    return made


def ids(held: NotificationBuffer) -> list[str]:
    return [note.id for note in held.notes]


def test_changes_are_applied_in_order() -> None:
    held = notifications("5", "3")
    update = InboxUpdate(
        counts=COUNTS, added=(notification("7"), notification("4")), amended=(notification("3", "new"),)
    )
    assert held.happened(update)
    assert ids(held) == ["7", "5", "4", "3"]
    assert held.notes[-1].title == "new"
    assert held.happened(InboxUpdate(counts=COUNTS, removed=("5", "unknown")))
    assert ids(held) == ["7", "4", "3"]


def test_a_broadcast_is_inserted_in_order_and_stays_read() -> None:
    held = notifications("5", "3")
    held.read(["3"])
    update = BroadcastUpdate(inbox="default", up_to=9, added=(notification("7"), notification("3", "again")))
    assert held.broadcast(update)
    assert [(note.id, note.is_read) for note in held.notes] == [("7", False), ("5", False), ("3", True)]
    assert held.broadcast(
        BroadcastUpdate(inbox="default", up_to=9, amended=(notification("3", "new"), notification("1")))
    )
    assert [(note.id, note.title, note.is_read) for note in held.notes][-1] == ("3", "new", True)
    assert held.broadcast(BroadcastUpdate(inbox="default", up_to=10, removed=("7", "unknown")))
    assert ids(held) == ["5", "3"]
    assert not held.broadcast(BroadcastUpdate(inbox="default", up_to=11, has_more=True))


def test_older_notifications_are_added_with_their_page() -> None:
    held = notifications("5", "3", cursor="3")
    held.happened(InboxUpdate(counts=COUNTS, amended=(notification("2"),)))
    assert ids(held) == ["5", "3"]
    held.more([notification("2"), notification("1")], None)
    assert ids(held) == ["5", "3", "2", "1"]


@pytest.mark.parametrize(
    "update",
    [InboxUpdate(counts=COUNTS), InboxUpdate(counts=COUNTS, added=(notification("6"),), has_more=True)],
)
def test_incomplete_changes_request_the_list(update: InboxUpdate) -> None:
    assert not notifications("5").happened(update)


def test_marks_are_shown_before_the_list_is_read_again() -> None:
    held = notifications("5", "3")
    held.read(["3", "unknown"])
    assert [note.is_read for note in held.notes] == [False, True]
    held.begin([notification("5", is_read=True)], None)
    assert [note.is_read for note in held.notes] == [True]


@pytest.mark.parametrize(
    ("message", "title", "more"),
    [
        ({"title": "New", "text": "words"}, "New", "words"),
        ({"text": "words", "title": "New", "link": "here"}, "New", "words  here"),
        ({"text": "first", "more": "second", "n": 3}, "first", "second"),
        ({"title": " ", "text": "words"}, "words", ""),
        ({"n": 3}, '{"n": 3}', ""),
        ({}, "{}", ""),
        ({"title": "a\x1b[2J\nb"}, "a[2J b", ""),
    ],
)
def test_a_notification_shows_its_title_or_its_first_text(
    message: dict[str, object], title: str, more: str
) -> None:
    assert formatting.notification_text(message) == (title, more)
