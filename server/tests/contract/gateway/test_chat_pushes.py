"""A `chat` push when a user joins a chat while connected, and when another device changes its settings."""

from typing import Any

from contract.gateway.test_order import large
from fixtures.gateway_env import WITHIN_S, GatewayEnv, ScreenDevice
from fixtures.loops import until
from fixtures.use_cases import ANNA, BEN, CLEO, DORA, by

from tidings.app.wiring.chats import build_chat_lists
from tidings.bus.store import RedisBus
from tidings.connections.store import RedisConnectionRegistry
from tidings.delivery.model import ChatFlags
from tidings.ephemeral.receipts import ChatRowNotifier
from tidings.gateway.metrics import export_node
from tidings.kernel.ids import ChatKey
from tidings.platform.telemetry.metrics import Metrics


def chat_pushes(screen: ScreenDevice, chat: ChatKey) -> list[dict[str, Any]]:
    return [row for row in screen.pushed("chat") if row["chat"] == chat.chat]


async def test_a_group_joined_while_connected_has_its_name_after_the_join(gateways: GatewayEnv) -> None:
    chat = await gateways.use_cases.group(BEN)
    await gateways.say(chat, ANNA, "before her")
    here = await gateways.gateway()
    cleo = await here.live(CLEO)
    await gateways.use_cases.manage.add(chat, by(ANNA), [CLEO])
    await gateways.deliver()
    await until(lambda: bool(chat_pushes(cleo, chat)), WITHIN_S)
    [row] = chat_pushes(cleo, chat)
    name = (await gateways.use_cases.rows.names(gateways.use_cases.tenant, [chat.chat]))[chat.chat].name
    assert name
    assert row["name"] == name
    assert "before her" not in str(row)
    kinds = [next(iter(frame)) for frame in cleo.frames]
    assert kinds.index("entry") < kinds.index("chat"), "the entry that lets them in comes first"
    sent = await gateways.say(chat, ANNA, "to all")
    await until(lambda: sent in cleo.sequences(chat), WITHIN_S)
    assert len(chat_pushes(cleo, chat)) == 1, "messages are not worth a row"
    metrics = Metrics()
    export_node(metrics, here.node)
    assert b"\ntidings_gateway_chat_rows_total 1.0\n" in metrics.render()


async def test_nothing_follows_a_removal(gateways: GatewayEnv) -> None:
    """The join and the leave are delivered together: the row is read when the user is already removed."""
    chat = await gateways.use_cases.group(BEN)
    here = await gateways.gateway()
    cleo = await here.live(CLEO)
    await gateways.use_cases.manage.add(chat, by(ANNA), [CLEO])
    await gateways.use_cases.manage.remove(chat, by(ANNA), CLEO)
    await gateways.use_cases.send(chat, ANNA, "without her")
    await gateways.deliver()
    await until(lambda: len(cleo.sequences(chat)) == 2, WITHIN_S)
    await gateways.use_cases.manage.add(chat, by(ANNA), [DORA])
    dora = await here.live(DORA)
    await gateways.deliver()
    await until(lambda: bool(dora.rows() or chat_pushes(dora, chat)), WITHIN_S)
    assert chat_pushes(cleo, chat) == []


async def test_a_user_who_joins_a_large_chat_gets_its_name_and_no_preview(
    gateways: GatewayEnv,
) -> None:
    chat = await large(gateways)
    await gateways.say(chat, ANNA, "before her")
    here = await gateways.gateway()
    cleo = await here.live(DORA)
    await gateways.use_cases.manage.add(chat, by(ANNA), [DORA])
    await gateways.deliver()
    await until(lambda: bool(chat_pushes(cleo, chat)), WITHIN_S)
    assert chat_pushes(cleo, chat)[0]["name"]
    assert "preview" not in chat_pushes(cleo, chat)[0]


async def test_a_chat_that_is_muted_on_one_device_is_muted_on_the_others(gateways: GatewayEnv) -> None:
    use_cases = gateways.use_cases
    chat = await use_cases.group(BEN)
    await gateways.deliver()
    here, other_gateway = await gateways.gateway(), await gateways.gateway()
    phone, laptop, anna = await here.live(BEN), await other_gateway.live(BEN, "laptop"), await here.live(ANNA)
    lists = build_chat_lists(use_cases.client, use_cases.keys, use_cases.clock)
    own = ChatRowNotifier(RedisBus(gateways.redis), RedisConnectionRegistry(gateways.redis, lease_s=1.0))
    assert chat_pushes(phone, chat) == [], "the resume has sent the row"
    await lists.chat_list.set_flags(
        chat, BEN, ChatFlags(muted_until_ms=use_cases.clock.now_ms() + 60_000, is_pinned=True)
    )
    await own.notify_changed(chat, BEN)
    for screen in (phone, laptop):
        await until(lambda screen=screen: bool(chat_pushes(screen, chat)), WITHIN_S)  # type: ignore[misc]
        row = chat_pushes(screen, chat)[0]
        assert (row["is_muted"], row["is_pinned"]) == (True, True)
    assert chat_pushes(anna, chat) == []
