"""The text of a notification, by kind of message and language of the device."""

import re
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

import msgspec
from msgspec.structs import asdict

from tidings.kernel.errors import Code, TidingsError
from tidings.push.model import PushRegistration
from tidings.tenants.model import LOCALE_PATTERN, PushSettings, PushTexts

_FALLBACK: Final = "en"
_MAX_CHARS = 300
_MAX_TEXTS_BYTES = 8 * 1024
"""Size of all texts of a tenant, so that they fit into its settings."""
_TAG = re.compile(LOCALE_PATTERN)
_SENDER: Final = "{sender}"
_PLACEHOLDER = re.compile(r"\{[^{}]*\}|[{}]")
_ALLOWED: Final[Mapping[str, frozenset[str]]] = {
    "new_message": frozenset({_SENDER}),
    "mention": frozenset({_SENDER}),
    "private": frozenset(),
    "notification": frozenset(),
}


class _AllTexts(NamedTuple):
    new_message: str
    mention: str
    private: str
    notification: str


DEFAULTS: Final[Mapping[str, PushTexts]] = {
    "en": PushTexts(
        new_message="New message",
        mention="{sender} mentioned you",
        private="You have a new message",
        notification="You have a new notification",
    ),
    "de": PushTexts(
        new_message="Neue Nachricht",
        mention="{sender} hat dich erwähnt",
        private="Du hast eine neue Nachricht",
        notification="Du hast eine neue Mitteilung",
    ),
    "es": PushTexts(
        new_message="Nuevo mensaje",
        mention="{sender} te mencionó",
        private="Tienes un mensaje nuevo",
        notification="Tienes una notificación nueva",
    ),
    "fr": PushTexts(
        new_message="Nouveau message",
        mention="{sender} vous a mentionné",
        private="Vous avez un nouveau message",
        notification="Vous avez une nouvelle notification",
    ),
}


class NotificationText(NamedTuple):
    title: str
    body: str


def notification_text(
    registration: PushRegistration,
    settings: PushSettings,
    *,
    sender_name: str | None,
    preview: str | None,
    is_mentioned: bool,
) -> NotificationText:
    """Return title and body in the language of the device. Both are empty for a device that receives data only.

    In private mode neither the sender nor the text is named: the app fetches them.
    """
    if registration.is_data_only:
        return NotificationText("", "")
    texts = _texts_for(registration.locale, settings.texts)
    if settings.is_private or not sender_name:
        return NotificationText(texts.private, "")
    title = texts.mention.replace(_SENDER, sender_name) if is_mentioned else sender_name
    shown = preview if settings.has_previews else None
    body = shown or texts.new_message.replace(_SENDER, sender_name)
    return NotificationText(title[:_MAX_CHARS], body[:_MAX_CHARS])


def inbox_text(
    registration: PushRegistration, settings: PushSettings, title: str, body: str
) -> NotificationText:
    """Return title and body of a notification of an inbox. Both are empty for a device that receives data only.

    In private mode, and without a title, the title says only that there is a notification.
    """
    if registration.is_data_only:
        return NotificationText("", "")
    if settings.is_private or not title:
        return NotificationText(_texts_for(registration.locale, settings.texts).notification, "")
    return NotificationText(title[:_MAX_CHARS], body[:_MAX_CHARS])


def _texts_for(locale: str, own: Mapping[str, PushTexts]) -> _AllTexts:
    """Choose each text alone: a tenant may replace one of them, and only in some languages."""
    found = _AllTexts("", "", "", "")
    for texts in _candidates(locale, own):
        found = _AllTexts(
            found.new_message or texts.new_message or "",
            found.mention or texts.mention or "",
            found.private or texts.private or "",
            found.notification or texts.notification or "",
        )
    return found


def _candidates(locale: str, own: Mapping[str, PushTexts]) -> Iterator[PushTexts]:
    """Return the texts of a locale, the preferred ones first: `de-at` before `de`, the tenant's before the defaults."""
    parts = locale.lower().split("-")
    tags = ["-".join(parts[:count]) for count in range(len(parts), 0, -1)]
    for some in (tags, [_FALLBACK]):
        for texts in (own, DEFAULTS):
            yield from (texts[tag] for tag in some if tag in texts)


def with_texts(settings: PushSettings, locale: str, texts: PushTexts | None) -> PushSettings:
    """Return settings with other texts of a locale; None: with the default ones. Raise `request_invalid`."""
    tag = locale.lower()
    if not _TAG.match(tag):
        raise TidingsError(
            Code.REQUEST_INVALID,
            f"`{locale}` is not a language tag.",
            hint="Use a tag of BCP 47, such as `de` or `pt-BR`.",
        )
    others = {name: each for name, each in settings.texts.items() if name != tag}
    if texts is not None:
        _check(texts)
        others[tag] = texts
    size = len(msgspec.json.encode(others))
    if size > _MAX_TEXTS_BYTES:
        raise TidingsError(
            Code.REQUEST_INVALID,
            f"The texts of all languages have {size:,} bytes; at most {_MAX_TEXTS_BYTES:,} are allowed.",
        )
    return msgspec.structs.replace(settings, texts=others)


def _check(texts: PushTexts) -> None:
    for name, text in asdict(texts).items():
        if text is None:
            continue
        if not text.isprintable() or not text.strip():
            raise TidingsError(
                Code.REQUEST_INVALID, f"`{name}` must be one line of text, without control characters."
            )
        unknown = sorted(set(_PLACEHOLDER.findall(text)) - _ALLOWED[name])
        if unknown:
            allowed = " and ".join(f"`{each}`" for each in _ALLOWED[name]) or "no placeholder"
            raise TidingsError(
                Code.REQUEST_INVALID, f"`{name}` contains `{unknown[0]}`; it may contain {allowed}."
            )
