"""The project's DynamoDB client on simulated tables: the same calls, patterns, errors and retries, without bytes."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import override

from simulation.network import Network, NoAnswerError, RefusedForNowError
from simulation.tables import Tables

from tidings.platform.dynamo.capacity import CapacityLedger
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.codec import Attributes, Item
from tidings.platform.dynamo.errors import DynamoError, OutcomeUnknownError, ThrottledError
from tidings.platform.dynamo.operations import AccessPattern, ItemType, Operation
from tidings.platform.dynamo.request_bodies import Names, Returns
from tidings.platform.dynamo.requests import (
    CheckedPattern,
    Delete,
    PatternChecker,
    Put,
    Query,
    QueryPage,
    TransactAction,
    Update,
)
from tidings.platform.dynamo.responses import WriteResult
from tidings.platform.dynamo.transport import CallLimits, Retries

_LIMITS = CallLimits()


class SimClient(DynamoClient):
    """The client of one process. It decides about retries by the same rules as the real transport."""

    def __init__(self, tables: Tables, network: Network) -> None:
        self.tables = tables
        self.network = network
        self.ledger = CapacityLedger()
        self._plans = PatternChecker("", self.ledger)
        self._retries = Retries(_LIMITS.retries, network.chance.random)

    @override
    def close(self) -> None:
        """Do nothing: there is no connection to close."""

    @override
    async def get(
        self,
        pattern: AccessPattern,
        key: Attributes,
        *,
        projection: str | None = None,
        names: Names | None = None,
        timeout_s: float | None = None,
    ) -> Item | None:
        table = self._plan(pattern, Operation.GET_ITEM).table
        found, _ = await self._call(
            pattern, lambda: self.tables.get(table, key, projection, names or {}), timeout_s=timeout_s
        )
        return found

    @override
    async def query_as[T](
        self, shape: ItemType[T], pattern: AccessPattern, query: Query, *, timeout_s: float | None = None
    ) -> QueryPage[T]:
        table = self._plan(pattern, Operation.QUERY).table
        assert pattern.index is None, "indexes are not simulated"
        is_short = not self.network.conditions.is_fair and self.network.chance.random() < 0.1
        page, _ = await self._call(
            pattern, lambda: self.tables.query(table, query, 2 if is_short else None), timeout_s=timeout_s
        )
        return QueryPage([shape.of(item) for item in page.items], page.start, page.scanned)

    @override
    async def put(
        self,
        pattern: AccessPattern,
        item: Attributes,
        *,
        condition: str | None = None,
        names: Names | None = None,
        values: Attributes | None = None,
        returns: Returns | None = None,
        repeatable: bool = False,
        timeout_s: float | None = None,
    ) -> WriteResult:
        table = self._plan(pattern, Operation.PUT_ITEM).table
        action = Put(table=table, item=item, condition=condition, names=names, values=values)
        return await self._do(pattern, action, returns, is_repeatable=repeatable, timeout_s=timeout_s)

    @override
    async def update(
        self,
        pattern: AccessPattern,
        key: Attributes,
        update: str,
        *,
        condition: str | None = None,
        names: Names | None = None,
        values: Attributes | None = None,
        returns: Returns | None = None,
        repeatable: bool = False,
        timeout_s: float | None = None,
    ) -> WriteResult:
        table = self._plan(pattern, Operation.UPDATE_ITEM).table
        action = Update(table=table, key=key, update=update, condition=condition, names=names, values=values)
        return await self._do(pattern, action, returns, is_repeatable=repeatable, timeout_s=timeout_s)

    @override
    async def delete(
        self,
        pattern: AccessPattern,
        key: Attributes,
        *,
        condition: str | None = None,
        names: Names | None = None,
        values: Attributes | None = None,
        returns: Returns | None = None,
        repeatable: bool = False,
        timeout_s: float | None = None,
    ) -> WriteResult:
        table = self._plan(pattern, Operation.DELETE_ITEM).table
        action = Delete(table=table, key=key, condition=condition, names=names, values=values)
        return await self._do(pattern, action, returns, is_repeatable=repeatable, timeout_s=timeout_s)

    @override
    async def transact_write(
        self,
        pattern: AccessPattern,
        actions: Sequence[TransactAction],
        *,
        token: str | None = None,
        repeatable: bool = False,
        timeout_s: float | None = None,
    ) -> WriteResult:
        assert token is None, "tokens are not simulated"
        plan = self._plan(pattern, Operation.TRANSACT_WRITE_ITEMS)
        assert all(plan.table_of(action.table) for action in actions)
        _, is_doubtful = await self._call(
            pattern,
            lambda: self.tables.transact(actions),
            is_write=True,
            is_repeatable=repeatable,
            timeout_s=timeout_s,
        )
        return WriteResult(maybe_repeated=is_doubtful)

    @override
    async def batch_get(
        self,
        pattern: AccessPattern,
        keys: Sequence[Attributes],
        *,
        projection: str | None = None,
        names: Names | None = None,
        timeout_s: float | None = None,
    ) -> list[Item]:
        table = self._plan(pattern, Operation.BATCH_GET_ITEM).table

        def read() -> list[Item]:
            found = (self.tables.get(table, key, projection, names or {}) for key in keys)
            return [item for item in found if item is not None]

        return (await self._call(pattern, read, timeout_s=timeout_s))[0]

    @override
    async def batch_get_tables(
        self, pattern: AccessPattern, keys: Mapping[str, Sequence[Attributes]]
    ) -> dict[str, list[Item]]:
        plan = self._plan(pattern, Operation.BATCH_GET_ITEM)

        def read() -> dict[str, list[Item]]:
            found = {
                table: [self.tables.get(plan.table_of(table), key, None, {}) for key in some]
                for table, some in keys.items()
            }
            return {table: [item for item in items if item is not None] for table, items in found.items()}

        return (await self._call(pattern, read, timeout_s=None))[0]

    @override
    async def batch_write(
        self,
        pattern: AccessPattern,
        *,
        puts: Sequence[Attributes] = (),
        deletes: Sequence[Attributes] = (),
        repeatable: bool = False,
        timeout_s: float | None = None,
    ) -> None:
        table = self._plan(pattern, Operation.BATCH_WRITE_ITEM).table
        actions = [*(Put(table=table, item=i) for i in puts), *(Delete(table=table, key=k) for k in deletes)]
        for action in actions:
            await self._do(pattern, action, None, is_repeatable=repeatable, timeout_s=timeout_s)

    def _plan(self, pattern: AccessPattern, operation: Operation) -> CheckedPattern:
        return self._plans.of(pattern, operation)

    async def _do(
        self,
        pattern: AccessPattern,
        action: TransactAction,
        returns: Returns | None,
        *,
        is_repeatable: bool,
        timeout_s: float | None,
    ) -> WriteResult:
        attributes, is_doubtful = await self._call(
            pattern,
            lambda: self.tables.write(action, returns),
            is_write=True,
            is_repeatable=is_repeatable,
            timeout_s=timeout_s,
        )
        return WriteResult(attributes, is_doubtful)

    async def _call[T](
        self,
        pattern: AccessPattern,
        do: Callable[[], T],
        *,
        is_write: bool = False,
        is_repeatable: bool = True,
        timeout_s: float | None = None,
    ) -> tuple[T, bool]:
        """Return the answer, and whether an earlier try got no answer and may have been applied."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + (_LIMITS.call_timeout_s if timeout_s is None else timeout_s)
        tries, is_doubtful = 0, False
        failed: DynamoError | None = None
        while True:
            tries += 1
            left_s = deadline - loop.time()
            within_s = min(left_s, _LIMITS.try_timeout_s) if is_repeatable else left_s
            try:
                answer = await self._try(pattern.name, do, within_s)
            except DynamoError as error:
                failed = error
                is_doubtful |= error.maybe_applied
                error.maybe_applied = is_doubtful and is_write
                left_s = deadline - loop.time()
                wait_s = self._retries.wait_s(error, tries, left_s, is_repeatable=is_repeatable)
                if wait_s is None:
                    raise
            else:
                self._retries.succeed(after=failed)
                return answer, is_doubtful and is_write
            await asyncio.sleep(wait_s)

    async def _try[T](self, name: str, do: Callable[[], T], within_s: float) -> T:
        try:
            return await self.network.ask(name, do, within_s)
        except NoAnswerError as error:
            raise OutcomeUnknownError(str(error)) from error
        except RefusedForNowError as error:
            raise ThrottledError(str(error)) from error
