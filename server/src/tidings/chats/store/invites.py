"""Invites and links of chats in DynamoDB."""

from collections.abc import Sequence

from tidings.chats import items
from tidings.chats.model import Invite
from tidings.kernel.clock import format_ms, parse_ms
from tidings.kernel.ids import ChatId, ChatKey, TenantId, UserId
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.errors import (
    ConditionFailedError,
    translate_read_errors,
    translate_write_errors,
)
from tidings.platform.dynamo.requests import Query
from tidings.schema.tables.items.chats import chat_key, user_key
from tidings.schema.tables.patterns import chats as patterns


class DynamoInviteStore:
    def __init__(self, client: DynamoClient) -> None:
        self._client = client

    async def set_link(self, chat: ChatKey, digest: bytes | None) -> None:
        with translate_write_errors:
            try:
                await self._client.update(
                    patterns.SET_LINK,
                    {"chat_id": chat_key(chat)},
                    "REMOVE join_link" if digest is None else "SET join_link = :link",
                    condition="attribute_exists(chat_id)",
                    values=None if digest is None else {":link": digest},
                    repeatable=True,
                )
            except ConditionFailedError:
                return  # The caller was a member of the chat, so it exists.

    async def put(self, chat: ChatKey, users: Sequence[UserId], invite: Invite) -> None:
        rows = [
            items.invite_key(chat, user)
            | {"invited_by": invite.by, "created_at": format_ms(invite.created_at_ms)}
            for user in users
        ]
        if rows:
            with translate_write_errors:
                await self._client.batch_write(patterns.PUT_INVITES, puts=rows, repeatable=True)

    async def has(self, chat: ChatKey, user: UserId) -> bool:
        with translate_read_errors:
            return await self._client.get(patterns.CHECK_INVITE, items.invite_key(chat, user)) is not None

    async def delete(self, chat: ChatKey, user: UserId) -> None:
        with translate_write_errors:
            await self._client.delete(patterns.DELETE_INVITE, items.invite_key(chat, user), repeatable=True)

    async def page(
        self, tenant: TenantId, user: UserId, after: ChatId | None, limit: int
    ) -> tuple[Sequence[Invite], ChatId | None]:
        query = Query(
            condition="user_id = :user AND begins_with(chat_id, :invite)",
            values={":user": user_key(tenant, user), ":invite": items.INVITES},
            limit=limit,
            start=None if after is None else items.invite_key(ChatKey(tenant, after), user),
        )
        with translate_read_errors:
            page = await self._client.query(patterns.LIST_INVITES, query)
        found = [
            Invite(
                ChatId(item["chat_id"].removeprefix(items.INVITES)),
                UserId(item["invited_by"]),
                parse_ms(item["created_at"]),
            )
            for item in page.items
        ]
        return found, found[-1].chat if found and page.start is not None else None
