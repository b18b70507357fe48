"""The contract suites of the DynamoDB stores on the simulated tables: the same tests as on the engines.

Tests that count calls and units are skipped by name.
"""

import asyncio
import inspect
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any, override

import pytest
from contract.chats import test_commands
from contract.delivery import test_chat_list, test_chat_rows, test_offline_queue, test_watermarks
from contract.imports import test_import
from contract.messages import test_edits, test_history, test_log, test_send
from fixtures.engines import Namespace
from fixtures.use_cases import UseCaseEnv
from simulation.dynamo import SimClient
from simulation.network import FAIR, Network
from simulation.tables import Tables

SUITES = (
    test_log,
    test_send,
    test_edits,
    test_history,
    test_commands,
    test_chat_rows,
    test_watermarks,
    test_offline_queue,
    test_chat_list,
    test_import,
)
LEFT_OUT = {
    "test_a_direct_message_through_a_warm_view_is_one_put_of_one_write_unit_and_no_read",
    "test_a_message_of_more_than_a_kilobyte_is_two_units",
    "test_a_sender_without_a_position_costs_four_units",
    "test_a_direct_message_costs_two_write_units_for_two_rows",
    "test_a_batch_of_group_messages_costs_one_head_and_the_senders_row",
    "test_a_large_chat_stays_large_and_is_written_once_per_entry",
    "test_marking_as_read_costs_one_write_unit",
    "test_delivery_status_of_a_page_of_any_length_costs_two_reads",
    "test_putting_and_deleting_an_item_costs_two_write_units",
    "test_items_cost_one_unit_each_and_one_call_for_every_twenty_five",
    "test_a_page_costs_one_query_and_one_batch_of_heads_and_names",
    "test_asking_for_a_direct_chat_that_exists_costs_one_read",
}
"""They read the cost ledger, which the simulation does not keep."""


type UseCaseContract = Callable[[UseCaseEnv], Coroutine[Any, Any, None]]


class Direct(Network):
    """Run every request at once, on the caller's loop."""

    def __init__(self) -> None:
        self.chance = Random(0)
        self.conditions = FAIR

    @override
    async def ask[T](self, what: str, do: Callable[[], T], within_s: float = 2.0) -> T:
        del what, within_s
        await asyncio.sleep(0)
        return do()


def contracts() -> Iterator[Any]:
    for suite in SUITES:
        for name, test in _tests(suite):
            if name not in LEFT_OUT:
                yield pytest.param(test, id=f"{suite.__name__}.{name}")


def _tests(suite: ModuleType) -> Iterator[tuple[str, UseCaseContract]]:
    for name, test in vars(suite).items():
        if (
            name.startswith("test_")
            and inspect.iscoroutinefunction(test)
            and [*inspect.signature(test).parameters] == ["use_cases"]
        ):
            yield name, test


@pytest.mark.parametrize("contract", [*contracts()])
async def test_the_simulated_tables_keep_the_contract(
    contract: UseCaseContract, space: Namespace, tmp_path: Path
) -> None:
    await contract(UseCaseEnv(SimClient(Tables(), Direct()), space.tenant, tmp_path / "tidings.key"))
