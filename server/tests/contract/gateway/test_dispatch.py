"""Frames in, frames out, with the real use cases on real engines between; only the socket is missing."""

import msgspec
import pytest
from contract.gateway.driver import Device, dispatch_of
from fixtures.use_cases import ANNA, BEN, RunUseCases, UseCaseEnv

from tidings.app.wiring.chats import build_watermark_store
from tidings.delivery.model import LogPosition
from tidings.gateway.handlers import HANDLERS
from tidings.kernel.errors import Code
from tidings.kernel.ids import ChatKey
from tidings.wire.frames.ephemeral import Ping, Pong
from tidings.wire.frames.registry import REQUESTS


async def connected(stage: UseCaseEnv, credential: str = ANNA) -> Device:
    device = Device(dispatch_of(stage))
    assert (await device.connect(credential))["user"] == credential
    return device


async def begun(stage: UseCaseEnv) -> tuple[Device, ChatKey]:
    return await connected(stage), await stage.manage.direct(stage.tenant, ANNA, BEN)


def test_a_device_is_welcomed_and_told_that_it_has_everything(play: RunUseCases) -> None:
    async def scene(stage: UseCaseEnv) -> None:
        device = await connected(stage)
        welcome, resumed = device.frames
        assert welcome["ok"]["heartbeat_s"] == 25
        assert welcome["ok"]["limits"]["in_flight"] == 32
        assert resumed == {"resumed": {"epoch": 0}}

    play(scene)


def test_a_send_is_answered_with_its_place_and_a_repeat_with_the_same(play: RunUseCases) -> None:
    async def scene(stage: UseCaseEnv) -> None:
        device, chat = await begun(stage)
        message = {"chat": chat.chat, "client_message_id": "k-1", "after": 1, "text": "Hello!"}
        assert await device.ask("send", **message) == {"sequence": 2}
        assert await device.ask("send", **message) == {"sequence": 2, "is_repeat": True}
        other = await device.ask("send", **{**message, "text": "Hullo!"})
        assert other["code"] == Code.IDEMPOTENCY_CONFLICT

    play(scene)


def test_many_sends_at_once_each_get_a_place_of_their_own(play: RunUseCases) -> None:
    async def scene(stage: UseCaseEnv) -> None:
        device, chat = await begun(stage)
        for n in range(10, 30):
            body = {"chat": chat.chat, "client_message_id": f"k-{n}", "after": 1, "text": "hi"}
            device.feed(msgspec.json.encode({"id": n, "send": body}))
        await device.settled()
        answers = {
            frame["id"]: frame["ok"]["sequence"] for frame in device.frames if frame.get("id", 0) >= 10
        }
        assert sorted(answers) == list(range(10, 30))
        assert sorted(answers.values()) == list(range(2, 22))

    play(scene)


def test_history_shows_what_was_sent_and_the_key_to_its_sender_only(play: RunUseCases) -> None:
    async def scene(stage: UseCaseEnv) -> None:
        anna, chat = await begun(stage)
        ben = await connected(stage, BEN)
        sent = {
            "chat": chat.chat,
            "client_message_id": "k-1",
            "after": 1,
            "text": "Hi @ben",
            "mentions": ["ben"],
        }
        await anna.ask("send", **sent, data={"n": 1}, reply_to=1, content_type="x/y")
        page = await ben.ask("history", chat=chat.chat, limit=1)
        (entry,) = page["entries"]
        assert entry.pop("at") > 1_700_000_000_000
        assert entry == {
            "sequence": 2,
            "by": "anna",
            "text": "Hi @ben",
            "data": {"n": 1},
            "reply_to": 1,
            "mentions": ["ben"],
            "content_type": "x/y",
        }
        assert (page["after"], page["up_to"], page["has_older"]) == (1, 2, True)
        own = await anna.ask("history", chat=chat.chat, around=2)
        assert own["entries"][0]["client_message_id"] == "k-1"
        caught_up = await ben.ask("history", chat=chat.chat, after=1)
        assert [entry["sequence"] for entry in caught_up["entries"]] == [2]
        older = await ben.ask("history", chat=chat.chat, before=2)
        assert [entry["kind"] for entry in older["entries"]] == ["create"]

    play(scene)


def test_a_message_is_edited_reacted_to_and_redacted(play: RunUseCases) -> None:
    async def scene(stage: UseCaseEnv) -> None:
        device, chat = await begun(stage)
        about = {"chat": chat.chat, "after": 1, "sequence": 2}
        await device.ask("send", chat=chat.chat, client_message_id="k-1", after=1, text="Helo")
        assert await device.ask("edit", **about, client_message_id="k-2", text="Hello") == {"sequence": 3}
        assert await device.ask("react", **about, client_message_id="k-3", emoji="👍") == {"sequence": 4}
        page = await device.ask("history", chat=chat.chat)
        (message,) = (entry for entry in page["entries"] if entry["sequence"] == 2)
        assert message["text"] == "Hello"
        assert message["reactions"] == [{"emoji": "👍", "count": 1, "users": ["anna"]}]
        taken_back = {**about, "client_message_id": "k-4", "emoji": "👍", "is_removed": True}
        assert await device.ask("react", **taken_back) == {"sequence": 5}
        assert await device.ask("redact", **about, client_message_id="k-5") == {"sequence": 6}
        page = await device.ask("history", chat=chat.chat)
        (message,) = (entry for entry in page["entries"] if entry["sequence"] == 2)
        assert message["state"] == "redacted"
        assert "text" not in message

    play(scene)


def test_a_stranger_is_refused_and_stays_connected(play: RunUseCases) -> None:
    async def scene(stage: UseCaseEnv) -> None:
        _, chat = await begun(stage)
        cleo = await connected(stage, "cleo")
        error = await cleo.ask("send", chat=chat.chat, client_message_id="k", after=1, text="hi")
        assert (error["code"], error.get("retryable", False)) == (Code.CHAT_NOT_FOUND, False)
        assert error["docs"] == "/errors/chat_not_found"
        assert (await cleo.ask("history", chat=chat.chat))["code"] == Code.CHAT_NOT_FOUND
        assert cleo.closed is None

    play(scene)


@pytest.mark.parametrize(("credential", "name"), [("mallory", "credential_invalid"), ("server", "forbidden")])
def test_whoever_is_not_a_user_is_turned_away_for_good(play: RunUseCases, credential: str, name: str) -> None:
    async def scene(stage: UseCaseEnv) -> None:
        device = Device(dispatch_of(stage))
        assert (await device.connect(credential))["code"] == name
        assert device.closed is not None
        assert device.closed.reason == name
        assert not device.closed.code.is_reconnect

    play(scene)


def test_marks_go_forward_and_what_is_above_the_head_is_refused(play: RunUseCases) -> None:
    async def scene(stage: UseCaseEnv) -> None:
        anna, chat = await begun(stage)
        ben = await connected(stage, BEN)
        await anna.ask("send", chat=chat.chat, client_message_id="k", after=1, text="hi")
        assert await ben.ask("ack", delivered={chat.chat: 2}) == {}
        assert await ben.ask("read", chat=chat.chat, sequence=2) == {}
        assert await ben.ask("read", chat=chat.chat, sequence=1) == {}
        assert (await ben.ask("read", chat=chat.chat, sequence=9))["code"] == Code.POSITION_AHEAD
        marks = await build_watermark_store(stage.client, stage.clock).rows_of(chat, [BEN])
        assert (marks[BEN].delivered, marks[BEN].read) == (LogPosition(2, 1), LogPosition(2, 1))

    play(scene)


def test_an_ack_marks_what_it_can_and_tells_of_the_rest(play: RunUseCases) -> None:
    async def scene(stage: UseCaseEnv) -> None:
        anna, chat = await begun(stage)
        own = {f"not-there-{n}": 1 for n in range(10)}
        assert (await anna.ask("ack", delivered={**own, chat.chat: 1}))["code"] == Code.CHAT_NOT_FOUND
        marks = await build_watermark_store(stage.client, stage.clock).rows_of(chat, [ANNA])
        assert marks[ANNA].delivered == LogPosition(1, 0)

    play(scene)


def test_every_request_is_served_by_somebody() -> None:
    by_protocol = {Ping, Pong}
    assert HANDLERS.keys() | by_protocol == {kind.body for kind in REQUESTS}
