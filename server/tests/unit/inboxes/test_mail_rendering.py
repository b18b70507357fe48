"""Mails: escaping, languages, headers and templates."""

from email import message_from_bytes, policy

import pytest

from tidings.inboxes.mail.model import NO_CONFIG, MailConfig, MailTemplate
from tidings.inboxes.mail.rendering import (
    MailEnvelope,
    MailFields,
    check_template,
    choose_template,
    compose,
    render,
)
from tidings.inboxes.store.smtp import SmtpOptions
from tidings.kernel.errors import TidingsError
from tidings.kernel.mail_addresses import parse_mail_address

ENVELOPE = MailEnvelope(
    "news@shop.example", parse_mail_address("anna@home.example"), "<id@shop.example>", 1_763_184_000_000
)


def template(**more: str) -> MailTemplate:
    return MailTemplate(**({"locale": "en", "subject": "s", "text": "t"} | more))


def test_values_are_escaped_in_html_and_not_in_text() -> None:
    given = template(
        subject="{{name}}", text="{{ message.body }}", html='<a title="{{message.body}}">{{name}}</a>'
    )
    fields = MailFields({"body": '"><script>alert(1)</script>'}, name="Anna & Ben")
    mail = render(given, fields, None)
    assert mail.subject == "Anna & Ben"
    assert mail.text == '"><script>alert(1)</script>'
    assert mail.html == ('<a title="&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;">Anna &amp; Ben</a>')


@pytest.mark.parametrize(
    "url", ["javascript:alert(1)", " JavaScript :alert(1)", "data:text/html,x", "\nvbscript:x"]
)
def test_a_script_is_no_link(url: str) -> None:
    mail = render(None, MailFields({"title": "t", "url": url}), None)
    assert mail.html is not None
    assert 'href=""' in mail.html
    assert "script" not in mail.html.lower()


def test_a_value_is_not_a_template() -> None:
    mail = render(
        template(text="{{message.a}}"), MailFields({"a": "{{name}} {{message.b}}", "b": "no"}), None
    )
    assert mail.text == "{{name}} {{message.b}}"


def test_a_line_break_in_a_value_adds_no_header() -> None:
    fields = MailFields({"title": "Hello\r\nBcc: eve@evil.example"})
    body = compose(render(None, fields, None), ENVELOPE, NO_CONFIG, None)
    mail = message_from_bytes(body, policy=policy.default)
    assert mail["Bcc"] is None
    assert mail["Subject"] == "Hello Bcc: eve@evil.example"


def test_missing_fields_lists_and_objects_are_empty() -> None:
    given = template(text="[{{message.a}}][{{message.b.c}}][{{message.b}}][{{message.d}}][{{message.e}}]")
    fields = MailFields({"b": {"c": 3}, "d": [1], "e": None})
    assert render(given, fields, None).text == "[][3][][][]"


@pytest.mark.parametrize(
    ("category", "locale", "found"),
    [
        ("orders", "de-AT", "orders de"),
        ("orders", "fr", "orders en"),
        ("orders", None, "orders en"),
        ("news", "de", "all de"),
        (None, "pt-BR", "all en"),
    ],
)
def test_the_category_is_chosen_before_the_language(
    category: str | None, locale: str | None, found: str
) -> None:
    templates = tuple(
        template(locale=language, text=f"{name or 'all'} {language}", **({"category": name} if name else {}))
        for name in ("orders", "")
        for language in ("de", "en")
    )
    chosen = choose_template(MailConfig(templates=templates), category, locale)
    assert chosen is not None
    assert chosen.text == found


def test_the_built_in_text_names_the_others_of_a_digest() -> None:
    fields = MailFields({"title": "Anna likes it"}, gathered=5, unsubscribe_url="https://a.example/?t=1&b=2")
    assert render(None, fields, "en").subject == "Anna likes it and 4 more"
    german = render(None, fields, "de-CH")
    assert german.subject == "Anna likes it und 4 weitere"
    assert german.html is not None
    assert 'href="https://a.example/?t=1&amp;b=2"' in german.html
    assert "Abbestellen: https://a.example/?t=1&b=2" in german.text


def test_an_unknown_placeholder_is_refused() -> None:
    check_template(template(text="{{message.any.thing}} {{unsubscribe_url}} {not one}"))
    with pytest.raises(TidingsError, match=r"Unknown placeholder `\{\{nmae\}\}`"):
        check_template(template(html="{{nmae}}"))


def test_headers_and_parts_of_a_mail() -> None:
    config = MailConfig(sender_name="Shop & Söhne", reply_to="help@shop.example")
    mail = message_from_bytes(
        compose(render(template(html="<p>ü"), MailFields({}), None), ENVELOPE, config, "https://a.example/u"),
        policy=policy.default,
    )
    assert mail["From"] == "Shop & Söhne <news@shop.example>"
    assert (mail["Reply-To"], mail["To"]) == ("help@shop.example", "anna@home.example")
    assert (mail["Message-ID"], mail["Auto-Submitted"]) == ("<id@shop.example>", "auto-generated")
    assert mail["List-Unsubscribe"] == "<https://a.example/u>"
    assert [part.get_content_type() for part in mail.walk()] == [
        "multipart/alternative",
        "text/plain",
        "text/html",
    ]


def test_long_links_and_ids_are_neither_folded_nor_encoded() -> None:
    link, name = f"https://a.example/u?token={'x' * 300}", f"<{'y' * 200}@shop.example>"
    fields = MailFields({"title": "t"}, unsubscribe_url=link)
    body = compose(render(None, fields, None), ENVELOPE._replace(message_id=name), NO_CONFIG, link)
    assert f"List-Unsubscribe: <{link}>\r\n".encode() in body
    assert f"Message-ID: {name}\r\n".encode() in body
    assert f"Unsubscribe: {link}\r\n".encode() in body


def test_the_url_of_a_mail_server() -> None:
    plain = SmtpOptions.from_url("smtp://mail.example")
    assert (plain.host, plain.port, plain.is_tls, plain.password) == ("mail.example", 587, False, None)
    secret = SmtpOptions.from_url("smtps://me%40shop:p%2Fw@mail.example:2465/")
    assert (secret.port, secret.is_tls, secret.user) == (2465, True, "me@shop")
    assert secret.password is not None
    assert secret.password.reveal() == "p/w"
    for wrong in (
        "mail.example:25",
        "http://mail.example",
        "smtp://",
        "smtp://h:99999",
        "smtp://h/path",
        "smtp://[::1",
    ):
        with pytest.raises(ValueError, match="expected smtp://"):
            SmtpOptions.from_url(wrong)
