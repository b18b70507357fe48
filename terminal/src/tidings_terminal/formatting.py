"""What is said on the screen: times, states, ticks, who types. Pure.

Text of others is cleaned before it is shown: a message must not be able to move the cursor or to turn lines around.
"""

import json
import unicodedata
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, tzinfo
from typing import Final

from tidings_sdk import DeliveryStatus, Entry, MessageStatus, PresenceChanged, Reaction, State

_ALLOWED_CONTROLS: Final = frozenset("\n\u200d\u200c")
"""Line feeds, and the joiners of emoji and of scripts that need them."""

_SOME: Final = 2
_QUOTED_CHARS: Final = 60
NOT_LOADED: Final = "↪ a message that is not loaded"


def strip_controls(text: str) -> str:
    """Without control characters and without those that turn the direction of what follows."""
    text = text.replace("\t", "    ").replace("\r\n", "\n")
    return "".join(
        c for c in text if c in _ALLOWED_CONTROLS or unicodedata.category(c) not in ("Cc", "Cf", "Cs", "Co")
    )


def one_line(text: str) -> str:
    return " ".join(strip_controls(text).split())


def short(text: str, most: int) -> str:
    """One line of at most so many characters."""
    line = one_line(text)
    return line if len(line) <= most else f"{line[: most - 1].rstrip()}…"


def format_clock(at_ms: int, now_ms: int, zone: tzinfo = UTC) -> str:
    """The hour of what is young, the day of what is not."""
    at, now = (datetime.fromtimestamp(ms / 1000, zone) for ms in (at_ms, now_ms))
    if at.date() == now.date():
        return f"{at:%H:%M}"
    return f"{at.day} {at:%b}" if at.year == now.year else f"{at.day} {at:%b %Y}"


def format_day(at_ms: int, zone: tzinfo = UTC) -> str:
    at = datetime.fromtimestamp(at_ms / 1000, zone)
    return f"{at:%A} {at.day} {at:%B %Y}"


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
    """One sign beside a name."""
    return {"online": "●", "away": "◐", "offline": "○"}.get(known.status, " ") if known else " "


def typing_text(users: Sequence[str]) -> str:
    if not users:
        return ""
    if len(users) > _SOME:
        return f"{len(users)} people are typing …"
    return f"{' and '.join(users)} {'is' if len(users) == 1 else 'are'} typing …"


def event_text(entry: Entry) -> str:
    """A line for what is no message."""
    users, is_own = _names(entry.users), entry.users in ((), (entry.by,))
    name = f" “{one_line(entry.name)}”" if entry.name else ""
    told = {
        "create": f"{entry.by} opened the chat{name}",
        "join": f"{entry.by} joined" if is_own else f"{entry.by} let {users} in",
        "leave": f"{entry.by} left" if is_own else f"{entry.by} took {users} out",
        "rename": f"{entry.by} named the chat{name}",
        "role": f"{users}: {entry.role}, by {entry.by}",
    }
    return told.get(entry.kind, "")


def content_text(state: str, text: str, *, has_data: bool) -> str:
    """What stands in a message's place if it is not there any more."""
    gone = {
        "redacted": "message deleted",
        "expired": "message expired",
        "ephemeral": "message that expires",
        "unreadable": "message can't be read",
    }
    if state in gone:
        return gone[state]
    return strip_controls(text) or ("(data)" if has_data else "(empty)")


def quote(by: str, said: str) -> str:
    """The line above a reply."""
    return f"↪ {by}: {short(said, _QUOTED_CHARS)}"


def about(doing: str, by: str, said: str) -> str:
    """Above the composer: which message is replied to, edited or reacted to."""
    titles = {"reply": f"Reply to {by}", "edit": "Edit", "react": f"React to {by}"}
    return f"{titles[doing]}: {short(said, _QUOTED_CHARS)}"


def reactions_text(found: Sequence[Reaction]) -> str:
    return "  ".join(
        f"{strip_controls(r.emoji)} {r.count}" if r.count > 1 else strip_controls(r.emoji)
        for r in found
        if r.count
    )


def notification_text(message: Mapping[str, object]) -> tuple[str, str]:
    """Its title, or its first words; and the words that are left. A payload without words is shown as it is."""
    said = {
        name: told for name, each in message.items() if isinstance(each, str) and (told := one_line(each))
    }
    title = said.pop("title", "") or (said.pop(next(iter(said))) if said else "")
    return title or one_line(json.dumps(message, ensure_ascii=False)), "  ".join(said.values())


def inbox_text(unread: int) -> str:
    return f"Inbox   {unread} unread" if unread else "Inbox   nothing unread"


def _names(users: Sequence[str]) -> str:
    return ", ".join(users[:_SOME]) + (f" and {len(users) - _SOME} more" if len(users) > _SOME else "")
