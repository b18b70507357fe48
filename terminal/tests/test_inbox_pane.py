"""The inbox in the app: live summary, and list with its keys, with the scripted server."""

import pytest
from scripted_inbox import ScriptedInbox
from terminal_env import NOW_MS, demo_server, open_terminal

from tidings_terminal import inbox_controller

SIZES = [(80, 24), (120, 36)]


def filled() -> ScriptedInbox:
    inbox = ScriptedInbox(demo_server())
    inbox.put({"title": "Welcome", "text": "Nice that you are here."}, minutes_ago=90, is_read=True)
    inbox.put({"text": "Your order is on its way"}, minutes_ago=30)
    inbox.put({"title": "New feature", "text": "Notifications stand beside the chats."}, minutes_ago=5)
    return inbox


@pytest.mark.parametrize("size", SIZES, ids=str)
async def test_the_summary_shows_count_and_last_notifications(size: tuple[int, int]) -> None:
    inbox = filled()
    async with open_terminal(size, inbox.server) as env:
        await env.sees("Inbox   2 unread", " • New feature", " • Your order is on its", "   Welcome")
        text = await env.sees("Hello Ben!", "Inbox   2 unread")
        assert "• Welcome" not in text
        assert max(map(len, text.splitlines())) <= size[0]


async def test_without_an_inbox_there_is_no_summary_and_no_error() -> None:
    async with open_terminal() as env:
        await env.until(lambda: env.server.tries("notifications"))
        await env.pilot.press("ctrl+o")
        text = await env.sees("● live", "Hello Ben!")
        assert "nbox" not in text
        assert "not" not in text.splitlines()[0]


async def test_new_amended_and_recalled_notifications_are_shown_live() -> None:
    inbox = filled()
    async with open_terminal(server=inbox.server) as env:
        await env.sees("2 unread")
        notification = await inbox.gives({"title": "Lift is stuck"})
        await env.sees("Inbox   3 unread", " • Lift is stuck")
        await inbox.amends(notification, {"title": "Lift works again"})
        await env.sees(" • Lift works again")
        await env.sees_no("stuck")
        await inbox.recalls(notification)
        await env.sees("Inbox   2 unread")
        await env.sees_no("Lift")


async def test_a_broadcast_is_shown_live_with_its_counts() -> None:
    inbox = filled()
    async with open_terminal(server=inbox.server) as env:
        await env.sees("2 unread")
        notification = await inbox.broadcasts({"title": "We are back"})
        await env.sees("Inbox   3 unread", " • We are back")
        await inbox.takes_back(notification)
        await env.sees("Inbox   2 unread")
        await env.sees_no("We are back")


async def test_marks_of_another_device_are_shown() -> None:
    inbox = filled()
    async with open_terminal(server=inbox.server) as env:
        await env.sees("2 unread", " • New feature")
        for notification in inbox.notifications.values():
            notification["is_read"] = True
        await inbox.tells_counts()
        await env.sees("Inbox   nothing unread", "   New feature")
        await env.sees_no("•")


async def test_notifications_are_read_unread_and_archived_by_keys() -> None:
    inbox = filled()
    async with open_terminal(server=inbox.server) as env:
        await env.sees("2 unread")
        await env.pilot.press("ctrl+o")
        await env.sees("Notifications stand beside the chats.", "Archive")
        await env.sees_no("Hello Ben!")
        await env.pilot.press("down", "r")
        await env.sees("Inbox   1 unread", "   Your order is on its way")
        await env.pilot.press("u")
        await env.sees("Inbox   2 unread", " • Your order is on its way")
        await env.pilot.press("x")
        await env.sees("Inbox   1 unread")
        await env.sees_no("Your order")
        await env.pilot.press("r")
        await env.until(lambda: len(inbox.server.tries("mark")) == 5, "the cursor is at the next one")
        assert [
            (mark["to"], [inbox.notifications[name]["message"].get("title") for name in mark.get("ids", [])])
            for mark in inbox.server.tries("mark")
        ] == [("seen", []), ("read", [None]), ("unread", [None]), ("archived", [None]), ("read", ["Welcome"])]
        await env.pilot.press("escape")
        await env.sees("Hello Ben!", "Type a message")
        await env.types("hi", "enter")
        await env.sees("hi  ✓")


async def test_the_cursor_is_visible_without_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    inbox = filled()
    async with open_terminal(server=inbox.server) as env:
        await env.sees("2 unread", "Hi Anna. Lunch?")
        await env.pilot.press("shift+tab")
        await env.until(lambda: "Hi Anna. Lunch?" in env.underlined)
        await env.pilot.press("ctrl+o", "down")
        await env.until(lambda: "Your order is on its way" in env.underlined)
        assert "New feature" not in env.underlined


async def test_mark_all_read_covers_only_received_notifications() -> None:
    inbox = filled()
    async with open_terminal(server=inbox.server) as env:
        await env.sees("2 unread")
        await env.pilot.press("ctrl+o")
        inbox.put({"title": "Under way"}, minutes_ago=-1)
        await env.pilot.press("a")
        await env.sees("1 unread")
        assert inbox.server.tries("mark")[-1] == {"inbox": "default", "to": "read", "before": NOW_MS}


async def test_messages_behind_the_inbox_are_neither_read_nor_changed() -> None:
    inbox = filled()
    async with open_terminal(server=inbox.server) as env:
        await env.until(lambda: {"chat": "d1", "sequence": 3} in inbox.server.tries("read"))
        await env.sees("2 unread")
        await env.pilot.press("ctrl+o")
        await env.sees("Archive")
        await env.says("d1", "ben", "Are you there?")
        await env.sees("▌  Are you there?")
        await env.pilot.press("ctrl+t", "ctrl+r", "u")
        await env.until(lambda: inbox.server.tries("mark")[-1]["to"] == "unread")
        assert {"chat": "d1", "sequence": 4} not in inbox.server.tries("read")
        assert not inbox.server.tries("redact")
        await env.pilot.press("ctrl+o")
        await env.until(lambda: {"chat": "d1", "sequence": 4} in inbox.server.tries("read"))


async def test_another_chat_opens_from_the_inbox() -> None:
    inbox = filled()
    async with open_terminal(server=inbox.server) as env:
        await env.sees("2 unread")
        await env.pilot.press("ctrl+o")
        await env.sees("Archive")
        await env.pilot.press("ctrl+n")
        await env.sees("Lunch at noon?", "Type a message")
        await env.types("soup", "enter")
        await env.sees("soup  ✓")


async def test_moving_the_cursor_down_loads_older_notifications() -> None:
    inbox = ScriptedInbox(demo_server())
    for n in range(50):
        inbox.put({"title": f"notification {n:02}"}, is_read=True)
    async with open_terminal(server=inbox.server) as env:
        await env.sees("notification 49")
        assert not [page for page in inbox.server.tries("notifications") if "cursor" in page], (
            "a glance is cheap"
        )
        await env.pilot.press("ctrl+o")
        for _ in range(20):
            if "notification 00" in env.text:
                break
            await env.pilot.press("end")
            await env.pilot.pause(0.05)
        await env.sees("notification 00")


async def test_after_a_lost_connection_the_inbox_is_read_again() -> None:
    inbox = filled()
    async with open_terminal(server=inbox.server) as env:
        await env.sees("2 unread")
        inbox.put({"title": "Missed"})
        await inbox.server.cut()
        await env.sees("Inbox   3 unread", " • Missed")


async def test_an_expired_notification_disappears() -> None:
    inbox = filled()
    inbox.next_change_at = NOW_MS + 1
    async with open_terminal(server=inbox.server) as env:
        await env.sees("2 unread")
        inbox.notifications.popitem()
        inbox.next_change_at = None
        inbox.version += 1
        await env.sees("Inbox   1 unread")
        await env.sees_no("New feature")


async def test_a_request_refused_temporarily_is_retried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inbox_controller, "_RETRY_S", 0.0)
    inbox = filled()
    answer = inbox.server.answers.pop("notifications")
    inbox.server.answers["notifications"] = lambda _: {
        "error": {"code": "overloaded", "message": "", "retryable": True}
    }
    async with open_terminal(server=inbox.server) as env:
        await env.until(lambda: len(inbox.server.tries("notifications")) > 1)
        inbox.server.answers["notifications"] = answer
        await env.sees("2 unread")


@pytest.mark.parametrize("size", [(80, 24), (50, 15)], ids=str)
async def test_strange_payloads_break_nothing(size: tuple[int, int]) -> None:
    inbox = ScriptedInbox(demo_server())
    for message in (
        {"title": "\x1b[2Jred\u202e [bold]x[/bold]", "text": "日本語" * 99},
        {"order": 17, "paid": True},
        {},
        {"title": 5, "deep": {"a": ["b"]}},
    ):
        inbox.put(message)
    async with open_terminal(size, inbox.server) as env:
        await env.until(lambda: len(env.app.screen.query(".-inbox")) or env.app.screen.has_class("-inbox"))
        await env.pilot.press("ctrl+o")
        text = await env.sees("[2Jred [bold]x[/bold]", '{"order": 17, "paid": true}', "4 unread")
        assert "\x1b" not in text
        assert max(map(len, text.splitlines())) <= size[0]
