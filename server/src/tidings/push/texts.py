"""The text of a notification, by kind of message and language of the device."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from tidings.push.model import PushRegistration

_FALLBACK: Final = "en"
_MAX_CHARS = 300


class PushTemplates(NamedTuple):
    """Texts of one language. `{sender}` and `{preview}` are replaced."""

    new_message: str
    mention: str
    private: str


TEMPLATES: Final[Mapping[str, PushTemplates]] = {
    "en": PushTemplates("New message", "{sender} mentioned you", "You have a new message"),
    "de": PushTemplates("Neue Nachricht", "{sender} hat dich erwähnt", "Du hast eine neue Nachricht"),
    "es": PushTemplates("Nuevo mensaje", "{sender} te mencionó", "Tienes un mensaje nuevo"),
    "fr": PushTemplates("Nouveau message", "{sender} vous a mentionné", "Vous avez un nouveau message"),
}


class NotificationText(NamedTuple):
    title: str
    body: str


def notification_text(
    registration: PushRegistration,
    *,
    sender_name: str | None,
    preview: str | None,
    is_mentioned: bool,
    is_private: bool,
) -> NotificationText:
    """Return title and body in the language of the device. Both are empty for a device that receives data only.

    In private mode neither the sender nor the text is named: the app fetches them.
    """
    if registration.is_data_only:
        return NotificationText("", "")
    texts = _templates(registration.locale)
    if is_private or not sender_name:
        return NotificationText(texts.private, "")
    title = texts.mention.replace("{sender}", sender_name) if is_mentioned else sender_name
    return NotificationText(title[:_MAX_CHARS], (preview or texts.new_message)[:_MAX_CHARS])


def _templates(locale: str) -> PushTemplates:
    return TEMPLATES.get(locale.partition("-")[0].lower(), TEMPLATES[_FALLBACK])
