"""The original inbox API: its paths, bodies and field names, on both engines."""

from typing import Any

from fixtures.rest_app import RestApp
from fixtures.use_cases import UseCaseEnv

from tidings.accounts.model import Scope
from tidings.kernel.errors import Code
from tidings.kernel.ids import UserId

USER, OTHER = UserId("user456"), UserId("user789")
DOCUMENT_ROW: dict[str, Any] = {
    "id": "msg789",
    "host_system_id": "external_id_123",
    "category": "notification",
    "sender": "admin_user",
    "audiences": {"kind": "users", "label": "Premium Users", "uids": ["user456", "user789"]},
    "received": 1640995200,
    "delivered": 1640995201,
    "readat": None,
    "message": {
        "title": "New Feature Available",
        "body": "Check out our latest feature...",
        "cta_uri": "myapp://features/new",
    },
}
"""The message record of the original document, without its keys."""
DOCUMENT_CONFIG = {"title": "General Notifications", "description": "System-wide notifications"}
GIVEN_BY_US = {"id", "received", "delivered", "readat"}


async def opened(use_cases: UseCaseEnv) -> tuple[RestApp, str, str]:
    api = RestApp(use_cases)
    server = api.server(Scope.NOTIFICATIONS)
    await server.ok("PUT", "/v1/inboxes/DEFAULT", DOCUMENT_CONFIG | {"categories": ["notification"]})
    return api, f"/stack/admin/v1/{use_cases.tenant}/DEFAULT", f"/stack/users/v1/{use_cases.tenant}/DEFAULT"


async def posted(api: RestApp, admin: str) -> str:
    body = {name: value for name, value in DOCUMENT_ROW.items() if name not in GIVEN_BY_US}
    sent = await api.server(Scope.NOTIFICATIONS).ok("POST", f"{admin}/messages/post", body)
    await api.work()
    assert sent["recipients"] == 2
    return str(sent["id"])


async def test_a_notification_to_specific_users_matches_the_document(use_cases: UseCaseEnv) -> None:
    api, admin, users = await opened(use_cases)
    notification = await posted(api, admin)
    page = await api.user(USER).ok("GET", f"{users}/messages/last/10")
    (row,) = page["messages"]
    assert row.keys() == DOCUMENT_ROW.keys()
    assert row == DOCUMENT_ROW | {
        "id": notification,
        "received": row["received"],
        "delivered": row["delivered"],
        "audiences": DOCUMENT_ROW["audiences"] | {"uids": [USER]},
    }
    now_s = use_cases.clock.now_ms() // 1000
    assert now_s - 60 < row["received"] <= row["delivered"] <= now_s + 1
    assert page["counts"]["unread"] == 1
    assert page["counts"]["categories"] == {"notification": 1}


async def test_messages_are_marked_read_by_ids_and_before_a_time(use_cases: UseCaseEnv) -> None:
    api, admin, users = await opened(use_cases)
    caller = api.user(USER)
    first, second = await posted(api, admin), await posted(api, admin)
    counts = await caller.ok("PUT", f"{users}/messages/read/", {"ids": [first]})
    assert counts["unread"] == 1
    rows = (await caller.ok("GET", f"{users}/messages/last/10"))["messages"]
    assert [(row["id"], row["readat"] is None) for row in rows] == [(second, True), (first, False)]
    early = {"before": 1640995200}
    assert (await caller.ok("PUT", f"{users}/messages/read/", early))["unread"] == 1
    late = {"before": use_cases.clock.now_ms() // 1000 + 5, "category": "notification"}
    assert (await caller.ok("PUT", f"{users}/messages/read", late))["unread"] == 0
    neither = {"ids": [first], "before": 1}
    assert await caller.code("PUT", f"{users}/messages/read/", neither) is Code.REQUEST_INVALID
    assert (await api.user(OTHER).ok("GET", f"{users}/messages/last/1"))["counts"]["unread"] == 2


async def test_a_notification_is_redacted_for_all_users(use_cases: UseCaseEnv) -> None:
    api, admin, users = await opened(use_cases)
    notification = await posted(api, admin)
    done = await api.server(Scope.NOTIFICATIONS).ok(
        "DELETE", f"{admin}/messages/redact", {"id": notification}
    )
    assert done["id"] == notification
    await api.work()
    for user in (USER, OTHER):
        page = await api.user(user).ok("GET", f"{users}/messages/last/10")
        assert (page["messages"], page["counts"]["unread"]) == ([], 0)


async def test_admins_and_users_are_kept_apart_and_the_address_decides_nothing(use_cases: UseCaseEnv) -> None:
    api, admin, users = await opened(use_cases)
    notification = await posted(api, admin)
    user, server = api.user(USER), api.server(Scope.NOTIFICATIONS)
    assert await user.code("DELETE", f"{admin}/messages/redact", {"id": notification}) is Code.FORBIDDEN
    assert await server.code("GET", f"{users}/messages/last/1") is Code.REQUEST_INVALID
    elsewhere = users.replace(use_cases.tenant, "another-tenant")
    assert await user.code("GET", f"{elsewhere}/messages/last/1") is Code.FORBIDDEN
