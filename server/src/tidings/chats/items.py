"""Convert chats and memberships to items, and back."""

from tidings.chats.model import Chat, ChatType, Membership, Role
from tidings.kernel.ids import ChatId, ChatKey, TenantId, UserId
from tidings.messages.model import Interval
from tidings.platform.dynamo.codec import Attributes, Item, ItemValue
from tidings.schema.tables.items.chats import BLOCK_SORT, chat_key, user_key


def chat_item(chat: Chat, now: str) -> Attributes:
    item: dict[str, ItemValue] = {
        "chat_id": chat_key(chat.key),
        "chat_type": chat.type.value,
        "created_by": chat.created_by,
        "member_count": chat.member_count,
        "created_at": now,
        "updated_at": now,
    }
    if chat.some_members:
        item["some_members"] = set(chat.some_members)
    return item if chat.name is None else item | {"name": chat.name}


def chat_from_item(item: Item) -> Chat:
    tenant, _, chat = item["chat_id"].partition("#")
    return Chat(
        key=ChatKey(TenantId(tenant), ChatId(chat)),
        type=ChatType(item["chat_type"]),
        created_by=UserId(item["created_by"]),
        member_count=int(item["member_count"]),
        name=item.get("name"),
        large_since=None if item.get("large_since") is None else int(item["large_since"]),
        some_members=frozenset(map(UserId, item.get("some_members", ()))),
    )


def membership_key(chat: ChatKey, user: UserId) -> dict[str, ItemValue]:
    return {"chat_id": chat_key(chat), "user_id": user_key(chat.tenant, user)}


def chat_id_from_key(item: Item) -> ChatId:
    return ChatId(item["chat_id"].partition("#")[2])


def membership_item(chat: ChatKey, row: Membership, now: str) -> Attributes:
    return membership_key(chat, row.user) | {
        "role": row.role.value,
        "intervals": intervals_value(row.intervals),
        "joined_at": now,
    }


def membership_from_item(item: Item) -> Membership:
    return Membership(
        user=UserId(item["user_id"].partition("#")[2]),
        role=Role(item["role"]),
        intervals=tuple(Interval(*(int(n) for n in pair)) for pair in item["intervals"]),
        right_since=int(item.get("right_since", 0)),
        blocks_other=item.get("blocks", False),
        blocked_by_other=item.get("blocked", False),
    )


def intervals_value(intervals: tuple[Interval, ...]) -> ItemValue:
    """Return intervals as lists. An open interval has one element."""
    return [[i.joined] if i.removed is None else [i.joined, i.removed] for i in intervals]


def block_key(tenant: TenantId, user: UserId, other: UserId) -> dict[str, ItemValue]:
    return {"user_id": user_key(tenant, user), "chat_id": BLOCK_SORT.render(other=other)}


BLOCKS = "block#"
"""Prefix of the sort keys of blocks."""


def blocked_from_item(item: Item) -> UserId:
    return UserId(item["chat_id"].removeprefix(BLOCKS))
