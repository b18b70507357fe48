"""The client of Apple's push service against a server that verifies signatures and the rules of the protocol."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path

import pytest
from fixtures.apns_server import ApnsServer, refusal
from fixtures.http2_server import serve_http2, trusting
from fixtures.memory_keys import AdjustableClock
from fixtures.push_notes import note, provider, registration

from tidings.kernel.clock import SystemClock
from tidings.kernel.network_policy import NetworkPolicy
from tidings.platform.http2.client import Http2Client, Http2Options
from tidings.push.model import ApnsTarget, PushAction
from tidings.push.ports import SendResult, SendVerdict
from tidings.push.provider_config import ApnsConfig
from tidings.push.providers.apns import ApnsSender, ProviderTokens

TOKEN = "ab" * 32
TARGET = ApnsTarget(token=TOKEN, topic="com.example.chat")


class ApnsEnv:
    def __init__(self, server: ApnsServer, http2: Http2Client) -> None:
        self.server = server
        self.http2 = http2
        self.sender = ApnsSender(http2, SystemClock(), {"production": server.http2.origin})
        self.config = server.config()

    async def send(self, sequence: int = 7, config: ApnsConfig | None = None) -> SendResult:
        return await self.sender.send(
            registration(TARGET), note(sequence=sequence), provider(config or self.config)
        )


@asynccontextmanager
async def open_apns(directory: Path, timeout_s: float = 5.0) -> AsyncIterator[ApnsEnv]:
    server = ApnsServer()
    async with serve_http2(server.http2, directory):
        options = Http2Options(network=NetworkPolicy.LOCAL, timeout_s=timeout_s)
        http2 = Http2Client(options, trusting(server.http2.ca))
        try:
            yield ApnsEnv(server, http2)
        finally:
            await http2.close()


async def test_a_notification_is_accepted(tmp_path: Path) -> None:
    async with open_apns(tmp_path) as apns:
        result = await apns.send()
        assert (result.verdict, result.status) == (SendVerdict.ACCEPTED, 200)
        (shown,) = apns.server.delivered
        assert shown.payload["aps"] == {
            "alert": {"title": "Ben", "body": "Hi"},
            "badge": 3,
            "mutable-content": 1,
            "sound": "default",
            "thread-id": "c1",
        }
        assert shown.headers["apns-collapse-id"] == "c1"
        assert result.provider_id == shown.headers["apns-id"]
        again = await apns.send()
        assert again.provider_id == result.provider_id


@pytest.mark.parametrize(
    ("action", "title", "priority", "push_type"),
    [
        (PushAction.ALERT, "Ben", "10", "alert"),
        (PushAction.UPDATE, "Ben", "5", "alert"),
        (PushAction.ALERT, "", "5", "background"),
    ],
)
async def test_priority_and_type_follow_the_action(
    tmp_path: Path, action: PushAction, title: str, priority: str, push_type: str
) -> None:
    async with open_apns(tmp_path) as apns:
        given = note(action, title=title)
        result = await apns.sender.send(registration(TARGET), given, provider(apns.config))
        assert result.verdict is SendVerdict.ACCEPTED
        (shown,) = apns.server.delivered
        assert (shown.headers["apns-priority"], shown.headers["apns-push-type"]) == (priority, push_type)
        assert ("sound" in shown.payload["aps"]) is (priority == "10")


async def test_many_requests_share_connections_streams_and_one_provider_token(tmp_path: Path) -> None:
    async with open_apns(tmp_path) as apns:
        apns.server.http2.max_streams = 50
        results = await asyncio.gather(*(apns.send(n) for n in range(1, 401)))
        assert {result.verdict for result in results} == {SendVerdict.ACCEPTED}
        assert len({each.sequence for each in apns.server.delivered}) == 400
        assert apns.server.http2.connections <= 4
        assert apns.server.http2.peak_streams <= 100
        assert [len(tokens) for tokens in apns.server.seen_tokens.values()] == [1]


@pytest.mark.parametrize(
    ("status", "reason", "verdict"),
    [
        (400, "BadDeviceToken", SendVerdict.GONE),
        (400, "DeviceTokenNotForTopic", SendVerdict.GONE),
        (400, "PayloadEmpty", SendVerdict.REJECTED),
        (403, "InvalidProviderToken", SendVerdict.RETRY),
        (404, "BadPath", SendVerdict.REJECTED),
        (410, "Unregistered", SendVerdict.GONE),
        (413, "PayloadTooLarge", SendVerdict.REJECTED),
        (429, "TooManyRequests", SendVerdict.RETRY),
        (429, "TooManyProviderTokenUpdates", SendVerdict.RETRY),
        (500, "InternalServerError", SendVerdict.RETRY),
        (503, "ServiceUnavailable", SendVerdict.RETRY),
    ],
)
async def test_refusals_are_understood(
    tmp_path: Path, status: int, reason: str, verdict: SendVerdict
) -> None:
    async with open_apns(tmp_path) as apns:
        apns.server.next_answers = [refusal(status, reason, {"retry-after": "17"})]
        result = await apns.send()
        assert (result.verdict, result.status, result.answer) == (verdict, status, reason)
        assert result.retry_after_s == 17


async def test_an_unregistered_token_has_the_time_of_its_end(tmp_path: Path) -> None:
    async with open_apns(tmp_path) as apns:
        apns.server.unregistered[TOKEN] = 1_790_000_000_000
        result = await apns.send()
        assert (result.verdict, result.gone_ms) == (SendVerdict.GONE, 1_790_000_000_000)


async def test_a_revoked_key_is_replaced_by_the_next_one(tmp_path: Path) -> None:
    async with open_apns(tmp_path) as apns:
        config = apns.server.config("KEY0000002", "KEY0000003")
        del apns.server.keys["KEY0000002"]
        assert (await apns.send(config=config)).verdict is SendVerdict.ACCEPTED
        assert apns.server.refused == [(403, "InvalidProviderToken")]
        del apns.server.keys["KEY0000003"]
        refused = await apns.send(config=config)
        assert (refused.verdict, refused.answer) == (SendVerdict.RETRY, "InvalidProviderToken")


async def test_a_goaway_loses_no_request(tmp_path: Path) -> None:
    async with open_apns(tmp_path) as apns:
        await apns.send()
        apns.server.held = asyncio.Event()
        waiting = [asyncio.create_task(apns.send(n)) for n in (2, 3)]
        await apns.server.http2.wait(3)
        apns.server.http2.go_away()
        await asyncio.sleep(0.05)
        waiting.append(asyncio.create_task(apns.send(5)))
        await apns.server.http2.wait(4)
        assert apns.server.http2.connections == 2, "a connection that is going away takes no further requests"
        apns.server.held.set()
        assert {each.verdict for each in await asyncio.gather(*waiting)} == {SendVerdict.ACCEPTED}
        assert (await apns.send(4)).verdict is SendVerdict.ACCEPTED
        assert apns.server.http2.connections == 2


async def test_a_request_that_was_not_processed_before_a_goaway_is_retried(tmp_path: Path) -> None:
    async with open_apns(tmp_path) as apns:
        await apns.send()
        apns.server.held = asyncio.Event()
        waiting = asyncio.create_task(apns.send(2))
        await apns.server.http2.wait(2)
        apns.server.http2.go_away(processed=1)
        result = await waiting
        assert (result.verdict, result.status) == (SendVerdict.RETRY, 0)
        assert "Shutdown" in result.answer


async def test_a_lost_connection_and_a_slow_server_are_retried(tmp_path: Path) -> None:
    async with open_apns(tmp_path, timeout_s=0.3) as apns:
        apns.server.is_down = True
        result = await apns.send()
        assert (result.verdict, result.status, result.is_outage) == (SendVerdict.RETRY, 0, True)
        apns.server.is_down = False
        assert (await apns.send()).verdict is SendVerdict.ACCEPTED
        apns.server.delay_s = 1.0
        assert "no answer within 0.3 s" in (await apns.send()).answer
        apns.server.delay_s = 0.0
        assert (await apns.send()).verdict is SendVerdict.ACCEPTED


async def test_a_server_that_is_unreachable_is_an_outage(tmp_path: Path) -> None:
    async with open_apns(tmp_path) as apns:
        sender = ApnsSender(apns.http2, SystemClock(), {"production": "https://localhost:1"})
        result = await sender.send(registration(TARGET), note(), provider(apns.config))
        assert (result.verdict, result.is_outage) == (SendVerdict.RETRY, True)


def test_a_provider_token_lives_between_20_and_60_minutes() -> None:
    clock = AdjustableClock(1_790_000_000.0)
    tokens, key = ProviderTokens(clock), ApnsServer().add_key()
    seen: list[tuple[float, str]] = []
    for _ in range(4 * 60):
        token = tokens.of(key)
        if not seen or seen[-1][1] != token:
            seen.append((clock.now_s, token))
        clock.now_s += 60
    lifetimes = [later[0] - earlier[0] for earlier, later in pairwise(seen)]
    assert all(20 * 60 <= lifetime <= 60 * 60 for lifetime in lifetimes)
    assert len(lifetimes) >= 4


def test_all_processes_present_the_same_provider_token() -> None:
    clock, key = AdjustableClock(1_790_000_000.0), ApnsServer().add_key()
    one, other = ProviderTokens(clock), ProviderTokens(clock)
    assert one.of(key) == other.of(key)
