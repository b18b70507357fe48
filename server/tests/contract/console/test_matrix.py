"""Every route of the console refuses by session, role, tenant, CSRF token, origin and reason.

The cases are generated from the routes, so a new route is tested without a change here.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import httpx
import pytest
from fastapi.routing import APIRoute
from fixtures.console_app import ConsoleApp, ConsoleCaller

from tidings.api.console.app import ROUTERS
from tidings.api.console.policy import POLICIES, ConsoleRoute, Reach, RoutePolicy
from tidings.audit.model import AuditPhase
from tidings.kernel.errors import Code
from tidings.operators.model import Role

OTHER = "another-tenant"
WITHOUT_EFFECT = {"preview_message"}
"""Requests with a body that change nothing."""
VALUES = {
    "sequence": "1",
    "partition": "0",
    "offset": "0",
    "topic": "messages-dead",
    "message": "gAB.1",
    "review": "u.ben",
}
READ_AND_RECORDED = {"finish_login", "export_audit", "export_installation_audit"}


class Case(NamedTuple):
    name: str
    method: str
    path: str
    policy: RoutePolicy

    def at(self, tenant: str) -> str:
        return re.sub(
            r"\{(\w+)\}",
            lambda found: tenant if found[1] == "tenant" else VALUES.get(found[1], "none"),
            self.path,
        )


def cases() -> Iterator[Case]:
    for route in (route for router in ROUTERS for route in router.routes):
        assert isinstance(route, ConsoleRoute)
        assert route.methods is not None
        (method,) = route.methods
        assert route.operation_id is not None
        yield Case(route.operation_id, method, route.path, POLICIES[route.operation_id])


ALL = list(cases())
GUARDED = [case for case in ALL if case.policy.reach is not Reach.PUBLIC]
CHANGING = [case for case in GUARDED if case.method != "GET"]


def _name(case: Case) -> str:
    return case.name


def code(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json().get("code", "") if answer.content else ""


def test_a_route_without_a_policy_cannot_be_built() -> None:
    async def endpoint() -> None: ...

    with pytest.raises(ValueError, match="no policy"):
        ConsoleRoute("/admin/v1/new", endpoint, methods=["GET"], operation_id="not_declared")


def test_every_policy_has_a_route_and_only_sign_in_is_public() -> None:
    assert {case.name for case in ALL} == set(POLICIES)
    public = {case.name for case in ALL if case.policy.reach is Reach.PUBLIC}
    assert public == {"get_sign_in", "create_session", "start_login", "finish_login"}
    for case in ALL:
        assert (case.policy.reach is Reach.TENANT) == ("{tenant}" in case.path), case.name


def test_every_changing_route_is_recorded_and_a_viewer_has_none() -> None:
    for case in ALL:
        is_changing = case.method != "GET" and case.name not in WITHOUT_EFFECT
        assert case.policy.is_recorded == (is_changing or case.name in READ_AND_RECORDED), case.name
    own = {"end_session", "create_session", "finish_login"}
    assert {case.name for case in ALL if case.policy.is_recorded and case.policy.role is Role.VIEWER} == own


@pytest.mark.parametrize("case", GUARDED, ids=_name)
async def test_a_request_without_a_session_is_refused(console: ConsoleApp, case: Case) -> None:
    for token in (None, "", "forged", "01JCQ4Z7N3V5X9B2M8K6T1R0WD." + "A" * 43):
        answer = await ConsoleCaller(console.app, token, "x")(case.method, case.at(console.tenant))
        assert code(answer) == (401, Code.CREDENTIAL_INVALID)


@pytest.mark.parametrize("case", [case for case in GUARDED if case.policy.role is not Role.VIEWER], ids=_name)
async def test_every_lower_role_is_refused(console: ConsoleApp, case: Case) -> None:
    for role in Role:
        if role.includes(case.policy.role):
            break
        answer = await (await console.caller(role))(case.method, case.at(console.tenant))
        assert code(answer) == (403, Code.FORBIDDEN)
        assert str(case.policy.role) in answer.json()["detail"]


@pytest.mark.parametrize("case", [case for case in GUARDED if case.policy.reach is not Reach.OWN], ids=_name)
async def test_a_grant_for_another_tenant_is_refused(console: ConsoleApp, case: Case) -> None:
    owner = await console.caller(Role.OWNER, OTHER)
    answer = await owner(case.method, case.at(console.tenant))
    assert code(answer) == (403, Code.FORBIDDEN)
    assert "grant" in answer.json()["detail"]


@pytest.mark.parametrize("case", CHANGING, ids=_name)
async def test_a_change_needs_the_csrf_token_and_the_own_origin(console: ConsoleApp, case: Case) -> None:
    owner = await console.caller(Role.OWNER)
    other = await console.caller(Role.OWNER)
    for wrong in (None, "", "x", other.csrf):
        answer = await replace(owner, csrf=wrong)(case.method, case.at(console.tenant))
        assert code(answer) == (403, Code.FORBIDDEN)
        assert "CSRF" in answer.json()["detail"]
    answer = await replace(owner, origin="https://attacker.example")(case.method, case.at(console.tenant))
    assert code(answer) == (403, Code.FORBIDDEN)
    assert "origin" in answer.json()["detail"]


@pytest.mark.parametrize("case", [case for case in GUARDED if case.policy.needs_reason], ids=_name)
async def test_a_route_that_needs_a_reason_refuses_without_one(console: ConsoleApp, case: Case) -> None:
    owner = await console.caller(Role.OWNER)
    for reason in (None, "", "  ", "ab", "x" * 501, "two\nlines"):
        answer = await replace(owner, reason=reason)(case.method, case.at(console.tenant))
        assert code(answer) == (400, Code.REQUEST_INVALID)
        assert answer.json()["errors"][0]["pointer"] == "/Tidings-Reason"
    assert await console.records(console.tenant) == [], "a refused request is no action"


@pytest.mark.parametrize("case", GUARDED, ids=_name)
async def test_the_declared_role_is_admitted_and_recorded(console: ConsoleApp, case: Case) -> None:
    """It may fail later, because the resource does not exist or the body is empty."""
    caller = await console.caller(
        case.policy.role, *([console.tenant] if case.policy.reach is Reach.TENANT else [])
    )
    answer = await caller(case.method, case.at(console.tenant))
    assert answer.status_code not in (401, 403, 405), answer.text
    in_tenant = case.policy.reach is Reach.TENANT
    found = await console.records(console.tenant if in_tenant else None)
    mine = [each for each in found if each.credential == f"session:{(caller.token or '').partition('.')[0]}"]
    if not case.policy.is_recorded:
        assert mine == []
        return
    finished, started = mine
    assert {finished.operation, started.operation} == {case.name}
    assert (started.phase, finished.phase) == (AuditPhase.STARTED, AuditPhase.FINISHED)
    assert (finished.outcome == "ok") == (answer.status_code < 400), answer.text
    assert (finished.actor, finished.reason, finished.source) == (
        f"oidc:{case.policy.role}",
        "ticket 4711",
        "console",
    )
    assert finished.target == case.at(console.tenant)


@pytest.mark.parametrize("case", [case for case in GUARDED if case.policy.reach is Reach.TENANT], ids=_name)
async def test_a_tenant_that_does_not_exist_is_refused(console: ConsoleApp, case: Case) -> None:
    owner = await console.caller(Role.OWNER)
    answer = await owner(case.method, case.at("no-such-tenant"))
    assert code(answer) == (400, Code.REQUEST_INVALID)
    assert "does not exist" in answer.json()["detail"]


def test_routes_are_those_of_the_class() -> None:
    """A router with another class would serve without any check."""
    assert all(isinstance(route, APIRoute) for router in ROUTERS for route in router.routes)
    assert all(router.route_class is ConsoleRoute for router in ROUTERS)
