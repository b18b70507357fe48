"""`/search`: results in a dialog, and the chosen message in its chat."""

from datetime import UTC, datetime

from scripted_api import ScriptedApi, run_scripted_api
from terminal_env import at, demo_server, open_terminal

from tidings_terminal.widgets import ThreadPane


def answer(api: ScriptedApi, *found: tuple[str, int, str, str]) -> None:
    """Answer with messages: chat, sequence, sender, and the text, which matches as a whole."""
    created = datetime.fromtimestamp(at(50) / 1000, UTC).isoformat().replace("+00:00", "Z")
    results = [
        {
            "chat": chat,
            "message": {"id": f"{chat}.{n}", "sequence": n, "sender": by, "created_at": created},
            "highlights": [{"text": text, "is_match": True}],
        }
        for chat, n, by, text in found
    ]
    api.body = {"results": results}


async def test_a_found_message_is_shown_in_its_chat() -> None:
    server = demo_server()
    for number in range(4, 130):
        server.add("g1", "ben", text=f"line {number}", at=at(60))
    with run_scripted_api() as api:
        answer(api, ("g1", 3, "cleo", "I bring cake."), ("d1", 2, "anna", "Hello cake!"))
        async with open_terminal(server=server, api=api.url) as env:
            await env.sees("line 129")
            await env.types("/search cake", "enter")
            text = await env.sees("2 messages:", "I bring cake.", "Hello cake!")
            assert "Lunch · cleo" in text
            assert "ben · you" in text
            assert "/v1/search?q=cake&limit=50" in api.paths
            await env.pilot.press("enter")
            await env.sees("I bring cake.", "line 4")
            pane = env.app.query_one(ThreadPane)
            await env.until(lambda: pane.chosen == 3, "the message is chosen")
            await env.types("y")
            await env.sees("Reply to cleo: I bring cake.")
        assert server.tries("send") == []


async def test_the_words_are_changed_in_the_dialog_and_failures_are_shown() -> None:
    with run_scripted_api() as api:
        answer(api)
        async with open_terminal(api=api.url) as env:
            await env.sees("Hello Ben!")
            await env.types("/search", "enter")
            await env.sees("Search your messages")
            await env.types("soup", "enter")
            await env.sees("No messages found.")
            api.status, api.body = 403, {"code": "search_off", "detail": "off"}
            await env.types("s", "enter")
            await env.sees("Search is off.")
            assert "/v1/search?q=soups&limit=50" in api.paths
            await env.pilot.press("escape")
            await env.sees("Hello Ben!", "Type a message")


async def test_without_the_rest_api_the_search_says_what_is_missing() -> None:
    async with open_terminal() as env:
        await env.sees("Hello Ben!")
        await env.types("/search soup", "enter")
        await env.sees("Search needs the argument `api`")
