"""Reports, invites and restrictions over REST."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest
from scripted_api import serve

from tidings_sdk import Client, Moderation, RequestRefused
from tidings_sdk.credentials import Credentials

CHAT = {"id": "g1", "role": "member", "is_frozen": True, "slow_mode_seconds": 30, "is_muted": True}


@dataclass
class ScriptedAnswers:
    answers: dict[str, Any] = field(default_factory=dict)
    requests: list[tuple[str, Any]] = field(default_factory=list)

    def answer(self, request: str, _: object, body: bytes) -> tuple[int, bytes]:
        self.requests.append((request, json.loads(body) if body else None))
        found = self.answers.get(request)
        if found == "refuse":
            return 403, json.dumps({"code": "banned"}).encode()
        return (200, json.dumps(found).encode()) if found else (204, b"")


@pytest.fixture
def api() -> Iterator[tuple[ScriptedAnswers, Moderation]]:
    script = ScriptedAnswers()
    with serve(script.answer) as url:
        yield script, Moderation(url, Credentials("anna"))


async def test_reports_have_a_reason_and_a_text(api: tuple[ScriptedAnswers, Moderation]) -> None:
    script, moderation = api
    await moderation.report_message("g1", 7, "spam", "links")
    await moderation.report_user("b+n", "abuse")
    assert script.requests == [
        ("POST /v1/messages/g1.7/report", {"reason": "spam", "text": "links"}),
        ("POST /v1/users/b%2Bn/report", {"reason": "abuse"}),
    ]


async def test_restrictions_do_not_apply_to_admins(api: tuple[ScriptedAnswers, Moderation]) -> None:
    script, moderation = api
    script.answers["GET /v1/chats/g1"] = CHAT | {"muted_until": "2099-01-01T00:00:00.000Z"}
    found = await moderation.restrictions("g1")
    assert (found.is_frozen, found.slow_mode_s, found.is_muted) == (True, 30, True)
    assert found.muted_until == datetime(2099, 1, 1, tzinfo=UTC)
    script.answers["GET /v1/chats/g1"] = CHAT | {"role": "admin"}
    found = await moderation.restrictions("g1")
    assert (found.is_frozen, found.slow_mode_s, found.is_muted) == (False, 0, True)


async def test_groups_are_joined_by_link_and_by_invite(api: tuple[ScriptedAnswers, Moderation]) -> None:
    script, moderation = api
    invite = {"chat": "g2", "invited_by": "ben", "created_at": "2026-11-15T02:11:21.957Z"}
    script.answers["GET /v1/invites?limit=200"] = {"invites": [invite]}
    await moderation.join("g1", "token")
    assert [each.chat for each in await moderation.invites()] == ["g2"]
    await moderation.accept("g2")
    await moderation.decline("g3")
    assert script.requests[0] == ("POST /v1/chats/g1/join", {"token": "token"})
    assert [request for request, _ in script.requests[2:]] == [
        "POST /v1/invites/g2/accept",
        "DELETE /v1/invites/g3",
    ]
    script.answers["POST /v1/chats/g1/join"] = "refuse"
    with pytest.raises(RequestRefused) as refused:
        await moderation.join("g1")
    assert refused.value.code == "banned"


def test_a_client_without_the_address_has_no_moderation() -> None:
    with pytest.raises(ValueError, match="api"):
        _ = Client("ws://x", "token").moderation
