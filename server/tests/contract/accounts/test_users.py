"""Users on both engines: concurrent requests create one user per phone number."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable

import pytest
from fixtures.accounts_env import NUMBER, OTHER_NUMBER, OpenAccountsEnv, counts
from fixtures.use_cases import code_of
from msgspec.structs import replace

from tidings.accounts.model import Phone, Principal, ProfileChange
from tidings.accounts.store.sessions import DynamoRevocationLog
from tidings.accounts.store.user_items import index_key
from tidings.kernel.errors import Code
from tidings.kernel.ids import TenantId, UserId
from tidings.platform.dynamo.errors import DynamoError
from tidings.platform.dynamo.requests import Query
from tidings.schema.tables.items.inboxes import profile_key
from tidings.schema.tables.patterns import accounts as patterns
from tidings.schema.tables.patterns.inboxes import READ_PROFILE

MINE = Phone(NUMBER)
ANNA = UserId("anna")


async def test_a_user_is_read_back_as_created(open_accounts: OpenAccountsEnv) -> None:
    async with open_accounts() as accounts:
        made = await accounts.users.create(
            accounts.tenant, ANNA, phone=MINE, display_name="Anna", avatar_uri="https://example.com/anna.png"
        )
        assert await accounts.users.read(accounts.tenant, ANNA) == made
        assert await accounts.users.by_phone(accounts.tenant, MINE) == made


async def test_user_ids_and_phone_numbers_are_unique(open_accounts: OpenAccountsEnv) -> None:
    async with open_accounts() as accounts:
        await accounts.users.create(accounts.tenant, ANNA, phone=MINE)
        other = Phone(OTHER_NUMBER)
        assert await code_of(accounts.users.create(accounts.tenant, ANNA)) is Code.USER_EXISTS
        assert await code_of(accounts.users.create(accounts.tenant, ANNA, phone=other)) is Code.USER_EXISTS
        assert (
            await code_of(accounts.users.create(accounts.tenant, UserId("ben"), phone=MINE))
            is Code.PHONE_TAKEN
        )
        assert await accounts.users.by_phone(accounts.tenant, other) is None
        assert await code_of(accounts.users.read(accounts.tenant, UserId("ben"))) is Code.USER_NOT_FOUND


async def test_no_credential_creates_a_user_with_the_form_of_a_pseudonym(
    open_accounts: OpenAccountsEnv,
) -> None:
    async with open_accounts() as accounts:
        pseudonym = UserId("erased-" + "a" * 26)
        assert await code_of(accounts.users.create(accounts.tenant, pseudonym)) is Code.REQUEST_INVALID
        assert await code_of(accounts.users.admitted(accounts.tenant, pseudonym)) is Code.CREDENTIAL_INVALID
        assert await code_of(accounts.users.read(accounts.tenant, pseudonym)) is Code.USER_NOT_FOUND


async def test_two_tenants_may_have_the_same_number_and_the_same_id(open_accounts: OpenAccountsEnv) -> None:
    async with open_accounts() as accounts:
        other = TenantId(accounts.tenant + "x")
        mine = await accounts.users.create(accounts.tenant, ANNA, phone=MINE)
        theirs = await accounts.users.create(other, ANNA, phone=MINE, display_name="Another Anna")
        assert await accounts.users.by_phone(accounts.tenant, MINE) == mine
        assert await accounts.users.by_phone(other, MINE) == theirs


async def test_twenty_concurrent_creations_for_one_number_create_one_user(
    open_accounts: OpenAccountsEnv,
) -> None:
    async with open_accounts() as accounts:
        made = await asyncio.gather(*(accounts.users.for_phone(accounts.tenant, MINE) for _ in range(20)))
        assert len({user.user for user, _ in made}) == 1
        assert sum(is_new for _, is_new in made) == 1


async def test_a_claim_is_not_shown_as_a_user(open_accounts: OpenAccountsEnv) -> None:
    async with open_accounts() as accounts:
        await accounts.users.create(accounts.tenant, ANNA, phone=MINE)
        found = await accounts.users.read_many(
            accounts.tenant, [ANNA, UserId("phone"), UserId("ghost"), ANNA]
        )
        assert set(found) == {ANNA}


async def test_the_index_shows_a_number_once(open_accounts: OpenAccountsEnv) -> None:
    async with open_accounts() as accounts:
        await accounts.users.create(accounts.tenant, ANNA, phone=MINE)
        number = index_key(accounts.tenant, await accounts.hash_of(NUMBER))
        by_number = Query(condition="phone_number = :n", values={":n": number})
        page = await accounts.client.query(patterns.FIND_BY_PHONE, by_number)
        assert [item["user_id"] for item in page.items] == [f"{accounts.tenant}#{ANNA}"]


@pytest.mark.parametrize("phone", [None, MINE])
async def test_a_creation_repeated_after_a_lost_answer_returns_its_result(
    open_accounts: OpenAccountsEnv, monkeypatch: pytest.MonkeyPatch, phone: Phone | None
) -> None:
    async with open_accounts() as accounts:
        for name in ("put", "transact_write"):
            monkeypatch.setattr(accounts.client, name, repeated(getattr(accounts.client, name)))
        made = await accounts.users.create(accounts.tenant, ANNA, phone=phone)
        assert await accounts.users.read(accounts.tenant, ANNA) == made
        # A row with other values is not mistaken for our own first attempt.
        other = accounts.users.create(accounts.tenant, ANNA, phone=phone, display_name="Another")
        assert await code_of(other) in (Code.USER_EXISTS, Code.PHONE_TAKEN)


def repeated[**P, T](call: Callable[P, Awaitable[T]]) -> Callable[P, Awaitable[T]]:
    """Repeat a request as the client does after an applied attempt without an answer."""

    async def again(*given: P.args, **named: P.kwargs) -> T:
        with contextlib.suppress(DynamoError):
            await call(*given, **named)
        try:
            return await call(*given, **named)
        except DynamoError as error:
            error.maybe_applied = True
            raise

    return again


async def test_a_profile_change_affects_only_the_given_fields(open_accounts: OpenAccountsEnv) -> None:
    async with open_accounts() as accounts:
        made = await accounts.users.create(
            accounts.tenant, ANNA, phone=MINE, display_name="Anna", avatar_uri="https://example.com/1"
        )
        accounts.clock.now_s += 5
        named = await accounts.users.update(accounts.tenant, ANNA, ProfileChange(display_name="Anne"))
        assert named == replace(made, display_name="Anne", updated_at_ms=made.updated_at_ms + 5000)
        bare = await accounts.users.update(
            accounts.tenant, ANNA, ProfileChange(avatar_uri=None, display_name="Änne")
        )
        assert bare == replace(named, display_name="Änne", avatar_uri=None)
        assert await accounts.users.read(accounts.tenant, ANNA) == bare


async def test_a_change_does_not_create_a_missing_user(open_accounts: OpenAccountsEnv) -> None:
    async with open_accounts() as accounts:
        change = ProfileChange(display_name="Nobody")
        assert await code_of(accounts.users.update(accounts.tenant, ANNA, change)) is Code.USER_NOT_FOUND
        assert await code_of(accounts.users.read(accounts.tenant, ANNA)) is Code.USER_NOT_FOUND


async def test_the_units_of_a_new_user(open_accounts: OpenAccountsEnv) -> None:
    async with open_accounts() as accounts:
        await accounts.users.for_phone(accounts.tenant, MINE)
        assert +counts(accounts, "write_units") == {
            patterns.CREATE_WITH_PHONE.name: 6,
            patterns.PUT_USER_KEY.name: 1,
        }
        assert +counts(accounts, "read_units") == {
            patterns.FIND_CLAIM.name: 1,
            patterns.CONFIRM_USER_KEYS.name: 1,
        }


async def test_a_user_and_their_item_in_the_directory_are_one_transaction(
    open_accounts: OpenAccountsEnv,
) -> None:
    async with open_accounts() as accounts:
        await asyncio.gather(*(accounts.admission.of(accounts.tenant, ANNA) for _ in range(20)))
        await accounts.users.create(accounts.tenant, UserId("ben"), phone=MINE)
        assert {user.user for user in (await accounts.users.list(accounts.tenant, None, 100)).users} == {
            "anna",
            "ben",
        }
        for user in ("anna", "ben"):
            key = profile_key(accounts.tenant, UserId(user))
            assert await accounts.client.get(READ_PROFILE, key) is not None


async def test_two_processes_that_admit_a_user_at_once_agree(open_accounts: OpenAccountsEnv) -> None:
    async with open_accounts() as accounts:
        found = await asyncio.gather(*(accounts.users.admitted(accounts.tenant, ANNA) for _ in range(10)))
        assert {user.created_at_ms for user in found} == {found[0].created_at_ms}


async def test_a_known_user_costs_one_read_for_many_requests_and_a_new_one_four_units(
    open_accounts: OpenAccountsEnv,
) -> None:
    async with open_accounts() as accounts:
        for _ in range(50):
            await accounts.admission.check(Principal(tenant=accounts.tenant, user=ANNA))
        assert +counts(accounts, "write_units") == {patterns.CREATE_USER.name: 4}
        assert +counts(accounts, "read_units") == {patterns.CONFIRM_USER.name: 1}


async def test_users_are_listed_page_by_page_each_once_and_found_by_prefix(
    open_accounts: OpenAccountsEnv,
) -> None:
    async with open_accounts() as accounts:
        names = {f"u{n}" for n in range(23)} | {"x1", "x2"}
        await asyncio.gather(*(accounts.users.create(accounts.tenant, UserId(name)) for name in names))
        seen: list[str] = []
        after: UserId | None = None
        while True:
            page = await accounts.users.list(accounts.tenant, after, 4)
            seen += [user.user for user in page.users]
            if (after := page.after) is None:
                break
        assert (len(seen), set(seen)) == (25, names)
        found = await accounts.users.list(accounts.tenant, None, 10, "x")
        assert ({user.user for user in found.users}, found.after) == ({"x1", "x2"}, None)


async def test_a_suspended_user_is_refused_and_so_are_tokens_from_before_a_sign_out(
    open_accounts: OpenAccountsEnv,
) -> None:
    async with open_accounts() as accounts:
        now_ms = accounts.clock.now_ms()
        token = Principal(tenant=accounts.tenant, user=ANNA, issued_at_ms=now_ms - 1000)
        await accounts.admission.check(token)
        await accounts.users.suspend(accounts.tenant, ANNA, is_on=True)
        accounts.admission.evict(accounts.tenant, ANNA)
        assert await code_of(accounts.admission.check(token)) is Code.FORBIDDEN
        await accounts.users.suspend(accounts.tenant, ANNA, is_on=False)
        await accounts.sessions.revoke_all(accounts.tenant, ANNA)
        accounts.admission.evict(accounts.tenant, ANNA)
        assert await code_of(accounts.admission.check(token)) is Code.CREDENTIAL_INVALID
        without = replace(token, issued_at_ms=None)
        assert await code_of(accounts.admission.check(without)) is Code.CREDENTIAL_INVALID
        await accounts.admission.check(replace(token, issued_at_ms=now_ms + 1000))
        revocations = await DynamoRevocationLog(accounts.client).since(now_ms - 1000)
        assert {each.user for _, each in revocations if each.tenant == accounts.tenant} == {ANNA}


async def test_suspending_a_missing_user_changes_nothing(open_accounts: OpenAccountsEnv) -> None:
    async with open_accounts() as accounts:
        assert await code_of(accounts.users.suspend(accounts.tenant, ANNA, is_on=True)) is Code.USER_NOT_FOUND
