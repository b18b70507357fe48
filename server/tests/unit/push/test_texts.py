"""The texts of notifications: defaults, those of a tenant, private mode, data only, and what is refused."""

import pytest
from fixtures.push_notes import registration
from msgspec.structs import replace

from tidings.kernel.errors import Code, TidingsError
from tidings.push.model import HttpTarget
from tidings.push.texts import inbox_text, notification_text, with_texts
from tidings.tenants.model import PushSettings, PushTexts

DEVICE = registration(HttpTarget(token="t"))


def text(
    settings: PushSettings, locale: str = "", *, is_mentioned: bool = False, preview: str | None = None
) -> tuple[str, str]:
    device = replace(DEVICE, locale=locale)
    return notification_text(device, settings, sender_name="Anna", preview=preview, is_mentioned=is_mentioned)


def settings(**texts: PushTexts) -> PushSettings:
    made = PushSettings()
    for locale, each in texts.items():
        made = with_texts(made, locale.replace("_", "-"), each)
    return made


@pytest.mark.parametrize(
    ("locale", "expected"),
    [
        ("", "New message"),
        ("de-AT", "Neue Nachricht"),
        ("ES", "Nuevo mensaje"),
        ("fr", "Nouveau message"),
        ("ja", "New message"),
    ],
)
def test_default_texts_are_in_the_language_of_the_device(locale: str, expected: str) -> None:
    assert text(PushSettings(), locale) == ("Anna", expected)


def test_the_most_specific_text_is_used_and_each_is_chosen_alone() -> None:
    own = settings(
        de_AT=PushTexts(new_message="Servus"),
        de=PushTexts(mention="{sender} ruft dich"),
        en=PushTexts(new_message="Mail from {sender}", private="Hello"),
    )
    assert text(own, "de-AT") == ("Anna", "Servus")
    assert text(own, "de-AT-1996") == ("Anna", "Servus")
    assert text(own, "de") == ("Anna", "Neue Nachricht"), "the default of a language is before English"
    assert text(own, "de-AT", is_mentioned=True) == ("Anna ruft dich", "Servus")
    assert text(own, "ja") == ("Anna", "Mail from Anna")
    assert text(replace(own, is_private=True), "ja") == ("Hello", "")
    assert text(with_texts(own, "de-at", None), "de-AT") == ("Anna", "Neue Nachricht")


def test_the_start_of_a_message_is_shown_with_previews_only() -> None:
    assert text(PushSettings(), preview="See you at 8") == ("Anna", "New message")
    assert text(PushSettings(has_previews=True), preview="See you at 8") == ("Anna", "See you at 8")
    assert text(PushSettings(has_previews=True)) == ("Anna", "New message")


def test_private_mode_and_data_only_name_neither_sender_nor_text() -> None:
    private = PushSettings(is_private=True, has_previews=True)
    assert text(private, "de", preview="See you", is_mentioned=True) == ("Du hast eine neue Nachricht", "")
    device = replace(DEVICE, is_data_only=True)
    found = notification_text(
        device, PushSettings(has_previews=True), sender_name="Anna", preview="See you", is_mentioned=True
    )
    assert found == ("", "")


def test_a_text_of_a_message_is_not_read_as_a_placeholder() -> None:
    own = settings(en=PushTexts(mention="{sender} mentioned you"))
    device = replace(DEVICE, locale="en")
    found = notification_text(device, own, sender_name="{sender}", preview=None, is_mentioned=True)
    assert found.title == "{sender} mentioned you"


@pytest.mark.parametrize(
    ("texts", "problem"),
    [
        (PushTexts(private="{sender} wrote"), "`private` contains `{sender}`; it may contain no placeholder"),
        (PushTexts(mention="{preview}"), "`mention` contains `{preview}`; it may contain `{sender}`"),
        (PushTexts(new_message="{sender"), "`new_message` contains `{`"),
        (PushTexts(new_message="{}"), "`new_message` contains `{}`"),
        (PushTexts(mention="two\nlines"), "`mention` must be one line"),
        (PushTexts(mention="  "), "`mention` must be one line"),
    ],
)
def test_an_invalid_text_is_refused(texts: PushTexts, problem: str) -> None:
    with pytest.raises(TidingsError) as caught:
        with_texts(PushSettings(), "en", texts)
    assert caught.value.code is Code.REQUEST_INVALID
    assert problem in caught.value.message


def test_the_texts_of_all_languages_are_limited() -> None:
    made, long = PushSettings(), PushTexts(mention="x" * 200)
    for number in range(35):
        made = with_texts(made, f"en-{number:03d}", long)
    made = with_texts(made, "en-000", long)
    with pytest.raises(TidingsError, match="8,192 are allowed"):
        with_texts(made, "en", PushTexts(mention="x" * 200, private="y" * 200))


def test_a_notification_of_an_inbox_shows_its_own_text_except_in_private_mode() -> None:
    private = PushSettings(is_private=True)
    assert inbox_text(DEVICE, PushSettings(), "Goal!", "1:0") == ("Goal!", "1:0")
    assert inbox_text(replace(DEVICE, is_data_only=True), PushSettings(), "Goal!", "1:0") == ("", "")
    assert inbox_text(DEVICE, private, "Goal!", "1:0") == ("You have a new notification", "")
    assert inbox_text(replace(DEVICE, locale="de"), PushSettings(), "", "1:0") == (
        "Du hast eine neue Mitteilung",
        "",
    )
    own = with_texts(private, "en", PushTexts(notification="News"))
    assert inbox_text(DEVICE, own, "Goal!", "1:0") == ("News", "")
