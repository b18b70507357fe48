"""The steps `leave` and `chats`: take the user out of their chats, then replace their id in each chat by a pseudonym."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from msgspec.structs import replace

from tidings.chats.model import ChatType, chat_type
from tidings.chats.ports import MembershipEraser
from tidings.delivery.ports import DeliveryEraser
from tidings.erasure import rules
from tidings.erasure.model import Erasure, ErasureCursor, StepProgress
from tidings.erasure.ports import Depart
from tidings.kernel.clock import Clock
from tidings.kernel.failpoints import NO_FAILPOINTS, Failpoints
from tidings.kernel.ids import ChatKey, ClientKey, ErasedUser, UserId
from tidings.messages.ports import LogEraser

PAGE_CHATS: Final = 25
RETRY_MS: Final = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatStepDeps:
    memberships: MembershipEraser
    depart: Depart
    log: LogEraser
    delivery: DeliveryEraser
    clock: Clock
    failpoints: Failpoints = NO_FAILPOINTS


class ChatSteps:
    def __init__(self, deps: ChatStepDeps) -> None:
        self._deps = deps

    async def leave(self, erasure: Erasure) -> StepProgress:
        """Leave one page of chats."""
        tenant, user = erasure.tenant, erasure.user
        found = await self._deps.memberships.chats_of(tenant, user, erasure.cursor.chat, PAGE_CHATS)
        for chat, _ in found:
            await self._deps.depart(ChatKey(tenant, chat), user, ClientKey(erasure.id))
            await self._deps.failpoints.hit("erasure.chat_left")
        if not found:
            return StepProgress()
        return StepProgress(ErasureCursor(chat=found[-1][0]))

    async def rewrite(self, erasure: Erasure) -> StepProgress:
        """Find the next chat, or rewrite one page of the log of the current one, or finish it."""
        if erasure.cursor.chat is None:
            return await self._next_chat(erasure)
        chat = ChatKey(erasure.tenant, erasure.cursor.chat)
        erased = _erased(erasure, chat)
        page = await self._deps.log.erase(chat, erased, erasure.cursor.sequence)
        await self._deps.failpoints.hit("erasure.log_rewritten")
        counts = {"entries": page.entries, "messages": page.messages, "reactions": page.reactions}
        cursor = replace(
            erasure.cursor,
            sequence=page.up_to,
            named_at=max(page.named_at, erasure.cursor.named_at),
        )
        if page.has_more:
            return StepProgress(cursor, counts)
        return await self._finish(chat, erased, cursor, counts, erasure)

    async def _next_chat(self, erasure: Erasure) -> StepProgress:
        """Return a cursor at the first chat that still has a membership of the user."""
        memberships, after = self._deps.memberships, None
        while found := await memberships.chats_of(erasure.tenant, erasure.user, after, PAGE_CHATS):
            for chat, _ in found:
                # The index may still list a membership that was moved.
                if await memberships.membership(ChatKey(erasure.tenant, chat), erasure.user) is not None:
                    return StepProgress(ErasureCursor(chat=chat))
            after = found[-1][0]
        if after is not None:  # Only such rows: read again until the index has none.
            return StepProgress(wait_until_ms=self._deps.clock.now_ms() + RETRY_MS)
        return StepProgress()

    async def _finish(
        self,
        chat: ChatKey,
        erased: ErasedUser,
        cursor: ErasureCursor,
        counts: Mapping[str, int],
        erasure: Erasure,
    ) -> StepProgress:
        """Replace the user in everything else of the chat, the membership last: it leads the next worker here."""
        if await self._has_returned(chat, erasure):
            # Race: an admin added the user again after the step `leave`. They leave again, and the new entries are
            # rewritten. The key differs, because the first leave has been answered.
            key = ClientKey(f"{erasure.id}/{cursor.sequence}")
            await self._deps.depart(chat, erasure.user, key)
            return StepProgress(cursor, counts)
        other = await self._other(chat, erased)
        delivery = self._deps.delivery
        if await delivery.delivered_up_to(chat, other) < cursor.named_at:
            # Nothing is stored, so this page runs again. It finds nothing to rewrite.
            return StepProgress(wait_until_ms=self._deps.clock.now_ms() + RETRY_MS)
        await delivery.replace(chat, other, erased)
        queued = 0 if other is None else await delivery.withdraw(chat, other, erased.user)
        await self._deps.log.delete_keys(chat, erased.user)
        await self._deps.failpoints.hit("erasure.rows_rewritten")
        await self._deps.memberships.move(chat, erased)
        await self._deps.failpoints.hit("erasure.membership_moved")
        return StepProgress(ErasureCursor(), {**counts, "chats": 1, "queued_messages": queued})

    async def _has_returned(self, chat: ChatKey, erasure: Erasure) -> bool:
        if chat_type(chat.chat) is ChatType.DIRECT:
            return False
        members = [row for row in await self._deps.memberships.members(chat) if row.is_member]
        # An owner without other members does not leave.
        return len(members) > 1 and any(row.user == erasure.user for row in members)

    async def _other(self, chat: ChatKey, erased: ErasedUser) -> UserId | None:
        if chat_type(chat.chat) is ChatType.GROUP:
            return None
        members = await self._deps.memberships.members(chat)
        return next((row.user for row in members if row.user not in erased), None)


def _erased(erasure: Erasure, chat: ChatKey) -> ErasedUser:
    if erasure.secret is None:
        raise ValueError(f"the erasure {erasure.id} is past its certificate and has no pseudonyms")
    return ErasedUser(erasure.user, rules.pseudonym(erasure.secret, chat))
