"""The first inbox API's document, transcribed: its addresses, bodies and attribute names, on both engines."""

from typing import Any

from fixtures.rest_app import RestApp
from fixtures.use_cases import RunUseCases, UseCaseEnv

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
"""The document's message record without its keys."""
DOCUMENT_CONFIG = {"title": "General Notifications", "description": "System-wide notifications"}
GIVEN_BY_US = {"id", "received", "delivered", "readat"}


async def opened(stage: UseCaseEnv) -> tuple[RestApp, str, str]:
    house = RestApp(stage)
    server = house.server(Scope.NOTIFICATIONS)
    await server.ok("PUT", "/v1/inboxes/DEFAULT", DOCUMENT_CONFIG | {"categories": ["notification"]})
    return house, f"/stack/admin/v1/{stage.tenant}/DEFAULT", f"/stack/users/v1/{stage.tenant}/DEFAULT"


async def posted(house: RestApp, admin: str) -> str:
    body = {name: value for name, value in DOCUMENT_ROW.items() if name not in GIVEN_BY_US}
    sent = await house.server(Scope.NOTIFICATIONS).ok("POST", f"{admin}/messages/post", body)
    await house.work()
    assert sent["recipients"] == 2
    return str(sent["id"])


def test_a_message_to_specific_users_comes_as_the_document_shows_it(play: RunUseCases) -> None:
    async def scene(stage: UseCaseEnv) -> None:
        house, admin, users = await opened(stage)
        notification = await posted(house, admin)
        page = await house.user(USER).ok("GET", f"{users}/messages/last/10")
        (row,) = page["messages"]
        assert row.keys() == DOCUMENT_ROW.keys()
        assert row == DOCUMENT_ROW | {
            "id": notification,
            "received": row["received"],
            "delivered": row["delivered"],
            "audiences": DOCUMENT_ROW["audiences"] | {"uids": [USER]},
        }
        now_s = stage.clock.now_ms() // 1000
        assert now_s - 60 < row["received"] <= row["delivered"] <= now_s + 1
        assert page["counts"]["unread"] == 1
        assert page["counts"]["categories"] == {"notification": 1}

    play(scene)


def test_messages_are_marked_read_by_ids_and_before_a_time(play: RunUseCases) -> None:
    async def scene(stage: UseCaseEnv) -> None:
        house, admin, users = await opened(stage)
        caller = house.user(USER)
        first, second = await posted(house, admin), await posted(house, admin)
        counts = await caller.ok("PUT", f"{users}/messages/read/", {"ids": [first]})
        assert counts["unread"] == 1
        rows = (await caller.ok("GET", f"{users}/messages/last/10"))["messages"]
        assert [(row["id"], row["readat"] is None) for row in rows] == [(second, True), (first, False)]
        early = {"before": 1640995200}
        assert (await caller.ok("PUT", f"{users}/messages/read/", early))["unread"] == 1
        late = {"before": stage.clock.now_ms() // 1000 + 5, "category": "notification"}
        assert (await caller.ok("PUT", f"{users}/messages/read", late))["unread"] == 0
        neither = {"ids": [first], "before": 1}
        assert await caller.code("PUT", f"{users}/messages/read/", neither) is Code.REQUEST_INVALID
        assert (await house.user(OTHER).ok("GET", f"{users}/messages/last/1"))["counts"]["unread"] == 2

    play(scene)


def test_a_message_is_redacted_for_everybody(play: RunUseCases) -> None:
    async def scene(stage: UseCaseEnv) -> None:
        house, admin, users = await opened(stage)
        notification = await posted(house, admin)
        done = await house.server(Scope.NOTIFICATIONS).ok(
            "DELETE", f"{admin}/messages/redact", {"id": notification}
        )
        assert done["id"] == notification
        await house.work()
        for user in (USER, OTHER):
            page = await house.user(user).ok("GET", f"{users}/messages/last/10")
            assert (page["messages"], page["counts"]["unread"]) == ([], 0)

    play(scene)


def test_admins_and_users_are_kept_apart_and_the_address_decides_nothing(play: RunUseCases) -> None:
    async def scene(stage: UseCaseEnv) -> None:
        house, admin, users = await opened(stage)
        notification = await posted(house, admin)
        user, server = house.user(USER), house.server(Scope.NOTIFICATIONS)
        assert await user.code("DELETE", f"{admin}/messages/redact", {"id": notification}) is Code.FORBIDDEN
        assert await server.code("GET", f"{users}/messages/last/1") is Code.REQUEST_INVALID
        elsewhere = users.replace(stage.tenant, "another-tenant")
        assert await user.code("GET", f"{elsewhere}/messages/last/1") is Code.FORBIDDEN

    play(scene)
