"""Render a notification as a mail: subject, plain text and HTML. Pure.

Values in HTML are escaped, and a value that is a script address is left out: the message comes from an app, which may
quote its users.
"""

import html
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime
from typing import Any, NamedTuple

from tidings.inboxes.mail.model import DEFAULT_LOCALE, MailConfig, MailTemplate
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.mail_addresses import MailAddress, parse_mail_address

_PLACE = re.compile(r"\{\{\s*([A-Za-z0-9_.-]+)\s*\}\}")
_SCRIPT = re.compile(r"^[\s\x00-\x1f]*(javascript|data|vbscript)\s*:", re.IGNORECASE)
_NAMES = frozenset({"name", "count", "others", "category", "unsubscribe_url"})
_MESSAGE = "message."
_MAX_SUBJECT = 200
_POLICY = SMTP.clone(max_line_length=998)
"""The limit of RFC 5322. With the recommended 78, Python would encode a long Message-ID or link as words (RFC 2047), which
mail clients do not decode there."""


class _BuiltIn(NamedTuple):
    others: str
    unsubscribe: str


_BUILT_IN: Mapping[str, _BuiltIn] = {
    "en": _BuiltIn("and {{others}} more", "Unsubscribe"),
    "de": _BuiltIn("und {{others}} weitere", "Abbestellen"),
    "es": _BuiltIn("y {{others}} más", "Cancelar la suscripción"),
    "fr": _BuiltIn("et {{others}} de plus", "Se désabonner"),
}


class MailFields(NamedTuple):
    """What a mail shows. `gathered`: notifications of the digest. `unsubscribe_url` None: the user cannot unsubscribe."""

    message: Mapping[str, Any]
    category: str | None = None
    name: str | None = None
    gathered: int = 1
    unsubscribe_url: str | None = None


class MailEnvelope(NamedTuple):
    sender: str
    recipient: MailAddress
    message_id: str
    at_ms: int


class RenderedMail(NamedTuple):
    subject: str
    text: str
    html: str | None


def check_template(template: MailTemplate) -> None:
    """Raise `request_invalid` for a placeholder that has no value."""
    for part in (template.subject, template.text, template.html or ""):
        for name in _PLACE.findall(part):
            if name not in _NAMES and not name.startswith(_MESSAGE):
                raise TidingsError(
                    Code.REQUEST_INVALID,
                    f"Unknown placeholder `{{{{{name}}}}}`.",
                    hint=f"Use {', '.join(sorted(_NAMES))}, or the fields of the notification, such as `message.title`.",
                )


def choose_template(config: MailConfig, category: str | None, locale: str | None) -> MailTemplate | None:
    """Return the template of a category in the user's language. The category is more important than the language."""
    languages = [*_language_range(locale), DEFAULT_LOCALE]
    for wanted in (category, None) if category is not None else (None,):
        found = {each.locale.lower(): each for each in config.templates if each.category == wanted}
        for language in languages:
            if language in found:
                return found[language]
        if found:
            return next(iter(found.values()))
    return None


def render(template: MailTemplate | None, fields: MailFields, locale: str | None) -> RenderedMail:
    template = template or _built_in(fields, locale)
    values = _values(fields)
    subject = " ".join(_fill(template.subject, values, fields, is_html=False).split())[:_MAX_SUBJECT]
    return RenderedMail(
        subject or "Notification",
        _fill(template.text, values, fields, is_html=False),
        None if template.html is None else _fill(template.html, values, fields, is_html=True),
    )


def compose(
    rendered: RenderedMail, envelope: MailEnvelope, config: MailConfig, unsubscribe_url: str | None
) -> bytes:
    """Return the message with its headers. The same arguments give the same bytes, apart from MIME boundaries.

    Raises `ValueError`, or another error of the package `email`, for an address or a name that no header can contain.
    """
    mail = EmailMessage(policy=_POLICY)
    mail["Subject"] = rendered.subject
    mail["From"] = Address(config.sender_name or "", addr_spec=envelope.sender)
    mail["To"] = envelope.recipient.spec
    if config.reply_to is not None:
        mail["Reply-To"] = parse_mail_address(config.reply_to).spec
    mail["Message-ID"] = envelope.message_id
    mail["Date"] = format_datetime(datetime.fromtimestamp(envelope.at_ms / 1000, UTC))
    # RFC 3834: no automatic answers.
    mail["Auto-Submitted"] = "auto-generated"
    if unsubscribe_url is not None:
        # RFC 2369 and RFC 8058.
        mail["List-Unsubscribe"] = f"<{unsubscribe_url}>"
        mail["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
    mail.set_content(rendered.text)
    if rendered.html is not None:
        mail.add_alternative(rendered.html, subtype="html")
    return mail.as_bytes()


def _language_range(locale: str | None) -> list[str]:
    """Return `de-at`, `de` for `de-AT`."""
    parts = (locale or "").lower().split("-")
    return ["-".join(parts[:end]) for end in range(len(parts), 0, -1)] if parts[0] else []


def _built_in(fields: MailFields, locale: str | None) -> MailTemplate:
    languages = [*_language_range(locale), DEFAULT_LOCALE]
    texts = next(_BUILT_IN[each] for each in languages if each in _BUILT_IN)
    title = "{{message.title}}" + (f" {texts.others}" if fields.gathered > 1 else "")
    lines, blocks = [title], [f"<h1>{title}</h1>"]
    for name in ("body", "text"):
        if fields.message.get(name):
            lines.append(f"{{{{message.{name}}}}}")
            blocks.append(f"<p>{{{{message.{name}}}}}</p>")
    if fields.message.get("url"):
        lines.append("{{message.url}}")
        blocks.append('<p><a href="{{message.url}}">{{message.url}}</a></p>')
    if fields.unsubscribe_url is not None:
        lines.append(f"{texts.unsubscribe}: {{{{unsubscribe_url}}}}")
        blocks.append(f'<p><small><a href="{{{{unsubscribe_url}}}}">{texts.unsubscribe}</a></small></p>')
    return MailTemplate(
        locale=DEFAULT_LOCALE, subject=title, text="\n\n".join(lines) + "\n", html="".join(blocks)
    )


def _values(fields: MailFields) -> dict[str, str]:
    return {
        "name": fields.name or "",
        "count": str(fields.gathered),
        "others": str(fields.gathered - 1),
        "category": fields.category or "",
        "unsubscribe_url": fields.unsubscribe_url or "",
    }


def _fill(template: str, values: Mapping[str, str], fields: MailFields, *, is_html: bool) -> str:
    def value(match: re.Match[str]) -> str:
        name = match.group(1)
        text = values[name] if name in values else _of_message(fields.message, name.removeprefix(_MESSAGE))
        if not is_html:
            return text
        return "" if _SCRIPT.match(text) else html.escape(text)

    return _PLACE.sub(value, template)


def _of_message(message: Mapping[str, Any], path: str) -> str:
    """Return a field of the message as text, by its path. Missing fields, objects and lists are empty."""
    found: object = message
    for part in path.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    if isinstance(found, bool) or not isinstance(found, str | int | float):
        return ""
    return str(found)
