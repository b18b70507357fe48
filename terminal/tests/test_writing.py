"""Commands, replies, edits and confirmed deletions, with the real SDK and the scripted server."""

import pytest
from stage import Stage, staged, town
from textual.binding import Binding
from textual.widgets._footer import FooterKey

from tidings_terminal.app import ChatApp
from tidings_terminal.inbox_widgets import NotificationList
from tidings_terminal.key_bindings import COMMANDS, key_names
from tidings_terminal.widgets import Composer, ThreadPane

PROMPT = "Type a message"
QUESTION = "Delete this message for everyone?"


def is_asked(stage: Stage) -> bool:
    return QUESTION in stage.text


async def test_help_lists_every_command_and_key_and_sends_nothing() -> None:
    async with staged((80, 60)) as stage:
        await stage.sees("Hello Ben!")
        await stage.types("/help", "enter")
        text = await stage.sees("Commands", "Keys", *(f"/{command.name}" for command in COMMANDS))
        for owner in (ChatApp, Composer, ThreadPane, NotificationList):
            for binding in owner.BINDINGS:
                assert isinstance(binding, Binding)
                assert binding.tooltip
                assert any(
                    key_names(binding) in line and binding.tooltip in line for line in text.splitlines()
                )
        await stage.pilot.press("escape")
        await stage.sees("Hello Ben!", PROMPT)
        await stage.pilot.press("f1")
        await stage.sees("Commands")
        await stage.pilot.press("escape")
        assert stage.server.tries("send") == []


@pytest.mark.parametrize("size", [(60, 15), (40, 12)], ids=str)
async def test_help_is_read_in_a_small_terminal_by_scrolling(size: tuple[int, int]) -> None:
    async with staged(size) as stage:
        await stage.sees("Hello Ben!")
        await stage.types("/help", "enter")
        await stage.sees("/help")
        await stage.pilot.press("end")
        await stage.sees("Close this help")
        assert max(map(len, stage.text.splitlines())) <= size[0]


async def test_an_unknown_command_is_not_sent_and_stays_to_be_corrected() -> None:
    async with staged() as stage:
        await stage.sees("Hello Ben!")
        await stage.types("/halp me", "enter")
        await stage.sees("Unknown command /halp", "│ /halp me")
        assert stage.server.tries("send") == []
        await stage.pilot.press("escape")
        await stage.types("//halp me", "enter")
        await stage.sees("/halp me  ✓")
        assert [body["text"] for body in stage.server.tries("send")] == ["/halp me"]


async def test_commands_do_what_the_keys_do() -> None:
    async with staged() as stage:
        await stage.sees("Hello Ben!")
        await stage.types("/react", "enter")
        await stage.pilot.press("enter")
        await stage.sees("👍")
        await stage.types("/edit", "enter")
        await stage.sees("│ Hello Ben!")
        await stage.pilot.press("escape")
        await stage.types("/delete", "enter")
        await stage.until(lambda: is_asked(stage))
        await stage.pilot.press("escape")
        await stage.types("/next", "enter")
        await stage.sees("Lunch at noon?")
        await stage.types("/quit", "enter")
        await stage.until(lambda: not stage.app.is_running)


async def test_a_message_is_deleted_only_after_a_confirmation() -> None:
    async with staged() as stage:
        await stage.sees("Hello Ben!")
        await stage.types("half a")
        await stage.pilot.press("ctrl+t")
        await stage.sees(QUESTION, "Hello Ben!")
        await stage.pilot.press("ctrl+n", "ctrl+t", "ctrl+r")
        assert is_asked(stage), "no other key acts behind the question"
        await stage.pilot.press("escape")
        await stage.sees("Hello Ben!", "│ half a")
        await stage.pilot.press("ctrl+t", "n")
        await stage.sees("Hello Ben!", "│ half a")
        assert stage.server.tries("redact") == []
        await stage.pilot.press("ctrl+t", "enter")
        await stage.sees("message deleted", "│ half a")
        assert [body["sequence"] for body in stage.server.tries("redact")] == [2]


async def test_the_message_in_the_question_is_the_one_that_is_deleted() -> None:
    """Another device of the user sends a message while the confirmation is open."""
    async with staged() as stage:
        await stage.sees("Hello Ben!")
        await stage.pilot.press("ctrl+t")
        await stage.until(lambda: is_asked(stage))
        await stage.says("d1", "anna", "From my phone")
        await stage.until(lambda: stage.app.model.thread("d1").newest == 4)
        await stage.pilot.press("enter")
        await stage.sees("message deleted", "From my phone")
        assert [body["sequence"] for body in stage.server.tries("redact")] == [2]


def preview(stage: Stage, title: str) -> str:
    lines = [line.split("│")[0] for line in stage.text.splitlines()]
    return lines[next(n for n, line in enumerate(lines) if title in line) + 1].strip(" ▌")


async def test_the_list_shows_that_the_newest_message_was_deleted() -> None:
    async with staged() as stage:
        await stage.sees("cleo: I bring cake.")
        redaction = stage.server.change("redact", "g1", 3)
        await stage.says("g1", "cleo", **redaction)
        await stage.until(
            lambda: preview(stage, "Lunch  ") == "cleo: message deleted", "in a chat not opened"
        )
        await stage.types("Bye", "enter")
        await stage.until(lambda: preview(stage, "  ben") == "Bye")
        await stage.pilot.press("ctrl+t", "enter")
        await stage.until(lambda: preview(stage, "  ben") == "message deleted", "in the open chat")


async def test_a_new_list_shows_placeholders_for_deleted_and_data_messages() -> None:
    server = town()
    server.change("redact", "d1", 3)
    server.logs["g1"][-1].update(text="", data={"lat": 52})
    async with staged(server=server) as stage:
        await stage.sees("Hello Ben!")
        await stage.until(lambda: preview(stage, "  ben") == "message deleted")
        await stage.until(lambda: preview(stage, "Lunch  ") == "cleo: (data)")


async def test_a_reply_quotes_its_message_before_and_after_the_commit() -> None:
    server = town()
    server.is_pushing = False
    async with staged(server=server) as stage:
        await stage.sees("Hi Anna. Lunch?")
        await stage.types("Yes")
        await stage.pilot.press("ctrl+y")
        await stage.sees("Reply to ben: Hi Anna. Lunch?", "│ Yes")
        await stage.types("!", "enter")
        await stage.sees("↪ ben: Hi Anna. Lunch?\n", "Yes!  ✓", PROMPT)
        assert [(body["text"], body["reply_to"]) for body in server.tries("send")] == [("Yes!", 3)]
        await server.push_entry("d1", 4)
        await stage.until(lambda: not stage.app.model.thread("d1").waiting)
        await stage.sees("↪ ben: Hi Anna. Lunch?\n", "Yes!  ✓")
        await stage.sees_no("Reply to ben")


async def test_quotes_follow_changes_of_the_quoted_message() -> None:
    async with staged() as stage:
        await stage.sees("Hello Ben!")
        await stage.says("d1", "ben", "So am I", reply_to=2)
        await stage.sees("↪ you: Hello Ben!")
        await stage.says("d1", "anna", **stage.server.change("edit", "d1", 2, "Hello dear"))
        await stage.sees("↪ you: Hello dear")
        await stage.says("d1", "anna", **stage.server.change("redact", "d1", 2))
        await stage.sees("↪ you: message deleted")
        await stage.says("d1", "ben", "And that", reply_to=99)
        await stage.sees("↪ message not loaded")


async def test_a_reply_refers_to_the_selected_message_and_escape_keeps_the_text() -> None:
    async with staged() as stage:
        await stage.sees("Hello Ben!")
        await stage.pilot.press("shift+tab", "up", "y")
        await stage.sees("Reply to you: Hello Ben!")
        await stage.types("more")
        await stage.pilot.press("ctrl+n")
        await stage.sees("Lunch at noon?", PROMPT)
        await stage.pilot.press("ctrl+p")
        await stage.sees("Reply to you: Hello Ben!", "│ more")
        await stage.pilot.press("escape")
        await stage.sees("│ more")
        await stage.sees_no("Reply to")


async def test_an_edit_keeps_the_reply_and_the_data_of_a_message() -> None:
    server = town()
    server.logs["d1"][1].update(reply_to=1, data={"lat": 52}, mentions=["ben"])
    async with staged(server=server) as stage:
        await stage.sees("Hello Ben!")
        await stage.types("", "up", "backspace", "enter")
        await stage.until(lambda: server.tries("edit"))
        (body,) = server.tries("edit")
        kept = (body["text"], body["reply_to"], body["data"], body["mentions"])
        assert kept == ("Hello Ben", 1, {"lat": 52}, ["ben"])


async def test_the_draft_returns_after_an_edit_or_a_reaction() -> None:
    async with staged() as stage:
        await stage.types("half a")
        await stage.pilot.press("ctrl+r", "enter")
        await stage.sees("👍", "│ half a")
        await stage.pilot.press("ctrl+r", "x", "escape")
        await stage.sees("│ half a")


def keys(stage: Stage) -> list[tuple[str, bool]]:
    """Return the keys in the footer, and whether each is completely visible."""
    width = stage.app.size.width
    found = sorted(stage.app.screen.query(FooterKey), key=lambda key: key.region.x)
    return [(key.description, key.region.width > 0 and key.region.right <= width) for key in found]


@pytest.mark.parametrize("width", [40, 50, 60, 80, 120])
async def test_the_footer_shows_as_many_complete_keys_as_fit(width: int) -> None:
    async with staged((width, 20)) as stage:
        await stage.sees("Hello Ben!", "Help", "Quit")
        await stage.until(lambda: keys(stage) and all(whole for _, whole in keys(stage)), str(keys(stage)))
        shown = [name for name, _ in keys(stage)]
        assert (shown[0], shown[1], shown[-1]) == ("Help", "Next chat", "Quit")
        assert ("Delete" in shown) == (width >= 80)
        await stage.pilot.resize_terminal(40, 20)
        await stage.until(lambda: len(keys(stage)) in (2, 3, 4) and all(whole for _, whole in keys(stage)))
