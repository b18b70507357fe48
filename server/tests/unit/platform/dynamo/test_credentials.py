"""Keys are renewed in the background, awaited only when they are old, and kept while the provider fails."""

import asyncio
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import botocore.session
import pytest
from botocore.credentials import Credentials, RefreshableCredentials

from tidings.kernel.security import Secret
from tidings.platform.dynamo.credentials import (
    LOCAL_KEYS,
    AwsKeys,
    NoCredentialsError,
    RenewedCredentials,
    StaticCredentials,
    botocore_keys,
)

OLD, NEW = AwsKeys("old", Secret("s")), AwsKeys("new", Secret("s"))


class Provider:
    """Return keys once the test opens the gate."""

    def __init__(self, *, is_open: bool = True) -> None:
        self.gate = threading.Event()
        if is_open:
            self.gate.set()
        self.asked = 0
        self.error: Exception | None = None

    def fetch(self) -> AwsKeys:
        self.asked += 1
        assert self.gate.wait(10)
        if self.error:
            raise self.error
        return NEW


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110 - a thread changes it
            await asyncio.sleep(0)


def renewed(provider: Provider) -> RenewedCredentials:
    return RenewedCredentials(
        provider.fetch, OLD, asyncio.get_running_loop().time(), ask_again_s=60, stale_s=300
    )


async def test_keys_near_expiry_are_renewed_without_delaying_the_call() -> None:
    provider = Provider(is_open=False)
    source = renewed(provider)
    noticed = source.ask_at + 1
    await source.ask(noticed)
    assert source.keys is OLD, "the call went on with what was there"
    assert source.ask_at == noticed + 60, "the next call does not ask again"
    provider.gate.set()
    await until(lambda: source.keys is NEW)


async def test_stale_keys_are_waited_for() -> None:
    source = renewed(Provider())
    await source.ask(source.ask_at + 300)
    assert source.keys is NEW


async def test_many_callers_make_one_fetch_and_one_that_leaves_does_not_stop_it() -> None:
    provider = Provider(is_open=False)
    source = renewed(provider)
    callers = [asyncio.create_task(source.renew()) for _ in range(5)]
    await until(lambda: provider.asked == 1)
    callers[0].cancel()
    await asyncio.wait(callers[:1])
    provider.gate.set()
    await asyncio.gather(*callers[1:])
    assert source.keys is NEW
    assert provider.asked == 1


async def test_a_failing_provider_keeps_the_current_keys(caplog: pytest.LogCaptureFixture) -> None:
    provider = Provider()
    provider.error = OSError("metadata service is away")
    source = renewed(provider)
    await source.renew()
    assert source.keys is OLD
    provider.error = None
    await source.renew()
    assert source.keys is NEW
    assert "cannot renew credentials" in caplog.text


def test_fixed_keys_are_never_fetched() -> None:
    assert StaticCredentials(LOCAL_KEYS).ask_at == float("inf")
    assert LOCAL_KEYS.access_key.isalnum()


def session_with(credentials: Credentials | None) -> botocore.session.Session:
    session = botocore.session.Session()
    session._credentials = credentials  # type: ignore[attr-defined]  # the stubs leave it out
    return session


def test_keys_of_botocore_are_used_with_their_token() -> None:
    fetch = botocore_keys(session_with(Credentials("AK", "SK", "TOK")))
    assert fetch() == AwsKeys("AK", Secret("SK"), Secret("TOK"))
    assert botocore_keys(session_with(Credentials("AK", "SK")))().token is None


def test_botocore_refreshes_keys_near_expiry() -> None:
    def refreshed() -> dict[str, str]:
        later = datetime.now(UTC) + timedelta(hours=1)
        return {"access_key": "AK2", "secret_key": "SK2", "token": "T2", "expiry_time": later.isoformat()}

    soon = datetime.now(UTC) + timedelta(minutes=12)
    expiring = RefreshableCredentials("AK1", "SK1", "T1", soon, refreshed, "test")
    assert botocore_keys(session_with(expiring))() == AwsKeys("AK2", Secret("SK2"), Secret("T2"))


def test_missing_credentials_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    session = botocore.session.Session()
    monkeypatch.setattr(session, "get_credentials", lambda: None)
    with pytest.raises(NoCredentialsError):
        botocore_keys(session)()
