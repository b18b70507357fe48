"""The decision about a notification, with mutants that the checks must detect; retries; small conversions."""

import types
from collections.abc import Callable
from pathlib import Path

import pytest
from unit.push.decision_checks import CHECKS, Rules

from tidings.kernel.errors import TidingsError
from tidings.kernel.ids import ChatId
from tidings.push import rules
from tidings.push.model import PushPreferences

REAL = Rules(rules.decide, rules.is_quiet, rules.keep_newest)

MUTANTS = {
    "a message that was read is notified": ("message.read_up_to >= message.sequence", "False"),
    "a message that was delivered is notified": ("message.delivered_up_to >= message.sequence", "False"),
    "the message at the watermark is notified": (
        "message.read_up_to >= message.sequence",
        "message.read_up_to > message.sequence",
    ),
    "a notification is replaced by an older message": ("shown.sequence > message.sequence", "False"),
    "a message has no age": ("age_ms <= policy.max_age_s * 1000", "True"),
    "a muted chat notifies mentions": (
        "message.muted_until_ms > now_ms:",
        "message.muted_until_ms > now_ms and not message.is_mentioned:",
    ),
    "a mute never ends": ("message.muted_until_ms > now_ms", "message.muted_until_ms"),
    "the default wins over the chat": (
        "message.notify or preferences.notify",
        "preferences.notify or message.notify",
    ),
    "mentions are not distinguished": ("and not message.is_mentioned:", "and False:"),
    "quiet hours are ignored": ("if quiet is not None and is_quiet(", "if False and is_quiet("),
    "quiet hours are in UTC": ("_zone(time_zone))", "UTC)"),
    "quiet hours never span midnight": ("minute < hours.end and (today - 1)", "False and (today - 1)"),
    "the end of quiet hours is quiet": ("<= minute < hours.end", "<= minute <= hours.end"),
    "the night belongs to the day on which it ends": ("(today - 1) % _DAYS", "today"),
    "every message is an alert": ("PushAction.UPDATE if is_in_window", "PushAction.ALERT if is_in_window"),
    "only the first message is an alert": ("is_in_window else PushAction.ALERT", "is_in_window else PushAction.UPDATE"),
    "an alert that is decided again is silent": ("shown.alerted_sequence == message.sequence", "False"),
    "an update that is decided again is an alert": ("shown.sequence == message.sequence", "False"),
    "a removed member is notified": ("not message.is_member", "False"),
    "a redacted message is notified": ("if message.is_redacted", "if False"),
    "of several messages the oldest is shown": ("newest = max(sent)", "newest = min(sent)"),
    "a repeated event makes a newer message an alert": ("and sequence != alerted", ""),
    "several messages in one batch are silent": ("PushAction.ALERT if is_alert else", "PushAction.UPDATE if is_alert else"),
}  # fmt: skip


def failed(check: Callable[[Rules], None], tried: Rules) -> bool:
    try:
        check(tried)
    except AssertionError:
        return True
    return False


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_the_decision(check: Callable[[Rules], None]) -> None:
    check(REAL)


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_of_the_decision_is_detected(name: str) -> None:
    before, after = MUTANTS[name]
    source = Path(rules.__file__).read_text()
    assert source.count(before) == 1
    mutant = types.ModuleType("mutant")
    exec(compile(source.replace(before, after), "mutant", "exec"), mutant.__dict__)
    tried = Rules(mutant.decide, mutant.is_quiet, mutant.keep_newest)
    assert any(failed(check, tried) for check in CHECKS)


def test_waits_grow_with_the_tries_and_respect_the_provider() -> None:
    for tries, longest in ((1, 5), (2, 10), (3, 20), (10, 300), (1_000, 300)):
        assert longest / 2 <= rules.retry_wait_s(tries) <= longest
    assert rules.retry_wait_s(1, 60) == 60
    assert 3 <= rules.retry_wait_s(1_000, delays=rules.RetryDelays(0.1)) <= 6
    assert rules.retry_wait_s(1, 10**9) == rules.MAX_RETRY_AFTER_S


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("120", 120.0),
        ("Wed, 21 Oct 2026 07:28:00 GMT", 60.0),
        ("Wed, 21 Oct 2020 07:28:00 GMT", 0.0),
        ("soon", None),
        ("-5", None),
        ("", None),
        (None, None),
    ],
)
def test_a_retry_after_header_is_read(header: str | None, expected: float | None) -> None:
    assert rules.parse_retry_after_s(header, 1_792_567_620_000) == expected


def test_a_web_push_topic_has_32_allowed_characters() -> None:
    topics = {rules.web_push_topic(ChatId(f"chat-{n}")) for n in range(100)}
    assert len(topics) == 100
    assert all(len(topic) == 32 and topic.replace("-", "").replace("_", "").isalnum() for topic in topics)


def test_an_unknown_time_zone_is_refused() -> None:
    rules.check_preferences(PushPreferences(time_zone="Europe/Berlin"))
    for name in ("Berlin", "../etc/passwd", "Europe/"):
        with pytest.raises(TidingsError, match="time zone"):
            rules.check_preferences(PushPreferences(time_zone=name))
