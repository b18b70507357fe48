"""The refusal matrix: every route, called by every caller without permission."""

from typing import Any

import pytest
from contract.api.matrix import EXAMPLES, Example, Reach, absent, breaches, far_ahead, set_scene, told
from fastapi import APIRouter
from fixtures.credentials import real_ring
from fixtures.rest_app import RestApp
from fixtures.use_cases import ANNA, BEN, RunUseCases, UseCaseEnv

from tidings.api.app import app_for_schema
from tidings.api.auth import AuthenticatedRoute

DOCUMENT: dict[str, Any] = app_for_schema().openapi()
OPERATIONS = {
    operation["operationId"]: {"method": method, **operation}
    for methods in DOCUMENT["paths"].values()
    for method, operation in methods.items()
}
METHODS = {name: operation["method"] for name, operation in OPERATIONS.items()}


def test_every_route_has_its_example_and_every_example_its_route() -> None:
    assert sorted(METHODS.keys() - EXAMPLES.keys()) == [], "give it an example in matrix.py"
    assert sorted(EXAMPLES.keys() - METHODS.keys()) == []


GUARDED = sorted(name for name in METHODS if EXAMPLES.get(name, Example("")).reach is not Reach.OPEN)


def test_only_those_routes_are_open_that_say_so_in_the_description() -> None:
    with_a_lock = {
        operation["operationId"]
        for methods in DOCUMENT["paths"].values()
        for operation in methods.values()
        if operation.get("security")
    }
    assert set(GUARDED) == with_a_lock


@pytest.mark.parametrize("name", GUARDED)
def test_nobody_gets_through_who_has_no_business_there(name: str, play: RunUseCases) -> None:
    async def scene(stage: UseCaseEnv) -> None:
        house, example = RestApp(stage), EXAMPLES[name]
        made = await set_scene(house)
        assert await breaches(made, house.app, METHODS[name], example) == []
        good = await made.call(example, house.app, METHODS[name])(made.rightful(example))
        assert good.is_success, f"the example itself is wrong: {good.text}"

    play(scene)


@pytest.mark.parametrize("tables", ["local"], indirect=True)
@pytest.mark.parametrize("name", GUARDED)
def test_the_same_holds_for_credentials_that_are_really_verified(name: str, play: RunUseCases) -> None:
    async def scene(stage: UseCaseEnv) -> None:
        house, example = RestApp(stage), EXAMPLES[name]
        made = await set_scene(house)
        house.trust(await real_ring(stage, house.door))
        assert len(house.ring.unfit) == 8
        assert await breaches(made, house.app, METHODS[name], example) == []
        good = await made.call(example, house.app, METHODS[name])(made.rightful(example))
        assert good.is_success, f"the example itself is wrong: {good.text}"

    play(scene)


ABOUT_CHATS = sorted(name for name in GUARDED if EXAMPLES[name].reach in {Reach.CHAT, Reach.PAST})


def takes_a_position(name: str) -> bool:
    body = OPERATIONS[name].get("requestBody")
    if body is None:
        return False
    model = body["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
    return "after" in DOCUMENT["components"]["schemas"][model]["properties"]


@pytest.mark.parametrize("name", ABOUT_CHATS)
def test_a_stranger_does_not_learn_whether_there_is_such_a_chat(name: str, play: RunUseCases) -> None:
    """The id of a direct chat is derived from its two users, so any user can guess it."""

    async def scene(stage: UseCaseEnv) -> None:
        house, method = RestApp(stage), METHODS[name]
        made = await set_scene(house)
        direct = await stage.manage.direct(stage.tenant, ANNA, BEN)
        await stage.send(direct, ANNA, "between the two")
        examples = [EXAMPLES[name]] + ([far_ahead(EXAMPLES[name])] if takes_a_position(name) else [])
        for chat in (made.chat, direct):
            for example in examples:
                there = await told(made, house.app, method, example, chat)
                assert there == await told(made, house.app, method, example, absent(chat))
                assert there.startswith("404 ")

    play(scene)


@pytest.mark.parametrize("name", ["redeem_code", "refresh_session"])
def test_an_open_route_lets_nobody_in_who_only_guesses(name: str, play: RunUseCases) -> None:
    async def scene(stage: UseCaseEnv) -> None:
        house = RestApp(stage)
        made = await set_scene(house)
        guessed = await made.call(EXAMPLES[name], house.app, METHODS[name])(None)
        assert (guessed.status_code, guessed.json()["code"]) == (401, "credential_invalid")
        assert made.private not in guessed.text

    play(scene)


def test_a_route_without_a_door_is_found(play: RunUseCases) -> None:
    """Two mistakes: a route without authentication, and a route that does not check membership."""

    async def scene(stage: UseCaseEnv) -> None:
        house = RestApp(stage)
        naked, told = APIRouter(), APIRouter(route_class=AuthenticatedRoute)

        @naked.get("/v1/naked/{chat}")
        async def naked_route(chat: str) -> str:
            return chat

        @told.get("/v1/told/{chat}")
        async def told_route(chat: str) -> str:
            return chat

        house.app.include_router(naked)
        house.app.include_router(told)
        made = await set_scene(house)
        without = await breaches(made, house.app, "get", Example("/v1/naked/{chat}"))
        assert any(each.startswith("no credential: 200") for each in without)
        beside = await breaches(made, house.app, "get", Example("/v1/told/{chat}"))
        assert {each.partition(":")[0] for each in beside} == {
            "another tenant's user of the same name",
            "a server without a scope",
            "another tenant's server in her name",
            "another tenant's server",
            "a stranger",
            "a removed member",
        }

    play(scene)
