"""The erasure of a user from the request to its last step, on both engines. What remains refuses the id."""

import pytest
from fixtures.kill_at import KillAt, KilledError
from fixtures.planted_user import KEPT, PHONE, Planted
from fixtures.rest_app import RestApp
from fixtures.tables import Tables
from fixtures.use_cases import UseCaseEnv, code_of

from tidings.accounts.model import Principal, Scope
from tidings.erasure.model import ErasureStep
from tidings.erasure.rules import FINAL_MS, job_of, search_job_of
from tidings.jobs.model import ChunkRef, JobKind, JobState
from tidings.kernel.errors import Code
from tidings.kernel.ids import UserId
from tidings.media.store import uploads
from tidings.push.model import ShownAlert
from tidings.push.store.alerts import DynamoAlertStore


@pytest.fixture(autouse=True)
def short_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages of two uploads, so that some partitions have several."""
    monkeypatch.setattr(uploads, "PAGE_ROWS", 2)


async def test_no_table_has_the_data_or_the_id_of_an_erased_user(
    use_cases: UseCaseEnv, tables: Tables
) -> None:
    planted = Planted(use_cases, tables)
    await planted.plant()
    assert {"devices", "sessions", "uploads", "reports", "delivery_state"} <= set(
        planted.env.tables_with(planted.user)
    )
    ref = await planted.request()
    await planted.run(ref, KillAt())
    await planted.check_erased()
    erasure = await planted.env.erased(planted.user)
    assert (erasure.step, erasure.secret) == (ErasureStep.FINAL, None)
    counts = {"sessions": 1, "uploads": 48, "notifications": 6, "messages": 2, "reactions": 2, "chats": 2}
    assert {name: erasure.counts[name] for name in counts} == counts
    server = planted.rest.server(Scope.USERS)
    shown = await server.ok("GET", f"/v1/users/{planted.user}/erasure")
    assert (shown["state"], shown["counts"]["messages"]) == ("erased", 2)
    certificate = await planted.env.verified(shown["certificate"])
    assert (certificate.state, certificate.user, certificate.erasure) == ("erased", planted.user, erasure.id)
    assert certificate.counts == erasure.counts


async def test_workers_that_die_at_failpoint_after_failpoint_erase_the_user(
    use_cases: UseCaseEnv, tables: Tables
) -> None:
    planted = Planted(use_cases, tables)
    await planted.plant()
    ref = await planted.request()
    deaths = 0
    while True:
        try:
            await planted.run(ref, KillAt(1 + deaths))
        except KilledError:
            deaths += 1
            continue
        break
    assert deaths > 8
    await planted.check_erased()
    assert (await planted.env.erased(planted.user)).counts["uploads"] == 48


async def test_the_last_step_is_a_job_of_its_own_eight_days_later(
    use_cases: UseCaseEnv, tables: Tables
) -> None:
    planted = Planted(use_cases, tables)
    await planted.plant()
    await planted.run(await planted.request(), KillAt())
    erasure = await planted.env.erased(planted.user)
    last, jobs = job_of(erasure), planted.rest.notifications.jobs
    assert last.starts_ms == erasure.step_ms + FINAL_MS
    assert (await jobs.progress(planted.tenant, last.id)).state is JobState.RUNNING
    ref = ChunkRef(tenant=planted.tenant, job=last.id, chunk=0, kind=JobKind.ERASE)
    assert not await planted.env.turn(ref, KillAt())
    # A worker with an old event writes an alert again.
    alert = ShownAlert(sequence=9, alerted_sequence=9, alerted_ms=1)
    await DynamoAlertStore(planted.env.client).raise_alert(planted.chats[0], planted.user, alert)
    planted.env.clock.ahead_ms += FINAL_MS
    assert await planted.env.turn(ref, KillAt())
    await planted.check_erased()
    assert (await planted.env.erased(planted.user)).step is ErasureStep.DONE
    shown = await planted.rest.server(Scope.USERS).ok("GET", f"/v1/users/{planted.user}/erasure")
    assert shown["state"] == "final"
    certificate = await planted.env.verified(shown["certificate"])
    assert (certificate.state, certificate.counts) == ("final", erasure.counts)
    assert certificate.final_at is not None
    assert certificate.erased_at < certificate.final_at


async def test_an_erased_id_is_refused_from_the_first_step_on(use_cases: UseCaseEnv, tables: Tables) -> None:
    planted = Planted(use_cases, tables)
    await planted.plant()
    ref, accounts, server = await planted.request(), planted.rest.accounts, planted.rest.server(Scope.USERS)
    await planted.env.turn(ref, KillAt())
    path = f"/v1/users/{planted.user}"
    assert await server.code("POST", "/v1/users", {"id": planted.user}) is Code.USER_ERASED
    assert await server.code("GET", path) is Code.USER_NOT_FOUND
    assert await server.code("PATCH", path, {"locale": "fr"}) is Code.USER_NOT_FOUND
    assert await server.code("DELETE", f"{path}/suspension") is Code.USER_NOT_FOUND
    principal = Principal(tenant=planted.tenant, user=planted.user, issued_at_ms=10**15)
    assert await code_of(accounts.admission.check(principal)) is Code.FORBIDDEN
    assert await server.ok("GET", f"/v1/users?ids={planted.user}") == {"users": []}


async def test_the_number_of_an_erased_user_is_free(use_cases: UseCaseEnv, tables: Tables) -> None:
    planted = Planted(use_cases, tables)
    await planted.plant()
    users, other = planted.rest.accounts.users, UserId("dora")
    ref = await planted.request()
    assert await code_of(users.create(planted.tenant, other, phone=PHONE)) is Code.PHONE_TAKEN
    await planted.run(ref, KillAt())
    await users.create(planted.tenant, other, phone=PHONE)


async def test_an_erasure_waits_until_the_search_process_has_purged_the_index(
    use_cases: UseCaseEnv, tables: Tables
) -> None:
    planted = Planted(use_cases, tables)
    await planted.plant()
    planted.env.is_index_purged = False
    ref = await planted.request()
    for _ in range(120):
        assert not await planted.env.turn(ref, KillAt())
    erasure = await planted.env.erased(planted.user)
    assert erasure.step is ErasureStep.SEARCH
    assert search_job_of(erasure).id != job_of(erasure).id
    planted.env.is_index_purged = True
    await planted.run(ref, KillAt())


async def test_unknown_users_and_erasures_are_not_found(use_cases: UseCaseEnv) -> None:
    server = RestApp(use_cases).server(Scope.USERS)
    assert await server.code("DELETE", "/v1/users/nobody") is Code.USER_NOT_FOUND
    assert await server.code("GET", "/v1/users/nobody/erasure") is Code.JOB_NOT_FOUND


async def test_a_user_who_never_authenticated_can_be_erased(use_cases: UseCaseEnv, tables: Tables) -> None:
    planted = Planted(use_cases, tables)
    await planted.plant_chats()
    assert "users" not in planted.env.tables_with(planted.user)
    await planted.run(await planted.request(), KillAt())
    assert set(planted.env.tables_with(planted.user)) <= KEPT
    assert await code_of(planted.rest.accounts.users.create(planted.tenant, planted.user)) is Code.USER_ERASED


async def test_an_erasure_cannot_be_cancelled(use_cases: UseCaseEnv, tables: Tables) -> None:
    planted = Planted(use_cases, tables)
    await planted.plant()
    ref = await planted.request()
    cancel = planted.rest.notifications.jobs.cancel(planted.tenant, ref.job)
    assert await code_of(cancel) is Code.NO_CHANGE
