"""Revocations in the table `tenants`."""

from collections.abc import Sequence

from tidings.accounts.model import SessionId
from tidings.accounts.revocations import Revocation
from tidings.accounts.store.failures import keys_read_error
from tidings.kernel.ids import TenantId, UserId, new_ulid
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.errors import DynamoError
from tidings.platform.dynamo.queries import Query
from tidings.platform.dynamo.transactions import Put
from tidings.platform.dynamo.values import Item, ItemValue
from tidings.tables.items.accounts import REVOCATION_KEY, REVOCATIONS
from tidings.tables.patterns import accounts as patterns

_TTL_S = 3_600


def revocation_put(revocation: Revocation, now_ms: int) -> Put:
    """For the transaction that ends the credential."""
    item: dict[str, ItemValue] = {
        "tenant": REVOCATIONS.render(),
        "item": REVOCATION_KEY.render(at_ms=now_ms, key=new_ulid()),
        "owner": revocation.tenant,
        "from_ms": revocation.from_ms,
        "ttl": now_ms // 1000 + _TTL_S,
    }
    optional = {"user_id": revocation.user, "session_id": revocation.session, "kid": revocation.kid}
    item |= {name: value for name, value in optional.items() if value is not None}
    return Put(table="tenants", item=item)


class DynamoRevocationLog:
    def __init__(self, client: DynamoClient) -> None:
        self._client = client

    async def since(self, at_ms: int, /) -> Sequence[tuple[str, Revocation]]:
        query = Query(
            condition="tenant = :t AND #i >= :at",
            values={":t": REVOCATIONS.render(), ":at": f"{at_ms:013d}"},
            names={"#i": "item"},
        )
        try:
            pages = [page async for page in self._client.pages(patterns.READ_REVOCATIONS, query)]
        except DynamoError as error:
            raise keys_read_error(error) from error
        return [(item["item"], _revocation_from_item(item)) for page in pages for item in page.items]


def _revocation_from_item(item: Item) -> Revocation:
    user, session = item.get("user_id"), item.get("session_id")
    return Revocation(
        tenant=TenantId(item["owner"]),
        user=None if user is None else UserId(user),
        session=None if session is None else SessionId(session),
        kid=item.get("kid"),
        from_ms=int(item["from_ms"]),
    )
