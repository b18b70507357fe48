"""The client of Firebase Cloud Messaging against a server that verifies the exchange of tokens."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from fixtures.fcm_server import FcmServer, fcm_error
from fixtures.http2_server import serve_http2, trusting
from fixtures.push_notes import note, provider, registration

from tidings.kernel.clock import SystemClock
from tidings.kernel.network_policy import NetworkPolicy
from tidings.platform.guarded_http import open_guarded_session
from tidings.platform.http2.client import Http2Client, Http2Options
from tidings.push.model import FcmTarget, PushAction
from tidings.push.ports import SendResult, SendVerdict
from tidings.push.provider_config import FcmConfig
from tidings.push.providers.fcm import FcmSender

LOCAL = NetworkPolicy.LOCAL


class FcmEnv:
    def __init__(self, server: FcmServer, sender: FcmSender) -> None:
        self.server = server
        self.sender = sender
        self.config = server.config()

    async def send(
        self,
        config: FcmConfig | None = None,
        action: PushAction = PushAction.ALERT,
        title: str = "Ben",
    ) -> SendResult:
        given = registration(FcmTarget(token="t1"))
        return await self.sender.send(given, note(action, title=title), provider(config or self.config))


@asynccontextmanager
async def open_fcm(directory: Path) -> AsyncIterator[FcmEnv]:
    server = FcmServer()
    runner = await server.start_token_server()
    async with (
        serve_http2(server.http2, directory),
        open_guarded_session(
            LOCAL, max_connections=4, timeout_s=5, headers={}, keeps_connections=True
        ) as session,
    ):
        http2 = Http2Client(Http2Options(network=LOCAL, timeout_s=5), trusting(server.http2.ca))
        try:
            yield FcmEnv(server, FcmSender(http2, session, SystemClock(), server.http2.origin))
        finally:
            await http2.close()
            await runner.cleanup()


async def test_messages_are_accepted_with_one_exchange_of_tokens(tmp_path: Path) -> None:
    async with open_fcm(tmp_path) as fcm:
        results = [await fcm.send(action=action) for action in (PushAction.ALERT, PushAction.UPDATE)]
        results.append(await fcm.send(title=""))
        assert [each.verdict for each in results] == [SendVerdict.ACCEPTED] * 3
        assert results[0].provider_id == "projects/chat-1/messages/1"
        assert fcm.server.exchanges == 1
        alert, update, data = fcm.server.delivered
        assert alert["notification"] == {"title": "Ben", "body": "Hi"}
        assert alert["android"]["collapse_key"] == alert["android"]["notification"]["tag"] == "c1"
        assert (alert["android"]["priority"], update["android"]["priority"]) == ("HIGH", "NORMAL")
        assert "notification" not in data
        assert data["data"]["badge"] == "3"


@pytest.mark.parametrize(
    ("status", "text", "code", "verdict"),
    [
        (400, "INVALID_ARGUMENT", "", SendVerdict.REJECTED),
        (403, "PERMISSION_DENIED", "SENDER_ID_MISMATCH", SendVerdict.GONE),
        (403, "PERMISSION_DENIED", "", SendVerdict.RETRY),
        (404, "NOT_FOUND", "", SendVerdict.REJECTED),
        (404, "NOT_FOUND", "UNREGISTERED", SendVerdict.GONE),
        (429, "RESOURCE_EXHAUSTED", "QUOTA_EXCEEDED", SendVerdict.RETRY),
        (503, "UNAVAILABLE", "UNAVAILABLE", SendVerdict.RETRY),
    ],
)
async def test_refusals_are_understood(
    tmp_path: Path, status: int, text: str, code: str, verdict: SendVerdict
) -> None:
    async with open_fcm(tmp_path) as fcm:
        fcm.server.next_answers = [fcm_error(status, text, code, **{"retry-after": "60"})]
        result = await fcm.send()
        assert (result.verdict, result.status, result.retry_after_s) == (verdict, status, 60)
        assert result.answer.startswith(code or text)


async def test_an_access_token_that_was_revoked_is_replaced(tmp_path: Path) -> None:
    async with open_fcm(tmp_path) as fcm:
        await fcm.send()
        fcm.server.tokens.clear()
        assert (await fcm.send()).status == 401
        assert (await fcm.send()).verdict is SendVerdict.ACCEPTED
        assert fcm.server.exchanges == 2


async def test_a_deleted_account_is_replaced_by_the_next_one(tmp_path: Path) -> None:
    async with open_fcm(tmp_path) as fcm:
        config = fcm.server.config("new", "former")
        del fcm.server.keys[config.accounts[0].client_email]
        assert (await fcm.send(config)).verdict is SendVerdict.ACCEPTED
        del fcm.server.keys[config.accounts[1].client_email]
        fcm.server.tokens.clear()
        await fcm.send(config)
        refused = await fcm.send(config)
        assert refused.verdict is SendVerdict.RETRY
        assert "invalid_grant" in refused.answer
