"""Receipts and typing between devices on real gateways: to whoever looks, in one frame, and to nobody else."""

import asyncio
from typing import Any

from contract.gateway.test_order import large
from fixtures.gateway_env import WITHIN_S, GatewayEnv, RunGateways, ScreenDevice
from fixtures.loops import until
from fixtures.use_cases import ANNA, BEN, CLEO, by

from tidings.ephemeral.receipts import ReceiptSnapshot
from tidings.kernel.ids import ChatKey, UserId

CROWD = [UserId(f"member-{n}") for n in range(40)]


async def direct(post: GatewayEnv) -> ChatKey:
    chat = await post.stage.manage.direct(post.stage.tenant, ANNA, BEN)
    await post.deliver()
    return chat


async def looks(screen: ScreenDevice, *chats: ChatKey) -> None:
    """Subscribed, and given the whole state of each."""
    before = [len(alls(screen, chat)) for chat in chats]
    screen.say(subscribe={"chats": [chat.chat for chat in chats]})
    await until(lambda: all(len(alls(screen, c)) > n for c, n in zip(chats, before, strict=True)), WITHIN_S)


def alls(screen: ScreenDevice, chat: ChatKey) -> list[dict[str, Any]]:
    return [r for r in screen.pushed("receipts") if r["chat"] == chat.chat and r.get("is_snapshot")]


async def knows(screen: ScreenDevice, chat: ChatKey, user: UserId, part: str, sequence: int) -> None:
    await until(lambda: screen.got(chat).get(user, {}).get(part, 0) >= sequence, WITHIN_S)


def test_ticks_move_from_sent_to_read_across_gateways(play_post: RunGateways) -> None:
    async def scene(post: GatewayEnv) -> None:
        chat = await direct(post)
        one, two = await post.gateway(ack_flush_s=0.02), await post.gateway(ack_flush_s=0.02)
        anna, ben = await one.live(ANNA), await two.live(BEN)
        await looks(anna, chat)
        sent = await post.say(chat, ANNA)
        assert anna.got(chat)[BEN]["read"] < sent
        await until(lambda: sent in ben.sequences(chat), WITHIN_S)
        ben.say(ack={"delivered": {chat.chat: sent}})
        await knows(anna, chat, BEN, "delivered", sent)
        assert anna.got(chat)[BEN]["read"] < sent
        ben.say(read={"chat": chat.chat, "sequence": sent})
        await knows(anna, chat, BEN, "read", sent)

    play_post(scene)


def test_a_whole_state_names_the_members_and_since_when(play_post: RunGateways) -> None:
    async def scene(post: GatewayEnv) -> None:
        chat = await post.stage.group(BEN, CLEO)
        await post.stage.manage.remove(chat, by(ANNA), CLEO)
        sent = await post.say(chat, BEN)
        here = await post.gateway()
        anna = await here.live(ANNA)
        await looks(anna, chat)
        (told,) = alls(anna, chat)
        assert told["members"] == [
            {"user": ANNA, "since": 1},
            # who writes has read what stands above
            {"user": BEN, "delivered": sent, "read": sent, "since": 1},
        ]

    play_post(scene)


def test_many_acks_of_a_group_are_one_frame_in_a_window(play_post: RunGateways) -> None:
    async def scene(post: GatewayEnv) -> None:
        chat = await post.stage.group(*CROWD)
        await post.deliver()
        here = await post.gateway(ack_flush_s=0.02)
        anna = await here.live(ANNA)
        crowd = [await here.live(user, f"d-{user}") for user in CROWD]
        await looks(anna, chat)
        before = len(anna.pushed("receipts"))
        sent = await post.say(chat, ANNA)
        for screen in crowd:
            screen.say(ack={"delivered": {chat.chat: sent}})
        await until(lambda: all(anna.got(chat)[user]["delivered"] >= sent for user in CROWD), WITHIN_S)
        # so many windows can have gone by while the acks were written; without them it is one for each
        assert len(anna.pushed("receipts")) - before < len(CROWD) / 2

    play_post(scene)


def test_a_members_own_read_clears_his_other_devices_in_chats_of_any_size(play_post: RunGateways) -> None:
    async def scene(post: GatewayEnv) -> None:
        for chat in (await direct(post), await large(post)):
            one, two = await post.gateway(), await post.gateway()
            phone, laptop = await one.live(BEN, f"phone-{chat.chat}"), await two.live(BEN, f"l-{chat.chat}")
            sent = await post.say(chat, ANNA)
            phone.say(read={"chat": chat.chat, "sequence": sent})
            await knows(laptop, chat, BEN, "read", sent)
            assert all(not told.get("is_snapshot") for told in laptop.pushed("receipts"))

    play_post(scene)


def test_what_was_read_meanwhile_is_told_to_a_device_that_comes_back(play_post: RunGateways) -> None:
    async def scene(post: GatewayEnv) -> None:
        chat = await direct(post)
        here = await post.gateway()
        sent = await post.say(chat, ANNA)
        phone = await here.live(BEN, "phone")
        phone.say(id=9, read={"chat": chat.chat, "sequence": sent})
        await until(lambda: any(frame.get("id") == 9 for frame in phone.frames), WITHIN_S)
        laptop = await here.live(BEN, "laptop", epoch=0, positions={chat.chat: sent})
        await knows(laptop, chat, BEN, "read", sent)

    play_post(scene)


def test_nobody_is_told_of_members_of_a_large_chat(play_post: RunGateways) -> None:
    async def scene(post: GatewayEnv) -> None:
        chat, beside = await large(post), await direct(post)
        here = await post.gateway(ack_flush_s=0.02)
        anna, ben = await here.live(ANNA), await here.live(BEN)
        anna.say(subscribe={"chats": [chat.chat]})
        await looks(anna, beside)
        assert here.routed.ephemeral.chats.channels.get(chat) is None, "a channel that nobody speaks on"
        sent = await post.say(chat, ANNA)
        ben.say(typing={"chat": chat.chat})
        ben.say(id=9, read={"chat": chat.chat, "sequence": sent})
        await knows(ben, chat, BEN, "read", sent)
        ben.say(read={"chat": beside.chat, "sequence": 1})
        await knows(anna, beside, BEN, "read", 1)
        assert anna.got(chat) == {}
        assert anna.pushed("typing") == []

    play_post(scene)


def test_who_is_taken_out_is_told_no_more_and_who_comes_back_is(play_post: RunGateways) -> None:
    async def scene(post: GatewayEnv) -> None:
        chat = await post.stage.group(BEN, CLEO)
        await post.deliver()
        here = await post.gateway(ack_flush_s=0.02)
        anna, ben, cleo = await here.live(ANNA), await here.live(BEN), await here.live(CLEO)
        await looks(anna, chat)
        await looks(cleo, chat)
        await post.stage.manage.remove(chat, by(ANNA), CLEO)
        await post.deliver()
        await until(lambda: not here.routed.ephemeral.chats.is_open(here.seat(CLEO), chat.chat), WITHIN_S)
        known, whole = cleo.got(chat), len(alls(cleo, chat))
        ben.say(read={"chat": chat.chat, "sequence": 1})
        await knows(anna, chat, BEN, "read", 1)
        assert cleo.got(chat) == known
        await post.stage.manage.add(chat, by(ANNA), [CLEO])
        await post.deliver()
        await until(lambda: len(alls(cleo, chat)) > whole, WITHIN_S)
        assert cleo.got(chat)[BEN]["read"] == 1

    play_post(scene)


def test_a_block_ends_the_signs_between_two_and_its_end_brings_them_back(play_post: RunGateways) -> None:
    async def scene(post: GatewayEnv) -> None:
        chat, group = await direct(post), await post.stage.group(BEN)
        await post.deliver()
        here = await post.gateway(ack_flush_s=0.02)
        anna, ben = await here.live(ANNA), await here.live(BEN)
        await looks(anna, chat, group)
        await post.stage.manage.block(post.stage.tenant, by(BEN), ANNA)
        await post.deliver()
        await until(lambda: not here.routed.ephemeral.chats.is_open(here.seat(ANNA), chat.chat), WITHIN_S)
        known, whole = anna.got(chat), len(alls(anna, chat))
        ben.say(typing={"chat": chat.chat})
        ben.say(read={"chat": chat.chat, "sequence": 1})
        ben.say(id=9, typing={"chat": group.chat})
        await until(lambda: anna.pushed("typing") != [], WITHIN_S)
        ben.say(read={"chat": group.chat, "sequence": 1})
        await knows(anna, group, BEN, "read", 1)
        assert anna.got(chat) == known
        assert [told["chat"] for told in anna.pushed("typing")] == [group.chat]
        await post.stage.manage.block(post.stage.tenant, by(BEN), ANNA, is_blocked=False)
        await post.deliver()
        await until(lambda: len(alls(anna, chat)) > whole, WITHIN_S)
        await knows(anna, chat, BEN, "read", 1)

    play_post(scene)


def test_a_stranger_who_subscribes_hears_nothing_and_is_not_told_why(play_post: RunGateways) -> None:
    async def scene(post: GatewayEnv) -> None:
        chat, his = await direct(post), await post.stage.group(CLEO)
        await post.deliver()
        here = await post.gateway(ack_flush_s=0.02)
        anna, ben, cleo = await here.live(ANNA), await here.live(BEN), await here.live(CLEO)
        cleo.say(id=5, subscribe={"chats": [chat.chat, "d-not-there"]})
        await looks(cleo, his)
        await looks(anna, chat)
        assert {"id": 5, "ok": {}} in cleo.frames
        cleo.say(typing={"chat": chat.chat})
        ben.say(typing={"chat": chat.chat})
        await until(lambda: anna.pushed("typing") != [], WITHIN_S)
        assert [told["user"] for told in anna.pushed("typing")] == [BEN]
        assert cleo.got(chat) == {}
        assert cleo.pushed("typing") == []

    play_post(scene)


def test_typing_comes_to_those_who_look_and_ends_with_the_device(play_post: RunGateways) -> None:
    async def scene(post: GatewayEnv) -> None:
        chat = await post.stage.group(BEN, CLEO)
        await post.deliver()
        one, two = await post.gateway(), await post.gateway()
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
        assert tablet.pushed("typing") == [], "it is his own"

    play_post(scene)


def test_who_unsubscribes_is_told_no_more_and_the_last_one_closes_the_channel(play_post: RunGateways) -> None:
    async def scene(post: GatewayEnv) -> None:
        chat = await direct(post)
        here = await post.gateway()
        anna, laptop, ben = await here.live(ANNA), await here.live(ANNA, "laptop"), await here.live(BEN)
        await looks(anna, chat)
        await looks(laptop, chat)
        anna.say(id=7, unsubscribe={"chats": [chat.chat]})
        await until(lambda: {"id": 7, "ok": {}} in anna.frames, WITHIN_S)
        ben.say(typing={"chat": chat.chat})
        await until(lambda: laptop.pushed("typing") != [], WITHIN_S)
        assert anna.pushed("typing") == []
        assert len(here.routed.ephemeral.chats.channels) == 1
        laptop.hang_up()
        assert len(here.routed.ephemeral.chats.channels) == 0

    play_post(scene)


def test_a_device_looks_at_so_much_and_no_more(play_post: RunGateways) -> None:
    async def scene(post: GatewayEnv) -> None:
        here = await post.gateway()
        anna = await here.live(ANNA)
        for part in range(5):
            anna.say(subscribe={"chats": [f"g-{part}-{n}" for n in range(100)]})
        anna.say(id=8, subscribe={"chats": ["g-0-1"]})
        anna.say(id=9, subscribe={"users": ["one-more"]})
        await until(lambda: {8, 9} <= {frame.get("id") for frame in anna.frames}, WITHIN_S)
        told = {frame["id"]: frame for frame in anna.frames if "id" in frame}
        assert "ok" in told[8], "it is among them"
        assert told[9]["error"]["code"] == "request_invalid"

    play_post(scene)


def test_what_was_told_while_the_channel_was_lost_is_in_the_state_that_follows(
    play_post: RunGateways,
) -> None:
    async def scene(post: GatewayEnv) -> None:
        chat = await direct(post)
        one, two = await post.gateway(), await post.gateway()
        anna, ben = await one.live(ANNA), await two.live(BEN)
        await looks(anna, chat)
        channel = one.routed.ephemeral.chats.channels.get(chat)
        assert channel is not None
        subscription: Any = channel.subscription
        subscription._sink, kept = (lambda _: None), subscription._sink
        ben.say(read={"chat": chat.chat, "sequence": 1})
        await knows(ben, chat, BEN, "read", 1)
        await asyncio.sleep(0)
        assert anna.got(chat)[BEN]["read"] == 0
        subscription._sink = kept
        subscription.lose(0.0, "the test")
        subscription.stand()
        await knows(anna, chat, BEN, "read", 1)

    play_post(scene)


class Slow:
    """A state that is read, and held back until it is let on."""

    def __init__(self, real: Any) -> None:
        self._real = real
        self.read, self.go = asyncio.Event(), asyncio.Event()

    async def read_snapshot(self, chat: ChatKey) -> ReceiptSnapshot:
        state: ReceiptSnapshot = await self._real.read_snapshot(chat)
        self.read.set()
        await self.go.wait()
        return state


def test_what_is_told_while_the_state_is_read_is_in_it(play_post: RunGateways) -> None:
    async def scene(post: GatewayEnv) -> None:
        chat = await direct(post)
        one, two = await post.gateway(), await post.gateway()
        anna, ben = await one.live(ANNA), await two.live(BEN)
        chats: Any = one.routed.ephemeral.chats
        slow = chats._snapshots = Slow(chats._snapshots)
        anna.say(subscribe={"chats": [chat.chat]})
        await asyncio.wait_for(slow.read.wait(), WITHIN_S)
        channel = one.routed.ephemeral.chats.channels.get(chat)
        assert channel is not None
        ben.say(read={"chat": chat.chat, "sequence": 1})
        await until(lambda: channel.received, WITHIN_S)
        slow.go.set()
        await until(lambda: alls(anna, chat), WITHIN_S)
        assert {got["user"]: got.get("read") for got in alls(anna, chat)[0]["members"]}[BEN] == 1

    play_post(scene)
