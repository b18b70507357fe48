"""Sign in with the bootstrap key; sessions end by sign-out, revocation and time."""

from dataclasses import replace

from fixtures.console_app import KEY, SESSION_S, ConsoleApp, ConsoleCaller

from tidings.api.console.policy import POLICIES
from tidings.kernel.errors import Code
from tidings.kernel.security import Secret
from tidings.operators.model import Role
from tidings.operators.sessions import csrf_token
from tidings.operators.store import DynamoOperatorSessionStore

SESSION = "/admin/v1/session"


async def test_the_bootstrap_key_signs_in_as_the_owner_of_all_tenants(console: ConsoleApp) -> None:
    browser = ConsoleCaller(console.app, None, None)
    answer = await browser("POST", SESSION, {"key": KEY})
    assert answer.status_code == 201
    cookie = answer.headers["set-cookie"]
    assert all(word in cookie for word in ("tidings_console=", "HttpOnly", "Path=/", "SameSite=lax"))
    token = answer.cookies["tidings_console"]
    session = answer.json()
    assert (session["role"], session["tenants"]) == ("owner", ["*"])
    assert session["csrf_token"] == csrf_token(token)
    assert set(session["permissions"]) < set(POLICIES)
    assert KEY not in answer.text
    again = await ConsoleCaller(console.app, token, None)("GET", SESSION)
    assert again.json() == session


async def test_a_wrong_key_is_refused_recorded_and_limited(console: ConsoleApp) -> None:
    browser = ConsoleCaller(console.app, None, None)
    answers = [await browser("POST", SESSION, {"key": "wrong"}) for _ in range(11)]
    assert [each.status_code for each in answers] == [401] * 10 + [429]
    assert (await browser("POST", SESSION, {"key": KEY})).status_code == 429
    elsewhere = ConsoleCaller(console.app, None, None, address="192.0.2.7")
    assert (await elsewhere("POST", SESSION, {"key": KEY})).status_code == 201
    outcomes = [each.outcome for each in await console.records(None) if each.operation == "create_session"]
    assert Code.CREDENTIAL_INVALID in outcomes


async def test_another_site_cannot_sign_a_browser_in(console: ConsoleApp) -> None:
    browser = ConsoleCaller(console.app, None, None, origin="https://attacker.example")
    assert (await browser("POST", SESSION, {"key": KEY})).json()["code"] == Code.FORBIDDEN


async def test_a_session_ends_with_the_sign_out(console: ConsoleApp) -> None:
    caller = await console.caller(Role.VIEWER)
    assert (await caller("DELETE", SESSION)).status_code == 204
    assert (await caller("GET", SESSION)).json()["code"] == Code.CREDENTIAL_INVALID


async def test_an_owner_revokes_the_session_of_another_operator(console: ConsoleApp) -> None:
    caller, owner = await console.caller(Role.SUPPORT, console.tenant), await console.caller(Role.OWNER)
    session = (await caller("GET", SESSION)).json()["session"]
    listed = (await owner("GET", "/admin/v1/sessions")).json()["sessions"]
    (found,) = [each for each in listed if each["id"] == session]
    assert (found["operator"], found["role"], found["tenants"]) == (
        "oidc:support",
        "support",
        [console.tenant],
    )
    assert (await owner("DELETE", f"/admin/v1/sessions/{session}")).status_code == 204
    assert (await caller("GET", SESSION)).json()["code"] == Code.CREDENTIAL_INVALID


async def test_a_session_expires(console: ConsoleApp) -> None:
    caller = await console.caller(Role.VIEWER)
    console.use_cases.clock.ahead_ms = round(SESSION_S * 1000) + 1
    assert (await caller("GET", SESSION)).json()["code"] == Code.CREDENTIAL_EXPIRED


async def test_a_session_row_that_was_changed_is_refused(console: ConsoleApp) -> None:
    """Write access to the table must not make an owner of a viewer."""
    caller = await console.caller(Role.VIEWER, console.tenant)
    forger = DynamoOperatorSessionStore(console.use_cases.client, Secret("another secret of cookies"))
    session = await console.sessions.verify(caller.token or "")
    await console.sessions.end(session.id)
    await forger.add(session)
    assert (await caller("GET", SESSION)).json()["code"] == Code.CREDENTIAL_INVALID


async def test_an_operator_sees_only_granted_tenants(console: ConsoleApp) -> None:
    for tenants, expected in ((("another-tenant",), []), ((console.tenant,), [console.tenant])):
        caller = await console.caller(Role.VIEWER, *tenants)
        assert (await caller("GET", "/admin/v1/tenants")).json() == {"tenants": expected}


async def test_an_api_key_is_issued_once_and_its_secret_is_not_recorded(console: ConsoleApp) -> None:
    owner, path = (
        await console.caller(Role.OWNER, console.tenant),
        f"/admin/v1/tenants/{console.tenant}/api-keys",
    )
    issued = await owner("POST", path, {"title": "server", "scopes": ["users"]})
    assert issued.status_code == 201
    secret, key = issued.json()["secret"], issued.json()["api_key"]["id"]
    assert (await console.services.api_keys.verify(secret)).tenant == console.tenant
    assert secret.rpartition(".")[2] not in str(await console.records(console.tenant))
    assert (await owner("DELETE", f"{path}/{key}")).status_code == 204
    assert (await owner("GET", path)).json()["api_keys"][0]["revoked_at"]
    assert (await replace(owner, reason="x")("POST", path, {})).status_code == 400


async def test_the_audit_log_is_listed_and_exported(console: ConsoleApp) -> None:
    owner, path = await console.caller(Role.OWNER), f"/admin/v1/tenants/{console.tenant}"
    for name in ("One", "Two"):
        assert (await owner("PATCH", path, {"name": name})).json()["settings"]["name"] == name
    page = (await owner("GET", f"{path}/audit?limit=3")).json()
    assert [each["phase"] for each in page["records"]] == ["finished", "started", "finished"]
    assert page["records"][0]["after"]["name"] == "Two"
    rest = (await owner("GET", f"{path}/audit?limit=3&cursor={page['cursor']}")).json()
    assert [each["phase"] for each in rest["records"]] == ["started"]
    other = await console.caller(Role.SUPPORT)
    assert (await other("GET", f"{path}/audit")).json()["code"] == Code.FORBIDDEN
    exported = await owner("GET", f"{path}/audit/export")
    assert exported.headers["content-type"] == "application/x-ndjson"
    assert len(exported.text.splitlines()) >= 4
