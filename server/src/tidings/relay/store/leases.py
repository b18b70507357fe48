"""Leases in the table `leases`. Each write is conditional on the counter that the writer has read, and increments it."""

from collections.abc import Collection, Mapping
from typing import NoReturn

from tidings.kernel.clock import Clock, format_ms
from tidings.kernel.errors import UnavailableError
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.codec import Item, ItemValue
from tidings.platform.dynamo.errors import ConditionFailedError, DynamoError
from tidings.relay.model import Lease, ShardId
from tidings.schema.tables.items.accounts import SHARD_LEASE
from tidings.schema.tables.patterns import accounts as patterns

LEASE_TTL_S = 3 * 24 * 3600
"""Longer than the stream lists a closed shard."""
_NAMES = {"#token": "token", "#ttl": "ttl"}
_IF_UNCHANGED = "#token = :seen"
_RENEW = "SET #token = :next, checkpoint = :checkpoint, updated_at = :now, #ttl = :ttl"
_RENEW_WITHOUT_CHECKPOINT = "SET #token = :next, updated_at = :now, #ttl = :ttl"


class DynamoLeaseStore:
    """Never compares the clocks of different machines: `updated_at` is informative, `ttl` is days later than needed."""

    def __init__(self, client: DynamoClient, clock: Clock, *, timeout_s: float = 3.0) -> None:
        self._client = client
        self._clock = clock
        self._timeout_s = timeout_s

    async def read(self, shards: Collection[ShardId]) -> Mapping[ShardId, Lease]:
        names = {_name(shard): shard for shard in shards}
        try:
            items = await self._client.batch_get(
                patterns.WATCH_LEASES, [{"lease": name} for name in names], timeout_s=self._timeout_s
            )
        except DynamoError as error:
            _fail(error)
        return {shard: _lease(shard, item) for item in items for shard in (names[item["lease"]],)}

    async def take(self, shard: ShardId, seen: Lease | None, holder: str) -> Lease | None:
        """Take the lease. An earlier attempt without an answer may have taken it already."""
        counter = 0 if seen is None else seen.counter
        values = self._values(counter) | {":holder": holder}
        condition = "attribute_not_exists(lease)"
        if seen is None:
            del values[":seen"]
        else:
            condition = _IF_UNCHANGED
        try:
            done = await self._client.update(
                patterns.TAKE_LEASE,
                {"lease": _name(shard)},
                "SET holder = :holder, #token = :next, updated_at = :now, #ttl = :ttl",
                condition=condition,
                names=_NAMES,
                values=values,
                returns="ALL_NEW",
                repeatable=True,
                timeout_s=self._timeout_s,
            )
        except ConditionFailedError as error:
            item = error.item
            is_ours = item is not None and item.get("holder") == holder and int(item["token"]) == counter + 1
            return _lease(shard, item) if item is not None and is_ours else None
        except DynamoError as error:
            _fail(error)
        return _lease(shard, done.attributes or {})

    async def renew(self, lease: Lease, checkpoint: str | None) -> Lease | None:
        try:
            return await self._renew(lease, checkpoint)
        except ConditionFailedError as error:
            item = error.item
            if item is None or item.get("holder") != lease.holder:
                return None
            # Only we write our name as the holder: our earlier renewal was applied, and its answer was lost.
            return await self._renew_again(_lease(lease.shard, item), checkpoint)

    async def _renew_again(self, lease: Lease, checkpoint: str | None) -> Lease | None:
        try:
            return await self._renew(lease, checkpoint)
        except ConditionFailedError:
            return None

    async def _renew(self, lease: Lease, checkpoint: str | None) -> Lease:
        update, values = _RENEW_WITHOUT_CHECKPOINT, self._values(lease.counter) | {":me": lease.holder}
        if checkpoint is not None:
            update, values = _RENEW, values | {":checkpoint": checkpoint}
        try:
            done = await self._client.update(
                patterns.RENEW_LEASE,
                {"lease": _name(lease.shard)},
                update,
                condition=f"{_IF_UNCHANGED} AND holder = :me",
                names=_NAMES,
                values=values,
                returns="ALL_NEW",
                timeout_s=self._timeout_s,
            )
        except ConditionFailedError:
            raise
        except DynamoError as error:
            _fail(error)
        return _lease(lease.shard, done.attributes or {})

    async def release(self, lease: Lease, checkpoint: str | None) -> None:
        renewed = await self.renew(lease, checkpoint)
        if renewed is None:
            return
        try:
            await self._client.update(
                patterns.RELEASE_LEASE,
                {"lease": _name(lease.shard)},
                "SET #token = :next, updated_at = :now, #ttl = :ttl REMOVE holder",
                condition=_IF_UNCHANGED,
                names=_NAMES,
                values=self._values(renewed.counter),
                timeout_s=self._timeout_s,
            )
        except ConditionFailedError:
            return
        except DynamoError as error:
            _fail(error)

    def _values(self, seen: int) -> dict[str, ItemValue]:
        now_ms = self._clock.now_ms()
        return {
            ":seen": seen,
            ":next": seen + 1,
            ":now": format_ms(now_ms),
            ":ttl": now_ms // 1000 + LEASE_TTL_S,
        }


def _name(shard: ShardId) -> str:
    return SHARD_LEASE.partition.render(stream_shard=shard)


def _lease(shard: ShardId, item: Item) -> Lease:
    return Lease(
        shard=shard,
        counter=int(item["token"]),
        holder=item.get("holder"),
        checkpoint=item.get("checkpoint"),
    )


def _fail(error: DynamoError) -> NoReturn:
    if error.transient or error.maybe_applied:
        raise UnavailableError(f"DynamoDB, leases: {error}") from error
    raise error
