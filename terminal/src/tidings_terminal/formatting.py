"""Format texts for the screen: times, states, receipts, typing. Without I/O.

Text of other users is cleaned before it is shown, so that a message cannot move the cursor or change the text
direction.
"""

import json
import unicodedata
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, tzinfo
from typing import Final

from tidings_sdk import (
    DeliveryStatus,
    Entry,
    MessageStatus,
    PresenceChanged,
    Reaction,
    SendRestrictions,
    State,
)

_ALLOWED_CONTROLS: Final = frozenset("\n\u200d\u200c")
"""Line feeds, and the joiners of emoji and of scripts that need them."""

_MAX_NAMES: Final = 2
_QUOTED_CHARS: Final = 60
_MODERATOR: Final = "/moderator"
"""The sender of entries by the moderators of the tenant."""
NOT_LOADED: Final = "↪ message not loaded"


def strip_controls(text: str) -> str:
    """Remove control characters, including those that change the text direction."""
    text = text.replace("\t", "    ").replace("\r\n", "\n")
    return "".join(
        c for c in text if c in _ALLOWED_CONTROLS or unicodedata.category(c) not in ("Cc", "Cf", "Cs", "Co")
    )


def one_line(text: str) -> str:
    return " ".join(strip_controls(text).split())


def short(text: str, most: int) -> str:
    """Shorten a text to one line of at most `most` characters."""
    line = one_line(text)
    return line if len(line) <= most else f"{line[: most - 1].rstrip()}…"


def format_clock(at_ms: int, now_ms: int, zone: tzinfo = UTC) -> str:
    """Return the time of day for today, otherwise the date."""
    at, now = (datetime.fromtimestamp(ms / 1000, zone) for ms in (at_ms, now_ms))
    if at.date() == now.date():
        return f"{at:%H:%M}"
    return f"{at.day} {at:%b}" if at.year == now.year else f"{at.day} {at:%b %Y}"


def format_day(at_ms: int, zone: tzinfo = UTC) -> str:
    at = datetime.fromtimestamp(at_ms / 1000, zone)
    return f"{at:%A} {at.day} {at:%B %Y}"


_REFUSALS: Final = {"muted": "you are muted in this group", "chat_frozen": "this group is frozen"}


def refusal_text(code: str) -> str:
    """Return why a message was refused, or its error code."""
    return _REFUSALS.get(code, code)


def restriction_text(found: SendRestrictions, now: datetime) -> str | None:
    """Return what keeps the user from sending now, or None."""
    if found.is_muted and (found.muted_until is None or now < found.muted_until):
        until = found.muted_until
        return (
            "you are muted in this group"
            if until is None
            else f"you are muted until {until.astimezone():%d %b %H:%M}"
        )
    if found.is_frozen:
        return "this group is frozen"
    if found.may_send_at is not None and now < found.may_send_at:
        wait_s = -((now - found.may_send_at).total_seconds() // 1)
        return f"slow mode: wait {wait_s:.0f} s"
    return None


def connection_text(state: State, wait_s: float | None) -> str:
    match state:
        case State.LIVE:
            return "● live"
        case State.CLOSED if wait_s is not None:
            return f"○ no connection, next try in {max(0, round(wait_s))} s"
        case State.CLOSED:
            return "○ no connection"
        case State.RESUMING:
            return "◐ catching up"
        case State.DRAINING:
            return "◑ moving to another server"
    return "◌ connecting"


def caught_up_text(messages: int) -> str:
    if not messages:
        return "back, nothing was missed"
    return f"caught up: {messages} message{'s' if messages > 1 else ''}"


def delivery_mark(status: MessageStatus) -> str:
    match status.status:
        case DeliveryStatus.READ:
            return "✓✓ read"
        case DeliveryStatus.DELIVERED if status.read_by:
            return f"✓✓ read by {_names(status.read_by)}"
        case DeliveryStatus.DELIVERED:
            return "✓✓"
        case DeliveryStatus.SENT if status.delivered_to:
            return f"✓ reached {_names(status.delivered_to)}"
    return "✓"


def presence_text(known: PresenceChanged | None, now_ms: int, zone: tzinfo = UTC) -> str:
    if known is None:
        return ""
    if known.status == "offline" and known.last_seen_at is not None:
        return f"○ last seen {format_clock(known.last_seen_at, now_ms, zone)}"
    return {"online": "● online", "away": "◐ away", "offline": "○ offline"}.get(known.status, known.status)


def unread_mark(known: PresenceChanged | None) -> str:
    """Return the presence of a user as one character."""
    return {"online": "●", "away": "◐", "offline": "○"}.get(known.status, " ") if known else " "


def typing_text(users: Sequence[str]) -> str:
    if not users:
        return ""
    if len(users) > _MAX_NAMES:
        return f"{len(users)} people are typing …"
    return f"{' and '.join(users)} {'is' if len(users) == 1 else 'are'} typing …"


def event_text(entry: Entry) -> str:
    """Return the text of an entry that is not a message."""
    users, is_own = _names(entry.users), entry.users in ((), (entry.by,))
    name = f" “{one_line(entry.name)}”" if entry.name else ""
    texts = {
        "create": f"{entry.by} created the chat{name}",
        "join": f"{entry.by} joined" if is_own else f"{entry.by} added {users}",
        "leave": f"{entry.by} left" if is_own else f"{_remover(entry.by)} removed {users}",
        "rename": f"{entry.by} renamed the chat to{name}",
        "role": f"{users}: {entry.role}, by {entry.by}",
        "lost": "a message or change was lost in an outage",
    }
    return texts.get(entry.kind, "")


def _remover(user: str) -> str:
    return "a moderator" if user == _MODERATOR else user


def content_text(state: str, text: str, *, has_data: bool) -> str:
    """Return the text of a message, or a placeholder if the content is not available."""
    placeholders = {
        "redacted": "message deleted",
        "expired": "message expired",
        "archived": "message archived",
        "ephemeral": "message that expires",
        "erased": "message of an erased user",
        "unreadable": "message cannot be decrypted",
    }
    if state in placeholders:
        return placeholders[state]
    return strip_controls(text) or ("(data)" if has_data else "(empty)")


def quote(by: str, text: str) -> str:
    """Return the line above a reply."""
    return f"↪ {by}: {short(text, _QUOTED_CHARS)}"


def about(doing: str, by: str, text: str) -> str:
    """Return the line above the composer: the message that the user replies to, edits or reacts to."""
    titles = {"reply": f"Reply to {by}", "edit": "Edit", "react": f"React to {by}"}
    return f"{titles[doing]}: {short(text, _QUOTED_CHARS)}"


def reactions_text(found: Sequence[Reaction]) -> str:
    return "  ".join(
        f"{strip_controls(r.emoji)} {r.count}" if r.count > 1 else strip_controls(r.emoji)
        for r in found
        if r.count
    )


def notification_text(message: Mapping[str, object]) -> tuple[str, str]:
    """Return the title of a notification and the rest of its text.

    Without a title, the first text of the message is the title. A message without text is shown as JSON.
    """
    texts = {
        name: text for name, each in message.items() if isinstance(each, str) and (text := one_line(each))
    }
    title = texts.pop("title", "") or (texts.pop(next(iter(texts))) if texts else "")
    return title or one_line(json.dumps(message, ensure_ascii=False)), "  ".join(texts.values())


def inbox_text(unread: int) -> str:
    return f"Inbox   {unread} unread" if unread else "Inbox   nothing unread"


def _names(users: Sequence[str]) -> str:
    return ", ".join(users[:_MAX_NAMES]) + (
        f" and {len(users) - _MAX_NAMES} more" if len(users) > _MAX_NAMES else ""
    )
