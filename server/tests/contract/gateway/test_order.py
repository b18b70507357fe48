"""The order of a resume: a device gets entries that are sent at any of its steps once and in order."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import pytest
from fixtures.gateway_env import WITHIN_S, GatewayEnv, HeldMessages
from fixtures.loops import until
from fixtures.use_cases import ANNA, BEN, CLEO, asked, by

from tidings.kernel.ids import ChatKey, UserId
from tidings.messages.sender import Content
from tidings_wire.close_codes import CloseCode

STEPS = ["installed", "registered", "subscribed", "read", "sent", "replayed", "live"]
MANY = [UserId(f"member-{n}") for n in range(105)]


async def holds[T](ask: Callable[[], Awaitable[T]], wanted: Callable[[T], bool]) -> None:
    async with asyncio.timeout(WITHIN_S):
        while not wanted(await ask()):  # noqa: ASYNC110 - the engine has no event for it
            await asyncio.sleep(0.01)


async def large(gateways: GatewayEnv) -> ChatKey:
    """Create a large group, in two requests because of its size."""
    chat = await gateways.use_cases.group(BEN, *MANY[:60])
    await gateways.use_cases.manage.add(chat, by(ANNA), MANY[60:])
    await gateways.deliver()
    return chat


async def small(gateways: GatewayEnv) -> ChatKey:
    chat = await gateways.use_cases.manage.direct(gateways.use_cases.tenant, ANNA, BEN)
    await gateways.deliver()
    return chat


async def held_at(gateways: GatewayEnv, chat: ChatKey, step: str, position: int) -> int:
    """Hold a device at the step, send, and let it continue. Return its last sequence."""
    held = HeldMessages(f"gateway.{step}")
    here = await gateways.gateway(held)
    ben = here.open(BEN, f"phone-{step}", epoch=0, positions={chat.chat: position})
    await asyncio.wait_for(held.reached.wait(), WITHIN_S)
    meanwhile = await gateways.say(chat, ANNA, step)
    held.let_on()
    await until(lambda: meanwhile in ben.sequences(chat) and ben.is_resumed, WITHIN_S)
    after = await gateways.say(chat, ANNA)
    await until(lambda: after in ben.sequences(chat), WITHIN_S)
    assert ben.sequences(chat) == [meanwhile, after], step
    ben.hang_up()
    return after


@pytest.mark.parametrize("make", [small, large])
@pytest.mark.parametrize("others", [[], ["laptop"]], ids=["first", "second"])
async def test_a_message_sent_at_any_step_of_a_resume_arrives_once_and_in_order(
    gateways: GatewayEnv, make: Callable[[GatewayEnv], Coroutine[Any, Any, ChatKey]], others: list[str]
) -> None:
    chat = await make(gateways)
    others_devices = [await (await gateways.gateway()).live(BEN, name) for name in others]
    position = await gateways.say(chat, ANNA)
    for step in STEPS:
        position = await held_at(gateways, chat, step, position)
    for other in others_devices:
        await until(lambda: position in other.sequences(chat), WITHIN_S)  # noqa: B023 - awaited here
        got = other.sequences(chat)
        assert got == list(range(got[0], position + 1))


async def test_a_device_that_connects_to_another_gateway_takes_over(gateways: GatewayEnv) -> None:
    chat = await small(gateways)
    one, two = await gateways.gateway(), await gateways.gateway()
    older = await one.live(BEN)
    newer = await two.live(BEN)
    await until(lambda: older.closed, WITHIN_S)
    assert older.closed == (CloseCode.REPLACED, "replaced")
    sent = await gateways.say(chat, ANNA)
    await until(lambda: sent in newer.sequences(chat), WITHIN_S)
    assert newer.closed is None
    assert len(one.hub) == 0


async def test_a_disconnect_removes_its_own_route_and_not_that_of_a_newer_connection(
    gateways: GatewayEnv,
) -> None:
    chat = await small(gateways)
    here = await gateways.gateway()
    routes = here.node._deps.routes
    first = await here.live(BEN)
    second = await here.live(BEN)
    await until(lambda: first.closed, WITHIN_S)
    sent = await gateways.say(chat, ANNA)
    await until(lambda: sent in second.sequences(chat), WITHIN_S)
    second.hang_up()
    await holds(lambda: routes.look_up(gateways.use_cases.tenant, [BEN]), lambda found: not found.found)


async def test_a_gap_before_a_push_is_read_and_sent_first(gateways: GatewayEnv) -> None:
    chat = await small(gateways)
    here = await gateways.gateway()
    ben = await here.live(BEN)
    start, reads = ben.sequences(chat), here.node.counts.ranges
    device = here.device(BEN)
    device.positions[chat.chat].is_reading = True  # pushes are only recorded, as while a range is read
    first = await gateways.say(chat, ANNA, "one")
    await until(lambda: device.positions[chat.chat].ahead == first, WITHIN_S)
    device.positions[chat.chat].is_reading = False
    second = await gateways.say(chat, ANNA, "two")
    await until(lambda: second in ben.sequences(chat), WITHIN_S)
    assert ben.sequences(chat) == [*start, first, second]
    assert here.node.counts.gaps == 1
    third = await gateways.say(chat, ANNA, "three")
    await until(lambda: third in ben.sequences(chat), WITHIN_S)
    assert here.node.counts.ranges == reads + 1, "what follows is sent as it is pushed"


async def test_a_new_device_gets_its_rows_and_the_newest_entries_of_its_chats(gateways: GatewayEnv) -> None:
    chat, group = await small(gateways), await gateways.use_cases.group(BEN)
    await gateways.deliver()
    for n in range(30):
        await gateways.use_cases.send(chat, ANNA, f"m{n}")
    await gateways.deliver()
    await gateways.say(group, ANNA, "newest")
    ben = await (await gateways.gateway()).live(BEN)
    assert [(row["chat"], row["unread"]) for row in ben.rows()] == [(group.chat, 1), (chat.chat, 30)]
    assert (ben.rows()[0]["preview"], ben.rows()[0]["last"]) == ("newest", 2)
    assert ben.sequences(group) == [1, 2]
    assert ben.sequences(chat) == list(range(12, 32))
    sent = await gateways.say(chat, ANNA)
    await until(lambda: sent in ben.sequences(chat), WITHIN_S)


async def test_a_row_shows_that_its_message_was_redacted(gateways: GatewayEnv) -> None:
    chat = await small(gateways)
    sent = await gateways.say(chat, ANNA, "not this")
    await gateways.use_cases.change.redact(asked(chat, ANNA, sent))
    await gateways.deliver()
    (row,) = (await (await gateways.gateway()).live(BEN)).rows()
    assert (row["by"], row["last"], row["state"], row.get("preview")) == (ANNA, sent, "redacted", None)


async def test_positions_of_another_epoch_are_ignored(gateways: GatewayEnv) -> None:
    chat = await small(gateways)
    sent = await gateways.say(chat, ANNA)
    ben = await (await gateways.gateway()).live(BEN, epoch=7, positions={chat.chat: 900})
    assert ben.frames[-1]["resumed"]["is_reset"]
    assert sent in ben.sequences(chat)


async def test_positions_sent_in_parts_are_compared_with_the_rows_together(gateways: GatewayEnv) -> None:
    chat, other = await small(gateways), await gateways.use_cases.group(BEN)
    await gateways.deliver()
    one, two = await gateways.say(chat, ANNA), await gateways.say(other, ANNA)
    here = await gateways.gateway()
    ben = here.open(BEN, epoch=0, positions={chat.chat: one - 1}, has_more=True)
    await until(lambda: ben.is_resumed, WITHIN_S)
    assert (ben.sequences(chat), ben.rows()) == ([], [])
    ben.say(id=2, resume={"positions": {other.chat: two - 1}, "epoch": 0})
    await until(lambda: ben.frames[-1].get("id") == 2, WITHIN_S)
    assert (ben.sequences(chat), ben.sequences(other), ben.rows()) == ([one], [two], [])


async def test_queued_entries_are_sent_without_reading_the_log_and_deleted_when_acked(
    gateways: GatewayEnv,
) -> None:
    chat = await small(gateways)
    held = await gateways.say(chat, ANNA)
    for n in range(5):
        await gateways.use_cases.send(chat, ANNA, f"m{n}")
    await gateways.deliver()
    here = await gateways.gateway(ack_flush_s=0.05)
    queue = here.node._deps.queue
    assert len((await queue.drain(gateways.use_cases.tenant, BEN)).waiting) == 6
    ben = await here.live(BEN, epoch=0, positions={chat.chat: held})
    assert ben.sequences(chat) == list(range(held + 1, held + 6))
    assert [entry["text"] for entry in ben.entries(chat)] == [f"m{n}" for n in range(5)]
    assert here.node.counts.ranges == 0
    ben.say(ack={"delivered": {chat.chat: held + 5}})
    await holds(lambda: queue.drain(gateways.use_cases.tenant, BEN), lambda drained: not drained.waiting)
    await here.node.acks.wait_idle(5)
    row = next(r for r in await here.node._deps.rows.rows(gateways.use_cases.tenant, BEN))
    assert row.delivered is not None
    assert row.delivered.sequence == held + 5


async def test_a_change_contains_the_current_message_for_members_who_may_see_it(gateways: GatewayEnv) -> None:
    chat = await gateways.use_cases.group(BEN)
    sent = await gateways.say(chat, ANNA, "helo")
    await gateways.use_cases.manage.add(chat, by(ANNA), [CLEO])
    await gateways.deliver()
    here = await gateways.gateway()
    ben, cleo = await here.live(BEN), await here.live(CLEO)
    await gateways.use_cases.change.edit(asked(chat, ANNA, sent), Content(text="hello"))
    await gateways.deliver()
    await until(lambda: ben.sequences(chat)[-1:] == cleo.sequences(chat)[-1:] == [4], WITHIN_S)
    assert ben.entries(chat)[-1]["changed"]["text"] == "hello"
    assert "changed" not in cleo.entries(chat)[-1]
    late = await here.live(BEN, "tablet", epoch=0, positions={chat.chat: 3})
    assert late.entries(chat)[0]["changed"]["text"] == "hello"


async def test_a_member_of_a_large_chat_is_subscribed_from_join_to_leave(gateways: GatewayEnv) -> None:
    chat = await large(gateways)
    here = await gateways.gateway()
    ben, cleo = await here.live(BEN), await here.live(CLEO)
    before = await gateways.say(chat, ANNA, "before cleo")
    await gateways.use_cases.manage.add(chat, by(ANNA), [CLEO])
    await gateways.deliver()
    await until(lambda: cleo.sequences(chat) == [before + 1], WITHIN_S)
    await until(lambda: chat.chat in here.device(CLEO).large_chat_channels, WITHIN_S)
    sent = await gateways.say(chat, ANNA, "with cleo")
    await until(lambda: cleo.sequences(chat) == [before + 1, sent], WITHIN_S)
    await gateways.use_cases.manage.remove(chat, by(ANNA), CLEO)
    await gateways.deliver()
    await until(lambda: cleo.sequences(chat)[-1] == sent + 1, WITHIN_S)
    after = await gateways.say(chat, ANNA, "after cleo")
    await until(lambda: ben.sequences(chat)[-1] == after, WITHIN_S)
    assert cleo.sequences(chat) == [before + 1, sent, sent + 1]
    assert chat.chat not in here.device(CLEO).large_chat_channels
    assert len(here.node.large_chats) == 1
    ben.hang_up()
    assert len(here.node.large_chats) == 0


async def test_a_chat_that_becomes_large_is_delivered_without_a_gap(gateways: GatewayEnv) -> None:
    chat = await gateways.use_cases.group(BEN, *MANY[:60])
    await gateways.deliver()
    here = await gateways.gateway()
    ben = await here.live(BEN)
    await gateways.use_cases.manage.add(chat, by(ANNA), MANY[60:])
    await gateways.use_cases.send(chat, ANNA, "already large")
    await gateways.deliver()
    last = await gateways.say(chat, ANNA, "on the channel")
    await until(lambda: ben.sequences(chat)[-1:] == [last], WITHIN_S)
    assert ben.sequences(chat) == list(range(1, last + 1))


async def test_a_push_for_a_disconnected_device_removes_its_route_and_creates_an_offline_event(
    gateways: GatewayEnv,
) -> None:
    chat = await small(gateways)
    here = await gateways.gateway()
    await here.live(BEN)
    device = here.device(BEN)
    here.hub.leave(device.key, device)  # it disconnects without a close
    sent = await gateways.say(chat, ANNA)
    await until(lambda: here.away, WITHIN_S)
    assert here.away == [(BEN, [sent])]
    assert not (await here.node._deps.routes.look_up(gateways.use_cases.tenant, [BEN])).found


def calls(gateways: GatewayEnv, *patterns: str) -> int:
    """Return the calls to DynamoDB since the start."""
    return sum(gateways.use_cases.client.ledger.open(pattern, "").calls for pattern in patterns)


async def test_acks_of_pushes_cost_one_write_and_no_read(gateways: GatewayEnv) -> None:
    chat = await small(gateways)
    here = await gateways.gateway(ack_flush_s=600)
    ben, other = await here.live(BEN), await here.live(BEN, "laptop")
    sent = [await gateways.say(chat, ANNA) for _ in range(5)][-1]
    await until(lambda: sent in ben.sequences(chat) and sent in other.sequences(chat), WITHIN_S)
    reads = ("memberships.check", "messages.read_one")
    before = calls(gateways, *reads)
    for n in range(sent - 4, sent + 1):
        ben.say(ack={"delivered": {chat.chat: n}})
        other.say(ack={"delivered": {chat.chat: n}})
    acks = here.node.acks._acks(chat, BEN)
    await until(lambda: acks.unwritten is not None and acks.unwritten.sequence == sent, WITHIN_S)
    await here.node.acks.wait_idle(WITHIN_S)
    raised = gateways.use_cases.client.ledger["watermarks.raise_delivered"]
    assert (raised.calls, raised.write_units) == (1, 1)
    assert calls(gateways, *reads) == before
    again = await here.live(BEN, "tablet", epoch=0, positions={chat.chat: sent})
    await here.node.acks.wait_idle(WITHIN_S)
    assert raised.calls == 1, "a position that is no news is not written"
    assert again.rows() == []


async def test_a_resume_costs_one_query_and_two_more_if_entries_were_missed(
    gateways: GatewayEnv,
) -> None:
    chats = [await gateways.use_cases.group(BEN, UserId(f"u{n}")) for n in range(20)]
    await gateways.deliver()
    here = await gateways.gateway()
    positions = {chat.chat: 1 for chat in chats}
    reads = ("chat_list.read", "pending.drain", "messages.read_after", "memberships.check")
    before = calls(gateways, *reads)
    await here.live(BEN, epoch=0, positions=positions)
    assert calls(gateways, *reads) - before == 1
    await here.node.acks.wait_idle(WITHIN_S)  # later, equal positions of another device cause no write
    sent = await gateways.use_cases.send(chats[0], ANNA)
    await gateways.use_cases.change.react(asked(chats[0], ANNA, sent.sequence), "ok")
    await gateways.deliver()
    before = calls(gateways, *reads)
    tablet = await here.live(BEN, "tablet", epoch=0, positions=positions)
    assert tablet.sequences(chats[0]) == [2, 3]
    assert calls(gateways, *reads) - before == 3, (
        "the rows, and the user's membership and the entries of the one chat with news"
    )
