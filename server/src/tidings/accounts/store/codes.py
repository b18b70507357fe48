"""One-time codes, in the table `tenants`: each in a partition of its own, away from its tenant's settings."""

from tidings.accounts.records import ChallengeId
from tidings.kernel.ids import TenantId
from tidings.platform.dynamo.authentic import AuthenticatedRows, RowKeys
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.errors import ConditionFailedError, DynamoError
from tidings.platform.dynamo.outcomes import raise_write_error
from tidings.platform.dynamo.values import ItemValue
from tidings.tables.items.accounts import CODE_KEY, CODE_SORT
from tidings.tables.patterns import accounts as patterns


class DynamoCodeStore:
    """The number of tries is not covered by a MAC: an older row, with fewer tries, would verify all the same."""

    def __init__(self, client: DynamoClient, keys: RowKeys) -> None:
        self._client = client
        self._rows = AuthenticatedRows(keys, beside=frozenset({"tries"}))

    async def put(
        self, tenant: TenantId, challenge: ChallengeId, code_hash: bytes, expires_at_s: int, /
    ) -> None:
        item = await self._rows.sign(
            tenant, code_key(tenant, challenge) | {"code_hash": code_hash, "tries": 0, "ttl": expires_at_s}
        )
        try:
            # nobody knows the challenge yet, so a repeat takes no try back
            await self._client.put(patterns.PUT_CODE, item, repeatable=True)
        except DynamoError as error:
            raise_write_error(error)

    async def count_try(
        self, tenant: TenantId, challenge: ChallengeId, max_tries: int, now_s: int, /
    ) -> bytes | None:
        try:
            # a repeat after a lost answer counts twice: a try less, never one more
            written = await self._client.update(
                patterns.TRY_CODE,
                code_key(tenant, challenge),
                "ADD tries :one",
                # DynamoDB deletes what has expired up to two days late
                condition="tries < :max AND #ttl > :now",
                names={"#ttl": "ttl"},
                values={":one": 1, ":max": max_tries, ":now": now_s},
                returns="ALL_NEW",
                repeatable=True,
            )
        except ConditionFailedError:
            return None
        except DynamoError as error:
            raise_write_error(error)
        item = await self._rows.verified(tenant, written.attributes)
        return None if item is None else bytes(item["code_hash"])

    async def redeem(self, tenant: TenantId, challenge: ChallengeId, /) -> bool:
        try:
            # not repeated: who finds nothing can't tell his own delete from another's
            await self._client.delete(
                patterns.REDEEM_CODE, code_key(tenant, challenge), condition="attribute_exists(tenant)"
            )
        except ConditionFailedError:
            return False
        except DynamoError as error:
            raise_write_error(error)
        return True


def code_key(tenant: TenantId, challenge: ChallengeId) -> dict[str, ItemValue]:
    return {"tenant": CODE_KEY.render(tenant=tenant, key=challenge), "item": CODE_SORT.render()}
