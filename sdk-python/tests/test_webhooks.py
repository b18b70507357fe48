"""The verifier agrees with the reference library of Standard Webhooks, also about what it refuses."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from standardwebhooks import Webhook, WebhookVerificationError

from tidings_sdk.webhooks import WebhookRejected, WebhookVerifier

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
OTHER = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"
BODY = json.dumps({"id": "evt_1", "type": "test", "data": {"text": "grün"}}, ensure_ascii=False)


def signed(secret: str = SECRET, body: str = BODY, *, ahead: timedelta = timedelta()) -> dict[str, str]:
    at = datetime.now(UTC) + ahead
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
    now = datetime.now(UTC)
    signatures = [Webhook(each).sign("evt_1", now, BODY) for each in (OTHER, SECRET)]
    both = {
        "webhook-id": "evt_1",
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": " ".join(["v1a,xx", *signatures]),
    }
    assert WebhookVerifier(SECRET).verify(both, BODY)
    assert WebhookVerifier(OTHER).verify(both, BODY)


type Request = tuple[dict[str, str], str]


def with_signature(signature: str) -> dict[str, str]:
    return {**signed(), "webhook-signature": signature}


def one_second_later() -> dict[str, str]:
    headers = signed()
    return headers | {"webhook-timestamp": str(int(headers["webhook-timestamp"]) + 1)}


CHANGES: dict[str, Callable[[], Request]] = {
    "another body": lambda: (signed(), BODY + " "),
    "another id": lambda: (signed() | {"webhook-id": "evt_2"}, BODY),
    "another time": lambda: (one_second_later(), BODY),
    "another secret": lambda: (signed(OTHER), BODY),
    "an old request": lambda: (signed(ahead=timedelta(minutes=-6)), BODY),
    "a request of the future": lambda: (signed(ahead=timedelta(minutes=6)), BODY),
    "no signature": lambda: (with_signature(""), BODY),
    "an unknown version": lambda: (with_signature(signed()["webhook-signature"].replace("v1,", "v2,")), BODY),
    "not base64": lambda: (with_signature("v1,???"), BODY),
    "no id": lambda: ({name: value for name, value in signed().items() if name != "webhook-id"}, BODY),
    "a time that is no number": lambda: (signed() | {"webhook-timestamp": "now"}, BODY),
}
"""Made by each test: a request is valid for five minutes only."""


@pytest.mark.parametrize("what", CHANGES)
def test_what_the_reference_library_refuses_is_refused(what: str) -> None:
    headers, body = CHANGES[what]()
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
