"""Measure the CPU of authentication: a user's token, first and cached, and an API key.

Keys are in memory; no engine is involved.
"""

import argparse
import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence

from fixtures.memory_accounts import (
    MemoryApiKeyStore,
    MemorySigningKeyStore,
    PublishedKeys,
    claims_of,
    mint,
    pair,
)
from fixtures.memory_tenants import MemoryTenantStore

from bench.report import Spread, print_figures, print_table
from tidings.accounts.api_keys import ApiKeyService
from tidings.accounts.credentials import CredentialVerifierChain, TokenPolicy, UserTokenVerifier
from tidings.accounts.model import Principal, Revocation, Scope
from tidings.accounts.users import UserAdmission
from tidings.accounts.verification_keys import VerificationKeys
from tidings.kernel.clock import SystemClock
from tidings.kernel.ids import TenantId
from tidings.tenants.settings import TenantReader

type Verify = Callable[[str], Awaitable[Principal]]


class NoSessionTokens:
    """Replace the verifier of access tokens, which this benchmark does not use."""

    async def verify(self, bearer: str, /) -> Principal:
        raise NotImplementedError(bearer)

    async def recheck(self, principal: Principal, /) -> None:
        raise NotImplementedError

    def evict(self, revocation: Revocation, /) -> None:
        raise NotImplementedError


class AdmitAll(UserAdmission):
    """Accept every user without a read."""

    def __init__(self) -> None:
        pass

    async def check(self, principal: Principal) -> None:
        del principal


async def cpu_us(verify: Verify, bearers: Sequence[str]) -> float:
    start = time.process_time()
    for bearer in bearers:
        await verify(bearer)
    return (time.process_time() - start) / len(bearers) * 1e6


async def measure(given: argparse.Namespace) -> dict[str, Spread]:
    clock, tenants, keys = SystemClock(), MemoryTenantStore(), MemorySigningKeyStore()
    tenants.put("acme")
    pairs = {"Ed25519": pair("ed", "Ed25519"), "ES256": pair("es", "P-256")}
    for one in pairs.values():
        keys.register("acme", one)
    api_keys = ApiKeyService(MemoryApiKeyStore(), clock)
    issued = (await api_keys.issue(TenantId("acme"), "bench", Scope)).text.reveal()

    def new_verifier() -> Verify:
        users = UserTokenVerifier(
            TenantReader(tenants, clock),
            VerificationKeys(keys, PublishedKeys().fetch, clock),
            clock,
            TokenPolicy(),
        )
        return CredentialVerifierChain(api_keys, NoSessionTokens(), users, AdmitAll()).verify

    runs: dict[str, list[float]] = {}
    for _ in range(given.rounds):
        for name, one in pairs.items():
            tokens = [mint(one, claims_of(sub=f"u{n}")) for n in range(given.calls)]
            verify = new_verifier()
            runs.setdefault(f"{name}, first", []).append(await cpu_us(verify, tokens))
            runs.setdefault(f"{name}, again", []).append(await cpu_us(verify, tokens))
        runs.setdefault("API key", []).append(await cpu_us(new_verifier(), [issued] * given.calls))
    return {name: Spread(tuple(found)) for name, found in runs.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=5000)
    parser.add_argument("--rounds", type=int, default=5)
    spreads = asyncio.run(measure(parser.parse_args()))
    print_table(["CPU µs", "median (min to max)"], spreads.items())
    print_figures({name.replace(", ", "_").replace(" ", "_"): s.median for name, s in spreads.items()})


if __name__ == "__main__":
    main()
