"""Sessions on both engines: rotation, retries, tokens used twice, and ending them."""

import asyncio
import os
from collections.abc import Sequence

import pytest
from fixtures.accounts_env import (
    IDLE_S,
    KEPT_S,
    LAPTOP,
    MAX_SESSIONS,
    OTHER_NUMBER,
    AccountsEnv,
    OpenAccountsEnv,
    counts,
)
from fixtures.use_cases import code_of

from tidings.accounts.model import Device, Principal, Session, TokenGrant
from tidings.accounts.session_tokens import format_token
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import DeviceId, TenantId, UserId, new_ulid
from tidings.schema.tables.patterns import accounts as patterns

PHONE = Device(id=DeviceId("phone"), name="Anna's phone")
REFUSED = Code.CREDENTIAL_INVALID


retry_key = new_ulid


async def is_on(accounts: AccountsEnv, grant: TokenGrant) -> bool:
    session = grant.session
    return await accounts.session_rows.read(session.tenant, session.session) is not None


async def test_a_refresh_replaces_the_token(open_accounts: OpenAccountsEnv) -> None:
    async with open_accounts() as accounts:
        first = (await accounts.log_in()).grant
        second = await accounts.refresh(first, retry_key())
        third = await accounts.refresh(second, retry_key())
        tokens = {grant.refresh_token.reveal() for grant in (first, second, third)}
        assert len(tokens) == 3
        assert first.session.session == third.session.session
        assert (await accounts.access.verify(third.access_token.reveal())).session == first.session.session


async def test_a_refresh_extends_the_session_and_idleness_ends_it(open_accounts: OpenAccountsEnv) -> None:
    async with open_accounts() as accounts:
        grant = (await accounts.log_in()).grant
        for _ in range(2):
            accounts.clock.now_s += IDLE_S - 1
            grant = await accounts.refresh(grant, retry_key())
        accounts.clock.now_s += IDLE_S
        assert await code_of(accounts.refresh(grant, retry_key())) is REFUSED


async def test_a_session_ends_a_year_after_its_login(open_accounts: OpenAccountsEnv) -> None:
    async with open_accounts() as accounts:
        grant = (await accounts.log_in()).grant
        for _ in range(7):
            accounts.clock.now_s += 50 * 86_400
            grant = await accounts.refresh(grant, retry_key())
        assert grant.session.expires_at_ms == grant.session.created_at_ms + 365 * 86_400_000
        accounts.clock.now_s += 15 * 86_400
        assert await code_of(accounts.refresh(grant, retry_key())) is REFUSED


async def test_a_retry_whose_answer_was_lost_gets_the_same_token(open_accounts: OpenAccountsEnv) -> None:
    async with open_accounts() as accounts:
        grant, key = (await accounts.log_in()).grant, retry_key()
        lost = await accounts.refresh(grant, key)
        accounts.clock.now_s += 3 * 86_400
        again = await accounts.refresh(grant, key)
        assert again.refresh_token == lost.refresh_token
        await accounts.access.verify(again.access_token.reveal())
        await accounts.refresh(again, retry_key())


@pytest.mark.parametrize("key", [None, "a-key-of-chance-1"])
async def test_a_rotation_repeated_after_a_lost_answer_succeeds(
    open_accounts: OpenAccountsEnv, monkeypatch: pytest.MonkeyPatch, key: str | None
) -> None:
    async with open_accounts() as accounts:
        grant = (await accounts.log_in()).grant
        rotate = accounts.session_rows.rotate

        async def twice(after: Session) -> Session | None:
            await rotate(after)
            return await rotate(after)

        monkeypatch.setattr(accounts.session_rows, "rotate", twice)
        await accounts.refresh(await accounts.refresh(grant, key), key)


@pytest.mark.parametrize("other_key", [None, "another-key-drawn"])
async def test_a_used_token_without_its_retry_key_ends_the_session(
    open_accounts: OpenAccountsEnv, other_key: str | None
) -> None:
    async with open_accounts() as accounts:
        grant = (await accounts.log_in()).grant
        current = await accounts.refresh(grant, retry_key())
        assert await code_of(accounts.refresh(grant, other_key)) is REFUSED
        assert not await is_on(accounts, grant)
        assert await code_of(accounts.refresh(current, retry_key())) is REFUSED


async def test_a_refresh_without_a_key_has_no_retry(open_accounts: OpenAccountsEnv) -> None:
    async with open_accounts() as accounts:
        grant = (await accounts.log_in()).grant
        await accounts.refresh(grant)
        assert await code_of(accounts.refresh(grant)) is REFUSED
        assert not await is_on(accounts, grant)


async def test_a_retry_after_the_next_token_was_used_ends_the_session(open_accounts: OpenAccountsEnv) -> None:
    """The client used the next token, so it had the answer. So a repeat comes from an attacker with token and key."""
    async with open_accounts() as accounts:
        grant, key = (await accounts.log_in()).grant, retry_key()
        await accounts.refresh(await accounts.refresh(grant, key), retry_key())
        assert await code_of(accounts.refresh(grant, key)) is REFUSED
        assert not await is_on(accounts, grant)


async def test_a_stolen_token_ends_when_its_owner_refreshes(open_accounts: OpenAccountsEnv) -> None:
    async with open_accounts() as accounts:
        stolen = (await accounts.log_in()).grant
        thiefs = await accounts.refresh(stolen, retry_key())
        assert await code_of(accounts.refresh(stolen, retry_key())) is REFUSED
        assert await code_of(accounts.refresh(thiefs, retry_key())) is REFUSED


async def test_the_id_of_a_session_alone_cannot_end_it(open_accounts: OpenAccountsEnv) -> None:
    async with open_accounts() as accounts:
        grant = (await accounts.log_in()).grant
        session = grant.session
        for secret in (b"\x00" * 32, os.urandom(32)):
            forged = format_token(session.tenant, session.session, secret, lambda _: b"\x00" * 32)
            assert await code_of(accounts.sessions.refresh(forged, retry_key())) is REFUSED
        assert await is_on(accounts, grant)
        await accounts.refresh(grant, retry_key())


async def test_twenty_refreshes_at_once_with_one_key_get_one_token(open_accounts: OpenAccountsEnv) -> None:
    async with open_accounts() as accounts:
        grant, key = (await accounts.log_in()).grant, retry_key()
        grants = await asyncio.gather(*(accounts.refresh(grant, key) for _ in range(20)))
        assert len({each.refresh_token for each in grants}) == 1
        await accounts.refresh(grants[0], retry_key())


async def test_twenty_refreshes_with_different_keys_end_the_session(open_accounts: OpenAccountsEnv) -> None:
    async with open_accounts() as accounts:
        grant = (await accounts.log_in()).grant
        tries = (accounts.refresh(grant, retry_key()) for _ in range(20))
        ends = await asyncio.gather(*tries, return_exceptions=True)
        winners = [end for end in ends if isinstance(end, TokenGrant)]
        assert len(winners) == 1
        assert {end.code for end in ends if isinstance(end, TidingsError)} == {REFUSED}
        assert not await is_on(accounts, grant)
        assert await code_of(accounts.refresh(winners[0], retry_key())) is REFUSED


async def test_a_token_of_another_tenants_session_is_refused(open_accounts: OpenAccountsEnv) -> None:
    async with open_accounts() as accounts:
        token = (await accounts.log_in()).grant.refresh_token.reveal()
        moved = token.replace(f"tdr.{accounts.tenant}.", f"tdr.{accounts.tenant}x.")
        assert await code_of(accounts.sessions.refresh(moved, retry_key())) is REFUSED
        assert set(accounts.key_store.rows) == {accounts.tenant}


async def test_sessions_are_listed_by_device_and_ended_one_by_one(open_accounts: OpenAccountsEnv) -> None:
    async with open_accounts() as accounts:
        login = await accounts.log_in()
        accounts.clock.now_s += 1
        other = await accounts.log_in(device=PHONE)
        user = login.user.user
        assert [row.device for row in await accounts.sessions.list(accounts.tenant, user)] == [LAPTOP, PHONE]
        assert await accounts.sessions.revoke(accounts.tenant, user, login.grant.session.session)
        assert not await accounts.sessions.revoke(accounts.tenant, user, login.grant.session.session)
        assert [row.device for row in await accounts.sessions.list(accounts.tenant, user)] == [PHONE]
        assert await code_of(accounts.refresh(login.grant, retry_key())) is REFUSED
        await accounts.refresh(other.grant, retry_key())


async def test_a_second_login_of_a_device_replaces_its_session(open_accounts: OpenAccountsEnv) -> None:
    async with open_accounts() as accounts:
        first, phone = await accounts.log_in(), await accounts.log_in(device=PHONE)
        neighbour = await accounts.log_in(OTHER_NUMBER)
        second = await accounts.log_in()
        principal = await accounts.access.verify(first.grant.access_token.reveal())
        assert await code_of(accounts.live.validate(principal)) is REFUSED
        assert await code_of(accounts.refresh(first.grant, retry_key())) is REFUSED
        for login in (phone, second, neighbour):
            await accounts.refresh(login.grant, retry_key())


async def test_two_logins_of_one_device_at_the_same_time_leave_one_session(
    open_accounts: OpenAccountsEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two concurrent logins list each other's sessions and must not end each other."""
    async with open_accounts() as accounts:
        user = (await accounts.log_in(device=PHONE)).user
        both, rows_of = asyncio.Barrier(2), accounts.session_rows.list

        async def list_together(tenant: TenantId, user: UserId) -> Sequence[Session]:
            await both.wait()
            rows = await rows_of(tenant, user)
            await both.wait()
            return rows

        monkeypatch.setattr(accounts.session_rows, "list", list_together)
        grants = await asyncio.gather(*(accounts.sessions.begin(user, LAPTOP) for _ in range(2)))
        assert sorted([await is_on(accounts, grant) for grant in grants]) == [False, True]


async def test_the_least_recently_used_session_ends_at_the_limit(open_accounts: OpenAccountsEnv) -> None:
    async with open_accounts() as accounts:
        user = (await accounts.log_in()).user
        grants = []
        for number in range(MAX_SESSIONS):
            accounts.clock.now_s += 1
            device = Device(id=DeviceId(f"browser-{number}"))
            grants.append(await accounts.sessions.begin(user, device))
        assert len(await accounts.sessions.list(accounts.tenant, user.user)) == MAX_SESSIONS
        accounts.clock.now_s += 1
        grants[0] = await accounts.refresh(grants[0], retry_key())
        await accounts.sessions.begin(user, PHONE)
        listed = {row.session for row in await accounts.sessions.list(accounts.tenant, user.user)}
        assert len(listed) == MAX_SESSIONS
        assert [grant.session.session in listed for grant in grants] == [True, False] + [True] * (
            MAX_SESSIONS - 2
        )
        assert not await is_on(accounts, grants[1])


async def test_a_user_cannot_end_a_session_of_another_user(open_accounts: OpenAccountsEnv) -> None:
    async with open_accounts() as accounts:
        mine, theirs = await accounts.log_in(), await accounts.log_in(OTHER_NUMBER)
        session = theirs.grant.session.session
        assert not await accounts.sessions.revoke(accounts.tenant, mine.user.user, session)
        await accounts.refresh(theirs.grant, retry_key())


async def test_all_sessions_of_a_user_end_and_those_of_others_stay(open_accounts: OpenAccountsEnv) -> None:
    async with open_accounts() as accounts:
        logins = [await accounts.log_in(), await accounts.log_in(device=PHONE)]
        other = await accounts.log_in(OTHER_NUMBER)
        assert await accounts.sessions.revoke_all(accounts.tenant, logins[0].user.user) == 2
        assert [await code_of(accounts.refresh(login.grant, retry_key())) for login in logins] == [
            REFUSED
        ] * 2
        await accounts.refresh(other.grant, retry_key())
        await accounts.refresh((await accounts.log_in()).grant, retry_key())


async def test_a_session_that_the_index_does_not_show_yet_ends_with_the_others(
    open_accounts: OpenAccountsEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_accounts() as accounts:
        login = await accounts.log_in()

        async def nothing(*_: object) -> list[object]:
            return []

        monkeypatch.setattr(accounts.session_rows, "list", nothing)
        assert await accounts.sessions.revoke_all(accounts.tenant, login.user.user) == 0
        assert await is_on(accounts, login.grant)
        principal = await accounts.access.verify(login.grant.access_token.reveal())
        assert await code_of(accounts.live.validate(principal)) is REFUSED
        assert await code_of(accounts.refresh(login.grant, retry_key())) is REFUSED
        assert not await is_on(accounts, login.grant)


async def test_a_login_in_progress_ends_with_all_sessions(open_accounts: OpenAccountsEnv) -> None:
    """The login reads the user before `revoke_all`, and writes its session after it."""
    async with open_accounts() as accounts:
        user = (await accounts.log_in()).user
        await accounts.sessions.revoke_all(accounts.tenant, user.user)
        late = await accounts.sessions.begin(user, PHONE)
        assert await code_of(accounts.refresh(late, retry_key())) is REFUSED


async def test_ending_the_sessions_of_a_missing_user_is_reported(open_accounts: OpenAccountsEnv) -> None:
    async with open_accounts() as accounts:
        assert (
            await code_of(accounts.sessions.revoke_all(accounts.tenant, UserId("ghost")))
            is Code.USER_NOT_FOUND
        )
        assert await code_of(accounts.sessions.list(accounts.tenant, UserId("ghost"))) is Code.USER_NOT_FOUND


async def test_an_ended_session_is_refused_within_the_documented_time(open_accounts: OpenAccountsEnv) -> None:
    async with open_accounts() as accounts:
        login = await accounts.log_in()
        principal = await accounts.access.verify(login.grant.access_token.reveal())
        await accounts.live.validate(principal)
        await accounts.sessions.revoke(accounts.tenant, login.user.user, login.grant.session.session)
        accounts.clock.now_s += KEPT_S - 1
        await accounts.live.validate(principal)
        accounts.clock.now_s += 1
        assert await code_of(accounts.live.validate(principal)) is REFUSED


async def test_many_requests_of_a_session_cost_one_look_up(open_accounts: OpenAccountsEnv) -> None:
    async with open_accounts() as accounts:
        login = await accounts.log_in()
        principal = await accounts.access.verify(login.grant.access_token.reveal())
        before = counts(accounts, "calls")
        await asyncio.gather(*(accounts.live.validate(principal) for _ in range(50)))
        assert counts(accounts, "calls") - before == {
            patterns.VALIDATE_SESSION.name: 1,
            patterns.CONFIRM_USER.name: 1,
        }


async def test_a_session_missing_from_an_eventual_read_is_not_refused(
    open_accounts: OpenAccountsEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_accounts() as accounts:
        login = await accounts.log_in()
        principal = await accounts.access.verify(login.grant.access_token.reveal())

        async def nothing(*_: object) -> None:
            return None

        monkeypatch.setattr(accounts.session_rows, "peek", nothing)
        await accounts.live.validate(principal)


async def test_a_session_is_valid_only_for_its_user_and_device(open_accounts: OpenAccountsEnv) -> None:
    async with open_accounts() as accounts:
        session = (await accounts.log_in()).grant.session
        other = await accounts.log_in(OTHER_NUMBER)
        for user, device in ((other.user.user, LAPTOP.id), (session.user, PHONE.id)):
            forged = Principal(tenant=accounts.tenant, user=user, device=device, session=session.session)
            assert await code_of(accounts.live.validate(forged)) is REFUSED


async def test_the_units_of_a_refresh(open_accounts: OpenAccountsEnv) -> None:
    async with open_accounts() as accounts:
        grant = (await accounts.log_in()).grant
        written, read = counts(accounts, "write_units"), counts(accounts, "read_units")
        await accounts.refresh(grant, retry_key())
        assert counts(accounts, "write_units") - written == {patterns.ROTATE_SESSION.name: 1}
        assert counts(accounts, "read_units") - read == {
            patterns.READ_SESSION.name: 1,
            patterns.CONFIRM_USER.name: 1,
        }
