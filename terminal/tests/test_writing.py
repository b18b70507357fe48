"""Commands, replies, edits and confirmed deletions, with the real SDK and the scripted server."""

import pytest
from terminal_env import TerminalEnv, demo_server, open_terminal
from textual.binding import Binding
from textual.widgets._footer import FooterKey

from tidings_terminal.app import ChatApp
from tidings_terminal.inbox_widgets import NotificationList
from tidings_terminal.key_bindings import COMMANDS, command_of, key_names
from tidings_terminal.widgets import Composer, ThreadPane

PROMPT = "Type a message"
QUESTION = "Delete this message for everyone?"


def is_asked(env: TerminalEnv) -> bool:
    return QUESTION in env.text


async def test_help_lists_every_command_and_key_and_sends_nothing() -> None:
    async with open_terminal((80, 60)) as env:
        await env.sees("Hello Ben!")
        await env.types("/help", "enter")
        text = await env.sees("Commands", "Keys", *(f"/{command.name}" for command in COMMANDS))
        for owner in (ChatApp, Composer, ThreadPane, NotificationList):
            for binding in owner.BINDINGS:
                assert isinstance(binding, Binding)
                assert binding.tooltip
                assert any(
                    key_names(binding) in line and binding.tooltip in line for line in text.splitlines()
                )
        await env.pilot.press("escape")
        await env.sees("Hello Ben!", PROMPT)
        await env.pilot.press("f1")
        await env.sees("Commands")
        await env.pilot.press("escape")
        assert env.server.tries("send") == []


@pytest.mark.parametrize("size", [(60, 15), (40, 12)], ids=str)
async def test_help_is_read_in_a_small_terminal_by_scrolling(size: tuple[int, int]) -> None:
    async with open_terminal(size) as env:
        await env.sees("Hello Ben!")
        await env.types("/help", "enter")
        await env.sees("/help")
        await env.pilot.press("end")
        await env.sees("Close this help")
        assert max(map(len, env.text.splitlines())) <= size[0]


async def test_an_unknown_command_is_not_sent_and_stays_to_be_corrected() -> None:
    async with open_terminal() as env:
        await env.sees("Hello Ben!")
        await env.types("/halp me", "enter")
        await env.sees("Unknown command /halp", "│ /halp me")
        assert env.server.tries("send") == []
        await env.pilot.press("escape")
        await env.types("//halp me", "enter")
        await env.sees("/halp me  ✓")
        assert [body["text"] for body in env.server.tries("send")] == ["/halp me"]


async def test_commands_do_what_the_keys_do() -> None:
    async with open_terminal() as env:
        await env.sees("Hello Ben!")
        await env.types("/react", "enter")
        await env.pilot.press("enter")
        await env.sees("👍")
        await env.types("/edit", "enter")
        await env.sees("│ Hello Ben!")
        await env.pilot.press("escape")
        await env.types("/delete", "enter")
        await env.until(lambda: is_asked(env))
        await env.pilot.press("escape")
        await env.types("/next", "enter")
        await env.sees("Lunch at noon?")
        await env.types("/quit", "enter")
        await env.until(lambda: not env.app.is_running)


async def test_a_message_is_deleted_only_after_a_confirmation() -> None:
    async with open_terminal() as env:
        await env.sees("Hello Ben!")
        await env.types("half a")
        await env.pilot.press("ctrl+t")
        await env.sees(QUESTION, "Hello Ben!")
        await env.pilot.press("ctrl+n", "ctrl+t", "ctrl+r")
        assert is_asked(env), "no other key acts behind the question"
        await env.pilot.press("escape")
        await env.sees("Hello Ben!", "│ half a")
        await env.pilot.press("ctrl+t", "n")
        await env.sees("Hello Ben!", "│ half a")
        assert env.server.tries("redact") == []
        await env.pilot.press("ctrl+t", "enter")
        await env.sees("message deleted", "│ half a")
        assert [body["sequence"] for body in env.server.tries("redact")] == [2]


async def test_the_message_in_the_question_is_the_one_that_is_deleted() -> None:
    """Another device of the user sends a message while the confirmation is open."""
    async with open_terminal() as env:
        await env.sees("Hello Ben!")
        await env.pilot.press("ctrl+t")
        await env.until(lambda: is_asked(env))
        await env.says("d1", "anna", "From my phone")
        await env.until(lambda: env.app.model.thread("d1").newest == 4)
        await env.pilot.press("enter")
        await env.sees("message deleted", "From my phone")
        assert [body["sequence"] for body in env.server.tries("redact")] == [2]


def preview(env: TerminalEnv, title: str) -> str:
    lines = [line.split("│")[0] for line in env.text.splitlines()]
    return lines[next(n for n, line in enumerate(lines) if title in line) + 1].strip(" ▌")


async def test_the_list_shows_that_the_newest_message_was_deleted() -> None:
    async with open_terminal() as env:
        await env.sees("cleo: I bring cake.")
        redaction = env.server.change("redact", "g1", 3)
        await env.says("g1", "cleo", **redaction)
        await env.until(lambda: preview(env, "Lunch  ") == "cleo: message deleted", "in a chat not opened")
        await env.types("Bye", "enter")
        await env.until(lambda: preview(env, "  ben") == "Bye")
        await env.pilot.press("ctrl+t", "enter")
        await env.until(lambda: preview(env, "  ben") == "message deleted", "in the open chat")


async def test_a_new_list_shows_placeholders_for_deleted_and_data_messages() -> None:
    server = demo_server()
    server.change("redact", "d1", 3)
    server.logs["g1"][-1].update(text="", data={"lat": 52})
    async with open_terminal(server=server) as env:
        await env.sees("Hello Ben!")
        await env.until(lambda: preview(env, "  ben") == "message deleted")
        await env.until(lambda: preview(env, "Lunch  ") == "cleo: (data)")


async def test_a_reply_quotes_its_message_before_and_after_the_commit() -> None:
    server = demo_server()
    server.is_pushing = False
    async with open_terminal(server=server) as env:
        await env.sees("Hi Anna. Lunch?")
        await env.types("Yes")
        await env.pilot.press("ctrl+y")
        await env.sees("Reply to ben: Hi Anna. Lunch?", "│ Yes")
        await env.types("!", "enter")
        await env.sees("↪ ben: Hi Anna. Lunch?\n", "Yes!  ✓", PROMPT)
        assert [(body["text"], body["reply_to"]) for body in server.tries("send")] == [("Yes!", 3)]
        await server.push_entry("d1", 4)
        await env.until(lambda: not env.app.model.thread("d1").waiting)
        await env.sees("↪ ben: Hi Anna. Lunch?\n", "Yes!  ✓")
        await env.sees_no("Reply to ben")


async def test_quotes_follow_changes_of_the_quoted_message() -> None:
    async with open_terminal() as env:
        await env.sees("Hello Ben!")
        await env.says("d1", "ben", "So am I", reply_to=2)
        await env.sees("↪ you: Hello Ben!")
        await env.says("d1", "anna", **env.server.change("edit", "d1", 2, "Hello dear"))
        await env.sees("↪ you: Hello dear")
        await env.says("d1", "anna", **env.server.change("redact", "d1", 2))
        await env.sees("↪ you: message deleted")
        await env.says("d1", "ben", "And that", reply_to=99)
        await env.sees("↪ message not loaded")


async def test_a_reply_refers_to_the_selected_message_and_escape_keeps_the_text() -> None:
    async with open_terminal() as env:
        await env.sees("Hello Ben!")
        await env.pilot.press("shift+tab", "up", "y")
        await env.sees("Reply to you: Hello Ben!")
        await env.types("more")
        await env.pilot.press("ctrl+n")
        await env.sees("Lunch at noon?", PROMPT)
        await env.pilot.press("ctrl+p")
        await env.sees("Reply to you: Hello Ben!", "│ more")
        await env.pilot.press("escape")
        await env.sees("│ more")
        await env.sees_no("Reply to")


async def test_an_edit_keeps_the_reply_and_the_data_of_a_message() -> None:
    server = demo_server()
    server.logs["d1"][1].update(reply_to=1, data={"lat": 52}, mentions=["ben"])
    async with open_terminal(server=server) as env:
        await env.sees("Hello Ben!")
        await env.types("", "up", "backspace", "enter")
        await env.until(lambda: server.tries("edit"))
        (body,) = server.tries("edit")
        kept = (body["text"], body["reply_to"], body["data"], body["mentions"])
        assert kept == ("Hello Ben", 1, {"lat": 52}, ["ben"])


async def test_the_draft_returns_after_an_edit_or_a_reaction() -> None:
    async with open_terminal() as env:
        await env.types("half a")
        await env.pilot.press("ctrl+r", "enter")
        await env.sees("👍", "│ half a")
        await env.pilot.press("ctrl+r", "x", "escape")
        await env.sees("│ half a")


def keys(env: TerminalEnv) -> list[tuple[str, bool]]:
    """Return the keys in the footer, and whether each is completely visible."""
    width = env.app.size.width
    found = sorted(env.app.screen.query(FooterKey), key=lambda key: key.region.x)
    return [(key.description, key.region.width > 0 and key.region.right <= width) for key in found]


@pytest.mark.parametrize("width", [40, 50, 60, 80, 120])
async def test_the_footer_shows_as_many_complete_keys_as_fit(width: int) -> None:
    async with open_terminal((width, 20)) as env:
        await env.sees("Hello Ben!", "Help", "Quit")
        await env.until(lambda: keys(env) and all(whole for _, whole in keys(env)), str(keys(env)))
        shown = [name for name, _ in keys(env)]
        assert (shown[0], shown[1], shown[-1]) == ("Help", "Next chat", "Quit")
        assert ("Delete" in shown) == (width >= 80)
        await env.pilot.resize_terminal(40, 20)
        await env.until(lambda: len(keys(env)) in (2, 3, 4) and all(whole for _, whole in keys(env)))


@pytest.mark.parametrize(
    ("text", "action"),
    [
        ("/report", "report('other')"),
        ("/report spam", "report('spam')"),
        ("/report nonsense", None),
        ("/quit now", None),
        ("/quit", "quit"),
    ],
)
def test_a_report_may_have_a_reason(text: str, action: str | None) -> None:
    found = command_of(text)
    assert (None if found is None else found.action) == action


async def test_a_report_needs_the_address_of_the_api() -> None:
    async with open_terminal() as env:
        await env.sees("Hello Ben!")
        await env.types("/report spam", "enter")
        await env.sees("Moderation needs the argument")
        assert env.server.tries("send") == []
