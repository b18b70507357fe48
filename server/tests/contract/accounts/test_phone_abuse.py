"""Login by phone under attack, with the limits that an installation has by default."""

from collections.abc import Awaitable

from fixtures.accounts_env import ADDRESS, NUMBER, OpenAccountsEnv
from fixtures.use_cases import code_of
from msgspec.structs import replace

from tidings.app.settings import Settings
from tidings.app.wiring.options import limit_policies
from tidings.kernel.errors import Code, TidingsError
from tidings.limits.model import LimitKind
from tidings.tenants.rate_settings import RateLimit, RateOverrides


async def test_sixty_codes_from_sixty_networks_of_one_site_are_stopped(
    open_accounts: OpenAccountsEnv,
) -> None:
    """SMS pumping with the default limits: one IPv6 /48 has 65,536 networks of /64 to ask from."""
    async with open_accounts() as accounts:
        accounts.policies.update(limit_policies(Settings()))
        satellite = [
            await code_of(accounts.ask(f"+88216{n:07}", f"2001:db8:1:{n:x}::1"))
            for n in range(accounts.policies[LimitKind.CODE_NETWORK].burst)
        ]
        assert set(satellite) == {Code.REQUEST_INVALID}, "the tenant serves +49 only"
        ends = [await end_of(accounts.ask(f"+4915{n:09}", f"2001:db8:2:{n:x}::1")) for n in range(60)]
        assert ends.count(None) <= accounts.policies[LimitKind.CODE_NETWORK].burst
        assert set(ends[-30:]) == {Code.RATE_LIMITED}
        assert await end_of(accounts.ask(NUMBER, "2001:db8:3::1")) is None, "another site is not affected"
        await accounts.outbox.join()
        assert len(accounts.sms.sent) == ends.count(None) + 1
        assert (accounts.phone.stats.requested, accounts.phone.stats.redeemed) == (ends.count(None) + 1, 0)


async def test_a_flood_from_many_networks_is_bounded_per_hour(open_accounts: OpenAccountsEnv) -> None:
    async with open_accounts() as accounts:
        accounts.policies.update(limit_policies(Settings()))
        ends = [
            await end_of(accounts.ask(f"+49{n:03}{n:08}", f"198.51.{n // 200}.{n % 200}")) for n in range(150)
        ]
        assert ends.count(None) == accounts.policies[LimitKind.CODE_TENANT].burst
        rates = RateOverrides(code=RateLimit(per_s=1, burst=100))
        accounts.tenants.settings = replace(accounts.tenants.settings, rates=rates)
        accounts.clock.now_s += 1000
        more = [
            await end_of(accounts.ask(f"+49{n:03}{n:08}", f"198.51.{n // 200}.{n % 200}"))
            for n in range(200, 350)
        ]
        assert more.count(None) == 100, "the tenant's own bound"


async def test_other_addresses_cannot_lock_out_the_owner_of_a_number(open_accounts: OpenAccountsEnv) -> None:
    async with open_accounts() as accounts:
        accounts.policies.update(limit_policies(Settings()))
        for n in range(5):
            await end_of(accounts.ask(NUMBER, f"203.0.113.{n}"))
        assert await end_of(accounts.ask(NUMBER, ADDRESS)) is None, (
            "a few strangers do not exhaust the number"
        )
        home = "192.0.2.99"
        challenge = await accounts.ask(NUMBER, home)
        await accounts.answer(challenge, await accounts.code(), address=home)
        for n in range(200):
            await end_of(accounts.ask(NUMBER, f"198.51.100.{n}"))
            await end_of(accounts.ask(f"+49{n:03}{n:08}", f"203.0.{n}.1"))
        assert await code_of(accounts.ask(NUMBER, "198.51.100.250")) is Code.RATE_LIMITED
        assert await end_of(accounts.ask(NUMBER, home)) is None, (
            "a place that has logged in has its own share"
        )
        bound = accounts.policies[LimitKind.CODE_NUMBER_ADDRESS].burst
        assert [await end_of(accounts.ask(NUMBER, home)) for _ in range(bound)].count(None) < bound


async def end_of(doing: Awaitable[object]) -> Code | None:
    try:
        await doing
    except TidingsError as error:
        return error.code
    return None
