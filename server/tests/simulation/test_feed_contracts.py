"""The contract suite of the change stream on the simulated one, written by the real use cases on simulated tables."""

import inspect
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import override

import pytest
from contract.relay import test_feed
from contract.relay.test_feed import PAGE, FeedEnv, Script, place_of
from fixtures.engines import Namespace
from fixtures.use_cases import UseCaseEnv
from simulation.change_stream import SimChangeStream
from simulation.dynamo import SimClient
from simulation.loop import Scheduler
from simulation.network import RefusedForNowError
from simulation.record import Record
from simulation.tables import Tables
from simulation.test_contracts import Direct

SUITE = [test for name, test in vars(test_feed).items() if name.startswith("test_")]
OF_STREAMS = [test for test in SUITE if [*inspect.signature(test).parameters] == ["feed_env"]]
OF_SCRIPTS = [test for test in SUITE if [*inspect.signature(test).parameters] == ["script"]]


class Refusing(Direct):
    """Reject the next request."""

    is_to_refuse = False

    @override
    async def ask[T](self, what: str, do: Callable[[], T], within_s: float = 2.0) -> T:
        if self.is_to_refuse:
            self.is_to_refuse = False
            raise RefusedForNowError(what)
        return await super().ask(what, do, within_s)


class SimScript:
    def __init__(self) -> None:
        self._network = Refusing()
        self.feed = SimChangeStream(self._network, PAGE)
        self.trim, self.expire_iterators = self.feed.trim, self.feed.expire_iterators

    def put(self, sequence: int) -> None:
        self.feed.note({"chat_id": "acme#a", "sequence": sequence}, is_new=True)

    def refuse_one(self) -> None:
        self._network.is_to_refuse = True


def test_all_tests_of_the_suite_run() -> None:
    assert len(OF_STREAMS) + len(OF_SCRIPTS) == len(SUITE) >= 8


@pytest.mark.parametrize("contract", OF_STREAMS, ids=lambda test: test.__name__)
async def test_the_simulated_stream_keeps_the_contract(
    contract: Callable[[FeedEnv], Coroutine[None, None, None]], space: Namespace, tmp_path: Path
) -> None:
    tables, feed = Tables(), SimChangeStream(Direct(), PAGE)
    Record(Scheduler(0), tables, feed)
    use_cases = UseCaseEnv(SimClient(tables, Direct()), space.tenant, tmp_path / "key")
    await contract(FeedEnv(feed, use_cases, await place_of(feed)))


@pytest.mark.parametrize("contract", OF_SCRIPTS, ids=lambda test: test.__name__)
async def test_the_simulated_stream_fails_as_the_contract_says(
    contract: Callable[[Script], Coroutine[None, None, None]],
) -> None:
    await contract(SimScript())
