"""Empty messages that have expired or are archived. Their entries remain: the log stays dense, and unread counts exact."""

from collections.abc import Iterator, Sequence
from typing import Final

from tidings.kernel.ids import ChatKey
from tidings.messages.model import ArchivedMessage, Entry
from tidings.messages.ports import SeenPolicy
from tidings.messages.store.log import ephemeral_partition
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.errors import DynamoError, TransactionCancelledError, raise_write_error
from tidings.platform.dynamo.operations import AccessPattern
from tidings.platform.dynamo.requests import Check, Delete, TransactAction, Update
from tidings.schema.tables.items.accounts import SETTINGS_KEY, TENANT
from tidings.schema.tables.items.chats import chat_key
from tidings.schema.tables.items.media import upload_key
from tidings.schema.tables.patterns import retention as patterns

_CHATS, _MESSAGES, _UPLOADS, _TENANTS = "chats", "messages", "uploads", "tenants"
_POLICY_CHECKS: Final = 2


class DynamoLogExpiry:
    def __init__(self, client: DynamoClient) -> None:
        self._client = client

    async def empty(self, chat: ChatKey, messages: Sequence[Entry], seen: SeenPolicy, now_ms: int, /) -> bool:
        actions = [
            *_policy_checks(chat, seen),
            *(write for message in messages for write in _writes(chat, message, now_ms)),
        ]
        return await self._write(patterns.EXPIRE, actions, _POLICY_CHECKS)

    async def archive(self, chat: ChatKey, messages: Sequence[ArchivedMessage], seen: SeenPolicy, /) -> bool:
        actions = [*_policy_checks(chat, seen), *(_reference(chat, message) for message in messages)]
        return await self._write(patterns.ARCHIVE, actions, len(actions))

    async def _write(self, pattern: AccessPattern, actions: Sequence[TransactAction], checks: int) -> bool:
        """Return False if a condition of the first `checks` actions does not hold. Another one is an error."""
        try:
            await self._client.transact_write(pattern, actions, repeatable=True)
        except TransactionCancelledError as cancelled:
            if any(reason.is_condition for reason in cancelled.reasons[:checks]):
                return False
            raise_write_error(cancelled)
        except DynamoError as error:
            raise_write_error(error)
        return True


def _policy_checks(chat: ChatKey, seen: SeenPolicy) -> Iterator[TransactAction]:
    # Race: an operator sets a hold, or changes a limit, after the sweeper has read it. Both change one of these rows. So
    # once the operator has an answer, nothing is emptied that they want to keep.
    own = "attribute_not_exists(retention_days)" if seen.days is None else "retention_days = :days"
    yield Check(
        table=_CHATS,
        key={"chat_id": chat_key(chat)},
        condition=f"attribute_not_exists(held) AND {own}",
        values=None if seen.days is None else {":days": seen.days},
    )
    yield Check(
        table=_TENANTS,
        key={"tenant": TENANT.render(tenant=chat.tenant), "item": SETTINGS_KEY.render()},
        condition="version = :version",
        values={":version": seen.tenant_version},
    )


def _reference(chat: ChatKey, message: ArchivedMessage) -> TransactAction:
    """Return the write that replaces the content of a message by its place in the archive."""
    # Race: the message is edited, redacted, expired or erased after the archive has read it. Each of them changes the
    # content, so it is not lost: the next sweep archives the new content. The second part is for a repeated request.
    return Update(
        table=_MESSAGES,
        key={"chat_id": chat_key(chat), "sequence": message.entry.sequence},
        update="SET archived_in = :part, archive_key = :key REMOVE content",
        condition="content = :content OR archived_in = :part",
        values={":part": message.part, ":key": message.key, ":content": message.entry.content},
    )


def _writes(chat: ChatKey, message: Entry, now_ms: int) -> Iterator[TransactAction]:
    """Return the writes that empty a message. With `visible_until` it is shown as expired, as an ephemeral message is."""
    yield Update(
        table=_MESSAGES,
        key={"chat_id": chat_key(chat), "sequence": message.sequence},
        update="SET visible_until = :now REMOVE content, archive_key, content_type, attachments, edited_at",
        condition="attribute_exists(chat_id)",
        values={":now": min(now_ms, message.visible_until_ms or now_ms)},
    )
    if message.visible_until_ms is not None:
        key = {"chat_id": ephemeral_partition(chat), "sequence": message.sequence}
        yield Delete(table=_MESSAGES, key=key)
    for upload in message.attachments:
        # Without a condition, as for a redaction: a row that does not exist must not prevent the expiry.
        yield Update(
            table=_UPLOADS,
            key=dict(upload_key(chat.tenant, upload)),
            update="SET upload_state = :deleting",
            values={":deleting": "deleting"},
        )
