"""A tenant's directory: profiles of users, in 256 parts by the user's hash."""

from collections.abc import Collection, Sequence
from hashlib import blake2b

from tidings.kernel.ids import TenantId, UserId
from tidings.platform.dynamo.client import Client
from tidings.platform.dynamo.errors import DynamoError
from tidings.platform.dynamo.outcomes import unread
from tidings.platform.dynamo.values import Value
from tidings.tables.items.inbox import BUCKETS, OF_BUCKET, PROFILE_SORT
from tidings.tables.patterns import notices as patterns


class DynamoDirectory:
    def __init__(self, client: Client) -> None:
        self._client = client

    async def known(self, tenant: TenantId, users: Sequence[UserId]) -> Collection[UserId]:
        try:
            found = await self._client.batch_get(
                patterns.READ_PROFILES, [profile_key(tenant, user) for user in users]
            )
        except DynamoError as error:
            unread(error)
        return {UserId(item["SK"].partition("#")[2]) for item in found}


def profile_key(tenant: TenantId, user: UserId) -> dict[str, Value]:
    bucket = int.from_bytes(blake2b(user.encode(), digest_size=4).digest()) % BUCKETS
    return {"PK": OF_BUCKET.render(tenant=tenant, bucket=bucket), "SK": PROFILE_SORT.render(user=user)}
