"""Receipts and typing between devices on real gateways: in one frame, to subscribed devices only."""

import asyncio
from typing import Any

from contract.gateway.test_order import large
from fixtures.gateway_env import WITHIN_S, GatewayEnv, ScreenDevice
from fixtures.loops import until
from fixtures.use_cases import ANNA, BEN, CLEO, by

from tidings.ephemeral.receipts import ReceiptSnapshot
from tidings.kernel.ids import ChatKey, UserId

MEMBERS = [UserId(f"member-{n}") for n in range(40)]


async def direct(gateways: GatewayEnv) -> ChatKey:
    chat = await gateways.use_cases.manage.direct(gateways.use_cases.tenant, ANNA, BEN)
    await gateways.deliver()
    return chat


async def looks(screen: ScreenDevice, *chats: ChatKey) -> None:
    """Subscribe to chats and wait for the snapshot of each."""
    before = [len(alls(screen, chat)) for chat in chats]
    screen.say(subscribe={"chats": [chat.chat for chat in chats]})
    await until(lambda: all(len(alls(screen, c)) > n for c, n in zip(chats, before, strict=True)), WITHIN_S)


def alls(screen: ScreenDevice, chat: ChatKey) -> list[dict[str, Any]]:
    return [r for r in screen.pushed("receipts") if r["chat"] == chat.chat and r.get("is_snapshot")]


async def knows(screen: ScreenDevice, chat: ChatKey, user: UserId, part: str, sequence: int) -> None:
    await until(lambda: screen.got(chat).get(user, {}).get(part, 0) >= sequence, WITHIN_S)


async def test_delivery_status_moves_from_sent_to_read_across_gateways(gateways: GatewayEnv) -> None:
    chat = await direct(gateways)
    one, two = await gateways.gateway(ack_flush_s=0.02), await gateways.gateway(ack_flush_s=0.02)
    anna, ben = await one.live(ANNA), await two.live(BEN)
    await looks(anna, chat)
    sent = await gateways.say(chat, ANNA)
    assert anna.got(chat)[BEN]["read"] < sent
    await until(lambda: sent in ben.sequences(chat), WITHIN_S)
    ben.say(ack={"delivered": {chat.chat: sent}})
    await knows(anna, chat, BEN, "delivered", sent)
    assert anna.got(chat)[BEN]["read"] < sent
    ben.say(read={"chat": chat.chat, "sequence": sent})
    await knows(anna, chat, BEN, "read", sent)


async def test_a_delivery_is_shown_before_its_watermark_is_written(gateways: GatewayEnv) -> None:
    chat = await direct(gateways)
    one, two = await gateways.gateway(), await gateways.gateway(ack_flush_s=600)
    anna, ben = await one.live(ANNA), await two.live(BEN)
    await looks(anna, chat)
    sent = await gateways.say(chat, ANNA)
    await until(lambda: sent in ben.sequences(chat), WITHIN_S)
    ben.say(ack={"delivered": {chat.chat: sent}})
    await knows(anna, chat, BEN, "delivered", sent)
    assert gateways.use_cases.client.ledger.open("watermarks.raise_delivered", "").calls == 0
    await looks(anna, chat)
    assert anna.got(chat)[BEN]["delivered"] == sent, "a later snapshot still shows it"


async def test_a_snapshot_has_the_members_and_their_joins(gateways: GatewayEnv) -> None:
    chat = await gateways.use_cases.group(BEN, CLEO)
    await gateways.use_cases.manage.remove(chat, by(ANNA), CLEO)
    sent = await gateways.say(chat, BEN)
    here = await gateways.gateway()
    anna = await here.live(ANNA)
    await looks(anna, chat)
    (push,) = alls(anna, chat)
    assert push["members"] == [
        {"user": ANNA, "since": 1},
        # a sender has read the messages above their own
        {"user": BEN, "delivered": sent, "read": sent, "since": 1},
    ]


async def test_acks_of_a_group_within_one_interval_are_one_frame(gateways: GatewayEnv) -> None:
    chat = await gateways.use_cases.group(*MEMBERS)
    await gateways.deliver()
    here = await gateways.gateway(ack_flush_s=0.02)
    anna = await here.live(ANNA)
    screens = [await here.live(user, f"d-{user}") for user in MEMBERS]
    await looks(anna, chat)
    before = len(anna.pushed("receipts"))
    sent = await gateways.say(chat, ANNA)
    for screen in screens:
        screen.say(ack={"delivered": {chat.chat: sent}})
    await until(lambda: all(anna.got(chat)[user]["delivered"] >= sent for user in MEMBERS), WITHIN_S)
    # One frame for each interval that passed while the acks were written. Without debouncing, one for each ack.
    assert len(anna.pushed("receipts")) - before < len(MEMBERS) / 2


async def test_a_read_reaches_the_members_other_devices_in_chats_of_any_size(gateways: GatewayEnv) -> None:
    for chat in (await direct(gateways), await large(gateways)):
        one, two = await gateways.gateway(), await gateways.gateway()
        phone, laptop = await one.live(BEN, f"phone-{chat.chat}"), await two.live(BEN, f"l-{chat.chat}")
        sent = await gateways.say(chat, ANNA)
        phone.say(read={"chat": chat.chat, "sequence": sent})
        await knows(laptop, chat, BEN, "read", sent)
        assert all(not push.get("is_snapshot") for push in laptop.pushed("receipts"))


async def test_a_reconnected_device_receives_reads_that_it_missed(gateways: GatewayEnv) -> None:
    chat = await direct(gateways)
    here = await gateways.gateway()
    sent = await gateways.say(chat, ANNA)
    phone = await here.live(BEN, "phone")
    phone.say(id=9, read={"chat": chat.chat, "sequence": sent})
    await until(lambda: any(frame.get("id") == 9 for frame in phone.frames), WITHIN_S)
    laptop = await here.live(BEN, "laptop", epoch=0, positions={chat.chat: sent})
    await knows(laptop, chat, BEN, "read", sent)


async def test_large_chats_have_no_receipts_and_no_typing_of_other_members(gateways: GatewayEnv) -> None:
    chat, beside = await large(gateways), await direct(gateways)
    here = await gateways.gateway(ack_flush_s=0.02)
    anna, ben = await here.live(ANNA), await here.live(BEN)
    anna.say(subscribe={"chats": [chat.chat]})
    await looks(anna, beside)
    assert here.node.ephemeral.chats.channels.get(chat) is None, "a channel without events"
    sent = await gateways.say(chat, ANNA)
    ben.say(typing={"chat": chat.chat})
    ben.say(id=9, read={"chat": chat.chat, "sequence": sent})
    await knows(ben, chat, BEN, "read", sent)
    ben.say(read={"chat": beside.chat, "sequence": 1})
    await knows(anna, beside, BEN, "read", 1)
    assert anna.got(chat) == {}
    assert anna.pushed("typing") == []


async def test_a_removed_member_gets_no_receipts_until_they_rejoin(gateways: GatewayEnv) -> None:
    chat = await gateways.use_cases.group(BEN, CLEO)
    await gateways.deliver()
    here = await gateways.gateway(ack_flush_s=0.02)
    anna, ben, cleo = await here.live(ANNA), await here.live(BEN), await here.live(CLEO)
    await looks(anna, chat)
    await looks(cleo, chat)
    await gateways.use_cases.manage.remove(chat, by(ANNA), CLEO)
    await gateways.deliver()
    await until(lambda: not here.node.ephemeral.chats.is_open(here.device(CLEO), chat.chat), WITHIN_S)
    known, whole = cleo.got(chat), len(alls(cleo, chat))
    ben.say(read={"chat": chat.chat, "sequence": 1})
    await knows(anna, chat, BEN, "read", 1)
    assert cleo.got(chat) == known
    await gateways.use_cases.manage.add(chat, by(ANNA), [CLEO])
    await gateways.deliver()
    await until(lambda: len(alls(cleo, chat)) > whole, WITHIN_S)
    assert cleo.got(chat)[BEN]["read"] == 1


async def test_a_block_stops_ephemeral_events_between_two_users_until_it_ends(gateways: GatewayEnv) -> None:
    chat, group = await direct(gateways), await gateways.use_cases.group(BEN)
    await gateways.deliver()
    here = await gateways.gateway(ack_flush_s=0.02)
    anna, ben = await here.live(ANNA), await here.live(BEN)
    await looks(anna, chat, group)
    await gateways.use_cases.manage.block(gateways.use_cases.tenant, by(BEN), ANNA)
    await gateways.deliver()
    await until(lambda: not here.node.ephemeral.chats.is_open(here.device(ANNA), chat.chat), WITHIN_S)
    known, whole = anna.got(chat), len(alls(anna, chat))
    ben.say(typing={"chat": chat.chat})
    ben.say(read={"chat": chat.chat, "sequence": 1})
    ben.say(id=9, typing={"chat": group.chat})
    await until(lambda: anna.pushed("typing") != [], WITHIN_S)
    ben.say(read={"chat": group.chat, "sequence": 1})
    await knows(anna, group, BEN, "read", 1)
    assert anna.got(chat) == known
    assert [push["chat"] for push in anna.pushed("typing")] == [group.chat]
    await gateways.use_cases.manage.block(gateways.use_cases.tenant, by(BEN), ANNA, is_blocked=False)
    await gateways.deliver()
    await until(lambda: len(alls(anna, chat)) > whole, WITHIN_S)
    await knows(anna, chat, BEN, "read", 1)


async def test_a_subscription_of_a_non_member_receives_nothing_and_no_error(gateways: GatewayEnv) -> None:
    chat, other = await direct(gateways), await gateways.use_cases.group(CLEO)
    await gateways.deliver()
    here = await gateways.gateway(ack_flush_s=0.02)
    anna, ben, cleo = await here.live(ANNA), await here.live(BEN), await here.live(CLEO)
    cleo.say(id=5, subscribe={"chats": [chat.chat, "d-not-there"]})
    await looks(cleo, other)
    await looks(anna, chat)
    assert {"id": 5, "ok": {}} in cleo.frames
    cleo.say(typing={"chat": chat.chat})
    ben.say(typing={"chat": chat.chat})
    await until(lambda: anna.pushed("typing") != [], WITHIN_S)
    assert [push["user"] for push in anna.pushed("typing")] == [BEN]
    assert cleo.got(chat) == {}
    assert cleo.pushed("typing") == []


async def test_typing_is_sent_to_subscribed_devices_and_ends_with_the_connection(
    gateways: GatewayEnv,
) -> None:
    chat = await gateways.use_cases.group(BEN, CLEO)
    await gateways.deliver()
    one, two = await gateways.gateway(), await gateways.gateway()
    anna, ben, cleo = await one.live(ANNA), await two.live(BEN), await one.live(CLEO)
    tablet = await one.live(BEN, "tablet")
    await looks(anna, chat)
    await looks(tablet, chat)
    ben.say(typing={"chat": chat.chat})
    await until(lambda: anna.pushed("typing") == [{"chat": chat.chat, "user": BEN}], WITHIN_S)
    ben.hang_up()
    await until(
        lambda: anna.pushed("typing")[1:] == [{"chat": chat.chat, "user": BEN, "is_typing": False}],
        WITHIN_S,
    )
    assert cleo.pushed("typing") == [], "she does not look"
    assert tablet.pushed("typing") == [], "the device of the same user"


async def test_an_unsubscribed_device_gets_no_events_and_the_last_one_closes_the_channel(
    gateways: GatewayEnv,
) -> None:
    chat = await direct(gateways)
    here = await gateways.gateway()
    anna, laptop, ben = await here.live(ANNA), await here.live(ANNA, "laptop"), await here.live(BEN)
    await looks(anna, chat)
    await looks(laptop, chat)
    anna.say(id=7, unsubscribe={"chats": [chat.chat]})
    await until(lambda: {"id": 7, "ok": {}} in anna.frames, WITHIN_S)
    ben.say(typing={"chat": chat.chat})
    await until(lambda: laptop.pushed("typing") != [], WITHIN_S)
    assert anna.pushed("typing") == []
    assert len(here.node.ephemeral.chats.channels) == 1
    laptop.hang_up()
    assert len(here.node.ephemeral.chats.channels) == 0


async def test_a_device_has_a_limit_of_subscriptions(gateways: GatewayEnv) -> None:
    here = await gateways.gateway()
    anna = await here.live(ANNA)
    for part in range(5):
        anna.say(subscribe={"chats": [f"g-{part}-{n}" for n in range(100)]})
    anna.say(id=8, subscribe={"chats": ["g-0-1"]})
    anna.say(id=9, subscribe={"users": ["one-more"]})
    await until(lambda: {8, 9} <= {frame.get("id") for frame in anna.frames}, WITHIN_S)
    push = {frame["id"]: frame for frame in anna.frames if "id" in frame}
    assert "ok" in push[8], "it is among them"
    assert push[9]["error"]["code"] == "request_invalid"


async def test_events_lost_with_the_channel_are_in_the_next_snapshot(
    gateways: GatewayEnv,
) -> None:
    chat = await direct(gateways)
    one, two = await gateways.gateway(), await gateways.gateway()
    anna, ben = await one.live(ANNA), await two.live(BEN)
    await looks(anna, chat)
    channel = one.node.ephemeral.chats.channels.get(chat)
    assert channel is not None
    subscription: Any = channel.subscription
    subscription._sink, kept = (lambda _: None), subscription._sink
    ben.say(read={"chat": chat.chat, "sequence": 1})
    await knows(ben, chat, BEN, "read", 1)
    await asyncio.sleep(0)
    assert anna.got(chat)[BEN]["read"] == 0
    subscription._sink = kept
    subscription.mark_lost(0.0, "the test")
    subscription.mark_subscribed()
    await knows(anna, chat, BEN, "read", 1)


class Slow:
    """Hold back a snapshot that was read until `go` is set."""

    def __init__(self, real: Any) -> None:
        self._real = real
        self.read, self.go = asyncio.Event(), asyncio.Event()

    async def read_snapshot(self, chat: ChatKey) -> ReceiptSnapshot:
        state: ReceiptSnapshot = await self._real.read_snapshot(chat)
        self.read.set()
        await self.go.wait()
        return state


async def test_events_that_arrive_while_a_snapshot_is_read_are_in_it(gateways: GatewayEnv) -> None:
    chat = await direct(gateways)
    one, two = await gateways.gateway(), await gateways.gateway()
    anna, ben = await one.live(ANNA), await two.live(BEN)
    chats: Any = one.node.ephemeral.chats
    slow = chats._snapshots = Slow(chats._snapshots)
    anna.say(subscribe={"chats": [chat.chat]})
    await asyncio.wait_for(slow.read.wait(), WITHIN_S)
    channel = one.node.ephemeral.chats.channels.get(chat)
    assert channel is not None
    ben.say(read={"chat": chat.chat, "sequence": 1})
    await until(lambda: channel.received, WITHIN_S)
    slow.go.set()
    await until(lambda: alls(anna, chat), WITHIN_S)
    assert {got["user"]: got.get("read") for got in alls(anna, chat)[0]["members"]}[BEN] == 1
