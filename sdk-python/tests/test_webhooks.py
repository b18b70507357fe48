"""The verifier agrees with the reference library of Standard Webhooks, also about what it refuses."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from standardwebhooks import Webhook, WebhookVerificationError

from tidings_sdk.webhooks import WebhookRejected, WebhookVerifier

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
OTHER = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"
NOW = datetime.now(UTC)
BODY = json.dumps({"id": "evt_1", "type": "test", "data": {"text": "grün"}}, ensure_ascii=False)


def signed(secret: str = SECRET, at: datetime = NOW, body: str = BODY) -> dict[str, str]:
    return {
        "webhook-id": "evt_1",
        "webhook-timestamp": str(int(at.timestamp())),
        "webhook-signature": Webhook(secret).sign("evt_1", at, body),
    }


def test_the_example_of_the_specification_is_accepted() -> None:
    headers = {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }
    verifier = WebhookVerifier(SECRET, now=lambda: 1614265330.0)
    assert verifier.verify(headers, b'{"test": 2432232314}') == {"test": 2432232314}


def test_what_the_reference_library_signs_is_accepted() -> None:
    assert WebhookVerifier(SECRET).verify(signed(), BODY.encode())["data"] == {"text": "grün"}
    upper = {name.title(): value for name, value in signed().items()}
    assert WebhookVerifier(SECRET).verify(upper, BODY)["id"] == "evt_1"


def test_either_secret_is_accepted_during_a_rotation() -> None:
    assert WebhookVerifier(OTHER, SECRET).verify(signed(), BODY)
    both = signed()
    both["webhook-signature"] = (
        f"v1a,xx {Webhook(OTHER).sign('evt_1', NOW, BODY)} {both['webhook-signature']}"
    )
    assert WebhookVerifier(SECRET).verify(both, BODY)
    assert WebhookVerifier(OTHER).verify(both, BODY)


CHANGES = {
    "another body": (signed(), BODY + " "),
    "another id": (signed() | {"webhook-id": "evt_2"}, BODY),
    "another time": (signed() | {"webhook-timestamp": str(int(NOW.timestamp()) + 1)}, BODY),
    "another secret": (signed(OTHER), BODY),
    "an old request": (signed(at=NOW - timedelta(minutes=6)), BODY),
    "a request of the future": (signed(at=NOW + timedelta(minutes=6)), BODY),
    "no signature": ({**signed(), "webhook-signature": ""}, BODY),
    "an unknown version": ({**signed(), "webhook-signature": signed()["webhook-signature"].replace("v1,", "v2,")}, BODY),
    "not base64": ({**signed(), "webhook-signature": "v1,???"}, BODY),
    "no id": ({name: value for name, value in signed().items() if name != "webhook-id"}, BODY),
    "a time that is no number": (signed() | {"webhook-timestamp": "now"}, BODY),
}  # fmt: skip


@pytest.mark.parametrize("what", CHANGES)
def test_what_the_reference_library_refuses_is_refused(what: str) -> None:
    headers, body = CHANGES[what]
    with pytest.raises((WebhookVerificationError, ValueError)):
        Webhook(SECRET).verify(body, headers)
    with pytest.raises(WebhookRejected):
        WebhookVerifier(SECRET).verify(headers, body)


def test_a_signed_body_that_is_no_event_is_refused() -> None:
    for body in ("[]", "x"):
        with pytest.raises(WebhookRejected):
            WebhookVerifier(SECRET).verify(signed(body=body), body)


@pytest.mark.parametrize("secrets", [(), ("whsec_?",)])
def test_a_verifier_needs_a_valid_secret(secrets: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="tidings webhook create"):
        WebhookVerifier(*secrets)
