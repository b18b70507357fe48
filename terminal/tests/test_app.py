"""The whole app with the real SDK and the scripted server: screen and keys."""

from dataclasses import replace

import pytest
from scripted_server import ScriptedServer, error
from stage import NOW_MS, staged, town, watched

from tidings_terminal.chat_view import ChatView
from tidings_terminal.widgets import ChatPane

SIZES = [(80, 24), (120, 36), (50, 15)]


@pytest.mark.parametrize("size", SIZES, ids=str)
async def test_list_thread_and_state_are_on_the_screen_whatever_its_size(size: tuple[int, int]) -> None:
    async with staged(size) as stage:
        text = await stage.sees("● live", "Hello Ben!", "Hi Anna. Lunch?", "Type a message")
        assert ("cleo: I bring cake." in text) == (size[0] >= 60)
        assert max(map(len, text.splitlines())) <= size[0]


async def test_a_message_goes_from_sending_to_read() -> None:
    server = town()
    server.is_pushing = False
    async with staged(server=server) as stage:
        await watched(stage, "d1")
        await stage.types("How are you?")
        server.shut = (503, b"")
        await server.cut()
        await stage.sees("no connection")
        await stage.pilot.press("enter")
        await stage.sees("How are you?  ◌ sending")
        server.shut = None
        await stage.sees("How are you?  ✓")
        await server.push_entry("d1", 4)
        await watched(stage, "d1")
        await stage.got("d1", ben={"delivered": 4})
        await stage.sees("How are you?  ✓✓")
        await stage.got("d1", ben={"read": 4})
        await stage.sees("How are you?  ✓✓ read")


async def test_a_refused_message_shows_its_reason() -> None:
    server = town()
    server.refusals["no"] = "blocked"
    async with staged(server=server) as stage:
        await stage.types("no", "enter")
        await stage.sees("no  ✗ not sent: blocked")
        await stage.types("yes", "enter")
        await stage.sees("yes  ✓")
        await stage.sees_no("✗")


async def test_edits_redactions_and_reactions_of_others_are_shown_live() -> None:
    async with staged() as stage:
        await stage.sees("Hi Anna. Lunch?")
        await stage.says("d1", "ben", **stage.server.change("edit", "d1", 3, "Hi Anna. Dinner?"))
        await stage.sees("Hi Anna. Dinner? (edited)")
        await stage.says("d1", "ben", **stage.server.change("react", "d1", 2, emoji="🎉"))
        await stage.sees("🎉")
        await stage.says("d1", "ben", **stage.server.change("redact", "d1", 3))
        await stage.sees("message deleted")
        await stage.sees_no("Dinner?")


async def test_the_last_message_is_edited_reacted_to_and_deleted_by_keys() -> None:
    async with staged() as stage:
        await stage.sees("Hello Ben!")
        await stage.pilot.press("up", *["backspace"] * 10)
        await stage.types("Hi Ben!", "enter")
        await stage.sees("Hi Ben! (edited)")
        await stage.pilot.press("ctrl+r", "enter")
        await stage.sees("👍")
        assert stage.server.tries("react")[0]["sequence"] == 3, "the last one of all"
        await stage.pilot.press("ctrl+t", "enter")
        await stage.sees("message deleted")
        assert stage.server.tries("redact")[0]["sequence"] == 2, "the last one of one's own"


async def test_a_message_is_selected_in_the_thread_and_escape_cancels_the_edit() -> None:
    async with staged() as stage:
        await stage.sees("Hello Ben!")
        await stage.pilot.press("shift+tab", "up", "e")
        await stage.sees("│ Hello Ben!")
        assert stage.app.focused is not None
        assert stage.app.focused.id == "words"
        await stage.pilot.press("escape")
        await stage.sees("Type a message")
        await stage.types("half a word", "up")
        await stage.sees("│ half a word")


async def test_a_draft_stays_in_its_chat() -> None:
    async with staged() as stage:
        await stage.types("half a")
        await stage.sees("Hello Ben!", "│ half a")
        await stage.pilot.press("ctrl+n")
        await stage.sees("Lunch at noon?", "Type a message")
        await stage.pilot.press("ctrl+p")
        await stage.sees("Hello Ben!", "│ half a")


async def test_typing_is_shown_until_the_message_arrives() -> None:
    async with staged() as stage:
        await watched(stage, "d1")
        await stage.server.push(typing={"chat": "d1", "user": "ben"})
        await stage.sees("ben is typing …")
        await stage.says("d1", "ben", "Well")
        await stage.sees("Well")
        await stage.sees_no("typing")
        await stage.types("abc")
        await stage.until(lambda: stage.server.tries("typing"))
        assert stage.server.tries("typing") == [{"chat": "d1"}]


async def test_presence_of_the_other_user_is_in_list_and_title() -> None:
    async with staged() as stage:
        await stage.until(
            lambda: any("ben" in body.get("users", []) for body in stage.server.tries("subscribe"))
        )
        await stage.server.push(presence={"user": "ben", "status": "online"})
        await stage.sees("ben   ● online", "▌● ben")
        await stage.server.push(presence={"user": "ben", "status": "offline", "at": NOW_MS - 90_000_000})
        await stage.sees("last seen ", "▌○ ben")


async def test_the_visible_chat_is_marked_read_and_others_count_unread() -> None:
    async with staged() as stage:
        await stage.until(lambda: {"chat": "d1", "sequence": 3} in stage.server.tries("read"))
        await stage.says("g1", "cleo", "And coffee.")
        await stage.says("g1", "ben", "Tea for me.")
        text = await stage.sees("ben: Tea for me.")
        (row,) = [line.split("│")[0] for line in text.splitlines() if "Lunch  " in line]
        assert row.rstrip().endswith(" 3")
        assert {body["chat"] for body in stage.server.tries("read")} == {"d1"}
        await stage.pilot.press("ctrl+n")
        await stage.sees("And coffee.")
        await stage.until(lambda: {"chat": "g1", "sequence": 5} in stage.server.tries("read"))
        await stage.until(lambda: {"chats": ["d1"]} in stage.server.tries("unsubscribe"))


async def test_reads_on_another_device_remove_the_badge() -> None:
    async with staged() as stage:
        await stage.sees("cleo: I bring cake.", " 1 │")
        await stage.got("g1", anna={"read": 3})
        await stage.sees_no(" 1 │")


async def test_a_lost_connection_and_missed_messages_are_shown() -> None:
    async with staged() as stage:
        server = stage.server
        await stage.sees("● live", "Hi Anna. Lunch?")
        server.shut = (503, b'{"retry_after_ms":2000}')
        await server.cut()
        await stage.sees("no connection, next try in")
        missed = [server.told(server.add("d1", "ben", text=f"missed {n}")) for n in range(12)]
        _resumes_with(server, {"chat": "d1", "after": 3, "up_to": 15, "entries": missed})
        server.shut = None
        await stage.sees("● live", "caught up: 12 messages", "missed 11")


def _resumes_with(server: ScriptedServer, entries: dict[str, object]) -> None:
    """The server pushes missed entries between the welcome and `resumed`."""
    server.before_resumed.append({"entries": entries})


async def test_scrolling_up_loads_older_messages() -> None:
    server = ScriptedServer(is_pushing=True, now_ms=NOW_MS)
    for n in range(130):
        server.add("d1", "ben", text=f"message {n:03}")
    async with staged(server=server) as stage:
        await stage.sees("message 129")
        for _ in range(40):
            await stage.pilot.press("pageup")
            await stage.pilot.pause(0.02)
            if "message 000" in stage.text:
                break
        await stage.sees("message 000")
        assert [body.get("before") for body in server.tries("history")] == [None, 81, 31]
        await stage.says("d1", "ben", "news")
        text = await stage.sees("message 000", "▌  news")
        assert text.count("news") == 1, "who reads older ones stays there"
        await stage.types("x")
        await stage.until(lambda: server.tries("typing"), "a sign that comes after whatever was read")
        assert {"chat": "d1", "sequence": 131} not in server.tries("read"), "what is not seen is not read"
        for _ in range(40):
            await stage.pilot.press("pagedown")
        await stage.until(lambda: {"chat": "d1", "sequence": 131} in server.tries("read"))


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
    async with staged(size) as stage:
        await stage.sees("Hello Ben!")
        for n, text in enumerate(STRANGE):
            await stage.says("d1", "ben", f"{text} <{n}>")
            shown = await stage.sees(f"<{n}>", "● live", "Type a message")
            assert "\x1b" not in shown
            assert "\u202e" not in shown


@pytest.mark.parametrize("variable", ["NO_COLOR", None])
async def test_every_state_is_visible_without_colours(
    monkeypatch: pytest.MonkeyPatch, variable: str | None
) -> None:
    if variable:
        monkeypatch.setenv(variable, "1")
    async with staged() as stage:
        await watched(stage, "d1")
        await stage.got("d1", ben={"read": 2})
        await stage.sees("✓✓ read", "● live", "▌")
        assert stage.app.no_color == (variable is not None)


async def test_a_refused_credential_ends_the_app_with_its_reason() -> None:
    async with staged() as stage:
        stage.server.refuse_connect.append((error("credential_invalid"), 4500, "credential_invalid"))
        await stage.server.cut()
        await stage.until(lambda: not stage.app.is_running)
        assert "4500" in (stage.app.return_value or "")


async def test_only_the_open_chat_is_watched() -> None:
    async with staged() as stage:
        await stage.sees("Hello Ben!")
        chats = [body["chats"] for body in stage.server.tries("subscribe") if "chats" in body]
        assert chats == [["d1"]]


async def test_a_chat_that_was_just_opened_stays_open_when_the_list_was_redrawn_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The redrawn list highlights the previous chat, which must not open it."""
    async with staged() as stage:
        await stage.sees("Hello Ben!", "cleo: I bring cake.")
        pane, view, opened = stage.app.query_one(ChatPane), stage.app.query_one(ChatView), list[str]()
        open_now = view.open

        def record(chat: str) -> None:
            opened.append(chat)
            open_now(chat)

        monkeypatch.setattr(view, "open", record)
        pane.show([replace(line, unread=line.unread + 1) for line in pane._shown[::-1]], "d1")
        stage.app.action_step(1)
        await stage.sees("Lunch at noon?")
        await stage.pilot.pause()
        assert opened == ["g1"]
