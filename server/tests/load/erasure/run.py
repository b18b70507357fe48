"""Plant secrets of a user on a running installation, erase the user, and search everything before and after."""

import asyncio
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import aiohttp
from fixtures.installation_processes import InstallationProcess, InstallationProcesses, ProcessKind
from fixtures.media_env import make_bucket
from fixtures.use_cases import UseCaseEnv

from load.erasure.declared import Form, declared
from load.erasure.planting import (
    BEN,
    INDEXED,
    KEPT,
    VICTIM,
    Planter,
    RestClients,
    make_secrets,
    set_up_tenant,
)
from load.erasure.sealed import KeyTrial, remaining_keys
from load.erasure.search import Finds, SecretSearch
from load.erasure.secret_words import SecretIndex, words_in_files
from load.erasure.stores import Backup, InstallationStores
from load.standalone import s3_url
from tidings.engines.local_cluster import LocalCluster
from tidings.tenants.kms import FileKms
from tidings.tenants.store import DynamoKeyStore

SERVING: Final[Sequence[ProcessKind]] = (
    *("api", "gateway", "delivery", "relay"),
    *("push", "webhooks", "search", "media"),
)
_SETTINGS: Final = {
    "SEARCH_ENGINE": "tantivy",
    "ACCOUNTS_TENANT_REFRESH_S": "0.1",
    "PUSH_NETWORK": "local",
    "WEBHOOKS_NETWORK": "local",
    "TELEMETRY_LOG_LEVEL": "debug",
    "FAILPOINTS_PAUSE_AT": "",
    "FAILPOINTS_SMALL_FILES": "1",
    "LIMITS_TENANT_RATE": "100000/s",
    "LIMITS_TENANT_BURST": "100000",
}
_WAITING: Final = {"quiet", "settled"}
_AHEAD_S: Final = 400
"""By how much the clock of each worker is ahead of the one before: longer than a step waits."""
_WITHIN_S: Final = 600.0
_NOT_INDEXED: Final = {"redacted message", "text before an edit"}
_KEY_TABLE: Final = "user_keys"
_MAX_SHOWN: Final = 20


@dataclass(frozen=True, kw_only=True)
class ErasureSearch:
    """Results of a run.

    planted: secrets of the erased user. found_before: their number by store. found_in_clear, opened_by_a_key, sealed: finds
    after the erasure that nothing declares. declared: the others, by store and place. kept: stores in which secrets of another
    user are found before and after. keys, contents: what was tried after the erasure.
    """

    planted: int
    found_before: dict[str, int]
    found_in_clear: int
    opened_by_a_key: int
    sealed: int
    declared: dict[str, str]
    kept: dict[str, int]
    keys: int
    contents: int
    took_s: float
    broken: list[str]


@dataclass
class _Run:
    installation: InstallationProcesses
    use_cases: UseCaseEnv
    stores: InstallationStores
    index: SecretIndex

    async def search(self, backup: Backup, former: SecretSearch | None = None) -> SecretSearch:
        """Search all stores with the keys that the tables have. `former`: the search before the erasure, with its backup."""
        items = [
            self.stores.item(store, table, item)
            for store, tables in (("tables", self.stores.backup()), ("backup", backup))
            for table, found in tables.items()
            for item in found
        ]
        tables = self.stores.backup()
        keys = await remaining_keys(
            DynamoKeyStore(self.use_cases.client),
            FileKms(self.use_cases.key_file),
            self.use_cases.tenant,
            tables[_KEY_TABLE],
        )
        contents = [] if former is None else former.trial.contents
        trial = KeyTrial(
            self.index,
            keys,
            locations=set().union(*(each.hints for each in items)),
            known={each.head: each.where for each in contents},
        )
        sealed = {each.head: each.secrets for each in contents if each.owner.startswith(f"user {VICTIM} ")}
        searching = SecretSearch(self.index, trial, self.use_cases.tenant, sealed)
        async for stored in self.stores.all():
            await asyncio.to_thread(searching.search, stored)
        for stored in items:
            # In the order of the decision: backups of the table of keys are kept for 7 days alone.
            if former is not None and stored.store == "backup" and stored.place != _KEY_TABLE:
                searching.search(stored)
        return searching


async def run(
    installation: InstallationProcesses, bucket_engine: LocalCluster, *, count: int, mutant: str = ""
) -> ErasureSearch:
    began = time.monotonic()
    bucket = await asyncio.to_thread(make_bucket, s3_url(bucket_engine), installation.space)
    settings = {name.removeprefix("TIDINGS_"): value for name, value in bucket.items()} | _SETTINGS
    secrets = make_secrets(count)
    index = SecretIndex([each for found in secrets.values() for each in found])
    async with installation.use_cases() as use_cases, aiohttp.ClientSession() as session:
        bearer = await set_up_tenant(use_cases)
        api, *_ = await _start(installation, *SERVING, **settings)
        worker, *_ = await _start(installation, "notifications", **settings, FAILPOINTS_MUTANT=mutant)
        rest = RestClients(session, f"http://127.0.0.1:{api.socket_port}", bearer)
        planter = Planter(rest, use_cases, secrets)
        _report("plant")
        await planter.plant()
        stores = InstallationStores(installation, bucket_engine)
        _report("wait for the index")
        await _until_indexed(stores, planter)
        _report("export")
        await planter.export(VICTIM, BEN)
        await asyncio.to_thread(planter.leave_marks, installation)
        searches = _Run(installation, use_cases, stores, index)
        backup = stores.backup()
        _report("search before")
        before = await searches.search(backup)
        _report("erase")
        await _erase(rest, worker, installation, settings | {"FAILPOINTS_MUTANT": mutant})
        await stores.reclaim()
        _report("search after")
        after = await searches.search(backup, before)
    return result_of(before.finds, after, planted=index, took_s=time.monotonic() - began)


def _report(step: str) -> None:
    sys.stderr.write(f"{time.strftime('%H:%M:%S')}  {step}\n")


async def _start(
    installation: InstallationProcesses, *kinds: ProcessKind, **settings: str
) -> list[InstallationProcess]:
    return await asyncio.to_thread(installation.ready, *kinds, **settings)


async def _until_indexed(stores: InstallationStores, planter: Planter) -> None:
    words = [each.mixed for kind in INDEXED - _NOT_INDEXED for each in planter.secrets[kind]]
    async with asyncio.timeout(_WITHIN_S):
        while words_in_files(stores.index(), words) != set(words):  # noqa: ASYNC110 - it is another process
            await asyncio.sleep(1)


async def _erase(
    rest: RestClients,
    worker: InstallationProcess,
    installation: InstallationProcesses,
    settings: dict[str, str],
) -> None:
    """Erase the user. A worker that waits is replaced by one whose clock is ahead."""
    path, ahead_s, waited = f"/v1/users/{VICTIM}", 0, set[str]()
    await rest.ask("DELETE", path)
    async with asyncio.timeout(_WITHIN_S):
        while (shown := await rest.ask("GET", f"{path}/erasure"))["state"] == "running":
            if shown["step"] in _WAITING - waited:
                waited.add(shown["step"])
                worker.popen.kill()
                await asyncio.to_thread(worker.exit_code)
                ahead_s += _AHEAD_S
                clock = {"FAILPOINTS_CLOCK_OFFSET_S": str(ahead_s)}
                worker, *_ = await _start(installation, "notifications", **settings, **clock)
            await asyncio.sleep(0.2)
    assert shown["certificate"], shown


def result_of(before: Finds, after: SecretSearch, *, planted: SecretIndex, took_s: float) -> ErasureSearch:
    secrets = {each for each in planted.planted if each.kind != KEPT}
    kept = set(planted.planted) - secrets
    broken = [f"{each.kind}: planted, and not found before" for each in secrets - before.secrets]
    allowed, refused = defaultdict[str, Counter[str]](Counter), Counter[Form]()
    for (store, place, form), found in sorted(after.finds.by_place.items()):
        for secret in found - kept:
            allowance = declared(store, place, form, secret)
            if allowance is None:
                refused[form] += 1
                broken.append(f"{secret.kind}: {form} in {store} {place}")
            else:
                allowed[f"{store} {place}: {form}, {allowance.until}"][secret.kind] += 1
    stores = before.stores
    broken += [
        f"{store}: secrets of another user are not found after the erasure"
        for store in stores
        if (before.in_store(store) - after.finds.in_store(store)) & kept
    ]
    return ErasureSearch(
        planted=len(secrets),
        found_before={store: len(before.in_store(store) - kept) for store in sorted(stores)},
        found_in_clear=refused[Form.CLEAR],
        opened_by_a_key=refused[Form.TENANT_KEY] + refused[Form.USER_KEY],
        sealed=refused[Form.SEALED],
        declared={
            place: ", ".join(f"{n} {kind}" for kind, n in found.items()) for place, found in allowed.items()
        },
        kept={store: len(after.finds.in_store(store) & kept) for store in sorted(stores)},
        keys=len(after.trial.keys),
        contents=after.trial.tried,
        took_s=round(took_s, 1),
        broken=sorted(f"{n} times: {each}" for each, n in Counter(broken).items())[:_MAX_SHOWN],
    )
