"""The whole app with the real SDK and the scripted server: screen and keys."""

from dataclasses import replace

import pytest
from scripted_server import ScriptedServer, error
from terminal_env import NOW_MS, demo_server, open_terminal, watched

from tidings_terminal.chat_view import ChatView
from tidings_terminal.widgets import ChatPane

SIZES = [(80, 24), (120, 36), (50, 15)]


@pytest.mark.parametrize("size", SIZES, ids=str)
async def test_list_thread_and_state_are_on_the_screen_whatever_its_size(size: tuple[int, int]) -> None:
    async with open_terminal(size) as env:
        text = await env.sees("● live", "Hello Ben!", "Hi Anna. Lunch?", "Type a message")
        assert ("cleo: I bring cake." in text) == (size[0] >= 60)
        assert max(map(len, text.splitlines())) <= size[0]


async def test_a_message_goes_from_sending_to_read() -> None:
    server = demo_server()
    server.is_pushing = False
    async with open_terminal(server=server) as env:
        await watched(env, "d1")
        await env.types("How are you?")
        server.shut = (503, b"")
        await server.cut()
        await env.sees("no connection")
        await env.pilot.press("enter")
        await env.sees("How are you?  ◌ sending")
        server.shut = None
        await env.sees("How are you?  ✓")
        await server.push_entry("d1", 4)
        await watched(env, "d1")
        await env.got("d1", ben={"delivered": 4})
        await env.sees("How are you?  ✓✓")
        await env.got("d1", ben={"read": 4})
        await env.sees("How are you?  ✓✓ read")


async def test_a_refused_message_shows_its_reason() -> None:
    server = demo_server()
    server.refusals["no"] = "blocked"
    async with open_terminal(server=server) as env:
        await env.types("no", "enter")
        await env.sees("no  ✗ not sent: blocked")
        await env.types("yes", "enter")
        await env.sees("yes  ✓")
        await env.sees_no("✗")


async def test_edits_redactions_and_reactions_of_others_are_shown_live() -> None:
    async with open_terminal() as env:
        await env.sees("Hi Anna. Lunch?")
        await env.says("d1", "ben", **env.server.change("edit", "d1", 3, "Hi Anna. Dinner?"))
        await env.sees("Hi Anna. Dinner? (edited)")
        await env.says("d1", "ben", **env.server.change("react", "d1", 2, emoji="🎉"))
        await env.sees("🎉")
        await env.says("d1", "ben", **env.server.change("redact", "d1", 3))
        await env.sees("message deleted")
        await env.sees_no("Dinner?")


async def test_the_last_message_is_edited_reacted_to_and_deleted_by_keys() -> None:
    async with open_terminal() as env:
        await env.sees("Hello Ben!")
        await env.pilot.press("up", *["backspace"] * 10)
        await env.types("Hi Ben!", "enter")
        await env.sees("Hi Ben! (edited)")
        await env.pilot.press("ctrl+r", "enter")
        await env.sees("👍")
        assert env.server.tries("react")[0]["sequence"] == 3, "the last one of all"
        await env.pilot.press("ctrl+t", "enter")
        await env.sees("message deleted")
        assert env.server.tries("redact")[0]["sequence"] == 2, "the last one of one's own"


async def test_a_message_is_selected_in_the_thread_and_escape_cancels_the_edit() -> None:
    async with open_terminal() as env:
        await env.sees("Hello Ben!")
        await env.pilot.press("shift+tab", "up", "e")
        await env.sees("│ Hello Ben!")
        assert env.app.focused is not None
        assert env.app.focused.id == "words"
        await env.pilot.press("escape")
        await env.sees("Type a message")
        await env.types("half a word", "up")
        await env.sees("│ half a word")


async def test_a_draft_stays_in_its_chat() -> None:
    async with open_terminal() as env:
        await env.types("half a")
        await env.sees("Hello Ben!", "│ half a")
        await env.pilot.press("ctrl+n")
        await env.sees("Lunch at noon?", "Type a message")
        await env.pilot.press("ctrl+p")
        await env.sees("Hello Ben!", "│ half a")


async def test_typing_is_shown_until_the_message_arrives() -> None:
    async with open_terminal() as env:
        await watched(env, "d1")
        await env.server.push(typing={"chat": "d1", "user": "ben"})
        await env.sees("ben is typing …")
        await env.says("d1", "ben", "Well")
        await env.sees("Well")
        await env.sees_no("typing")
        await env.types("abc")
        await env.until(lambda: env.server.tries("typing"))
        assert env.server.tries("typing") == [{"chat": "d1"}]


async def test_presence_of_the_other_user_is_in_list_and_title() -> None:
    async with open_terminal() as env:
        await env.until(lambda: any("ben" in body.get("users", []) for body in env.server.tries("subscribe")))
        await env.server.push(presence={"user": "ben", "status": "online"})
        await env.sees("ben   ● online", "▌● ben")
        await env.server.push(presence={"user": "ben", "status": "offline", "at": NOW_MS - 90_000_000})
        await env.sees("last seen ", "▌○ ben")


async def test_the_visible_chat_is_marked_read_and_others_count_unread() -> None:
    async with open_terminal() as env:
        await env.until(lambda: {"chat": "d1", "sequence": 3} in env.server.tries("read"))
        await env.says("g1", "cleo", "And coffee.")
        await env.says("g1", "ben", "Tea for me.")
        text = await env.sees("ben: Tea for me.")
        (row,) = [line.split("│")[0] for line in text.splitlines() if "Lunch  " in line]
        assert row.rstrip().endswith(" 3")
        assert {body["chat"] for body in env.server.tries("read")} == {"d1"}
        await env.pilot.press("ctrl+n")
        await env.sees("And coffee.")
        await env.until(lambda: {"chat": "g1", "sequence": 5} in env.server.tries("read"))
        await env.until(lambda: {"chats": ["d1"]} in env.server.tries("unsubscribe"))


async def test_reads_on_another_device_remove_the_badge() -> None:
    async with open_terminal() as env:
        await env.sees("cleo: I bring cake.", " 1 │")
        await env.got("g1", anna={"read": 3})
        await env.sees_no(" 1 │")


async def test_a_lost_connection_and_missed_messages_are_shown() -> None:
    async with open_terminal() as env:
        server = env.server
        await env.sees("● live", "Hi Anna. Lunch?")
        server.shut = (503, b'{"retry_after_ms":2000}')
        await server.cut()
        await env.sees("no connection, next try in")
        missed = [server.readable(server.add("d1", "ben", text=f"missed {n}")) for n in range(12)]
        _resumes_with(server, {"chat": "d1", "after": 3, "up_to": 15, "entries": missed})
        server.shut = None
        await env.sees("● live", "caught up: 12 messages", "missed 11")


def _resumes_with(server: ScriptedServer, entries: dict[str, object]) -> None:
    """The server pushes missed entries between the welcome and `resumed`."""
    server.before_resumed.append({"entries": entries})


async def test_scrolling_up_loads_older_messages() -> None:
    server = ScriptedServer(is_pushing=True, now_ms=NOW_MS)
    for n in range(130):
        server.add("d1", "ben", text=f"message {n:03}")
    async with open_terminal(server=server) as env:
        await env.sees("message 129")
        for _ in range(40):
            await env.pilot.press("pageup")
            await env.pilot.pause(0.02)
            if "message 000" in env.text:
                break
        await env.sees("message 000")
        assert [body.get("before") for body in server.tries("history")] == [None, 81, 31]
        await env.says("d1", "ben", "news")
        text = await env.sees("message 000", "▌  news")
        assert text.count("news") == 1, "who reads older ones stays there"
        await env.types("x")
        await env.until(lambda: server.tries("typing"), "a sign that comes after whatever was read")
        assert {"chat": "d1", "sequence": 131} not in server.tries("read"), "what is not seen is not read"
        for _ in range(40):
            await env.pilot.press("pagedown")
        await env.until(lambda: {"chat": "d1", "sequence": 131} in server.tries("read"))


STRANGE = [
    "a" * 4096,
    "👩‍👩‍👧‍👦 family 🇩🇪 flag 👍🏽 skin",
    "日本語のとても長いメッセージが折り返されるかどうかを見る" * 5,
    "مرحبا بالعالم שלום עולם mixed with English",
    "\x1b[2J\x1b[31mred\x07 \x9b1mbold \u202eturned around",
    "[bold]no markup[/bold] [/nothing] [@click=app.quit]x[/]",
    "one\n\ntwo\r\nthree\tfour",
    "\ud7ff\ue000 private",
]


@pytest.mark.parametrize("size", [(80, 24), (50, 15)], ids=str)
async def test_unusual_text_breaks_nothing(size: tuple[int, int]) -> None:
    async with open_terminal(size) as env:
        await env.sees("Hello Ben!")
        for n, text in enumerate(STRANGE):
            await env.says("d1", "ben", f"{text} <{n}>")
            shown = await env.sees(f"<{n}>", "● live", "Type a message")
            assert "\x1b" not in shown
            assert "\u202e" not in shown


@pytest.mark.parametrize("variable", ["NO_COLOR", None])
async def test_every_state_is_visible_without_colours(
    monkeypatch: pytest.MonkeyPatch, variable: str | None
) -> None:
    if variable:
        monkeypatch.setenv(variable, "1")
    async with open_terminal() as env:
        await watched(env, "d1")
        await env.got("d1", ben={"read": 2})
        await env.sees("✓✓ read", "● live", "▌")
        assert env.app.no_color == (variable is not None)


async def test_a_refused_credential_ends_the_app_with_its_reason() -> None:
    async with open_terminal() as env:
        env.server.refuse_connect.append((error("credential_invalid"), 4500, "credential_invalid"))
        await env.server.cut()
        await env.until(lambda: not env.app.is_running)
        assert "4500" in (env.app.return_value or "")


async def test_only_the_open_chat_is_watched() -> None:
    async with open_terminal() as env:
        await env.sees("Hello Ben!")
        chats = [body["chats"] for body in env.server.tries("subscribe") if "chats" in body]
        assert chats == [["d1"]]


async def test_a_chat_that_was_just_opened_stays_open_when_the_list_was_redrawn_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The redrawn list highlights the previous chat, which must not open it."""
    async with open_terminal() as env:
        await env.sees("Hello Ben!", "cleo: I bring cake.")
        pane, view, opened = env.app.query_one(ChatPane), env.app.query_one(ChatView), list[str]()
        open_now = view.open

        def record(chat: str) -> None:
            opened.append(chat)
            open_now(chat)

        monkeypatch.setattr(view, "open", record)
        pane.show([replace(line, unread=line.unread + 1) for line in pane._shown[::-1]], "d1")
        env.app.action_step(1)
        await env.sees("Lunch at noon?")
        await env.pilot.pause()
        assert opened == ["g1"]
