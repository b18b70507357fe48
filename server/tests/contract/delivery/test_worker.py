"""The delivery worker on both DynamoDB engines and a real Redis: each step, and what it is for."""

from fixtures.delivery_env import DeliveryEnv, RunDelivery
from fixtures.use_cases import ANNA, BEN, CLEO, DORA, asked, by, code_of

from tidings.connections.model import GatewayId
from tidings.kernel.errors import Code
from tidings.kernel.ids import ChatKey, UserId
from tidings.messages.model import EntryKind
from tidings.messages.store import DynamoEditStore

NOBODY = GatewayId("gateway-gone")


async def direct(office: DeliveryEnv) -> ChatKey:
    return await office.stage.manage.direct(office.stage.tenant, ANNA, BEN)


def spent(office: DeliveryEnv) -> dict[tuple[str, str], float]:
    kinds = {"calls", "read_units", "write_units"}
    ledger = office.stage.client.ledger
    return {(count.pattern, count.name): count.value for count in ledger if count.name in kinds}


def test_devices_that_are_connected_get_a_push_and_nothing_is_kept_for_them(work: RunDelivery) -> None:
    async def day(office: DeliveryEnv) -> None:
        here, there = await office.gateway("gateway-1"), await office.gateway("gateway-2")
        await office.comes_in(ANNA, here.id)
        await office.comes_in(BEN, here.id)
        await office.comes_in(BEN, there.id, "ben-laptop")
        chat = await direct(office)
        await office.stage.send(chat, ANNA, "hello")
        await office.deliver()
        assert here.got(chat, "anna-phone") == here.got(chat, "ben-phone") == [1, 2]
        assert there.got(chat, "ben-laptop") == [1, 2]
        assert (len(here.payloads), len(here.pushes), len(here.pushes[0].parts)) == (1, 1, 1)
        assert await office.lists.unread(chat, BEN) == 1
        assert await office.queue(BEN) == []
        assert office.away.of == []
        assert await office.mark(chat) == 2

    work(day)


def test_a_direct_message_between_two_who_are_online_costs_two_write_units_and_no_read(
    work: RunDelivery,
) -> None:
    async def day(office: DeliveryEnv) -> None:
        here = await office.gateway()
        await office.comes_in(ANNA, here.id)
        await office.comes_in(BEN, here.id)
        chat = await direct(office)
        await office.stage.send(chat, ANNA, "first")
        await office.deliver()
        await office.stage.send(chat, ANNA, "x" * 300, after=2)
        before = spent(office)
        await office.deliver()
        more = {key: value - before.get(key, 0) for key, value in spent(office).items()}
        assert {key: value for key, value in more.items() if value} == {
            ("chat_list.raise_row", "calls"): 2,
            ("chat_list.raise_row", "write_units"): 2,
        }

    work(day)


def test_many_chats_of_a_batch_go_to_a_gateway_in_one_payload(work: RunDelivery) -> None:
    async def day(office: DeliveryEnv) -> None:
        here = await office.gateway()
        await office.comes_in(ANNA, here.id)
        chats = [await office.stage.group(BEN) for _ in range(5)]
        for chat in chats:
            await office.stage.send(chat, ANNA, "to all")
        await office.deliver()
        assert len(here.payloads) == 1
        assert {push.key for push in here.pushes} == set(chats)
        assert all(here.got(chat, "anna-phone") == [1, 2] for chat in chats)

    work(day)


def test_messages_for_who_has_no_route_are_kept_and_told_of_but_not_the_senders_own(
    work: RunDelivery,
) -> None:
    async def day(office: DeliveryEnv) -> None:
        chat = await direct(office)
        await office.stage.send(chat, ANNA, "one")
        await office.stage.send(chat, ANNA, "two", ttl_s=600)
        await office.deliver()
        kept = await office.queue(BEN)
        assert [(each.chat, each.entry.sequence, each.entry.kind) for each in kept] == [
            (chat, 2, EntryKind.MESSAGE),
            (chat, 3, EntryKind.MESSAGE),
        ]
        assert [each.entry.content is None for each in kept] == [False, True]
        assert await office.queue(ANNA) == []
        assert office.away.of == [(chat, BEN, [2, 3])]

    work(day)


def test_a_route_to_a_gateway_that_is_gone_is_taken_out_and_the_message_is_kept(work: RunDelivery) -> None:
    async def day(office: DeliveryEnv) -> None:
        here = await office.gateway()
        await office.comes_in(BEN, NOBODY)
        await office.comes_in(CLEO, NOBODY, "old")
        await office.comes_in(CLEO, here.id, "new")
        chat = await office.stage.group(BEN, CLEO)
        await office.stage.send(chat, ANNA, "hello")
        await office.deliver()
        assert await office.routes_of(BEN) == ()
        assert [route.device for route in await office.routes_of(CLEO)] == ["new"]
        assert [each.entry.sequence for each in await office.queue(BEN)] == [2]
        assert await office.queue(CLEO) == []
        assert office.away.of == [(chat, BEN, [2])]
        assert office.counts.stale_route == 2

    work(day)


def test_a_route_that_was_taken_again_meanwhile_is_not_taken_out(work: RunDelivery) -> None:
    async def day(office: DeliveryEnv) -> None:
        here = await office.gateway()
        await office.comes_in(BEN, NOBODY)

        async def again() -> None:
            await office.comes_in(BEN, here.id)

        office.hooks.at_step["worker.looked_up"] = again
        chat = await direct(office)
        await office.stage.send(chat, ANNA, "hello")
        await office.deliver()
        assert [route.gateway for route in await office.routes_of(BEN)] == [here.id]
        assert [ring.user for ring in here.rings] == [BEN]
        assert office.away.of == []

    work(day)


def test_who_comes_in_after_the_first_look_up_is_rung_for(work: RunDelivery) -> None:
    async def day(office: DeliveryEnv) -> None:
        here = await office.gateway()

        async def come_in() -> None:
            await office.comes_in(BEN, here.id)

        office.hooks.at_step["worker.looked_up"] = come_in
        chat = await direct(office)
        await office.stage.send(chat, ANNA, "hello")
        await office.deliver()
        assert here.pushes == []
        assert [(ring.user, ring.devices[0].device) for ring in here.rings] == [(BEN, "ben-phone")]
        assert [each.entry.sequence for each in await office.queue(BEN)] == [2]
        assert office.away.of == []

    work(day)


def test_the_truth_is_there_before_anybody_is_looked_up(work: RunDelivery) -> None:
    async def day(office: DeliveryEnv) -> None:
        chat = await direct(office)
        await office.stage.send(chat, ANNA, "hello")
        seen: list[int] = []

        async def look() -> None:
            row = await office.lists.row(chat, BEN)
            seen.append(row.known.head.sequence if row.known.head else 0)

        office.hooks.at_step["worker.rows_written"] = look
        await office.deliver()
        assert seen == [2]
        assert [step.partition(".")[2] for step in office.hooks.passed] == [
            *("gap_filled", "rows_written", "looked_up", "pushed", "pending_put", "looked_up_again"),
            *("rung", "marked"),
        ]

    work(day)


def test_nobody_gets_what_is_outside_of_his_intervals_and_who_leaves_hears_of_it(work: RunDelivery) -> None:
    async def day(office: DeliveryEnv) -> None:
        here = await office.gateway()
        for user in (ANNA, BEN, CLEO, DORA):
            await office.comes_in(user, here.id)
        stage = office.stage
        chat = await stage.group(BEN, CLEO)
        await stage.send(chat, ANNA, "two")
        await stage.manage.remove(chat, by(ANNA), CLEO)
        await stage.send(chat, ANNA, "four")
        await stage.manage.add(chat, by(ANNA), [DORA])
        await stage.send(chat, ANNA, "six")
        await stage.manage.add(chat, by(ANNA), [CLEO])
        await stage.send(chat, BEN, "eight")
        await office.deliver()
        assert here.got(chat, "anna-phone") == here.got(chat, "ben-phone") == [1, 2, 3, 4, 5, 6, 7, 8]
        assert here.got(chat, "cleo-phone") == [1, 2, 3, 7, 8]
        assert here.got(chat, "dora-phone") == [5, 6, 7, 8]

    work(day)


def test_the_reactions_to_a_redacted_message_are_deleted_and_no_others(work: RunDelivery) -> None:
    async def day(office: DeliveryEnv) -> None:
        stage, reactions = office.stage, DynamoEditStore(office.stage.client)
        users = [UserId(f"user{n:02}") for n in range(22)]
        chat = await stage.group(*users)
        redacted, other = await stage.send(chat, ANNA, "one"), await stage.send(chat, ANNA, "two")
        for user in users:
            await stage.change.react(asked(chat, user, redacted.sequence), "+1")
        await stage.change.react(asked(chat, users[0], other.sequence), "+1")
        await stage.change.redact(asked(chat, ANNA, redacted.sequence))
        refused = stage.change.react(asked(chat, users[0], redacted.sequence), "+1", is_added=False)
        assert await code_of(refused) is Code.MESSAGE_NOT_FOUND
        await office.deliver()
        assert not any([await reactions.has_reaction(chat, redacted.sequence, user, "+1") for user in users])
        assert await reactions.has_reaction(chat, other.sequence, users[0], "+1")

    work(day)


def test_a_redacted_message_leaves_the_queue_and_one_redacted_at_once_never_gets_there(
    work: RunDelivery,
) -> None:
    async def day(office: DeliveryEnv) -> None:
        stage = office.stage
        chat = await direct(office)
        first = await stage.send(chat, ANNA, "one")
        await office.deliver()
        assert len(await office.queue(BEN)) == 1
        await stage.change.redact(asked(chat, ANNA, first.sequence))
        second = await stage.send(chat, ANNA, "two", after=3)
        await stage.change.redact(asked(chat, ANNA, second.sequence))
        await stage.send(chat, ANNA, "three", after=5)
        await office.deliver()
        assert [each.entry.sequence for each in await office.queue(BEN)] == [6]
        assert [sequences for _, _, sequences in office.away.of] == [[2], [6]]

    work(day)
