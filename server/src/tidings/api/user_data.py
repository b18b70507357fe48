"""Read what a user can read, for exports: the same use cases and the same JSON as the routes for users."""

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import batched
from typing import Any

from tidings.accounts.sessions import SessionService
from tidings.accounts.users import MAX_READ, UserService
from tidings.api.entry_json import chat_list_fields, entry_for_reader
from tidings.api.schemas.accounts import SessionResponse, UserResponse
from tidings.api.schemas.api_model import ApiModel
from tidings.api.schemas.chats import MemberResponse
from tidings.api.schemas.moderation import InviteResponse
from tidings.api.schemas.notifications import NotificationResponse
from tidings.api.schemas.preferences import PreferencesResponse
from tidings.api.schemas.push import PushPreferencesBody
from tidings.chats.model import Chat, ChatType, Membership, chat_type
from tidings.chats.ports import ChatStore, InviteStore
from tidings.chats.queries import ChatQueries
from tidings.delivery.chat_list import ChatList
from tidings.delivery.model import MessageStatus
from tidings.delivery.watermarks import MessageStatusReader
from tidings.exports.model import Attachment, EntriesPage, ExportedChat, JsonObject, NotificationsPage
from tidings.inboxes.config_service import InboxConfigCache, InboxConfigService, read_all_pages
from tidings.inboxes.model import InboxId, InboxKey
from tidings.inboxes.preference_service import PreferenceService
from tidings.inboxes.queries import MAX_PAGE, InboxQueries, NotificationFilter
from tidings.kernel.clock import format_ms
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatId, ChatKey, TenantId, UserId
from tidings.media.rules import served_type
from tidings.media.service import MediaService
from tidings.messages.history import History
from tidings.messages.model import EntryKind
from tidings.push.model import PushRegistration, kind_of
from tidings.push.preferences import PushPreferencesService
from tidings.push.registrations import PushRegistrations

_MEMBERS = 200
_MAX_NAMES = 10_000

type ListChats = Callable[
    [TenantId, UserId, ChatId | None, int], Awaitable[Sequence[tuple[ChatId, Membership]]]
]
"""Returns chats that a user is or was a member of, by id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UserDataDeps:
    """`media` is None without a bucket."""

    users: UserService
    sessions: SessionService
    registrations: PushRegistrations
    push_preferences: PushPreferencesService
    list_chats: ListChats
    chats: ChatStore
    invites: InviteStore
    queries: ChatQueries
    chat_list: ChatList
    statuses: MessageStatusReader
    history: History
    inboxes: InboxConfigService
    known_inboxes: InboxConfigCache
    notifications: InboxQueries
    preferences: PreferenceService
    media: MediaService | None


class UserDataReader:
    """Reads as the user. Names of others are cached, so that each is read about once per export."""

    def __init__(self, deps: UserDataDeps) -> None:
        self._deps = deps
        self._names: OrderedDict[str, str | None] = OrderedDict()

    async def documents(self, tenant: TenantId, user: UserId, /) -> Mapping[str, JsonObject]:
        return {
            "profile.json": await self._profile(tenant, user),
            "preferences.json": await self._preferences(tenant, user),
            "devices.json": await self._devices(tenant, user),
            "blocks.json": {"users": await self._blocks(tenant, user)},
            "invites.json": {"invites": await self._invites(tenant, user)},
        }

    async def _profile(self, tenant: TenantId, user: UserId) -> JsonObject:
        try:
            return _json(UserResponse.of(await self._deps.users.read(tenant, user), with_phone=True))
        except TidingsError as error:
            # A user that others added to a chat has no profile until their first credential.
            if error.code is not Code.USER_NOT_FOUND or not await self.chats(tenant, user, None, 1):
                raise
            return _json(UserResponse.without_profile(user))

    async def _preferences(self, tenant: TenantId, user: UserId) -> JsonObject:
        push = await self._deps.push_preferences.read(tenant, user)
        inboxes = {
            inbox: _json(
                PreferencesResponse.of(
                    await self._deps.preferences.read(InboxKey(tenant, user, InboxId(inbox)))
                )
            )
            for inbox in await self.inboxes(tenant)
        }
        return {"push": _json(PushPreferencesBody.of(push)), "inboxes": inboxes}

    async def _devices(self, tenant: TenantId, user: UserId) -> JsonObject:
        try:
            sessions = await self._deps.sessions.list(tenant, user)
        except TidingsError as error:
            if error.code is not Code.USER_NOT_FOUND:
                raise
            sessions = []
        return {
            "sessions": [_json(SessionResponse.of(each)) for each in sessions],
            "push": [_device(each) for each in await self._deps.registrations.list(tenant, user)],
        }

    async def _blocks(self, tenant: TenantId, user: UserId) -> list[UserId]:
        page = await self._deps.queries.blocks(tenant, user, None, _MEMBERS)
        found = list(page.items)
        while page.last is not None:
            page = await self._deps.queries.blocks(tenant, user, page.last, _MEMBERS)
            found += page.items
        return found

    async def _invites(self, tenant: TenantId, user: UserId) -> list[JsonObject]:
        invites, last = await self._deps.invites.page(tenant, user, None, _MEMBERS)
        found = list(invites)
        while last is not None:
            invites, last = await self._deps.invites.page(tenant, user, last, _MEMBERS)
            found += invites
        return [_json(InviteResponse.of(each)) for each in found]

    async def chats(
        self, tenant: TenantId, user: UserId, after: ChatId | None, limit: int, /
    ) -> Sequence[ChatId]:
        return [chat for chat, _ in await self._deps.list_chats(tenant, user, after, limit)]

    async def chat(self, chat: ChatKey, user: UserId, /) -> ExportedChat | None:
        own = await self._deps.chats.membership(chat, user)
        if own is None or not own.intervals:
            return None
        found = await self._deps.chats.find_chat(chat)
        listed = await self._deps.chat_list.one(chat, user)
        fields: dict[str, Any] = (
            {"id": chat.chat, "type": chat_type(chat.chat), "is_member": own.is_member}
            if listed is None  # Delivery has not written the chat row yet.
            else chat_list_fields(listed)
        )
        fields["readable"] = [{"after": each.joined, "up_to": each.removed} for each in own.intervals]
        has_receipts = own.is_member and found is not None and found.large_since is None
        members = await self._members(chat, user) if has_receipts else []
        return ExportedChat(await self._title(chat, user, found), fields, members)

    async def _title(self, chat: ChatKey, user: UserId, found: Chat | None) -> str:
        """Return the name of a group, or the names of some other members."""
        if found is None:
            return chat.chat
        if found.name:
            return found.name
        some = found.some_members
        if found.type is ChatType.DIRECT:
            some = frozenset(row.user for row in await self._deps.chats.members(chat))
        others = sorted(some - {user})
        names = await self.names(chat.tenant, others)
        return ", ".join(names.get(each, each) for each in others) or chat.chat

    async def _members(self, chat: ChatKey, user: UserId) -> list[JsonObject]:
        """Return the members with their watermarks. A chat that is not large has few."""
        page = await self._deps.queries.members(chat, user, None, _MEMBERS)
        progress = await self._deps.statuses.progress(chat, [row.user for row in page.items])
        return [_json(MemberResponse.of(row, progress.get(row.user))) for row in page.items]

    async def entries(self, chat: ChatKey, user: UserId, after: int, limit: int, /) -> EntriesPage:
        page = await self._deps.history.after(chat, user, after, limit)
        messages = [each.entry for each in page.entries if each.entry.kind is EntryKind.MESSAGE]
        found = await self._deps.statuses.of(chat, user, messages)
        statuses: dict[int, MessageStatus] = {each.sequence: each for each in found}
        entries = [
            entry_for_reader(chat, each, user, statuses.get(each.entry.sequence))
            for each in reversed(page.entries)
        ]
        return EntriesPage(entries, page.up_to, page.has_newer)

    async def names(self, tenant: TenantId, users: Collection[str], /) -> Mapping[str, str]:
        unknown = [each for each in users if each not in self._names and "/" not in each]
        for some in batched(unknown, MAX_READ):
            found = await self._deps.users.read_many(tenant, [UserId(each) for each in some])
            for each in some:
                user = found.get(UserId(each))
                self._names[each] = None if user is None else user.display_name
        known = {each: name for each in users if (name := self._names.get(each)) is not None}
        while len(self._names) > _MAX_NAMES:
            self._names.popitem(last=False)
        return known

    async def attachments(
        self, chat: ChatKey, user: UserId, uploads: Collection[str], /
    ) -> Sequence[Attachment]:
        if self._deps.media is None:
            return ()
        found = await self._deps.media.downloadable(chat, user, uploads)
        return [Attachment(each.id, each.name, served_type(each), each.main) for each in found]

    async def inboxes(self, tenant: TenantId, /) -> Sequence[str]:
        return [each.id for each in await read_all_pages(self._deps.inboxes.listed, tenant)]

    async def notifications(
        self, tenant: TenantId, user: UserId, inbox: str, below: str | None, /, *, is_archived: bool
    ) -> NotificationsPage:
        known = await self._deps.known_inboxes.of(tenant, InboxId(inbox))
        wanted = NotificationFilter(is_archived=is_archived)
        key = InboxKey(tenant, user, InboxId(inbox))
        page = await self._deps.notifications.page(key, MAX_PAGE, wanted, below)
        shown = [_json(NotificationResponse.of(each, known)) for each in page.notifications]
        return NotificationsPage(shown, page.below)


def _device(registration: PushRegistration) -> JsonObject:
    """Return a registration without its token, which lets its holder notify the device."""
    return {
        "device": registration.device,
        "kind": kind_of(registration.target),
        "locale": registration.locale,
        "registered_at": format_ms(registration.registered_ms),
    }


def _json(model: ApiModel) -> JsonObject:
    shown: JsonObject = model.model_dump(mode="json", exclude_none=True)
    return shown
