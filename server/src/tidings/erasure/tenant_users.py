"""Delete the users of a tenant and their chats.

A chat is deleted when the first of its members is, its memberships last. A member who is not in the directory of users, such
as a user without any credential, is added to it before.
"""

from collections.abc import Mapping
from typing import Any, Final

from tidings.erasure.ports import TenantRows
from tidings.erasure.row_page import RowPage
from tidings.kernel.clock import Clock, parse_ms
from tidings.kernel.ids import ChatId, ChatKey, TenantId, UserId, is_pseudonym
from tidings.schema.tables.items import accounts, chats, inboxes, jobs, push
from tidings.schema.tables.items.erasure import ERASURE_OF_USER

PUSH_KEPT_MS: Final = 8 * 86_400_000
"""Longer than results of push notifications are kept (7 days). Older messages have none."""
_OWN: Final = ("delivery_state", "pending_queue", "user_keys")
_REGISTRATION: Final = "d#"
_NOTIFICATION: Final = "m#"


class TenantUserDeletion:
    """Deletes up to the end of a page. Every method returns False if the page was full; then repeat it."""

    def __init__(self, rows: TenantRows, page: RowPage, tenant: TenantId, clock: Clock) -> None:
        self._rows = rows
        self._page = page
        self._tenant = tenant
        self._clock = clock
        self._inboxes: list[str] | None = None

    async def delete(self, user: UserId) -> bool:
        """Delete everything of a user but their item in the directory, and all their chats."""
        return await self._chats(user) and await self._inbox(user) and await self._account(user)

    async def _chats(self, user: UserId) -> bool:
        after = None
        own = chats.OWN_USER.render(tenant=self._tenant, user=user)
        while found := await self._rows.list_index(
            "chat_memberships", "user_chats-index", own, self._page.limit, after=after
        ):
            for row in found:
                if not await self._chat(ChatKey(self._tenant, ChatId(row["chat_id"].partition("#")[2]))):
                    return False
            after = found[-1]
        return True

    async def _chat(self, chat: ChatKey) -> bool:
        key, page = chats.chat_key(chat), self._page
        while found := await self._rows.list("messages", key, page.limit):
            for row in found:
                if page.left <= 0 or not await self._of_entry(chat, row):
                    return False
                await page.row("messages", row)
        for table, partition in (
            ("messages", chats.EPHEMERAL_CONTENT.partition.render(tenant=chat.tenant, chat=chat.chat)),
            ("idempotency_keys", key),
            ("chat_counters", key),
            ("chats", key),
        ):
            if not await page.partition(table, partition):
                return False
        return await self._members(key)

    async def _of_entry(self, chat: ChatKey, row: Mapping[str, Any]) -> bool:
        """Delete what only an entry leads to: reactions, and results of push notifications."""
        sequence = int(row["sequence"])
        if row.get("reaction_counts"):
            reactions = chats.REACTION.partition.render(tenant=chat.tenant, chat=chat.chat, sequence=sequence)
            if not await self._page.partition("messages", reactions):
                return False
        if parse_ms(row["created_at"]) < self._clock.now_ms() - PUSH_KEPT_MS:
            return True
        pushes = push.RESULT.render(tenant=chat.tenant, chat=chat.chat, sequence=sequence)
        return await self._page.partition("push_results", pushes)

    async def _members(self, key: str) -> bool:
        """Delete the memberships of a chat, which may be the only rows that lead to a member.

        So a member who is not in the directory is added to it before. The deletion reaches them there, and a page that is
        killed in between loses no member.
        """
        while self._page.left > 0:
            found = await self._rows.list("chat_memberships", key, self._page.limit)
            if not found:
                return True
            for row in found:
                await self._list_member(UserId(row["user_id"].partition("#")[2]))
            await self._page.rows("chat_memberships", found)
        return False

    async def _list_member(self, user: UserId) -> None:
        """Add a user to the directory who is not in it. A pseudonym is not a user and has no rows of its own."""
        if is_pseudonym(user):
            return
        key = {name: str(value) for name, value in inboxes.profile_key(self._tenant, user).items()}
        if not await self._rows.list("inbox", key["PK"], 1, prefix=key["SK"]):
            await self._rows.add_to_directory(self._tenant, user)

    async def _inbox(self, user: UserId) -> bool:
        if self._inboxes is None:
            configs = inboxes.OF_TENANT.render(tenant=self._tenant)
            found = await self._rows.list("inbox", configs, 1_000, prefix="si#")
            self._inboxes = [row["SK"].removeprefix("si#") for row in found]
        for inbox in self._inboxes:
            key = inboxes.OF_USER.render(tenant=self._tenant, user=user, inbox=inbox)
            while found := await self._rows.list("inbox", key, self._page.limit, prefix=_NOTIFICATION):
                for row in found:
                    if self._page.left <= 0 or not await self._notification(user, row["id"]):
                        return False
                    await self._page.row("inbox", row)
            if not await self._page.partition("inbox", key):
                return False
        return await self._page.partition("inbox", jobs.EXPORT_OF_USER.render(tenant=self._tenant, user=user))

    async def _notification(self, user: UserId, notification: str) -> bool:
        pushes = push.NOTIFICATION_RESULT.render(tenant=self._tenant, notification=notification, user=user)
        content = inboxes.OF_NOTIFICATION.render(tenant=self._tenant, notification=notification)
        return await self._page.partition("push_results", pushes) and await self._page.partition(
            "inbox", content
        )

    async def _account(self, user: UserId) -> bool:
        own, page = chats.OWN_USER.render(tenant=self._tenant, user=user), self._page
        for row in await self._rows.list("devices", own, push.MAX_DEVICES, prefix=_REGISTRATION):
            token = push.TOKEN.render(tenant=self._tenant, key=row["token_hash"])
            if not await page.partition("devices", token):
                return False
        for row in await self._rows.list_index("sessions", "user_sessions-index", own, 1_000):
            await page.row("sessions", row)
        for table in ("devices", *_OWN):
            if not await page.partition(table, own):
                return False
        for row in await self._rows.list("users", own, 1):
            if "phone_number" in row:
                claim = accounts.PHONE_CLAIM.render(
                    tenant=self._tenant, phone=row["phone_number"].partition("#")[2]
                )
                await page.partition("users", claim)
            await page.row("users", row)
        progress = ERASURE_OF_USER.render(tenant=self._tenant, user=user)
        return await page.partition("erasures", progress)
