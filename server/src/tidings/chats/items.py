"""Convert chats and memberships to items, and back."""

from collections.abc import Sequence
from typing import NamedTuple

from tidings.chats.model import SOME_MEMBERS, Chat, ChatType, Entrance, JoinRule, Membership, Role
from tidings.kernel.ids import ChatId, ChatKey, TenantId, UserId
from tidings.messages.model import Interval
from tidings.platform.dynamo.codec import Item, ItemValue
from tidings.schema.tables.items.chat_lists import BLOCK_SORT, INVITE_SORT
from tidings.schema.tables.items.chats import chat_key, user_key


def chat_item(chat: Chat, now: str, epoch: int) -> dict[str, ItemValue]:
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
    if chat.large_since is not None:
        item["large_since"] = chat.large_since
    if chat.name is not None:
        item["name"] = chat.name
    return item | epoch_attribute(epoch)


def rules_of(chat: Chat) -> dict[str, ItemValue]:
    return {"frozen": chat.is_frozen, "slow_mode": chat.slow_mode_s, "join_rule": chat.join_rule.value}


def epoch_attribute(epoch: int) -> dict[str, ItemValue]:
    """Return the attribute of a row that was written in this epoch. Before the first restore, rows have none."""
    return {"epoch": epoch} if epoch else {}


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
        is_frozen=item.get("frozen", False),
        slow_mode_s=int(item.get("slow_mode", 0)),
        join_rule=JoinRule(item.get("join_rule", JoinRule.CLOSED)),
        join_link=item.get("join_link"),
    )


def membership_key(chat: ChatKey, user: UserId) -> dict[str, ItemValue]:
    return {"chat_id": chat_key(chat), "user_id": user_key(chat.tenant, user)}


def chat_id_from_key(item: Item) -> ChatId:
    return ChatId(item["chat_id"].partition("#")[2])


def membership_item(chat: ChatKey, row: Membership, now: str, epoch: int) -> dict[str, ItemValue]:
    item = membership_key(chat, row.user) | epoch_attribute(epoch)
    item |= {
        "role": row.role.value,
        "intervals": intervals_value(row.intervals),
        "joined_at": now,
    }
    if row.banned_until_ms:
        item["banned_until"] = row.banned_until_ms
    return item if row.ban_reason is None else item | {"ban_reason": row.ban_reason}


def user_of(item: Item) -> UserId:
    return UserId(item["user_id"].partition("#")[2])


def membership_from_item(item: Item) -> Membership:
    return Membership(
        user=user_of(item),
        role=Role(item["role"]),
        intervals=tuple(Interval(*(int(n) for n in pair)) for pair in item["intervals"]),
        right_since=int(item.get("right_since", 0)),
        blocks_other=item.get("blocks", False),
        blocked_by_other=item.get("blocked", False),
        muted_until_ms=int(item.get("muted_until", 0)),
        unmuted_at=int(item.get("unmuted_at", 0)),
        banned_until_ms=int(item.get("banned_until", 0)),
        ban_reason=item.get("ban_reason"),
        last_sent_ms=int(item.get("last_sent", 0)),
    )


class RestrictionChange(NamedTuple):
    """The part of a row's update that concerns mutes and bans."""

    update: str
    condition: str
    values: dict[str, ItemValue]


def restriction_change(seen: Membership, after: Membership) -> RestrictionChange:
    """Return the change of mute and ban. The condition is that the row has the ban that was read.

    Race: one admin adds a user while another bans them. Neither changes what the other reads, except for the ban: without
    this condition the addition would commit after the ban.
    """
    update, values = "", dict[str, ItemValue]()
    for name, before, now in (
        ("muted_until", seen.muted_until_ms, after.muted_until_ms),
        ("unmuted_at", seen.unmuted_at, after.unmuted_at),
        ("banned_until", seen.banned_until_ms, after.banned_until_ms),
        ("ban_reason", seen.ban_reason, after.ban_reason),
    ):
        if now != before:
            update += f", {name} = :{name}"
            values[f":{name}"] = now
    if not seen.banned_until_ms:
        # An ended ban is stored as 0.
        values[":no_ban"] = 0
        return RestrictionChange(
            update, "(attribute_not_exists(banned_until) OR banned_until = :no_ban)", values
        )
    values[":seen_ban"] = seen.banned_until_ms
    return RestrictionChange(update, "banned_until = :seen_ban", values)


def intervals_value(intervals: tuple[Interval, ...]) -> ItemValue:
    """Return intervals as lists. An open interval has one element."""
    return [[i.joined] if i.removed is None else [i.joined, i.removed] for i in intervals]


def block_key(tenant: TenantId, user: UserId, other: UserId) -> dict[str, ItemValue]:
    return {"user_id": user_key(tenant, user), "chat_id": BLOCK_SORT.render(other=other)}


def invite_key(chat: ChatKey, user: UserId) -> dict[str, ItemValue]:
    return {"user_id": user_key(chat.tenant, user), "chat_id": INVITE_SORT.render(chat=chat.chat)}


INVITES, BLOCKS = "*invite#", "*block#"
"""Prefixes of the sort keys of invites and blocks. No tenant's id starts with `*`, so no chat row has them."""


def blocked_from_item(item: Item) -> UserId:
    return UserId(item["chat_id"].removeprefix(BLOCKS))


def entrance_condition(entrance: Entrance | None, values: dict[str, ItemValue]) -> str:
    """Return the condition that the rule or link by which a user joins is still valid. Adds the values that it needs."""
    if entrance is None or entrance.rule is None:
        return ""
    values[":rule"] = entrance.rule.value
    if entrance.link is None:
        return " AND join_rule = :rule"
    values[":link"] = entrance.link
    return " AND join_rule = :rule AND join_link = :link"


def some_members_change(chat: Chat, changed: Sequence[Membership]) -> tuple[str, set[str]]:
    """Return the verb and the users by which the set of listed members changes."""
    joined = [row.user for row in changed if row.is_member]
    if joined:
        return "ADD", set(joined[: max(0, SOME_MEMBERS - len(chat.some_members))])
    return "DELETE", {row.user for row in changed}
