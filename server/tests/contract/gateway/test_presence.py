"""Presence between devices on real gateways and a real Redis: by leases, with a grace period, only for permitted users."""

from functools import partial
from typing import Any

from fixtures.gateway_env import WITHIN_S, GatewayEnv, InProcessGateway, ScreenDevice
from fixtures.loops import until
from fixtures.use_cases import ANNA, BEN, CLEO, by

from tidings.accounts.model import ProfileChange
from tidings.accounts.store.users import DynamoUserStore
from tidings.accounts.users import UserService
from tidings.ephemeral.model import PresenceHint
from tidings.gateway.ephemeral.service import EphemeralOptions
from tidings.kernel.ids import TenantId, UserId

DORA = UserId("dora")
SLOW = EphemeralOptions(presence_grace_s=3_600, presence_refresh_s=0.3)
"""No device is notified of an offline user."""


def shown(screen: ScreenDevice, user: UserId) -> list[dict[str, Any]]:
    return [push for push in screen.pushed("presence") if push["user"] == user]


def statuses(screen: ScreenDevice, user: UserId) -> list[str]:
    return [push["status"] for push in shown(screen, user)]


async def sees(screen: ScreenDevice, user: UserId, *wanted: str) -> None:
    """Wait until the device has received exactly these statuses, in this order."""
    await until(lambda: len(statuses(screen, user)) >= len(wanted), WITHIN_S)
    assert statuses(screen, user) == list(wanted)


def _has_looked(here: InProcessGateway, times: int) -> bool:
    return here.node.ephemeral.counts.subscriptions >= times


async def friends(gateways: GatewayEnv) -> None:
    """Anna and Ben have a direct chat, Anna and Cleo a group. Dora shares no chat."""
    await gateways.use_cases.manage.direct(gateways.use_cases.tenant, ANNA, BEN)
    await gateways.use_cases.group(CLEO)
    await gateways.deliver()


async def watched_by_anna(gateways: GatewayEnv, here: InProcessGateway) -> ScreenDevice:
    await friends(gateways)
    anna = await here.live(ANNA)
    anna.say(subscribe={"users": [BEN, CLEO, DORA, ANNA]})
    await until(lambda: {t["user"] for t in anna.pushed("presence")} == {BEN, CLEO, DORA, ANNA}, WITHIN_S)
    return anna


async def test_a_user_is_online_then_away_then_offline_with_last_seen(gateways: GatewayEnv) -> None:
    one, two = await gateways.gateway(), await gateways.gateway()
    anna = await watched_by_anna(gateways, one)
    assert shown(anna, BEN) == [{"user": BEN, "status": "offline"}], "ben has never been online"
    assert statuses(anna, ANNA) == ["online"]
    began_ms = gateways.use_cases.clock.now_ms()
    ben = await two.live(BEN)
    await sees(anna, BEN, "offline", "online")
    ben.say(presence={"status": "away"})
    await sees(anna, BEN, "offline", "online", "away")
    laptop = await one.live(BEN, "laptop")
    await sees(anna, BEN, "offline", "online", "away", "online")
    laptop.hang_up()
    await sees(anna, BEN, "offline", "online", "away", "online", "away")
    ben.hang_up()
    await sees(anna, BEN, "offline", "online", "away", "online", "away", "offline")
    assert shown(anna, BEN)[-1]["at"] >= began_ms - 1_000
    assert statuses(anna, CLEO) == ["offline"]


async def test_a_user_who_reconnects_within_the_grace_period_is_never_shown_offline(
    gateways: GatewayEnv,
) -> None:
    one, two = await gateways.gateway(signs=SLOW), await gateways.gateway(signs=SLOW)
    ben = await two.live(BEN)
    anna = await watched_by_anna(gateways, one)
    for number, here in enumerate((one, two, one), start=1):
        ben.hang_up()
        await until(partial(_has_looked, one, 12 * number), WITHIN_S)
        ben = await here.live(BEN)
    laptop = await two.live(ANNA, "laptop")
    ben.hang_up()
    await until(partial(_has_looked, one, 48), WITHIN_S)
    laptop.say(subscribe={"users": [BEN]})
    await sees(laptop, BEN, "online")
    assert statuses(anna, BEN) == ["online"]


async def test_users_of_a_dead_gateway_become_offline_when_their_leases_expire(gateways: GatewayEnv) -> None:
    one, two = await gateways.gateway(), await gateways.gateway()
    await two.live(BEN)
    anna = await watched_by_anna(gateways, one)
    await sees(anna, BEN, "online")
    key = two.node._deps.routes._keys(gateways.use_cases.tenant, BEN)[0]  # type: ignore[attr-defined]
    redis = two.node._deps.routes._redis  # type: ignore[attr-defined]
    await redis.write("DEL", key)
    await sees(anna, BEN, "online", "offline")


async def test_users_who_share_no_chat_see_no_presence(gateways: GatewayEnv) -> None:
    here = await gateways.gateway()
    for user in (BEN, CLEO, DORA):
        await here.live(user)
    anna = await watched_by_anna(gateways, here)
    await sees(anna, BEN, "online")
    await sees(anna, CLEO, "online")
    assert shown(anna, DORA) == [{"user": DORA, "status": "offline"}]


async def test_a_block_hides_the_blocking_user_until_it_ends(gateways: GatewayEnv) -> None:
    here = await gateways.gateway()
    ben = await here.live(BEN)
    anna = await watched_by_anna(gateways, here)
    await gateways.use_cases.manage.block(gateways.use_cases.tenant, by(BEN), ANNA)
    await gateways.deliver()
    await sees(anna, BEN, "online", "offline")
    assert "at" not in shown(anna, BEN)[-1]
    ben.say(presence={"status": "away"})
    ben.say(subscribe={"users": [ANNA]})
    await sees(ben, ANNA, "online")
    assert len(statuses(anna, BEN)) == 2
    await gateways.use_cases.manage.block(gateways.use_cases.tenant, by(BEN), ANNA, is_blocked=False)
    await gateways.deliver()
    await sees(anna, BEN, "online", "offline", "away")


async def test_a_block_during_the_first_access_check_hides_the_blocking_user(gateways: GatewayEnv) -> None:
    here = await gateways.gateway()
    await here.live(BEN)
    await friends(gateways)
    anna = await here.live(ANNA)
    presence = here.node.ephemeral.presence_subscriptions
    access: Any = presence._access
    visible, block, checks = access.visible, gateways.use_cases.manage.block, []

    async def read_then_block(tenant: TenantId, *given: Any) -> frozenset[UserId]:
        channel = presence.channels.get((tenant, BEN))
        checks.append(channel is not None and channel.is_subscribed)
        found: frozenset[UserId] = await visible(tenant, *given)
        if len(checks) == 1:
            await block(tenant, by(BEN), ANNA)
            await here.node.ephemeral._hint((tenant, BEN, PresenceHint.RULES))
            await until(lambda: presence._unchecked, WITHIN_S)
        return found

    access.visible = read_then_block
    anna.say(subscribe={"users": [BEN]})
    await sees(anna, BEN, "offline")
    assert checks == [True, True]


async def test_leaving_the_last_shared_chat_ends_visibility(gateways: GatewayEnv) -> None:
    here = await gateways.gateway()
    cleo = await here.live(CLEO)
    anna = await watched_by_anna(gateways, here)
    chat = next(c for c in here.device(CLEO).positions)
    cleo.say(subscribe={"users": [ANNA]})
    await sees(cleo, ANNA, "online")
    key = here.device(CLEO).chat(chat)
    await gateways.use_cases.manage.remove(key, by(ANNA), CLEO)
    await gateways.deliver()
    await sees(anna, CLEO, "online", "offline")
    await sees(cleo, ANNA, "online", "offline")
    assert "at" not in shown(anna, CLEO)[-1]


async def test_a_user_who_hides_their_presence_is_not_seen_and_does_not_see_others(
    gateways: GatewayEnv,
) -> None:
    users = UserService(
        DynamoUserStore(gateways.use_cases.client, gateways.use_cases.ring, gateways.use_cases.user_keys),
        gateways.use_cases.clock,
    )
    await users.create(gateways.use_cases.tenant, BEN)
    here = await gateways.gateway()
    ben = await here.live(BEN)
    anna = await watched_by_anna(gateways, here)
    await users.update(gateways.use_cases.tenant, BEN, ProfileChange(last_seen="nobody"))
    await here.node.ephemeral._hint((gateways.use_cases.tenant, BEN, PresenceHint.RULES))
    await sees(anna, BEN, "online", "offline")
    ben.say(subscribe={"users": [ANNA, BEN]})
    await until(lambda: len(ben.pushed("presence")) == 2, WITHIN_S)
    assert shown(ben, ANNA) == [{"user": ANNA, "status": "offline"}]
    assert statuses(ben, BEN) == ["online"], "oneself one sees"
    await users.update(gateways.use_cases.tenant, BEN, ProfileChange(last_seen="members"))
    await here.node.ephemeral._hint((gateways.use_cases.tenant, BEN, PresenceHint.RULES))
    await sees(anna, BEN, "online", "offline", "online")


async def test_presence_recovers_after_redis_is_emptied(gateways: GatewayEnv) -> None:
    here = await gateways.gateway(signs=EphemeralOptions(presence_grace_s=5, presence_refresh_s=0.2))
    ben = await here.live(BEN)
    ben.say(presence={"status": "away"})
    anna = await watched_by_anna(gateways, here)
    await until(lambda: statuses(anna, BEN)[-1] == "away", WITHIN_S)
    before = statuses(anna, BEN)
    redis = here.node._deps.routes._redis  # type: ignore[attr-defined]
    for user in (ANNA, BEN):
        for key in here.node._deps.routes._keys(gateways.use_cases.tenant, user):  # type: ignore[attr-defined]
            await redis.write("DEL", key)
    await here.node.leases.renew_all()
    await until(lambda: here.device(BEN).is_live and here.device(BEN).is_registered, WITHIN_S)
    await until(lambda: statuses(anna, BEN)[len(before) :][-1:] == ["away"], WITHIN_S)
    assert "offline" not in statuses(anna, BEN)[len(before) :]


async def test_a_connected_user_cannot_set_their_presence_to_offline(gateways: GatewayEnv) -> None:
    anna = await (await gateways.gateway()).live(ANNA)
    anna.say(id=5, presence={"status": "offline"})
    await until(lambda: any(frame.get("id") == 5 for frame in anna.frames), WITHIN_S)
    (answer,) = (frame for frame in anna.frames if frame.get("id") == 5)
    assert answer["error"]["code"] == "request_invalid"
