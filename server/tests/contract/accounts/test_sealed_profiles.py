"""Names, avatars and phone numbers are sealed with the keys of their user, on both engines."""

import asyncio
import re
from collections import Counter
from collections.abc import Awaitable, Iterable

import pytest
from fixtures.accounts_env import NUMBER, OTHER_NUMBER, AccountsEnv, OpenAccountsEnv
from fixtures.use_cases import code_of

from tidings.accounts.model import Phone, ProfileChange, User
from tidings.accounts.store.user_items import account_key, claim_key
from tidings.accounts.store.users import DynamoUserReader, DynamoUserStore
from tidings.accounts.users import PhoneDirectory, UserService
from tidings.kernel.errors import Code
from tidings.kernel.ids import TenantId, UserId
from tidings.platform.dynamo.codec import Item
from tidings.schema.tables.items.inboxes import profile_key
from tidings.schema.tables.patterns import accounts as patterns
from tidings.schema.tables.patterns.inboxes import READ_PROFILE

ANNA, BEN, CLEO = UserId("anna"), UserId("ben"), UserId("cleo")
MINE, THEIRS = Phone(NUMBER), Phone(OTHER_NUMBER)
NAME, NEW_NAME, AVATAR = "Annabelle Quist", "Annabelle Ruiz", "https://example.com/quist.png"


async def anna_in(accounts: AccountsEnv) -> User:
    return await accounts.users.create(
        accounts.tenant, ANNA, phone=MINE, display_name=NAME, avatar_uri=AVATAR
    )


async def row_of(accounts: AccountsEnv, user: UserId) -> Item:
    row = await accounts.client.get(patterns.CONFIRM_USER, account_key(accounts.tenant, user))
    assert row is not None
    return row


async def alter(accounts: AccountsEnv, user: UserId, **attributes: bytes | str) -> None:
    """Write attributes to a row, as an attacker with write access to the table could."""
    update = "SET " + ", ".join(f"{name} = :{name}" for name in attributes)
    values = {f":{name}": value for name, value in attributes.items()}
    await accounts.client.update(
        patterns.UPDATE_USER, account_key(accounts.tenant, user), update, values=values
    )


def second_process(accounts: AccountsEnv) -> DynamoUserStore:
    """Return a store without cached keys of users."""
    return DynamoUserStore(accounts.client, accounts.keys, accounts.new_user_keys())


def bytes_of(items: Iterable[Item | None]) -> bytes:
    values = [value for item in items if item is not None for value in item.values()]
    return b"|".join(value if isinstance(value, bytes) else str(value).encode() for value in values)


async def reads_of(accounts: AccountsEnv, call: Awaitable[object]) -> dict[str, float]:
    """Return the read units of a call by access pattern."""

    def booked() -> Counter[str]:
        ledger = [row for row in accounts.client.ledger if row.name == "read_units"]
        # In half units, because a counter is for whole numbers.
        return Counter({row.pattern: int(row.value * 2) for row in ledger})

    before = booked()
    await call
    return {name: halves / 2 for name, halves in (booked() - before).items()}


async def test_no_item_of_a_user_contains_their_name_avatar_or_number(open_accounts: OpenAccountsEnv) -> None:
    async with open_accounts() as accounts:
        await anna_in(accounts)
        place = claim_key(accounts.tenant, await accounts.hash_of(NUMBER))
        claim = await accounts.client.get(patterns.FIND_CLAIM, place)
        listed = await accounts.client.get(READ_PROFILE, profile_key(accounts.tenant, ANNA))
        row = await row_of(accounts, ANNA)
        changed = await accounts.users.update(accounts.tenant, ANNA, ProfileChange(display_name=NEW_NAME))
        stored = bytes_of([row, claim, listed, await row_of(accounts, ANNA)])
        assert claim is not None
        assert ANNA.encode() in stored, "what is not secret is found, so the search looks at the right bytes"
        for secret in (NAME, NEW_NAME, AVATAR, NUMBER[1:]):
            assert secret.encode() not in stored
        assert changed == await second_process(accounts).read(accounts.tenant, ANNA)
        assert (changed.display_name, changed.avatar_uri, changed.phone) == (NEW_NAME, AVATAR, MINE)


async def test_the_keys_of_the_claim_and_of_the_index_contain_a_hash_that_differs_between_tenants(
    open_accounts: OpenAccountsEnv,
) -> None:
    async with open_accounts() as accounts:
        other = TenantId(accounts.tenant + "x")
        await anna_in(accounts)
        await accounts.users.create(other, ANNA, phone=MINE)
        number = (await row_of(accounts, ANNA))["phone_number"].removeprefix(f"{accounts.tenant}#")
        assert re.fullmatch("[a-z2-7]{32}", number)
        claim = await accounts.client.get(
            patterns.FIND_CLAIM, {"user_id": f"{accounts.tenant}#phone#{number}"}
        )
        assert claim is not None
        assert claim["owner"] == ANNA
        theirs = await accounts.client.get(patterns.CONFIRM_USER, account_key(other, ANNA))
        assert theirs is not None
        assert theirs["phone_number"] != f"{other}#{number}"


async def test_the_claim_and_the_index_find_the_user_by_number(open_accounts: OpenAccountsEnv) -> None:
    async with open_accounts() as accounts:
        made = await anna_in(accounts)
        rows, directory = second_process(accounts), PhoneDirectory(accounts.user_rows, accounts.tenants)
        assert await rows.owner(accounts.tenant, MINE) == ANNA
        assert await rows.find_by_phone(accounts.tenant, MINE) == ANNA
        assert await directory.find(accounts.tenant, BEN, MINE) == made
        assert await rows.owner(accounts.tenant, THEIRS) is None
        assert await rows.find_by_phone(accounts.tenant, THEIRS) is None
        assert await code_of(directory.find(accounts.tenant, BEN, THEIRS)) is Code.USER_NOT_FOUND


async def test_a_copied_field_of_another_user_or_field_does_not_open(open_accounts: OpenAccountsEnv) -> None:
    async with open_accounts() as accounts:
        made = await anna_in(accounts)
        await accounts.users.create(accounts.tenant, BEN, phone=THEIRS, display_name="Ben")
        anna, ben = await row_of(accounts, ANNA), await row_of(accounts, BEN)
        copies = {
            "display_name": ben["display_name"],
            "avatar_uri": anna["display_name"],
            "phone": ben["phone"],
        }
        for name, copied in copies.items():
            await alter(accounts, ANNA, **{name: copied})
            found = await accounts.users.read(accounts.tenant, ANNA)
            assert getattr(found, name) is None
            await alter(accounts, ANNA, **{name: anna[name]})
        await alter(accounts, BEN, display_name="in clear")
        assert (await accounts.users.read(accounts.tenant, BEN)).display_name is None
        assert await accounts.users.read(accounts.tenant, ANNA) == made


async def test_a_copied_hash_does_not_show_another_user_as_the_owner_of_a_number(
    open_accounts: OpenAccountsEnv,
) -> None:
    async with open_accounts() as accounts:
        await anna_in(accounts)
        await accounts.users.create(accounts.tenant, BEN, phone=THEIRS, display_name="Ben")
        anna = await row_of(accounts, ANNA)
        await alter(accounts, BEN, phone_number=anna["phone_number"])
        shown = await accounts.user_rows.confirm_phone(accounts.tenant, BEN, MINE, lambda _: True)
        assert shown is None
        await alter(accounts, BEN, phone=anna["phone"])
        assert await accounts.user_rows.confirm_phone(accounts.tenant, BEN, MINE, lambda _: True) is None
        assert await accounts.user_rows.confirm_phone(accounts.tenant, ANNA, MINE, lambda _: True) is not None


async def test_first_logins_in_two_processes_create_one_user(open_accounts: OpenAccountsEnv) -> None:
    async with open_accounts() as accounts:
        processes = [UserService(second_process(accounts), accounts.clock) for _ in range(2)]
        made = await asyncio.gather(
            *(each.for_phone(accounts.tenant, MINE) for _ in range(5) for each in processes)
        )
        assert len({user.user for user, _ in made}) == 1
        assert [is_new for _, is_new in made].count(True) == 1
        assert {user.phone for user, _ in made} == {MINE}


async def test_a_user_whose_keys_were_destroyed_has_no_personal_fields(
    open_accounts: OpenAccountsEnv,
) -> None:
    """The row and the claim stay until the user is deleted: no other user can take the number."""
    async with open_accounts() as accounts:
        await anna_in(accounts)
        await accounts.users.create(accounts.tenant, BEN, display_name="Ben")
        copied = await row_of(accounts, ANNA)
        await accounts.user_keys.destroy(accounts.tenant, ANNA)
        await alter(accounts, ANNA, display_name=copied["display_name"])
        for rows in (accounts.user_rows, second_process(accounts)):
            shown = await rows.read_many(accounts.tenant, [ANNA, BEN])
            anna = shown[ANNA]
            assert (anna.display_name, anna.avatar_uri, anna.phone) == (None, None, None)
            assert shown[BEN].display_name == "Ben"
            assert await rows.owner(accounts.tenant, MINE) == ANNA
            directory = PhoneDirectory(rows, accounts.tenants)
            assert await code_of(directory.find(accounts.tenant, BEN, MINE)) is Code.USER_NOT_FOUND
        taken = accounts.users.create(accounts.tenant, CLEO, phone=MINE)
        assert await code_of(taken) is Code.PHONE_TAKEN
        renamed = accounts.users.update(accounts.tenant, ANNA, ProfileChange(display_name=NEW_NAME))
        assert await code_of(renamed) is Code.USER_ERASED
        hidden = await accounts.users.update(accounts.tenant, ANNA, ProfileChange(last_seen="nobody"))
        assert (hidden.last_seen, hidden.display_name) == ("nobody", None)


async def test_a_name_sealed_with_a_new_key_is_shown_by_a_process_that_has_older_keys_cached(
    open_accounts: OpenAccountsEnv,
) -> None:
    async with open_accounts() as accounts:
        await anna_in(accounts)
        other = second_process(accounts)
        assert await other.read(accounts.tenant, ANNA) is not None
        assert await accounts.user_keys.rotate(accounts.tenant, ANNA) == 2
        await accounts.users.update(accounts.tenant, ANNA, ProfileChange(display_name=NEW_NAME))
        found = await other.read(accounts.tenant, ANNA)
        assert found is not None
        assert (found.display_name, found.avatar_uri) == (NEW_NAME, AVATAR)


async def test_the_units_of_reading_many_users(open_accounts: OpenAccountsEnv) -> None:
    async with open_accounts() as accounts:
        named, bare = [UserId(f"named-{n}") for n in range(5)], [UserId(f"bare-{n}") for n in range(3)]
        await asyncio.gather(
            *(accounts.users.create(accounts.tenant, user, display_name=NAME) for user in named),
            *(accounts.users.create(accounts.tenant, user) for user in bare),
        )
        rows = second_process(accounts)
        # A row without sealed fields needs no keys, and a decision needs none either.
        only_rows = {patterns.READ_USERS.name: 1.5}
        assert await reads_of(accounts, rows.read_many(accounts.tenant, bare)) == only_rows
        assert await reads_of(accounts, rows.confirm(accounts.tenant, named[0])) == {
            patterns.CONFIRM_USER.name: 1
        }
        cold = await reads_of(accounts, rows.read_many(accounts.tenant, named + bare))
        assert cold == {patterns.READ_USERS.name: 4, patterns.READ_USER_KEYS.name: 2.5}
        calls = {row.pattern: row.value for row in accounts.client.ledger if row.name == "calls"}
        assert calls[patterns.READ_USER_KEYS.name] == 5 + 1, "one for each creation, and one batch"
        warm = await reads_of(accounts, rows.read_many(accounts.tenant, named + bare))
        assert warm == {patterns.READ_USERS.name: 4}


@pytest.mark.parametrize("change", [ProfileChange(phone_search="nobody"), None], ids=["hidden", "suspended"])
async def test_a_search_for_a_user_who_cannot_be_found_reads_no_keys(
    open_accounts: OpenAccountsEnv, change: ProfileChange | None
) -> None:
    """Otherwise the response time would differ from that of an unused number."""
    async with open_accounts() as accounts:
        await anna_in(accounts)
        await accounts.users.create(accounts.tenant, BEN, display_name="Ben")
        if change is None:
            await accounts.users.suspend(accounts.tenant, ANNA, is_on=True)
        else:
            await accounts.users.update(accounts.tenant, ANNA, change)
        directory = PhoneDirectory(second_process(accounts), accounts.tenants)
        refused, unused = [
            await reads_of(accounts, code_of(directory.find(accounts.tenant, BEN, number)))
            for number in (MINE, THEIRS)
        ]
        assert refused.keys() == unused.keys() == {patterns.FIND_BY_PHONE.name, patterns.CONFIRM_USER.name}


async def test_presence_reads_users_without_keys(open_accounts: OpenAccountsEnv) -> None:
    async with open_accounts() as accounts:
        made = await anna_in(accounts)
        found = await DynamoUserReader(accounts.client).confirm_many(accounts.tenant, [ANNA, BEN])
        assert found.keys() == {ANNA}
        assert (found[ANNA].last_seen, found[ANNA].created_at_ms) == ("members", made.created_at_ms)
        assert (found[ANNA].display_name, found[ANNA].phone) == (None, None)
