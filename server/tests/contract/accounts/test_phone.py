"""Login by phone on both engines: guessed codes, races, and information leaks."""

import asyncio
import hmac
import random
import statistics
import time
from collections.abc import Awaitable, Callable

import pytest
from fixtures.accounts_env import (
    ADDRESS,
    CODE_TTL_S,
    NUMBER,
    OTHER_NUMBER,
    AccountsEnv,
    OpenAccountsEnv,
    counts,
    wrong_code,
)
from fixtures.use_cases import code_of

from tidings.accounts.model import Challenge, Device, LoginResult, Phone
from tidings.accounts.store.sessions import code_key
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import DeviceId, TenantId
from tidings.limits.model import LimitKind
from tidings.schema.tables.patterns import accounts as patterns

MINE, THEIRS = Phone(NUMBER), Phone(OTHER_NUMBER)


async def test_a_first_login_creates_the_user_and_a_second_finds_it(open_accounts: OpenAccountsEnv) -> None:
    async with open_accounts() as accounts:
        first, second = await accounts.log_in(), await accounts.log_in()
        assert (first.is_new, second.is_new) == (True, False)
        assert first.user == second.user
        assert first.grant.session.session != second.grant.session.session
        principal = await accounts.access.verify(second.grant.access_token.reveal())
        assert (principal.tenant, principal.user) == (accounts.tenant, first.user.user)
        assert principal.session == second.grant.session.session
        assert principal.expires_at_ms == second.grant.access_expires_at_ms


async def test_a_wrong_code_is_rejected_and_the_right_one_stays_valid(open_accounts: OpenAccountsEnv) -> None:
    async with open_accounts() as accounts:
        challenge = await accounts.ask()
        code = await accounts.code()
        for _ in range(4):
            assert await code_of(accounts.answer(challenge, wrong_code(code))) is Code.CREDENTIAL_INVALID
        assert (await accounts.answer(challenge, code)).is_new


async def test_after_five_wrong_codes_the_right_one_is_rejected(open_accounts: OpenAccountsEnv) -> None:
    async with open_accounts() as accounts:
        challenge = await accounts.ask()
        code = await accounts.code()
        for _ in range(5):
            await code_of(accounts.answer(challenge, wrong_code(code)))
        assert await code_of(accounts.answer(challenge, code)) is Code.CREDENTIAL_INVALID


async def test_twenty_concurrent_guesses_cause_five_comparisons(
    open_accounts: OpenAccountsEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_accounts() as accounts:
        challenge = await accounts.ask()
        code = await accounts.code()
        compared = 0

        def counted(one: bytes, other: bytes) -> bool:
            nonlocal compared
            compared += 1
            return one == other

        monkeypatch.setattr(hmac, "compare_digest", counted)
        guesses = [f"{(int(code) + n) % 10**6:06}" for n in range(1, 21)]
        codes = await asyncio.gather(*(code_of(accounts.answer(challenge, guess)) for guess in guesses))
        assert set(codes) == {Code.CREDENTIAL_INVALID}
        assert compared == 5


async def test_of_twenty_concurrent_logins_with_the_right_code_one_succeeds(
    open_accounts: OpenAccountsEnv,
) -> None:
    async with open_accounts() as accounts:
        challenge = await accounts.ask()
        code = await accounts.code()
        tries = (accounts.answer(challenge, code) for _ in range(20))
        ends = await asyncio.gather(*tries, return_exceptions=True)
        assert sum(isinstance(end, LoginResult) for end in ends) == 1
        refusals = [end for end in ends if isinstance(end, TidingsError)]
        assert {refusal.code for refusal in refusals} == {Code.CREDENTIAL_INVALID}
        assert len(refusals) == 19


async def test_of_five_right_tries_that_are_all_counted_one_deletes_the_code(
    open_accounts: OpenAccountsEnv,
) -> None:
    """Only the delete decides: all these requests have an attempt left and the right hash."""
    async with open_accounts() as accounts:
        challenge = await accounts.ask()
        assert await asyncio.gather(
            *(accounts.codes.redeem(accounts.tenant, challenge.id) for _ in range(5))
        ) in [[n == winner for n in range(5)] for winner in range(5)]


async def test_a_code_is_used_once(open_accounts: OpenAccountsEnv) -> None:
    async with open_accounts() as accounts:
        challenge = await accounts.ask()
        code = await accounts.code()
        await accounts.answer(challenge, code)
        assert await code_of(accounts.answer(challenge, code)) is Code.CREDENTIAL_INVALID


async def test_a_code_expires_although_its_row_still_exists(open_accounts: OpenAccountsEnv) -> None:
    async with open_accounts() as accounts:
        early, late = await accounts.ask(), await accounts.ask()
        await accounts.outbox.join()
        codes = [text.split()[0] for _, text in accounts.sms.sent]
        accounts.clock.now_s += CODE_TTL_S - 2
        await accounts.answer(early, codes[0])
        accounts.clock.now_s += 2
        assert await code_of(accounts.answer(late, codes[1])) is Code.CREDENTIAL_INVALID


async def test_a_code_is_valid_only_for_its_number_and_its_challenge(open_accounts: OpenAccountsEnv) -> None:
    async with open_accounts() as accounts:
        mine, theirs = await accounts.ask(NUMBER), await accounts.ask(OTHER_NUMBER)
        await accounts.outbox.join()
        by_number = {to: text.split()[0] for to, text in accounts.sms.sent}
        mine_code = by_number[MINE]
        assert await code_of(accounts.answer(mine, mine_code, OTHER_NUMBER)) is Code.CREDENTIAL_INVALID
        if by_number[MINE] != by_number[THEIRS]:
            assert await code_of(accounts.answer(theirs, mine_code, OTHER_NUMBER)) is Code.CREDENTIAL_INVALID
        await accounts.answer(mine, mine_code)


async def test_guesses_at_one_challenge_do_not_use_up_the_tries_of_another(
    open_accounts: OpenAccountsEnv,
) -> None:
    async with open_accounts() as accounts:
        mine = await accounts.ask()
        code = await accounts.code()
        strangers = await accounts.ask()
        for _ in range(6):
            await code_of(accounts.answer(strangers, wrong_code(code)))
        await accounts.answer(mine, code)


async def test_neither_the_code_nor_the_number_is_stored_in_the_table(open_accounts: OpenAccountsEnv) -> None:
    async with open_accounts() as accounts:
        challenge = await accounts.ask()
        code = await accounts.code()
        written = await accounts.client.delete(
            patterns.REDEEM_CODE, code_key(accounts.tenant, challenge.id), returns="ALL_OLD"
        )
        assert written.attributes is not None
        assert written.attributes.keys() == {"tenant", "item", "code_hash", "tries", "ttl", "mac"}
        shown = repr(written.attributes)
        assert code not in shown
        assert NUMBER[1:] not in shown
        # Without the tenant's key, the hash does not reveal which of the million codes it is.
        assert len(written.attributes["code_hash"]) == 32


async def test_codes_are_stored_apart_from_their_tenants_settings(open_accounts: OpenAccountsEnv) -> None:
    async with open_accounts() as accounts:
        partitions = {str(code_key(accounts.tenant, (await accounts.ask()).id)["tenant"]) for _ in range(3)}
        assert len(partitions) == 3
        assert all(name.startswith(f"{accounts.tenant}#code#") for name in partitions)


@pytest.mark.parametrize(
    ("kind", "number", "address"),
    [
        (LimitKind.CODE_NUMBER_ADDRESS, NUMBER, ADDRESS),
        (LimitKind.CODE_NUMBER, NUMBER, "192.0.2.8"),
        (LimitKind.CODE_PREFIX, "+4915112399999", "192.0.2.8"),
        (LimitKind.CODE_ADDRESS, OTHER_NUMBER, ADDRESS),
        (LimitKind.CODE_TENANT, OTHER_NUMBER, "192.0.2.8"),
        (LimitKind.CODE_INSTALLATION, OTHER_NUMBER, "192.0.2.8"),
    ],
)
async def test_each_limit_applies_independently(
    open_accounts: OpenAccountsEnv, kind: LimitKind, number: str, address: str
) -> None:
    async with open_accounts() as accounts:
        accounts.limit(kind, 2)
        for _ in range(2):
            await accounts.ask()
        with pytest.raises(TidingsError) as caught:
            await accounts.ask(number, address)
        assert caught.value.code is Code.RATE_LIMITED
        assert caught.value.details == {"retry_after_s": 60}
        await accounts.outbox.join()
        assert len(accounts.sms.sent) == 2


async def test_tries_are_limited_by_address_too(open_accounts: OpenAccountsEnv) -> None:
    async with open_accounts() as accounts:
        accounts.limit(LimitKind.REDEEM_ADDRESS, 1)
        challenge = await accounts.ask()
        code = await accounts.code()
        await code_of(accounts.answer(challenge, wrong_code(code)))
        assert await code_of(accounts.answer(challenge, code)) is Code.RATE_LIMITED


async def test_a_tenant_that_does_not_exist_gets_no_keys_and_no_codes(open_accounts: OpenAccountsEnv) -> None:
    async with open_accounts() as accounts:
        assert await code_of(accounts.phone.ask(TenantId("ghost"), NUMBER, "a")) is Code.CREDENTIAL_INVALID
        assert accounts.key_store.rows == {}
        assert list(accounts.client.ledger) == []


async def test_two_concurrent_first_logins_create_one_user(open_accounts: OpenAccountsEnv) -> None:
    async with open_accounts() as accounts:
        challenges = [await accounts.ask() for _ in range(8)]
        await accounts.outbox.join()
        # Several workers send messages, so the order is unknown: try each code.
        codes = {text.split()[0] for _, text in accounts.sms.sent}
        logins = await asyncio.gather(
            *(first_that_fits(accounts, challenge, codes) for challenge in challenges)
        )
        assert len({login.user.user for login in logins}) == 1
        assert sum(login.is_new for login in logins) == 1


async def first_that_fits(accounts: AccountsEnv, challenge: Challenge, codes: set[str]) -> LoginResult:
    for code in codes:
        wanted = await accounts.phone._hash(accounts.tenant, challenge.id, MINE, code)
        row = await accounts.client.update(
            patterns.TRY_CODE,
            code_key(accounts.tenant, challenge.id),
            "ADD tries :no",
            values={":no": 0},
            returns="ALL_NEW",
        )
        assert row.attributes is not None
        if row.attributes["code_hash"] == wanted:
            return await accounts.answer(challenge, code)
    raise AssertionError("no code fits")


@pytest.mark.parametrize("is_sign_up_open", [True, False])
async def test_requesting_a_code_does_not_reveal_whether_a_number_is_known(
    open_accounts: OpenAccountsEnv, *, is_sign_up_open: bool
) -> None:
    async with open_accounts(is_sign_up_open=is_sign_up_open) as accounts:
        await accounts.users.create(accounts.tenant, phone=MINE)
        known, unknown = await accounts.ask(NUMBER), await accounts.ask(OTHER_NUMBER)
        assert known.expires_at_ms == unknown.expires_at_ms
        assert len(known.id) == len(unknown.id)
        on_the_way = [await calls_of_asking(accounts, number) for number in (NUMBER, OTHER_NUMBER)]
        assert on_the_way == [{patterns.PUT_CODE.name: 1}] * 2
        await accounts.outbox.join()
        assert {to for to, _ in accounts.sms.sent} == (
            {NUMBER, OTHER_NUMBER} if is_sign_up_open else {NUMBER}
        )


async def test_requesting_a_code_takes_equal_time_for_known_and_unknown_numbers(
    open_accounts: OpenAccountsEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Slow down look-ups and sending, so that an answer that waits for either one is detected."""
    async with open_accounts(is_sign_up_open=False) as accounts:
        await accounts.users.create(accounts.tenant, phone=MINE)
        monkeypatch.setattr(accounts.user_rows, "owner", slow(accounts.user_rows.owner))
        monkeypatch.setattr(accounts.sms, "send", slow(accounts.sms.send))
        took: dict[str, list[float]] = {NUMBER: [], OTHER_NUMBER: []}
        for number in random.sample([NUMBER, OTHER_NUMBER] * 10, 20):
            began = time.perf_counter()
            await accounts.ask(number)
            took[number].append(time.perf_counter() - began)
            await accounts.outbox.join()
        known, unknown = (statistics.median(times) for times in took.values())
        print(f"median for a known number {known * 1000:.2f} ms, for another {unknown * 1000:.2f} ms")
        assert abs(known - unknown) < SLOW_S / 3
        assert max(known, unknown) < SLOW_S


SLOW_S = 0.1


def slow[**P, T](call: Callable[P, Awaitable[T]]) -> Callable[P, Awaitable[T]]:
    async def slowed(*given: P.args, **named: P.kwargs) -> T:
        await asyncio.sleep(SLOW_S)
        return await call(*given, **named)

    return slowed


async def test_a_guessed_code_creates_no_user_while_sign_up_is_closed(open_accounts: OpenAccountsEnv) -> None:
    async with open_accounts(is_sign_up_open=False) as accounts:
        challenge = await accounts.ask()
        await accounts.outbox.join()
        assert accounts.sms.sent == []
        hashed = await accounts.phone._hash(accounts.tenant, challenge.id, MINE, "123456")
        await accounts.codes.put(accounts.tenant, challenge.id, hashed, challenge.expires_at_ms // 1000)
        assert await code_of(accounts.answer(challenge, "123456")) is Code.CREDENTIAL_INVALID
        assert await accounts.users.by_phone(accounts.tenant, MINE) is None


async def test_the_units_of_a_login(open_accounts: OpenAccountsEnv) -> None:
    async with open_accounts() as accounts:
        await accounts.log_in()
        written, read = counts(accounts, "write_units"), counts(accounts, "read_units")
        await accounts.log_in(device=Device(id=DeviceId("phone")))
        assert counts(accounts, "write_units") - written == {
            patterns.PUT_CODE.name: 1,
            patterns.TRY_CODE.name: 1,
            patterns.REDEEM_CODE.name: 1,
            patterns.CREATE_SESSION.name: 1,
        }
        assert counts(accounts, "read_units") - read == {
            patterns.FIND_CLAIM.name: 1,
            patterns.CONFIRM_USER.name: 1,
            patterns.LIST_SESSIONS.name: 1,
        }


async def calls_of_asking(accounts: AccountsEnv, number: str) -> dict[str, int]:
    """Count calls up to the answer. A client cannot measure work after it."""
    await accounts.outbox.join()
    before = counts(accounts, "calls")
    await accounts.ask(number)
    return dict(counts(accounts, "calls") - before)


async def test_an_installation_without_sms_reports_it_and_creates_no_code(
    open_accounts: OpenAccountsEnv,
) -> None:
    async with open_accounts(sends_codes=False) as accounts:
        assert await code_of(accounts.ask()) is Code.PHONE_LOGIN_OFF
        assert not accounts.sms.sent
