"""Acks of connected devices: when they are written, and which messages are checked when a device disconnects."""

from contract.gateway.test_order import calls, holds, small
from fixtures.gateway_env import WITHIN_S, GatewayEnv, HeldMessages
from fixtures.loops import until
from fixtures.use_cases import ANNA, BEN, CLEO


async def test_a_device_that_disconnects_is_checked_for_what_it_did_not_acknowledge(
    gateways: GatewayEnv,
) -> None:
    chat = await gateways.use_cases.group(BEN, CLEO)
    await gateways.deliver()
    here = await gateways.gateway()
    ben, cleo = await here.live(BEN), await here.live(CLEO)
    sent = [await gateways.say(chat, ANNA) for _ in range(4)]
    await until(lambda: ben.sequences(chat)[-1:] == cleo.sequences(chat)[-1:] == sent[-1:], WITHIN_S)
    ben.say(id=5, ack={"delivered": {chat.chat: sent[1]}})
    cleo.say(id=5, ack={"delivered": {chat.chat: sent[3]}})
    await until(lambda: {"id": 5, "ok": {}} in ben.frames and {"id": 5, "ok": {}} in cleo.frames, WITHIN_S)
    ben.hang_up()
    cleo.hang_up()
    assert here.away == [(BEN, sent[2:])]


async def test_a_device_that_leaves_during_its_resume_is_checked_for_what_was_pushed(
    gateways: GatewayEnv,
) -> None:
    chat = await small(gateways)
    pauses = HeldMessages("gateway.read")
    here = await gateways.gateway(pauses)
    ben = here.open(BEN)
    await pauses.reached.wait()
    sent = [await gateways.say(chat, ANNA) for _ in range(2)]
    await until(lambda: here.device(BEN).unacked(), WITHIN_S)
    await until(lambda: here.device(BEN).unacked()[0][2] == sent[-1], WITHIN_S)
    ben.hang_up()
    pauses.let_on()
    await until(lambda: here.away, WITHIN_S)
    assert here.away == [(BEN, sent)]


async def test_a_read_replaces_the_write_of_its_ack(gateways: GatewayEnv) -> None:
    chat = await small(gateways)
    here = await gateways.gateway(ack_flush_s=600)
    ben = await here.live(BEN)
    sent = await gateways.say(chat, ANNA)
    await until(lambda: sent in ben.sequences(chat), WITHIN_S)
    ben.say(ack={"delivered": {chat.chat: sent}})
    ben.say(id=5, read={"chat": chat.chat, "sequence": sent})
    await until(lambda: {"id": 5, "ok": {}} in ben.frames, WITHIN_S)
    await here.node.acks.wait_idle(WITHIN_S)
    assert calls(gateways, "watermarks.raise_delivered") == 0
    row = await here.node._deps.rows.row(chat, BEN)
    assert row is not None
    assert row.delivered_up_to == sent


async def test_an_ack_that_waits_is_written_when_its_device_disconnects(gateways: GatewayEnv) -> None:
    chat = await small(gateways)
    here = await gateways.gateway(ack_flush_s=600)
    ben = await here.live(BEN)
    sent = await gateways.say(chat, ANNA)
    await until(lambda: sent in ben.sequences(chat), WITHIN_S)
    ben.say(id=5, ack={"delivered": {chat.chat: sent}})
    await until(lambda: {"id": 5, "ok": {}} in ben.frames, WITHIN_S)
    assert calls(gateways, "watermarks.raise_delivered") == 0
    ben.hang_up()
    await holds(
        lambda: here.node._deps.rows.row(chat, BEN),
        lambda row: row is not None and row.delivered_up_to == sent,
    )
