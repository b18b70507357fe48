"""Counts of an inbox only move forward. The client requests them again on each new connection."""

import pytest

from tidings_sdk import inbox as inbox_of
from tidings_sdk.errors import RequestRefused, RequestTimeout
from tidings_sdk.inbox import Inbox, InboxRegistry
from tidings_wire.frames.inbox import (
    BroadcastUpdate,
    ChangePreferences,
    GetCounts,
    InboxCounts,
    InboxPreferences,
    InboxUpdate,
    ListNotifications,
    MarkNotifications,
    NotificationPage,
)
from tidings_wire.frames.structs import Body, ErrorBody


class RecordingBackend:
    """Answer each request with the next version, after the `faults`."""

    def __init__(self, *faults: Exception) -> None:
        self.asked: list[Body] = []
        self.faults = list(faults)

    async def request(self, body: Body) -> Body:
        self.asked.append(body)
        if self.faults:
            raise self.faults.pop(0)
        if isinstance(body, ChangePreferences):
            return InboxPreferences(inbox=body.inbox, channels={"inbox": True})
        counts = of(len(self.asked), unread=len(self.asked))
        return (
            NotificationPage(notifications=(), counts=counts)
            if isinstance(body, ListNotifications)
            else counts
        )


def of(version: int, at: int = 1, unread: int = 0) -> InboxCounts:
    return InboxCounts(inbox="default", version=version, at=at, unread=unread)


def refusal(*, retryable: bool) -> RequestRefused:
    return RequestRefused(ErrorBody(code="overloaded", message="", docs="", retryable=retryable))


@pytest.mark.parametrize(
    ("first", "then", "kept"),
    [
        (of(2), of(1, at=9), of(2)),
        (of(2), of(3, at=0), of(3, at=0)),
        (of(2, at=5), of(2, at=4), of(2, at=5)),
        (of(2, at=5), of(2, at=6), of(2, at=6)),
    ],
)
def test_older_counts_never_replace_newer_ones(
    first: InboxCounts, then: InboxCounts, kept: InboxCounts
) -> None:
    inbox = Inbox(RecordingBackend(), "default")
    inbox.on_counts(first)
    inbox.on_counts(then)
    assert inbox.counts == kept


async def test_marking_no_notifications_sends_no_request() -> None:
    """The server takes `read` without ids as all notifications."""
    backend = RecordingBackend()
    inbox = Inbox(backend, "default")
    for mark in (inbox.mark_read, inbox.mark_unread, inbox.archive, inbox.restore):
        await mark([])
    assert backend.asked == [GetCounts(inbox="default")]


async def test_each_mark_sends_its_request() -> None:
    backend, name = RecordingBackend(), "01JCQ4Z7N3V5X9B2M8K6T1R0WD"
    inbox = Inbox(backend, "default")
    await inbox.mark_read([name])
    await inbox.mark_all_read(before=7, category="news")
    await inbox.mark_seen()
    assert backend.asked == [
        MarkNotifications(inbox="default", to="read", ids=(name,)),
        MarkNotifications(inbox="default", to="read", before=7, category="news"),
        MarkNotifications(inbox="default", to="seen"),
    ]
    assert inbox.counts is not None
    assert inbox.counts.unread == 3


async def test_a_new_connection_requests_the_counts_of_used_inboxes() -> None:
    backend = RecordingBackend()
    updates: list[InboxUpdate | BroadcastUpdate] = []
    inboxes = InboxRegistry(backend, updates.append)
    await inboxes.get("default").refresh()
    inboxes.get("never asked for")
    await inboxes.refresh_all()
    assert backend.asked == [GetCounts(inbox="default")] * 2
    assert updates == [InboxUpdate(counts=of(2, unread=2), has_more=True)]
    assert inboxes.get("default").counts == of(2, unread=2)


@pytest.mark.parametrize(
    ("faults", "updates"),
    [
        ([refusal(retryable=True)], 1),
        ([refusal(retryable=False)], 0),
        ([RequestTimeout("cut off")], 0),
    ],
)
async def test_a_request_refused_temporarily_is_retried(
    faults: list[Exception], updates: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inbox_of, "_WAITS_S", (0.0, 0.0))
    backend, news = RecordingBackend(), list[InboxUpdate | BroadcastUpdate]()
    inboxes = InboxRegistry(backend, news.append)
    await inboxes.get("default").refresh()
    backend.faults = faults
    await inboxes.refresh_all()
    assert len(news) == updates


async def test_a_push_updates_the_counts_and_is_an_event() -> None:
    updates: list[InboxUpdate | BroadcastUpdate] = []
    inboxes = InboxRegistry(RecordingBackend(), updates.append)
    news = InboxUpdate(counts=of(5, unread=4))
    inboxes.pushed(news)
    assert updates == [news]
    inbox = inboxes.get("default")
    assert inbox.counts is None
    inboxes.pushed(news)
    assert inbox.counts == of(5, unread=4)


async def test_counts_are_stale_after_a_broadcast_until_the_refresh() -> None:
    backend, updates = RecordingBackend(), list[InboxUpdate | BroadcastUpdate]()
    inboxes = InboxRegistry(backend, updates.append)
    inbox = inboxes.get("default")
    inbox.on_counts(of(1))
    assert not inbox.is_stale
    news = BroadcastUpdate(inbox="default", up_to=7)
    inboxes.broadcast(news)
    assert (updates, inbox.is_stale, inbox.counts) == ([news], True, of(1))
    await inbox.refresh()
    await inbox.list()
    assert backend.asked == [
        GetCounts(inbox="default", at_least=7),
        ListNotifications(inbox="default", at_least=7),
    ]
    inbox.on_counts(InboxCounts(inbox="default", version=9, at=9, broadcasts_up_to=7))
    assert not inbox.is_stale


async def test_a_new_connection_requests_the_announced_broadcasts() -> None:
    """Another process may have an older copy of the broadcast log. Its answer would hide a shown broadcast for a while."""
    backend = RecordingBackend()
    inboxes = InboxRegistry(backend, lambda _: None)
    await inboxes.get("default").refresh()
    inboxes.broadcast(BroadcastUpdate(inbox="default", up_to=7))
    await inboxes.refresh_all()
    await inboxes.get("default").mark_read(["01JCQ4Z7N3V5X9B2M8K6T1R0WD"])
    assert [each.at_least for each in backend.asked if isinstance(each, GetCounts | MarkNotifications)] == [
        0,
        7,
        7,
    ]


async def test_after_a_restore_at_least_is_reset_and_any_counts_are_newer() -> None:
    backend = RecordingBackend()
    inboxes = InboxRegistry(backend, lambda _: None)
    inbox = inboxes.get("default")
    inbox.on_counts(InboxCounts(inbox="default", version=90, at=90, broadcasts_up_to=8))
    inboxes.broadcast(BroadcastUpdate(inbox="default", up_to=9))
    inboxes.restored()
    await inboxes.refresh_all()
    assert backend.asked == [GetCounts(inbox="default")]
    assert inbox.counts == of(1, unread=1)


async def test_preferences_are_read_without_choices_and_changed_with_them() -> None:
    backend = RecordingBackend()
    inbox = Inbox(backend, "default")
    assert (await inbox.preferences()).channels == {"inbox": True}
    await inbox.change_preferences({"email": False}, {"news": {"push": True, "email": None}})
    assert backend.asked == [
        ChangePreferences(inbox="default"),
        ChangePreferences(
            inbox="default", channels={"email": False}, categories={"news": {"push": True, "email": None}}
        ),
    ]
