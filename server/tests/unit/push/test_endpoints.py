"""Web Push endpoints are chosen by users: invalid ones are refused when registered, and harmless when stored."""

import asyncio
import ssl
from typing import Any

import pytest
from fixtures.loops import OfflineLoop
from fixtures.push_notes import ANNA, PHONE, note, provider, registration
from fixtures.web_push_server import WebPushServer
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from tidings.accounts.model import Principal
from tidings.api.schemas.push import RegisterDeviceBody
from tidings.gateway.ports import PushUseCases
from tidings.gateway.push_requests import serve_push_request
from tidings.kernel.clock import SystemClock
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import DeviceKey, TenantId
from tidings.kernel.network_policy import NetworkPolicy
from tidings.platform.guarded_http import open_guarded_session
from tidings.platform.http2.client import Http2Client, Http2Options
from tidings.push.device_sending import DeviceSender
from tidings.push.model import PushKind, WebPushTarget
from tidings.push.outages import OutageTracker
from tidings.push.ports import SendResult, SendVerdict
from tidings.push.providers.web_push import WebPushSender
from tidings.push.registrations import PushRegistrations
from tidings.push.withdrawals import accepts_withdrawals
from tidings_wire.frames.push import RegisterPush, WebPushSubscription

TLS = ssl.create_default_context()
BROWSER = WebPushServer()
CONFIG = BROWSER.config()
KEYS = BROWSER.subscribe(CONFIG).target("https://push.example")
PRINCIPAL = Principal(tenant=TenantId("acme"), user=ANNA)
LONG_LABEL = "a" * 64
INVALID = [
    "https://[x",
    "https://[x]/",
    "https://push.example:port/",
    "https://push.example:99999/",
    f"https://{LONG_LABEL}.example/",
    "https://a..example/",
    "https://.example/",
    f"https://{'a.' * 130}example/",
    "https://user@push.example/",
    "https://push.example/#x",
    "http://push.example/",
]


async def send(endpoint: str, p256dh: str = KEYS.p256dh) -> SendResult | None:
    """Send to a stored registration, as the push worker does."""
    network, clock = NetworkPolicy.PUBLIC, SystemClock()
    http2 = Http2Client(Http2Options(network=network, timeout_s=5), TLS)
    async with open_guarded_session(
        network, max_connections=1, timeout_s=5, headers={}, keeps_connections=False
    ) as session:
        senders = {PushKind.WEB_PUSH: WebPushSender(http2, session, network, clock)}
        devices = DeviceSender(senders, {PushKind.WEB_PUSH: provider(CONFIG)}, OutageTracker(clock))
        target = WebPushTarget(endpoint=endpoint, p256dh=p256dh, auth=KEYS.auth)
        assert accepts_withdrawals(registration(target))
        try:
            return await devices.send(registration(target), note())
        finally:
            await http2.close()


class NoStore:
    async def put(self, *_: object) -> None:
        raise AssertionError("the registration was stored")


def registrations() -> PushRegistrations:
    store: Any = NoStore()
    return PushRegistrations(store, SystemClock())


@pytest.mark.parametrize("endpoint", INVALID)
async def test_an_invalid_endpoint_is_refused_over_rest_and_the_socket(endpoint: str) -> None:
    web_push = {"endpoint": endpoint, "keys": {"p256dh": KEYS.p256dh, "auth": KEYS.auth}}
    body = RegisterDeviceBody.model_validate({"web_push": web_push})
    with pytest.raises(TidingsError) as refused:
        await registrations().register(body.registration(PRINCIPAL, ANNA, PHONE))
    assert refused.value.code is Code.REQUEST_INVALID
    frame = RegisterPush(web_push=WebPushSubscription(endpoint=endpoint, p256dh=KEYS.p256dh, auth=KEYS.auth))
    unused: Any = None
    cases = PushUseCases(registrations(), unused, unused, unused)
    with pytest.raises(TidingsError) as answered:
        await serve_push_request(cases, PRINCIPAL, DeviceKey(PRINCIPAL.tenant, ANNA, PHONE), frame)
    assert answered.value.message == refused.value.message


@pytest.mark.parametrize("endpoint", INVALID)
async def test_a_stored_invalid_endpoint_is_a_rejected_notification(endpoint: str) -> None:
    result = await send(endpoint)
    assert result is not None
    assert result.verdict is SendVerdict.REJECTED, result.answer


def test_a_name_that_the_resolver_cannot_encode_is_a_rejected_notification() -> None:
    """The loop of the standard library raises `UnicodeError` for it."""

    async def post() -> SendResult:
        http2 = Http2Client(Http2Options(network=NetworkPolicy.PUBLIC, timeout_s=5), TLS)
        session: Any = None
        sender = WebPushSender(http2, session, NetworkPolicy.PUBLIC, SystemClock())
        target = WebPushTarget(endpoint="https://xn--\u00e4.example/", p256dh=KEYS.p256dh, auth=KEYS.auth)
        return await sender.send(registration(target), note(), provider(CONFIG))

    with asyncio.Runner(loop_factory=OfflineLoop) as runner:
        assert runner.run(post()).verdict is SendVerdict.REJECTED


ENDPOINTS = st.from_regex(r"\Ahttps?://[!-~]{1,80}\Z") | st.builds(
    "https://{}{}{}".format,
    st.lists(
        st.sampled_from(["a", "a" * 63, "a" * 64, "xn--", "xn--a", "-", "_", "%41", "1", "::1", "é"]),
        max_size=6,
    ).map(".".join),
    st.sampled_from(["", ":", ":0", ":1", ":65535", ":65536", ":x", "]", "@", "[::1]", "\\"]),
    st.from_regex(r"\A[!-~]{0,20}\Z"),
)


@settings(deadline=None)
@given(endpoint=ENDPOINTS, p256dh=st.from_regex(r"\A[A-Za-z0-9_-]{87}=?\Z") | st.just(KEYS.p256dh))
@example(endpoint="https://[x", p256dh=KEYS.p256dh)
@example(endpoint=f"https://{LONG_LABEL}.example/", p256dh=KEYS.p256dh)
def test_no_endpoint_that_the_schema_accepts_raises_while_sending(endpoint: str, p256dh: str) -> None:
    keys = {"p256dh": p256dh, "auth": KEYS.auth}
    try:
        RegisterDeviceBody.model_validate({"web_push": {"endpoint": endpoint, "keys": keys}})
    except ValidationError:
        return
    with asyncio.Runner(loop_factory=OfflineLoop) as runner:
        runner.run(send(endpoint, p256dh))
