"""Cost and refusals of a send on both engines, with content encrypted as in production."""

from collections import Counter

import pytest
from fixtures.use_cases import ANNA, BEN, UseCaseEnv, by, code_of

from tidings.kernel.errors import Code
from tidings.kernel.ids import UserId
from tidings.platform.dynamo.client import DynamoClient
from tidings.schema.tables.patterns import messages as patterns


def calls_and_units(client: DynamoClient) -> Counter[tuple[str, str]]:
    """Return calls, retries and units of every access pattern that was used."""
    return Counter({(count.pattern, count.name): int(count.value) for count in client.ledger if count.value})


async def test_a_direct_message_through_a_warm_view_is_one_put_of_one_write_unit_and_no_read(
    use_cases: UseCaseEnv,
) -> None:
    chat = await use_cases.manage.direct(use_cases.tenant, ANNA, BEN)
    await use_cases.send(chat, ANNA)
    before = calls_and_units(use_cases.client)
    for text in ("hi", "x" * 500):
        await use_cases.send(chat, ANNA, text)
    name = patterns.APPEND.name
    assert calls_and_units(use_cases.client) - before == {(name, "calls"): 2, (name, "write_units"): 2}


async def test_a_message_of_more_than_a_kilobyte_is_two_units(use_cases: UseCaseEnv) -> None:
    """Show that the ledger can report another number than in the test above."""
    chat = await use_cases.manage.direct(use_cases.tenant, ANNA, BEN)
    await use_cases.send(chat, ANNA)
    before = calls_and_units(use_cases.client)
    await use_cases.send(chat, ANNA, "x" * 1000)
    assert (calls_and_units(use_cases.client) - before)[patterns.APPEND.name, "write_units"] == 2


async def test_a_sender_without_a_position_costs_four_units(use_cases: UseCaseEnv) -> None:
    chat = await use_cases.manage.direct(use_cases.tenant, ANNA, BEN)
    await use_cases.send(chat, ANNA)
    before = calls_and_units(use_cases.client)
    await use_cases.send(chat, ANNA, after=None)
    name = patterns.APPEND_KEYED.name
    assert calls_and_units(use_cases.client) - before == {(name, "calls"): 1, (name, "write_units"): 4}


@pytest.mark.parametrize("part", ["a#b", "a*", "", "x" * 65])
async def test_ids_that_would_change_the_form_of_a_key_are_rejected(use_cases: UseCaseEnv, part: str) -> None:
    chat = await use_cases.group(BEN)
    assert (
        await code_of(use_cases.manage.direct(use_cases.tenant, ANNA, UserId(part))) is Code.REQUEST_INVALID
    )
    assert await code_of(use_cases.manage.add(chat, by(ANNA), [UserId(part)])) is Code.REQUEST_INVALID
    refusal = use_cases.send(chat._replace(chat=part), ANNA, after=None)  # type: ignore[arg-type]
    assert await code_of(refusal) is Code.REQUEST_INVALID
    if part:
        assert await code_of(use_cases.send(chat, ANNA, key=part, after=None)) is Code.REQUEST_INVALID
    assert len(await use_cases.entries(chat)) == 1
