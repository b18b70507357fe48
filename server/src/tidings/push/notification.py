"""A notification for one device, and its payload for each provider. Pure functions."""

import base64
from collections.abc import Mapping
from uuid import UUID, uuid5

import msgspec
from msgspec import Struct

from tidings.inboxes.model import InboxId, NotificationId
from tidings.kernel.ids import ChatId, DeviceId, TenantId, UserId, message_id
from tidings.push.model import PushAction

_encode = msgspec.json.Encoder(order="deterministic").encode
_SPACE = UUID("6f0b4f52-7f1d-4f9e-9d0c-4f6a1b0e2d11")
MAX_PAYLOAD_BYTES = 3_900
"""Web Push allows 3,993 bytes of text, APNs and FCM 4,096."""


class Notification(Struct, frozen=True, kw_only=True):
    """What a device receives. Without `title` it is data only: the app shows it, or withdraws it.

    subject: the id of the message, or of the inbox's notification. about: the ids that the app receives.
    thread: notifications of one thread are shown together; the chat's or the inbox's id.
    collapse_id: a later notification with the same id replaces this one; the chat's id, or the `subject` in an inbox.
    """

    tenant: TenantId
    user: UserId
    device: DeviceId
    action: PushAction
    subject: str
    about: Mapping[str, str]
    thread: str
    badge: int
    sent_ms: int
    expires_ms: int
    collapse_id: str
    title: str = ""
    body: str = ""

    @property
    def is_alert(self) -> bool:
        return self.action is PushAction.ALERT

    @property
    def id(self) -> UUID:
        """Return an id that is the same for each attempt, so that a repeated request is recognised in logs."""
        return uuid5(_SPACE, f"{self.tenant}#{self.user}#{self.device}#{self.subject}")

    def data(self) -> dict[str, str]:
        """Return the fields that every app receives. All values are texts, because FCM allows no others."""
        return {**self.about, "badge": str(self.badge), "action": self.action.value}


def about_message(
    chat: ChatId, sequence: int, sender: UserId | None = None, *, is_mentioned: bool = False
) -> dict[str, str]:
    fields = {"chat": chat, "message_id": message_id(chat, sequence), "sequence": str(sequence)}
    if sender is not None:
        fields["sender"] = sender
    return fields | {"mention": "true"} if is_mentioned else fields


def about_notification(inbox: InboxId, notification: NotificationId) -> dict[str, str]:
    return {"inbox": inbox, "notification_id": notification}


def apns_payload(note: Notification) -> bytes:
    aps: dict[str, object] = {}
    if note.action is PushAction.WITHDRAW:
        aps = {"badge": note.badge, "content-available": 1}
    elif note.title:
        aps = {"badge": note.badge}
        aps |= {
            "alert": {"title": note.title, "body": note.body},
            "thread-id": note.thread,
            "mutable-content": 1,
        }
        aps |= {"sound": "default"} if note.is_alert else {"interruption-level": "passive"}
    else:
        aps["content-available"] = (
            1  # Apple allows no badge together with it. The app sets it from `tidings`.
        )
    return _encode({"aps": aps, "tidings": note.data()})


def web_push_payload(note: Notification) -> bytes:
    """Return what the service worker receives: `tag` and `renotify` are options of `showNotification`."""
    shown: dict[str, object] = {"tidings": note.data(), "tag": note.collapse_id, "badge": note.badge}
    if note.title:
        shown |= {
            "title": note.title,
            "body": note.body,
            "renotify": note.is_alert,
            "silent": not note.is_alert,
        }
    return _encode(shown)


def fcm_message(token: str, note: Notification, now_ms: int) -> bytes:
    lifetime_s = max(0, note.expires_ms - now_ms) // 1000
    android: dict[str, object] = {
        "collapse_key": note.collapse_id,
        "priority": "HIGH" if note.is_alert else "NORMAL",
        "ttl": f"{lifetime_s}s",
    }
    message: dict[str, object] = {"token": token, "data": note.data(), "android": android}
    if note.title:
        message["notification"] = {"title": note.title, "body": note.body}
        android["notification"] = {"tag": note.collapse_id, "notification_count": note.badge}
    return _encode({"message": message})


def http_payload(token: str, note: Notification) -> bytes:
    return _encode(
        {
            "token": token,
            "user": note.user,
            "device": note.device,
            "action": note.action.value,
            "title": note.title or None,
            "body": note.body or None,
            "badge": note.badge,
            "collapse_id": note.collapse_id,
            "expires_ms": note.expires_ms,
            "data": note.data(),
        }
    )


def b64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def unb64url(text: str) -> bytes:
    """Decode URL-safe base64 with or without padding. Raises `ValueError`."""
    return base64.urlsafe_b64decode(text.rstrip("=") + "=" * (-len(text.rstrip("=")) % 4))
