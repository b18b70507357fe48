"""The delivery worker on both DynamoDB engines and a real Redis: each step and its purpose."""

from fixtures.delivery_env import DeliveryEnv
from fixtures.use_cases import ANNA, BEN, CLEO, DORA, asked, by, code_of

from tidings.connections.model import GatewayId
from tidings.kernel.errors import Code
from tidings.kernel.ids import ChatKey, UserId
from tidings.messages.model import EntryKind
from tidings.messages.store import DynamoEditStore

DEAD_GATEWAY = GatewayId("gateway-gone")


async def direct(env: DeliveryEnv) -> ChatKey:
    return await env.use_cases.manage.direct(env.use_cases.tenant, ANNA, BEN)


def spent(env: DeliveryEnv) -> dict[tuple[str, str], float]:
    kinds = {"calls", "read_units", "write_units"}
    ledger = env.use_cases.client.ledger
    return {(count.pattern, count.name): count.value for count in ledger if count.name in kinds}


async def test_connected_devices_get_a_push_and_nothing_is_queued(
    delivery_env: DeliveryEnv,
) -> None:
    here, other_gateway = await delivery_env.gateway("gateway-1"), await delivery_env.gateway("gateway-2")
    await delivery_env.comes_in(ANNA, here.id)
    await delivery_env.comes_in(BEN, here.id)
    await delivery_env.comes_in(BEN, other_gateway.id, "ben-laptop")
    chat = await direct(delivery_env)
    await delivery_env.use_cases.send(chat, ANNA, "hello")
    await delivery_env.deliver()
    assert here.got(chat, "anna-phone") == here.got(chat, "ben-phone") == [1, 2]
    assert other_gateway.got(chat, "ben-laptop") == [1, 2]
    assert (len(here.payloads), len(here.pushes), len(here.pushes[0].parts)) == (1, 1, 1)
    assert await delivery_env.lists.unread(chat, BEN) == 1
    assert await delivery_env.queue(BEN) == []
    assert delivery_env.away.of == []
    assert await delivery_env.mark(chat) == 2


async def test_a_direct_message_between_online_users_costs_two_write_units_and_no_read(
    delivery_env: DeliveryEnv,
) -> None:
    here = await delivery_env.gateway()
    await delivery_env.comes_in(ANNA, here.id)
    await delivery_env.comes_in(BEN, here.id)
    chat = await direct(delivery_env)
    await delivery_env.use_cases.send(chat, ANNA, "first")
    await delivery_env.deliver()
    await delivery_env.use_cases.send(chat, ANNA, "x" * 300, after=2)
    before = spent(delivery_env)
    await delivery_env.deliver()
    more = {key: value - before.get(key, 0) for key, value in spent(delivery_env).items()}
    assert {key: value for key, value in more.items() if value} == {
        ("chat_list.raise_row", "calls"): 2,
        ("chat_list.raise_row", "write_units"): 2,
    }


async def test_many_chats_of_a_batch_go_to_a_gateway_in_one_payload(delivery_env: DeliveryEnv) -> None:
    here = await delivery_env.gateway()
    await delivery_env.comes_in(ANNA, here.id)
    chats = [await delivery_env.use_cases.group(BEN) for _ in range(5)]
    for chat in chats:
        await delivery_env.use_cases.send(chat, ANNA, "to all")
    await delivery_env.deliver()
    assert len(here.payloads) == 1
    assert {push.key for push in here.pushes} == set(chats)
    assert all(here.got(chat, "anna-phone") == [1, 2] for chat in chats)


async def test_messages_for_users_without_a_route_are_queued_with_an_offline_event_except_for_the_sender(
    delivery_env: DeliveryEnv,
) -> None:
    chat = await direct(delivery_env)
    await delivery_env.use_cases.send(chat, ANNA, "one")
    await delivery_env.use_cases.send(chat, ANNA, "two", ttl_s=600)
    await delivery_env.deliver()
    kept = await delivery_env.queue(BEN)
    assert [(each.chat, each.entry.sequence, each.entry.kind) for each in kept] == [
        (chat, 2, EntryKind.MESSAGE),
        (chat, 3, EntryKind.MESSAGE),
    ]
    assert [each.entry.content is None for each in kept] == [False, True]
    assert await delivery_env.queue(ANNA) == []
    assert delivery_env.away.of == [(chat, BEN, [2, 3])]


async def test_a_route_to_a_dead_gateway_is_removed_and_its_user_is_offline(
    delivery_env: DeliveryEnv,
) -> None:
    here = await delivery_env.gateway()
    await delivery_env.comes_in(BEN, DEAD_GATEWAY)
    await delivery_env.comes_in(CLEO, DEAD_GATEWAY, "old")
    await delivery_env.comes_in(CLEO, here.id, "new")
    chat = await delivery_env.use_cases.group(BEN, CLEO)
    await delivery_env.use_cases.send(chat, ANNA, "hello")
    await delivery_env.deliver()
    assert await delivery_env.routes_of(BEN) == ()
    assert [route.device for route in await delivery_env.routes_of(CLEO)] == ["new"]
    assert delivery_env.away.of == [(chat, BEN, [2])]
    assert delivery_env.counts.stale_route == 2
    assert await delivery_env.queue(BEN) == [], "a group has a head and no queue"


async def test_a_message_of_a_direct_chat_to_a_dead_gateway_is_queued(delivery_env: DeliveryEnv) -> None:
    await delivery_env.comes_in(BEN, DEAD_GATEWAY)
    chat = await direct(delivery_env)
    await delivery_env.use_cases.send(chat, ANNA, "hello")
    await delivery_env.deliver()
    assert await delivery_env.routes_of(BEN) == ()
    assert [each.entry.sequence for each in await delivery_env.queue(BEN)] == [2]
    assert delivery_env.away.of == [(chat, BEN, [2])]


async def test_a_route_that_was_registered_again_meanwhile_is_not_removed(delivery_env: DeliveryEnv) -> None:
    here = await delivery_env.gateway()
    await delivery_env.comes_in(BEN, DEAD_GATEWAY)

    async def again() -> None:
        await delivery_env.comes_in(BEN, here.id)

    delivery_env.hooks.at_step["worker.looked_up"] = again
    chat = await direct(delivery_env)
    await delivery_env.use_cases.send(chat, ANNA, "hello")
    await delivery_env.deliver()
    assert [route.gateway for route in await delivery_env.routes_of(BEN)] == [here.id]
    assert [ring.user for ring in here.rings] == [BEN]
    assert delivery_env.away.of == []


async def test_a_device_that_connects_after_the_first_look_up_gets_a_resume_signal(
    delivery_env: DeliveryEnv,
) -> None:
    here = await delivery_env.gateway()

    async def come_in() -> None:
        await delivery_env.comes_in(BEN, here.id)

    delivery_env.hooks.at_step["worker.looked_up"] = come_in
    chat = await direct(delivery_env)
    await delivery_env.use_cases.send(chat, ANNA, "hello")
    await delivery_env.deliver()
    assert here.pushes == []
    assert [(ring.user, ring.devices[0].device) for ring in here.rings] == [(BEN, "ben-phone")]
    assert [each.entry.sequence for each in await delivery_env.queue(BEN)] == [2]
    assert delivery_env.away.of == []


async def test_rows_are_written_before_routes_are_looked_up(delivery_env: DeliveryEnv) -> None:
    chat = await direct(delivery_env)
    await delivery_env.use_cases.send(chat, ANNA, "hello")
    seen: list[int] = []

    async def look() -> None:
        row = await delivery_env.lists.row(chat, BEN)
        seen.append(row.known.head.sequence if row.known.head else 0)

    delivery_env.hooks.at_step["worker.rows_written"] = look
    await delivery_env.deliver()
    assert seen == [2]
    assert [step.partition(".")[2] for step in delivery_env.hooks.passed] == [
        *("gap_filled", "rows_written", "looked_up", "pushed", "pending_put", "looked_up_again"),
        *("rung", "marked"),
    ]


async def test_members_get_only_their_intervals_and_the_removed_member_gets_the_leave(
    delivery_env: DeliveryEnv,
) -> None:
    here = await delivery_env.gateway()
    for user in (ANNA, BEN, CLEO, DORA):
        await delivery_env.comes_in(user, here.id)
    use_cases = delivery_env.use_cases
    chat = await use_cases.group(BEN, CLEO)
    await use_cases.send(chat, ANNA, "two")
    await use_cases.manage.remove(chat, by(ANNA), CLEO)
    await use_cases.send(chat, ANNA, "four")
    await use_cases.manage.add(chat, by(ANNA), [DORA])
    await use_cases.send(chat, ANNA, "six")
    await use_cases.manage.add(chat, by(ANNA), [CLEO])
    await use_cases.send(chat, BEN, "eight")
    await delivery_env.deliver()
    assert here.got(chat, "anna-phone") == here.got(chat, "ben-phone") == [1, 2, 3, 4, 5, 6, 7, 8]
    assert here.got(chat, "cleo-phone") == [1, 2, 3, 7, 8]
    assert here.got(chat, "dora-phone") == [5, 6, 7, 8]


async def test_the_reactions_to_a_redacted_message_are_deleted_and_no_others(
    delivery_env: DeliveryEnv,
) -> None:
    use_cases, reactions = delivery_env.use_cases, DynamoEditStore(delivery_env.use_cases.client)
    users = [UserId(f"user{n:02}") for n in range(22)]
    chat = await use_cases.group(*users)
    redacted, other = await use_cases.send(chat, ANNA, "one"), await use_cases.send(chat, ANNA, "two")
    for user in users:
        await use_cases.change.react(asked(chat, user, redacted.sequence), "+1")
    await use_cases.change.react(asked(chat, users[0], other.sequence), "+1")
    await use_cases.change.redact(asked(chat, ANNA, redacted.sequence))
    refused = use_cases.change.react(asked(chat, users[0], redacted.sequence), "+1", is_added=False)
    assert await code_of(refused) is Code.MESSAGE_NOT_FOUND
    await delivery_env.deliver()
    assert not any([await reactions.has_reaction(chat, redacted.sequence, user, "+1") for user in users])
    assert await reactions.has_reaction(chat, other.sequence, users[0], "+1")


async def test_a_redacted_message_is_removed_from_the_queue_or_never_enters_it(
    delivery_env: DeliveryEnv,
) -> None:
    use_cases = delivery_env.use_cases
    chat = await direct(delivery_env)
    first = await use_cases.send(chat, ANNA, "one")
    await delivery_env.deliver()
    assert len(await delivery_env.queue(BEN)) == 1
    await use_cases.change.redact(asked(chat, ANNA, first.sequence))
    second = await use_cases.send(chat, ANNA, "two", after=3)
    await use_cases.change.redact(asked(chat, ANNA, second.sequence))
    await use_cases.send(chat, ANNA, "three", after=5)
    await delivery_env.deliver()
    assert [each.entry.sequence for each in await delivery_env.queue(BEN)] == [6]
    assert [sequences for _, _, sequences in delivery_env.away.of] == [[2], [6]]
