"""Refused tokens and ended sessions in the security log."""

import logging
from collections.abc import Awaitable, Callable, Iterator

import pytest
from fixtures.accounts_env import NUMBER, OpenAccountsEnv
from fixtures.use_cases import code_of
from msgspec.structs import replace

from tidings.accounts.model import Device, SessionId
from tidings.accounts.rules import parse_phone
from tidings.accounts.session_tokens import format_token
from tidings.kernel.errors import Code
from tidings.kernel.ids import DeviceId, TenantId, new_ulid
from tidings.kernel.security import ADDRESS, MAX_PER_WINDOW, OPERATOR, _Sampling

PHONE = Device(id=DeviceId("phone"), name="Anna's phone")
REFUSED = Code.CREDENTIAL_INVALID

type Logged = Callable[[Awaitable[object]], Awaitable[dict[str, str]]]
"""Await an attempt that is refused, and return the fields of its one line in the security log."""


@pytest.fixture(autouse=True)
def _without_address_or_operator() -> Iterator[None]:
    """Hide the address and the operator that requests and commands of earlier tests in this process have set."""
    place, operator = ADDRESS.set(""), OPERATOR.set("")
    yield
    ADDRESS.reset(place)
    OPERATOR.reset(operator)


def _security(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    """Return the records of the security log: other loggers may write at the same time."""
    return [record for record in caplog.records if record.name == "tidings.security"]


@pytest.fixture
def logged(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> Logged:
    monkeypatch.setattr("tidings.kernel.security._sampling", _Sampling())
    caplog.set_level(logging.INFO, "tidings.security")

    async def refused(attempt: Awaitable[object]) -> dict[str, str]:
        caplog.clear()
        assert await code_of(attempt) is REFUSED
        (line,) = _security(caplog)
        assert line.message == "credential_rejected"
        return dict(line.__dict__["security"])

    return refused


async def test_refused_tokens_and_ended_sessions_are_in_the_security_log(
    open_accounts: OpenAccountsEnv, logged: Logged
) -> None:
    async with open_accounts() as accounts:
        grant, other = (await accounts.log_in()).grant, (await accounts.log_in(device=PHONE)).grant
        row, token = grant.session, grant.access_token.reveal()
        known = {"tenant": accounts.tenant, "user": row.user, "subject": row.session}
        mac = (await accounts.keys.of(accounts.tenant)).fingerprint
        unknown = format_token(TenantId("invented"), other.session.session, bytes(32), mac)
        assert "tenant" not in await logged(accounts.sessions.refresh(unknown))
        assert "tenant" not in await logged(accounts.access.verify(token[:-4] + "AAAA"))
        assert await logged(accounts.access.verify("junk")) == {"reason": "malformed access token"}
        wrong = format_token(accounts.tenant, row.session, bytes(32), lambda data: mac(data)[::-1])
        assert await logged(accounts.sessions.refresh(wrong)) == known | {"reason": "unknown refresh token"}
        principal = await accounts.access.verify(token)
        await accounts.sessions.revoke(accounts.tenant, row.user, row.session)
        assert await logged(accounts.live.validate(principal)) == known | {"reason": "the session has ended"}


async def test_refused_logins_by_phone_are_in_the_security_log(
    open_accounts: OpenAccountsEnv, logged: Logged, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_accounts(is_sign_up_open=False) as accounts:
        malformed = await logged(accounts.answer(await accounts.ask(), "12345x"))
        assert malformed == {"tenant": accounts.tenant, "reason": "malformed code"}
        await accounts.users.create(accounts.tenant, phone=parse_phone(NUMBER))
        challenge = await accounts.ask()
        code = await accounts.code()
        with monkeypatch.context() as lost:
            lost.setattr(accounts.codes, "redeem", _nothing)
            assert (await logged(accounts.answer(challenge, code)))["reason"] == "code already used"
        with monkeypatch.context() as gone:
            gone.setattr(accounts.users, "by_phone", _nothing)
            assert "sign-up is closed" in (await logged(accounts.answer(challenge, code)))["reason"]
        accounts.tenants.settings = replace(accounts.tenants.settings, has_phone_login=False)
        assert await logged(accounts.ask()) == {"reason": "the tenant has no login by phone"}


async def _nothing(*_: object) -> None:
    """Another request deleted the code first, or the number has no user any more."""


async def test_the_security_log_has_a_bounded_number_of_refused_tokens_per_address(
    open_accounts: OpenAccountsEnv, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tidings.kernel.security._sampling", _Sampling())
    caplog.set_level(logging.INFO, "tidings.security")
    async with open_accounts() as accounts:
        mac = (await accounts.keys.of(accounts.tenant)).fingerprint
        for n in range(2 * MAX_PER_WINDOW):
            token = format_token(TenantId(f"invented{n}"), SessionId(new_ulid()), bytes(32), mac)
            assert await code_of(accounts.sessions.refresh(token)) is REFUSED
    assert len(_security(caplog)) == MAX_PER_WINDOW
