"""The web pages of an archive. Pure.

They work without JavaScript and load nothing from other places. All values come from users and are escaped; a content
security policy forbids scripts even if a value were not.
"""

import html
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from tidings.exports.model import ExportCounts, JsonObject
from tidings.exports.rules import page_name

SHOWN_IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src 'self' file:; base-uri 'none'; form-action 'none'"
)
_STYLE = Path(__file__).with_name("page.css").read_text()
_GONE = {
    "redacted": "This message was deleted.",
    "expired": "This message has expired.",
    "archived": "This message is in the archive of the operator.",
    "erased": "The author of this message was erased.",
    "unreadable": "This message cannot be decrypted.",
}
_CONTENTS = (
    ("profile.json", "your profile"),
    ("preferences.json", "your choices for notifications"),
    ("devices.json", "your sessions and the devices that receive push notifications"),
    ("blocks.json", "the users that you block"),
    ("invites.json", "invites to groups"),
    ("chats.jsonl", "your chats, one per line"),
    ("messages.jsonl", "all messages and other entries that you can read, one per line"),
    ("receipts.jsonl", "how far the members of your chats have read"),
    ("inbox.jsonl", "your notifications, one per line"),
    ("media.jsonl", "the files in the folder media, one per line"),
    ("manifest.json", "all files of this archive, with their SHA-256"),
)


class ChatPageView(NamedTuple):
    """One page of a chat. `page` counts from 0. `names`: display names. `files`: type and path of attachments."""

    title: str
    number: int
    page: int
    has_next: bool
    reader: str
    entries: Sequence[JsonObject]
    names: Mapping[str, str]
    files: Mapping[str, tuple[str, str, str]]


def text(value: object) -> str:
    """Return a value as text of a page or of an attribute: escaped, without characters that HTML forbids."""
    return html.escape(_CONTROL.sub("\ufffd", str(value)), quote=True)


def _page(title: str, body: Iterable[str]) -> bytes:
    return (page_start(title) + "".join(body) + PAGE_END).encode()


def page_start(title: str) -> str:
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{text(title)}</title><style>{_STYLE}</style></head><body>\n"
    )


PAGE_END = "</body></html>\n"


def index_start(user: str, name: str | None, created_at: str) -> bytes:
    """Return the start of `index.html`. Rows of chats and `index_end` follow."""
    shown = user if name is None else f"{name} ({user})"
    return (
        page_start("Your data")
        + f"<h1>Your data</h1><p>{text(shown)}</p><p><small>Created at {_time(created_at)}</small></p>\n"
        + "<table><thead><tr><th>Chat</th><th>Messages and events</th></tr></thead><tbody>\n"
    ).encode()


def index_row(number: int, title: str, entries: int) -> str:
    return f'<tr><td><a href="{page_name(number, 0)}">{_name(title)}</a></td><td>{entries}</td></tr>\n'


def index_end(counts: ExportCounts) -> bytes:
    files = "".join(f"<li><a href={name}>{name}</a>: {what}</li>" for name, what in _CONTENTS)
    return (
        "</tbody></table>\n"
        f"<p>{counts.chats} chats with {counts.entries} messages and events, {counts.attachments} files, and "
        f'<a href="inbox.html">{counts.notifications} notifications</a>.</p>\n'
        f"<h2>Files for programs</h2><ul>{files}</ul>{PAGE_END}"
    ).encode()


def chat_page(view: ChatPageView) -> bytes:
    """Return a page of a chat. Edits, redactions and reactions are shown with their message."""
    up = '<nav><a href="../index.html">All chats</a></nav>'
    turn = _turn(view)
    return _page(view.title, (up, f"<h1>{_name(view.title)}</h1>", turn, *_days(view), turn))


def _turn(view: ChatPageView) -> str:
    """Return the links to the page before and after."""
    before = f'<a href="../{page_name(view.number, view.page - 1)}">Earlier</a>' if view.page else ""
    after = f'<a href="../{page_name(view.number, view.page + 1)}">Later</a>' if view.has_next else ""
    return f"<nav>{before}{after}</nav>\n" if before or after else ""


def _days(view: ChatPageView) -> Iterable[str]:
    day = ""
    for entry in view.entries:
        shown = _entry(view, entry)
        if not shown:
            continue
        if day != (day := str(entry["created_at"])[:10]):
            yield f"<h2>{text(day)} (UTC)</h2>\n"
        yield shown


def _entry(view: ChatPageView, entry: JsonObject) -> str:
    if entry["kind"] == "message":
        return _message(view, entry)
    what = _event(view, entry)
    return f'<p class="event">{what} {_clock(entry["created_at"])}</p>\n' if what else ""


def _message(view: ChatPageView, entry: JsonObject) -> str:
    is_own = entry["sender"] == view.reader
    edited = " <small>edited</small>" if "edited_at" in entry and entry["state"] == "active" else ""
    return (
        f'<article id="m{int(entry["sequence"])}" class="{"own" if is_own else "other"}">'
        f"<b>{_name(_user(view, entry['sender']))}</b> {_clock(entry['created_at'])}{edited}"
        f"{_content(view, entry)}{_reactions(entry)}</article>\n"
    )


def _content(view: ChatPageView, entry: JsonObject) -> str:
    if entry["state"] != "active":
        return f"<p><small>{_GONE.get(entry['state'], 'No content.')}</small></p>"
    reply = f"<p><small>Reply to message {int(entry['reply_to'])}</small></p>" if "reply_to" in entry else ""
    body = f'<p dir="auto">{text(entry["text"])}</p>' if entry.get("text") else ""
    data = f"<pre>{text(_json(entry['data']))}</pre>" if "data" in entry else ""
    return reply + body + data + "".join(_file(view, each) for each in entry.get("attachments", ()))


def _file(view: ChatPageView, upload: str) -> str:
    if upload not in view.files:
        return "<p><small>A file that is not available.</small></p>"
    type_, path, name = view.files[upload]
    if type_ in SHOWN_IMAGES:
        return f'<a href="../{text(path)}"><img src="../{text(path)}" alt="{text(name)}" loading="lazy"></a>'
    return f'<p><a href="../{text(path)}" download>{_name(name)}</a></p>'


def _reactions(entry: JsonObject) -> str:
    each = (f"{text(one['emoji'])} {int(one['count'])}" for one in entry.get("reactions", ()))
    shown = " · ".join(each)
    return f"<small>{shown}</small>" if shown else ""


def _event(view: ChatPageView, entry: JsonObject) -> str:
    """Return what happened, as HTML. Empty for entries that messages show: edits, redactions, reactions."""
    by = _name(_user(view, entry["sender"]))
    users = ", ".join(_name(_user(view, each)) for each in entry.get("users", ()))
    kind = str(entry["kind"])
    texts = {
        "create": f"{by} created the chat",
        "join": f"{users or by} joined",
        "leave": f"{users or by} left",
        "rename": f"{by} renamed the chat to {_name(entry.get('name', ''))}",
        "role": f"{by} changed the role of {users} to {text(entry.get('role', ''))}",
        "mute": f"{by} muted or unmuted {users}",
        "ban": f"{by} banned or unbanned {users}",
        "block": f"{by} blocked or unblocked the other user",
        "rules": f"{by} changed the rules of the chat",
        "lost": "A message or change was lost in an outage",
    }
    return texts.get(kind, "")


def inbox_start() -> bytes:
    """Return the start of `inbox.html`. Notifications and `PAGE_END` follow."""
    up = '<nav><a href="index.html">All chats</a></nav>'
    return f"{page_start('Notifications')}{up}<h1>Notifications</h1>\n".encode()


def notification(inbox: str, fields: JsonObject) -> str:
    category = f" · {text(fields['category'])}" if "category" in fields else ""
    marks = f"{'read' if fields['is_read'] else 'unread'}{', archived' if fields['is_archived'] else ''}"
    return (
        f"<article><small>{text(inbox)}{category} · {marks}</small> {_time(fields['received_at'])}"
        f"{_notification_body(fields['message'])}</article>\n"
    )


def _notification_body(message: Mapping[str, Any]) -> str:
    """Return the fields of a notification. The tenant chooses them, so each is shown with its name."""
    shown = (
        f'<p dir="auto"><small>{text(name)}</small> {text(value if isinstance(value, str) else _json(value))}</p>'
        for name, value in message.items()
    )
    return "".join(shown)


def _user(view: ChatPageView, user: str) -> str:
    return "Moderator" if user == "/moderator" else view.names.get(user, user)


def _name(value: object) -> str:
    """Return a name that does not change the direction of the text around it."""
    return f"<bdi>{text(value)}</bdi>"


def _time(at: object) -> str:
    return f'<time datetime="{text(at)}">{text(str(at)[:16].replace("T", " "))} UTC</time>'


def _clock(at: object) -> str:
    """Return the time of a day, for entries below the heading of their day."""
    return f'<time datetime="{text(at)}">{text(str(at)[11:16])}</time>'


def _json(value: object) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
