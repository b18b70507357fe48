"""E-mail over REST: templates, the user's address, reports of bounces, and links to unsubscribe."""

import pytest
from contract.api.test_notifications import INBOX, opened
from fixtures.rest_app import Caller, RestApp
from fixtures.use_cases import ANNA, UseCaseEnv

from tidings.accounts.model import EmailRefusal, Scope
from tidings.inboxes.mail.model import MailReference
from tidings.inboxes.mail.rules import address_hash, sign_reference
from tidings.inboxes.mail.service import MAIL_ID, UNSUBSCRIBE
from tidings.inboxes.model import InboxId, InboxKey
from tidings.kernel.errors import Code
from tidings.tenants.model import TenantSettings
from tidings.tenants.store import DynamoTenantStore

TEMPLATE = {"locale": "en", "subject": "{{message.title}}", "text": "{{name}}", "category": "sport"}


async def with_tenant(use_cases: UseCaseEnv) -> tuple[RestApp, Caller, Caller]:
    """Open the API, and create the tenant: a link is not signed by a tenant that does not exist."""
    rows = DynamoTenantStore(use_cases.client, use_cases.authentic)
    await rows.create(use_cases.tenant, TenantSettings(name="Shop"), use_cases.clock.now_ms())
    return await opened(use_cases)


async def token(use_cases: UseCaseEnv, purpose: str, detail: str, address: str = "") -> str:
    mac = await use_cases.ring.mac(use_cases.tenant)
    inbox_key = InboxKey(use_cases.tenant, ANNA, InboxId("default"))
    return sign_reference(
        MailReference(inbox_key, detail, address_hash(address, mac) if address else ""), purpose, mac
    )


async def test_templates_are_read_as_they_were_set(use_cases: UseCaseEnv) -> None:
    _, server, anna = await opened(use_cases)
    assert await server.ok("GET", f"{INBOX}/email") == {"templates": [], "version": 0}
    wanted = {"sender_name": "Shop", "reply_to": "help@shop.example", "templates": [TEMPLATE]}
    changed = await server.ok("PUT", f"{INBOX}/email", wanted)
    assert changed | {"updated_at": ""} == wanted | {"version": 1, "updated_at": ""}
    assert await server.ok("GET", f"{INBOX}/email") == changed
    for wrong in (
        {"templates": [TEMPLATE | {"text": "{{nmae}}"}]},
        {"templates": [TEMPLATE | {"category": "cars"}]},
        {"templates": [TEMPLATE, TEMPLATE]},
        {"templates": [TEMPLATE | {"subject": "a\nBcc: x@y"}]},
        {"reply_to": "nobody"},
        {"templates": [TEMPLATE | {"locale": language, "text": "x" * 31_000} for language in ("en", "de")]},
    ):
        assert await server.code("PUT", f"{INBOX}/email", wrong) is Code.REQUEST_INVALID
    assert await anna.code("GET", f"{INBOX}/email") is Code.FORBIDDEN


async def test_only_the_server_sets_the_address(use_cases: UseCaseEnv) -> None:
    api, _, anna = await opened(use_cases)
    users = api.server(Scope.USERS)
    await users.ok("POST", "/v1/users", {"id": ANNA})
    changed = await users.ok("PATCH", f"/v1/users/{ANNA}", {"email": "anna@home.example", "locale": "de"})
    assert (changed["email"], changed["locale"]) == ("anna@home.example", "de")
    assert (await anna.ok("GET", "/v1/me"))["email"] == "anna@home.example"
    assert await anna.code("PATCH", "/v1/me", {"email": "x@home.example"}) is Code.REQUEST_INVALID
    for wrong in ("anna", "a@b@c", "a b@c.example", "<a@c.example>", "a@-", "ä@c.example"):
        assert await users.code("PATCH", f"/v1/users/{ANNA}", {"email": wrong}) is Code.REQUEST_INVALID
    removed = await users.ok("PATCH", f"/v1/users/{ANNA}", {"email": None})
    assert "email" not in removed
    assert removed["locale"] == "de"


async def test_a_bounce_turns_the_address_off(use_cases: UseCaseEnv) -> None:
    api, server, anna = await with_tenant(use_cases)
    users = api.server(Scope.USERS)
    await users.ok("POST", "/v1/users", {"id": ANNA, "email": "anna@home.example"})
    name = await token(use_cases, MAIL_ID, "n1", "anna@home.example")
    report = {"message_id": f"<{name}@shop.example>", "kind": "complaint"}
    assert await server.ok("POST", "/v1/email/bounces", report) == {"user_id": ANNA}
    assert (await anna.ok("GET", "/v1/me"))["email_refused"] == EmailRefusal.COMPLAINT
    forged = report | {"message_id": f"<{name[:-1]}@shop.example>"}
    assert await server.code("POST", "/v1/email/bounces", forged) is Code.NOTIFICATION_NOT_FOUND
    assert await anna.code("POST", "/v1/email/bounces", report) is Code.FORBIDDEN


@pytest.mark.parametrize("category", ["sport", ""])
async def test_one_click_switches_email_off(use_cases: UseCaseEnv, category: str) -> None:
    api, server, anna = await with_tenant(use_cases)
    await server.ok(
        "PUT", INBOX, {"title": "<News>", "categories": ["sport", "weather"], "channels": {"email": True}}
    )
    nobody = api.holder(None)
    path = f"/v1/email/unsubscribe?token={await token(use_cases, UNSUBSCRIBE, category)}"
    page = await nobody("GET", path)
    assert page.status_code == 200
    assert "&lt;News&gt;" in page.text
    assert (await anna.ok("GET", f"{INBOX}/preferences"))["channels"]["email"] is True, (
        "opening changes nothing"
    )
    form = {
        "content": b"List-Unsubscribe=One-Click",
        "headers": {"content-type": "application/x-www-form-urlencoded"},
    }
    assert (await nobody("POST", path, **form)).status_code == 200
    chosen = await anna.ok("GET", f"{INBOX}/preferences")
    off = [each["name"] for each in chosen["categories"] if not each["channels"]["email"]]
    assert off == (["sport"] if category else ["sport", "weather"])
    assert await nobody.code("POST", path[:-1]) is Code.CREDENTIAL_INVALID
