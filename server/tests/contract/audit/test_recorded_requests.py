"""Every administrative REST operation is recorded with its API key."""

from collections.abc import Iterator

import pytest
from fastapi.routing import APIRoute
from fixtures.rest_app import RestApp
from fixtures.use_cases import ANNA, UseCaseEnv

from tidings.accounts.model import Scope
from tidings.api import auth
from tidings.api.app import ROUTERS
from tidings.api.audit import AUDITED, DATA_OPERATIONS
from tidings.audit.log import AuditLog
from tidings.audit.model import AuditRecord
from tidings.audit.store import DynamoAuditStore
from tidings.kernel.errors import Code

INBOX = "/v1/inboxes/default"
SERVER_CALLERS = {auth._UsersServer, auth._ScopedServer}


def server_operations() -> Iterator[str]:
    """Return the operations that change something and that only a tenant's server may call."""
    for route in (route for router in ROUTERS for route in router.routes):
        assert isinstance(route, APIRoute)
        callers = {type(each.call) for each in route.dependant.dependencies}
        if route.methods != {"GET"} and callers & SERVER_CALLERS:
            assert route.operation_id is not None
            yield route.operation_id


def test_every_changing_operation_of_a_server_is_recorded_or_listed_as_data() -> None:
    assert AUDITED.isdisjoint(DATA_OPERATIONS)
    assert set(server_operations()) == AUDITED | DATA_OPERATIONS


async def recorded(use_cases: UseCaseEnv) -> list[AuditRecord]:
    log = AuditLog(DynamoAuditStore(use_cases.client), use_cases.clock)
    return (await log.page(use_cases.tenant, None, 50, None)).records


async def test_a_request_is_recorded_with_its_key_and_its_change(use_cases: UseCaseEnv) -> None:
    api = RestApp(use_cases)
    server = api.server(Scope.NOTIFICATIONS)
    await server.ok("PUT", INBOX, {"title": "News"})
    await server.ok("PUT", INBOX, {"title": "The news"}, headers={"request-id": "r-1"})
    finished, started, *_ = await recorded(use_cases)
    assert (finished.operation, finished.outcome, finished.target) == ("set_inbox", "ok", INBOX)
    assert finished.actor == finished.credential == f"api_key:{use_cases.tenant}/notifications"
    assert (finished.before["title"], finished.after["title"]) == ("News", "The news")
    assert finished.request_id == started.request_id == "r-1"
    assert started.action_id == finished.action_id


@pytest.mark.parametrize(
    ("method", "path", "body", "code"),
    [
        ("PUT", INBOX, {"titel": "News"}, Code.REQUEST_INVALID),
        ("PUT", "/v1/users/nobody/suspension", None, Code.FORBIDDEN),
        ("DELETE", f"{INBOX}/notifications/01JCQ4Z7N3V5X9B2M8K6T1R0WD", None, Code.NOTIFICATION_NOT_FOUND),
    ],
)
async def test_a_refused_request_is_recorded_with_its_error(
    use_cases: UseCaseEnv, method: str, path: str, body: dict[str, str] | None, code: Code
) -> None:
    api = RestApp(use_cases)
    assert await api.server(Scope.NOTIFICATIONS).code(method, path, body) is code
    assert (await recorded(use_cases))[0].outcome == code


async def test_reads_data_operations_and_users_requests_are_not_recorded(use_cases: UseCaseEnv) -> None:
    api = RestApp(use_cases)
    server, user = api.server(Scope.NOTIFICATIONS), api.user(ANNA)
    await server.ok("PUT", INBOX, {"title": "News"})
    before = await recorded(use_cases)
    await server.ok("GET", INBOX)
    await server.ok("POST", f"{INBOX}/notifications", {"user_ids": [ANNA], "message": {"title": "hi"}})
    assert await user.code("PUT", INBOX, {"title": "Mine"}) is Code.FORBIDDEN
    assert await recorded(use_cases) == before
