"""The refusal matrix: every route, called by every caller without permission."""

import json
from pathlib import Path
from typing import Any

import pytest
from contract.api.examples import EXAMPLES, Example, Reach, operation_of
from contract.api.matrix import absent, answer_for, breaches, far_ahead, seed_matrix
from fastapi import APIRouter
from fixtures.credentials import real_ring
from fixtures.rest_app import RestApp
from fixtures.use_cases import ANNA, BEN, UseCaseEnv

from tidings.api.auth import AuthenticatedRoute

DOCUMENT: dict[str, Any] = json.loads((Path(__file__).parents[4] / "protocol/openapi.json").read_text())
OPERATIONS = {
    operation["operationId"]: {"method": method, **operation}
    for methods in DOCUMENT["paths"].values()
    for method, operation in methods.items()
}
METHODS = {
    name: OPERATIONS[operation_of(name)]["method"] for name in EXAMPLES if operation_of(name) in OPERATIONS
}


def test_every_route_has_its_example_and_every_example_its_route() -> None:
    operations = {operation_of(name) for name in EXAMPLES}
    assert sorted(OPERATIONS.keys() - operations) == [], "give it an example in examples.py"
    assert sorted(operations - OPERATIONS.keys()) == []


def test_every_kind_of_body_has_its_example() -> None:
    for name, operation in OPERATIONS.items():
        kinds = {f"{name}.{kind}" for kind in body_kinds(operation)}
        given = {each for each in EXAMPLES if operation_of(each) == name}
        assert given == (kinds or {name})


def body_kinds(operation: dict[str, Any]) -> set[str]:
    """Return the values of the field that selects the schema of the body, if there are several schemas."""
    content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    return set(content.get("schema", {}).get("discriminator", {}).get("mapping", {}))


GUARDED = sorted(name for name in METHODS if EXAMPLES[name].reach is not Reach.OPEN)


def test_only_routes_described_as_public_need_no_credential() -> None:
    with_a_lock = {
        operation["operationId"]
        for methods in DOCUMENT["paths"].values()
        for operation in methods.values()
        if operation.get("security")
    }
    assert {operation_of(name) for name in GUARDED} == with_a_lock


@pytest.mark.parametrize("name", GUARDED)
async def test_callers_without_permission_are_rejected(name: str, use_cases: UseCaseEnv) -> None:
    api, example = RestApp(use_cases), EXAMPLES[name]
    made = await seed_matrix(api)
    assert await breaches(made, api.app, METHODS[name], example) == []
    good = await made.call(example, api.app, METHODS[name])(made.rightful(example))
    assert good.is_success, f"the example itself is wrong: {good.text}"


@pytest.mark.parametrize("tables", ["local"], indirect=True)
@pytest.mark.parametrize("name", GUARDED)
async def test_callers_with_verified_credentials_but_no_permission_are_rejected(
    name: str, use_cases: UseCaseEnv
) -> None:
    api, example = RestApp(use_cases), EXAMPLES[name]
    made = await seed_matrix(api)
    api.trust(await real_ring(use_cases, api.accounts))
    assert len(api.ring.unfit) == 8
    assert await breaches(made, api.app, METHODS[name], example) == []
    good = await made.call(example, api.app, METHODS[name])(made.rightful(example))
    assert good.is_success, f"the example itself is wrong: {good.text}"


ABOUT_CHATS = sorted(name for name in GUARDED if EXAMPLES[name].reach in {Reach.CHAT, Reach.PAST})


def takes_a_position(name: str) -> bool:
    body = OPERATIONS[operation_of(name)].get("requestBody")
    if body is None:
        return False
    model = body["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
    return "after" in DOCUMENT["components"]["schemas"][model]["properties"]


@pytest.mark.parametrize("name", ABOUT_CHATS)
async def test_a_non_member_does_not_learn_whether_a_chat_exists(name: str, use_cases: UseCaseEnv) -> None:
    """The id of a direct chat is derived from its two users, so any user can guess it."""
    api, method = RestApp(use_cases), METHODS[name]
    made = await seed_matrix(api)
    direct = await use_cases.manage.direct(use_cases.tenant, ANNA, BEN)
    await use_cases.send(direct, ANNA, "between the two")
    examples = [EXAMPLES[name]] + ([far_ahead(EXAMPLES[name])] if takes_a_position(name) else [])
    for chat in (made.chat, direct):
        for example in examples:
            existing = await answer_for(made, api.app, method, example, chat)
            assert existing == await answer_for(made, api.app, method, example, absent(chat))
            assert existing.startswith("404 ")


@pytest.mark.parametrize("name", ["redeem_code", "refresh_session"])
async def test_a_public_route_rejects_guessed_values(name: str, use_cases: UseCaseEnv) -> None:
    api = RestApp(use_cases)
    made = await seed_matrix(api)
    guessed = await made.call(EXAMPLES[name], api.app, METHODS[name])(None)
    assert (guessed.status_code, guessed.json()["code"]) == (401, "credential_invalid")
    assert made.private not in guessed.text


async def test_a_route_without_authentication_is_found(use_cases: UseCaseEnv) -> None:
    """Two mistakes: a route without authentication, and a route that does not check membership."""
    api = RestApp(use_cases)
    naked, authenticated = APIRouter(), APIRouter(route_class=AuthenticatedRoute)

    @naked.get("/v1/naked/{chat}")
    async def naked_route(chat: str) -> str:
        return chat

    @authenticated.get("/v1/authenticated/{chat}")
    async def authenticated_route(chat: str) -> str:
        return chat

    api.app.include_router(naked)
    api.app.include_router(authenticated)
    made = await seed_matrix(api)
    without = await breaches(made, api.app, "get", Example("/v1/naked/{chat}"))
    assert any(each.startswith("no credential: 200") for each in without)
    extra = await breaches(made, api.app, "get", Example("/v1/authenticated/{chat}"))
    assert {each.partition(":")[0] for each in extra} == {
        "another tenant's user of the same name",
        "a server without a scope",
        "another tenant's server in her name",
        "another tenant's server",
        "a stranger",
        "a removed member",
    }
