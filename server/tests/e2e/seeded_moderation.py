"""Values for the operations of chat moderation."""

from collections.abc import Callable, Sequence
from typing import Any

type Values = dict[str, list[Any]]


def moderated_values(
    group: Callable[[], str], ok: Callable[..., Any], members: Sequence[str], other: str
) -> dict[str, Values]:
    """Return groups with rules, bans, links and invites. Each operation has groups of its own.

    other: the token of a user who invites anna.
    """
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
    found["join_chat"] = found["accept_invite"] = {"chat": [group()]}
    found["decline_invite"] = {"chat": [_invite_of_anna(ok, other, number) for number in range(8)]}
    found["list_invites"] = {"cursor": [None]}
    return found


def _invite_of_anna(ok: Callable[..., Any], other: str, number: int) -> str:
    body = {"type": "group", "name": "invites", "members": ["ben"], "client_message_id": f"invites-{number}"}
    chat = str(ok("POST", "/v1/chats", body, bearer=other)["id"])
    ok("POST", f"/v1/chats/{chat}/invites", {"users": ["anna"]}, bearer=other)
    return chat
