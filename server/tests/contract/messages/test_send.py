"""What a send costs and what it refuses, on both engines, with content sealed as in production."""

from collections import Counter

import pytest
from fixtures.use_cases import ANNA, BEN, RunUseCases, UseCaseEnv, by, code_of

from tidings.kernel.errors import Code
from tidings.kernel.ids import UserId
from tidings.platform.dynamo.client import DynamoClient
from tidings.schema.tables.patterns import chats as patterns


def calls_and_units(client: DynamoClient) -> Counter[tuple[str, str]]:
    """Of every access pattern that was used: its calls, retries, units."""
    return Counter({(count.pattern, count.name): int(count.value) for count in client.ledger if count.value})


def test_a_direct_message_through_a_warm_view_is_one_put_of_one_write_unit_and_no_read(
    play: RunUseCases,
) -> None:
    async def scene(stage: UseCaseEnv) -> None:
        chat = await stage.manage.direct(stage.tenant, ANNA, BEN)
        await stage.send(chat, ANNA)
        before = calls_and_units(stage.client)
        for text in ("hi", "x" * 500):
            await stage.send(chat, ANNA, text)
        name = patterns.APPEND.name
        assert calls_and_units(stage.client) - before == {(name, "calls"): 2, (name, "write_units"): 2}

    play(scene)


def test_a_message_of_more_than_a_kilobyte_is_two_units(play: RunUseCases) -> None:
    """So that the ledger of the test above could say another number."""

    async def scene(stage: UseCaseEnv) -> None:
        chat = await stage.manage.direct(stage.tenant, ANNA, BEN)
        await stage.send(chat, ANNA)
        before = calls_and_units(stage.client)
        await stage.send(chat, ANNA, "x" * 1000)
        assert (calls_and_units(stage.client) - before)[patterns.APPEND.name, "write_units"] == 2

    play(scene)


def test_a_sender_without_a_position_costs_four_units(play: RunUseCases) -> None:
    async def scene(stage: UseCaseEnv) -> None:
        chat = await stage.manage.direct(stage.tenant, ANNA, BEN)
        await stage.send(chat, ANNA)
        before = calls_and_units(stage.client)
        await stage.send(chat, ANNA, after=None)
        name = patterns.APPEND_KEYED.name
        assert calls_and_units(stage.client) - before == {(name, "calls"): 1, (name, "write_units"): 4}

    play(scene)


@pytest.mark.parametrize("part", ["a#b", "a*", "", "x" * 65])
def test_what_would_change_the_shape_of_a_key_is_refused(play: RunUseCases, part: str) -> None:
    async def scene(stage: UseCaseEnv) -> None:
        chat = await stage.group(BEN)
        assert await code_of(stage.manage.direct(stage.tenant, ANNA, UserId(part))) is Code.REQUEST_INVALID
        assert await code_of(stage.manage.add(chat, by(ANNA), [UserId(part)])) is Code.REQUEST_INVALID
        refusal = stage.send(chat._replace(chat=part), ANNA, after=None)  # type: ignore[arg-type]
        assert await code_of(refusal) is Code.REQUEST_INVALID
        if part:
            assert await code_of(stage.send(chat, ANNA, key=part, after=None)) is Code.REQUEST_INVALID
        assert len(await stage.entries(chat)) == 1

    play(scene)
