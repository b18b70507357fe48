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
    return found | _review_values(ok, members, other)


def _review_values(ok: Callable[..., Any], members: Sequence[str], other: str) -> dict[str, Values]:
    """Return messages of another user to report, and reviews of others. Each decision has a review of its own."""
    body = {"type": "group", "name": "reports", "members": ["anna"], "client_message_id": "reports"}
    chat = str(ok("POST", "/v1/chats", body, bearer=other)["id"])

    def said(number: int) -> str:
        sent = {"text": "buy this", "client_message_id": f"reported-{number}"}
        return str(ok("POST", f"/v1/chats/{chat}/messages", sent, bearer=other)["id"])

    messages = [said(number) for number in range(20)]
    for message in messages[8:]:
        ok("POST", f"/v1/messages/{message}/report", {"reason": "spam"})
    decided: Values = {
        "review": [f"m.{message}" for message in messages[8:]],
        "until": [None],
        "reason": [None],
    }
    return {
        "report_message": {"message": messages[:8]},
        "report_user": {"user": [*members]},
        "list_reviews": {"cursor": [None]},
        "get_review": {"review": [f"m.{messages[8]}"]},
        "decide_review": decided | {"action": ["dismiss", "redact"]},
    }


def _invite_of_anna(ok: Callable[..., Any], other: str, number: int) -> str:
    body = {"type": "group", "name": "invites", "members": ["ben"], "client_message_id": f"invites-{number}"}
    chat = str(ok("POST", "/v1/chats", body, bearer=other)["id"])
    ok("POST", f"/v1/chats/{chat}/invites", {"users": ["anna"]}, bearer=other)
    return chat
