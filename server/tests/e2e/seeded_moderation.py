"""Values for the operations of chat moderation."""

from collections.abc import Callable, Sequence
from typing import Any

type Values = dict[str, list[Any]]


def moderated_values(
    group: Callable[[], str], ok: Callable[..., Any], members: Sequence[str]
) -> dict[str, Values]:
    """Return groups with rules, bans, links and invites. Each operation has groups of its own."""
    found: dict[str, Values] = {
        name: {"chat": [group() for _ in range(3)]}
        for name in ("set_chat_rules", "create_join_link", "revoke_join_link", "invite_users")
    }
    for name in ("mute_member", "unmute_member", "ban_user", "unban_user", "revoke_invite"):
        found[name] = {"chat": [group() for _ in range(3)], "user": [*members]}
    banned = group()
    for user in members:
        ok("PUT", f"/v1/chats/{banned}/bans/{user}", {})
    cursor = ok("GET", f"/v1/chats/{banned}/bans?limit=1")["cursor"]
    found["list_bans"] = {"chat": [banned], "cursor": [cursor]}
    found["join_chat"] = found["accept_invite"] = found["decline_invite"] = {"chat": [group()]}
    found["list_invites"] = {"cursor": [None]}
    return found
