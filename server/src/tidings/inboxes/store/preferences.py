"""Preferences of users in the table `inbox`: one item next to the counts."""

from collections.abc import Mapping, Sequence

from tidings.inboxes.model import InboxId, InboxKey
from tidings.inboxes.preferences import Channel, ChannelChoices, UserPreferences
from tidings.inboxes.store.items import inbox_partition
from tidings.kernel.ids import TenantId, UserId
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.codec import Item, ItemValue
from tidings.platform.dynamo.errors import translate_read_errors
from tidings.platform.dynamo.protected_rows import put_if_version
from tidings.schema.tables.items.inboxes import PREFERENCES_SORT
from tidings.schema.tables.patterns import inboxes as patterns

PREFERENCES_KEY = PREFERENCES_SORT.render()
_BITS = {Channel.INBOX: 1, Channel.PUSH: 2, Channel.EMAIL: 4, Channel.WEBHOOK: 8}
_OFF = 16


class DynamoPreferenceStore:
    def __init__(self, client: DynamoClient) -> None:
        self._client = client

    async def of(
        self, tenant: TenantId, inbox: InboxId, users: Sequence[UserId]
    ) -> Mapping[UserId, UserPreferences]:
        partitions = {inbox_partition(InboxKey(tenant, user, inbox)): user for user in users}
        keys: list[dict[str, ItemValue]] = [{"PK": each, "SK": PREFERENCES_KEY} for each in partitions]
        with translate_read_errors:
            found = await self._client.batch_get(patterns.READ_PREFERENCES, keys) if keys else []
        return {partitions[item["PK"]]: preferences_from_item(item) for item in found}

    async def write(self, inbox_key: InboxKey, preferences: UserPreferences) -> bool:
        item = _item(inbox_key, preferences)
        return await put_if_version(self._client, patterns.WRITE_PREFERENCES, item, preferences.version)


def _item(inbox_key: InboxKey, preferences: UserPreferences) -> dict[str, ItemValue]:
    item: dict[str, ItemValue] = {
        "PK": inbox_partition(inbox_key),
        "SK": PREFERENCES_KEY,
        "version": preferences.version,
        "last_updated": preferences.updated_ms,
    }
    if preferences.channels:
        item["all"] = _encode(preferences.channels)
    if preferences.categories:
        item["categories"] = {str(code): _encode(each) for code, each in preferences.categories.items()}
    return item


def preferences_from_item(item: Item) -> UserPreferences:
    return UserPreferences(
        channels=_decode(int(item.get("all", 0))),
        categories={int(code): _decode(int(each)) for code, each in item.get("categories", {}).items()},
        updated_ms=int(item["last_updated"]),
        version=int(item["version"]),
    )


def _encode(choices: ChannelChoices) -> int:
    return sum(_BITS[channel] * (1 if is_on else _OFF) for channel, is_on in choices.items())


def _decode(bits: int) -> dict[Channel, bool]:
    return {channel: bool(bits & bit) for channel, bit in _BITS.items() if bits & bit or bits & bit * _OFF}
