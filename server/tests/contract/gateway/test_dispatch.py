"""Requests and answers with the real use cases on real engines, without a socket."""

import msgspec
import pytest
from contract.gateway.driver import Device, dispatch_of
from fixtures.use_cases import ANNA, BEN, UseCaseEnv

from tidings.app.wiring.chats import build_watermark_store
from tidings.delivery.model import LogPosition
from tidings.gateway.handlers import HANDLERS
from tidings.kernel.errors import Code
from tidings.kernel.ids import ChatKey
from tidings_wire.frames.ephemeral import Ping, Pong
from tidings_wire.frames.registry import REQUESTS


async def connected(use_cases: UseCaseEnv, credential: str = ANNA) -> Device:
    device = Device(dispatch_of(use_cases))
    assert (await device.connect(credential))["user"] == credential
    return device


async def begun(use_cases: UseCaseEnv) -> tuple[Device, ChatKey]:
    return await connected(use_cases), await use_cases.manage.direct(use_cases.tenant, ANNA, BEN)


async def test_a_connected_device_receives_resumed(use_cases: UseCaseEnv) -> None:
    device = await connected(use_cases)
    welcome, resumed = device.frames
    assert welcome["ok"]["heartbeat_s"] == 25
    assert welcome["ok"]["limits"]["in_flight"] == 32
    assert resumed == {"resumed": {"epoch": 0}}


async def test_a_send_returns_its_sequence_and_a_repeat_the_same(use_cases: UseCaseEnv) -> None:
    device, chat = await begun(use_cases)
    message = {"chat": chat.chat, "client_message_id": "k-1", "after": 1, "text": "Hello!"}
    assert await device.ask("send", **message) == {"sequence": 2}
    assert await device.ask("send", **message) == {"sequence": 2, "is_repeat": True}
    other = await device.ask("send", **{**message, "text": "Hullo!"})
    assert other["code"] == Code.IDEMPOTENCY_CONFLICT


async def test_concurrent_sends_each_get_their_own_sequence(use_cases: UseCaseEnv) -> None:
    device, chat = await begun(use_cases)
    for n in range(10, 30):
        body = {"chat": chat.chat, "client_message_id": f"k-{n}", "after": 1, "text": "hi"}
        device.feed(msgspec.json.encode({"id": n, "send": body}))
    await device.settled()
    answers = {frame["id"]: frame["ok"]["sequence"] for frame in device.frames if frame.get("id", 0) >= 10}
    assert sorted(answers) == list(range(10, 30))
    assert sorted(answers.values()) == list(range(2, 22))


async def test_history_returns_the_message_and_its_idempotency_key_only_to_the_sender(
    use_cases: UseCaseEnv,
) -> None:
    anna, chat = await begun(use_cases)
    ben = await connected(use_cases, BEN)
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


async def test_a_message_is_edited_reacted_to_and_redacted(use_cases: UseCaseEnv) -> None:
    device, chat = await begun(use_cases)
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


async def test_a_request_of_a_non_member_is_rejected_and_the_connection_stays_open(
    use_cases: UseCaseEnv,
) -> None:
    _, chat = await begun(use_cases)
    cleo = await connected(use_cases, "cleo")
    error = await cleo.ask("send", chat=chat.chat, client_message_id="k", after=1, text="hi")
    assert (error["code"], error.get("retryable", False)) == (Code.CHAT_NOT_FOUND, False)
    assert error["docs"] == "/errors/chat_not_found"
    assert (await cleo.ask("history", chat=chat.chat))["code"] == Code.CHAT_NOT_FOUND
    assert cleo.closed is None


@pytest.mark.parametrize(("credential", "name"), [("mallory", "credential_invalid"), ("server", "forbidden")])
async def test_a_credential_without_a_user_is_rejected_permanently(
    use_cases: UseCaseEnv, credential: str, name: str
) -> None:
    device = Device(dispatch_of(use_cases))
    assert (await device.connect(credential))["code"] == name
    assert device.closed is not None
    assert device.closed.reason == name
    assert not device.closed.code.is_reconnect


async def test_watermarks_move_forward_and_those_above_the_head_are_rejected(use_cases: UseCaseEnv) -> None:
    anna, chat = await begun(use_cases)
    ben = await connected(use_cases, BEN)
    await anna.ask("send", chat=chat.chat, client_message_id="k", after=1, text="hi")
    assert await ben.ask("ack", delivered={chat.chat: 2}) == {}
    assert await ben.ask("read", chat=chat.chat, sequence=2) == {}
    assert await ben.ask("read", chat=chat.chat, sequence=1) == {}
    assert (await ben.ask("read", chat=chat.chat, sequence=9))["code"] == Code.POSITION_AHEAD
    marks = await build_watermark_store(use_cases.client, use_cases.clock).rows_of(chat, [BEN])
    assert (marks[BEN].delivered, marks[BEN].read) == (LogPosition(2, 1), LogPosition(2, 1))


async def test_an_ack_raises_valid_watermarks_and_returns_an_error_for_others(use_cases: UseCaseEnv) -> None:
    anna, chat = await begun(use_cases)
    own = {f"not-there-{n}": 1 for n in range(10)}
    assert (await anna.ask("ack", delivered={**own, chat.chat: 1}))["code"] == Code.CHAT_NOT_FOUND
    marks = await build_watermark_store(use_cases.client, use_cases.clock).rows_of(chat, [ANNA])
    assert marks[ANNA].delivered == LogPosition(1, 0)


def test_every_request_has_a_handler() -> None:
    by_protocol = {Ping, Pong}
    assert HANDLERS.keys() | by_protocol == {kind.body for kind in REQUESTS}
