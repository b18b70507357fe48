"""Event ids, signatures and the times of attempts."""

import base64

import pytest
from standardwebhooks import Webhook, WebhookVerificationError

from tidings.kernel.clock import SystemClock
from tidings.kernel.ids import ChatId, ChatKey, TenantId
from tidings.kernel.security import Secret
from tidings.messages.model import EntryKind
from tidings.webhooks import rules
from tidings.webhooks.model import (
    CHOSEN_TYPES,
    Attempt,
    EndpointId,
    EndpointName,
    QueuedItem,
    QueueKind,
    SigningSecret,
)

CHAT = ChatKey(TenantId("acme"), ChatId("g1"))
BODY = '{"text":"grün"}'.encode()
ITEM = QueuedItem(
    endpoint=EndpointName(CHAT.tenant, EndpointId("E")),
    kind=QueueKind.RUN,
    key="g1",
    first=5,
    last=7,
    due_ms=1,
)
FAILED = Attempt(latency_ms=3, status=500, reason="the endpoint answered 500")


def test_the_official_example_has_its_signature() -> None:
    """The example of the specification and of the reference libraries."""
    signature = rules.sign(
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        "msg_p5jXN8AQM9LWM0D4loKWxJek",
        1614265330,
        b'{"test": 2432232314}',
    )
    assert signature == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_the_reference_library_accepts_the_signature_of_each_secret_during_a_rotation() -> None:
    secrets, now_ms = [rules.new_secret(), rules.new_secret()], SystemClock().now_ms()
    valid = [SigningSecret(Secret(each)) for each in secrets]
    headers = rules.signed_headers(valid, "evt_1", now_ms, BODY)
    for secret in secrets:
        assert Webhook(secret).verify(BODY, dict(headers)) == {"text": "grün"}
    with pytest.raises(WebhookVerificationError):
        Webhook(rules.new_secret()).verify(BODY, dict(headers))


@pytest.mark.parametrize("changed", ["webhook-id", "webhook-timestamp"])
def test_a_signature_covers_id_and_time(changed: str) -> None:
    secret, now_ms = rules.new_secret(), SystemClock().now_ms()
    headers = dict(rules.signed_headers([SigningSecret(Secret(secret))], "evt_1", now_ms, BODY))
    headers[changed] = {"webhook-id": "evt_2", "webhook-timestamp": str(now_ms // 1000 + 1)}[changed]
    with pytest.raises(WebhookVerificationError):
        Webhook(secret).verify(BODY, headers)


def test_a_secret_has_32_random_bytes() -> None:
    made = {rules.new_secret() for _ in range(20)}
    assert len(made) == 20
    assert {len(base64.b64decode(each.removeprefix("whsec_"))) for each in made} == {32}


def test_the_id_of_an_event_is_stable_and_has_no_dot() -> None:
    assert rules.event_id(CHAT, 7) == "evt_e6620a98432a9ea3f0aa2e34139a93ad"
    others = {
        rules.event_id(CHAT, 8),
        rules.event_id(ChatKey(CHAT.tenant, ChatId("g2")), 7),
        rules.event_id(ChatKey(TenantId("other"), CHAT.chat), 7),
    }
    assert len(others | {rules.event_id(CHAT, 7)}) == 4
    assert not any("." in each for each in others)


def test_every_kind_of_entry_has_an_event_type_that_can_be_chosen() -> None:
    assert {rules.event_type(kind) for kind in EntryKind} <= set(CHOSEN_TYPES)
    assert len({rules.event_type(kind) for kind in EntryKind}) == len(EntryKind)


def test_attempts_are_spread_over_days() -> None:
    delays = [rules.retry_delay_ms(n, 0, lambda: 0.0) for n in range(1, rules.MAX_ATTEMPTS + 1)]
    assert delays[-1] is None
    known = [each for each in delays if each is not None]
    assert known == sorted(known)
    assert 2.9 <= sum(known) / 86_400_000 <= 5
    assert rules.retry_delay_ms(1, 0, lambda: 1.0) == 6250


def test_an_endpoint_can_ask_for_a_later_attempt_of_at_most_an_hour() -> None:
    assert rules.retry_delay_ms(1, 60_000, lambda: 0.0) == 60_000
    assert rules.retry_delay_ms(1, 10**9, lambda: 0.0) == 3_600_000
    assert rules.retry_delay_ms(6, 1000, lambda: 0.0) == 5 * 3_600_000


def test_after_a_failure_the_entry_stays_first() -> None:
    after = rules.after_failure(ITEM, 6, FAILED, 100, 200)
    assert after is not None
    assert (after.first, after.last, after.attempts, after.due_ms, after.tried_ms) == (6, 7, 1, 200, 100)
    assert (after.status, after.reason) == (500, FAILED.reason)


def test_after_the_last_attempt_the_next_entry_follows() -> None:
    after = rules.after_failure(ITEM, 6, FAILED, 100, None)
    assert after is not None
    assert (after.first, after.last, after.attempts, after.due_ms) == (7, 7, 0, 100)
    assert rules.after_failure(ITEM, 7, FAILED, 100, None) is None
