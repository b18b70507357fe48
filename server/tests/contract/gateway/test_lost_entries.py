"""Devices after a failover that left gaps in the log of a group."""

from pathlib import Path

from contract.gateway.test_restored import at_post, believed, lose_entries, restored
from fixtures.chat_list_env import ChatListEnv
from fixtures.engines import Namespace
from fixtures.gateway_env import WITHIN_S
from fixtures.loops import until
from fixtures.tables import Tables
from fixtures.use_cases import ANNA, BEN, CLEO, by

from tidings.delivery.rules import is_member


async def test_a_device_receives_a_dense_log_and_exact_counts(
    tables_local: Tables, valkey: str, space: Namespace, tmp_path: Path
) -> None:
    async with at_post(tables_local, valkey, space, tmp_path) as gateways:
        chat = await gateways.use_cases.group(BEN)
        said = [await gateways.say(chat, ANNA, f"m{n}") for n in range(6)]
        lose_entries(tables_local, chat, said[1], said[3], said[4])
        await restored(gateways, chat)
        ben = await (await gateways.gateway()).live(BEN, epoch=0, positions={chat.chat: 0})
        new = await gateways.say(chat, ANNA, "after")
        await until(lambda: ben.sequences(chat)[-1:] == [new], WITHIN_S)
        assert ben.sequences(chat) == [*range(1, new + 1)]
        # The lost messages count until Ben reads the chat, and their entries are shown.
        assert await ChatListEnv(gateways.use_cases).unread(chat, BEN) == 7


async def test_a_member_who_joined_again_after_a_lost_leave_receives_the_group(
    tables_local: Tables, valkey: str, space: Namespace, tmp_path: Path
) -> None:
    async with at_post(tables_local, valkey, space, tmp_path) as gateways:
        manage, chat = gateways.use_cases.manage, await gateways.use_cases.group(BEN, CLEO)
        left = await gateways.say(chat, ANNA, "together") + 1
        await manage.remove(chat, by(ANNA), BEN)
        await manage.add(chat, by(ANNA), [BEN])
        await gateways.say(chat, ANNA, "back")
        lose_entries(tables_local, chat, left)
        await restored(gateways, chat)
        ben = await (await gateways.gateway()).live(BEN, epoch=0, positions={chat.chat: 0})
        row = await believed(gateways, chat, BEN)
        assert (row.known.joined and row.known.joined.sequence, is_member(row.known)) == (left + 1, True)
        new = await gateways.say(chat, ANNA, "after")
        await until(lambda: ben.sequences(chat)[-1:] == [new], WITHIN_S)


async def test_a_user_whose_join_is_lost_is_no_member_until_they_are_added_again(
    tables_local: Tables, valkey: str, space: Namespace, tmp_path: Path
) -> None:
    async with at_post(tables_local, valkey, space, tmp_path) as gateways:
        manage, chat = gateways.use_cases.manage, await gateways.use_cases.group(CLEO)
        joined = await gateways.say(chat, ANNA, "before") + 1
        await manage.add(chat, by(ANNA), [BEN])
        await gateways.say(chat, ANNA, "with Ben")
        lose_entries(tables_local, chat, joined)
        await restored(gateways, chat)
        ben = await (await gateways.gateway()).live(BEN, epoch=0, positions={})
        assert not is_member((await believed(gateways, chat, BEN)).known)
        await gateways.say(chat, ANNA, "without Ben")
        assert ben.sequences(chat) == []
        await manage.add(chat, by(ANNA), [BEN])
        new = await gateways.say(chat, ANNA, "with Ben again")
        await until(lambda: ben.sequences(chat)[-1:] == [new], WITHIN_S)
        assert ben.sequences(chat) == [new - 1, new]


async def test_a_member_whose_leave_is_lost_is_a_member_again(
    tables_local: Tables, valkey: str, space: Namespace, tmp_path: Path
) -> None:
    async with at_post(tables_local, valkey, space, tmp_path) as gateways:
        manage, chat = gateways.use_cases.manage, await gateways.use_cases.group(BEN, CLEO)
        left = await gateways.say(chat, ANNA, "together") + 1
        await manage.remove(chat, by(ANNA), BEN)
        await gateways.say(chat, ANNA, "without Ben")
        lose_entries(tables_local, chat, left)
        await restored(gateways, chat)
        new = await gateways.say(chat, ANNA, "after")
        ben = await (await gateways.gateway()).live(BEN, epoch=0, positions={chat.chat: 0})
        await until(lambda: ben.sequences(chat)[-1:] == [new], WITHIN_S)
        assert is_member((await believed(gateways, chat, BEN)).known)
        assert ben.sequences(chat) == [*range(1, new + 1)]
