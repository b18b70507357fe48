"""Operators turn search of a tenant on and off."""

from fixtures.console_app import ConsoleApp

from tidings.jobs.model import JobId, JobKind
from tidings.jobs.store import DynamoJobStore
from tidings.operators.model import Role


async def test_an_owner_turns_search_on_and_off(console: ConsoleApp) -> None:
    owner = await console.caller(Role.OWNER, console.tenant)
    path = f"/admin/v1/tenants/{console.tenant}"
    assert (await owner("GET", path)).json()["settings"]["search"] is False
    job = (await owner("POST", f"{path}/search/enable")).json()["job"]
    found = await DynamoJobStore(console.use_cases.client, console.use_cases.clock, 90).read(
        console.tenant, JobId(job)
    )
    assert found is not None
    assert (found.kind, found.total) == (JobKind.INDEX, 256)
    assert (await owner("GET", path)).json()["settings"]["search"] is True
    assert (await owner("POST", f"{path}/search/disable")).status_code == 204
    assert (await owner("GET", path)).json()["settings"]["search"] is False
    recorded = {each.operation for each in await console.records(console.tenant, 50) if each.outcome}
    assert recorded >= {"enable_search", "disable_search"}
