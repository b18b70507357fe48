"""Preferences over REST: the user's own, those that the tenant's server sets, and the settings of an inbox."""

from contract.api.test_notifications import INBOX, NEWS, opened, send
from fixtures.use_cases import ANNA, BEN, UseCaseEnv

from tidings.kernel.errors import Code

OWN = f"{INBOX}/preferences"
OF_ANNA = f"{INBOX}/users/{ANNA}/preferences"
ALL = {"inbox": True, "push": True, "email": False, "webhook": True}


async def test_a_user_changes_and_reads_their_preferences(use_cases: UseCaseEnv) -> None:
    api, server, anna = await opened(use_cases)
    first = await anna.ok("GET", OWN)
    assert (first["channels"], first["chosen"]) == (ALL, {})
    assert first["categories"] == [
        {"name": name, "is_critical": False, "channels": ALL, "chosen": {}} for name in ("sport", "weather")
    ]
    change = {"channels": {"email": True}, "categories": {"sport": {"inbox": False, "email": False}}}
    changed = await anna.ok("PATCH", OWN, change)
    assert (changed["channels"], changed["chosen"]) == (ALL | {"email": True}, {"email": True})
    assert changed["categories"][0]["channels"] == ALL | {"inbox": False}
    assert changed["categories"][0]["chosen"] == {"inbox": False, "email": False}
    assert changed["categories"][1]["channels"] == ALL | {"email": True}
    assert await anna.ok("GET", OWN) == changed == await server.ok("GET", OF_ANNA)
    await send(api, server, ANNA, BEN, category="sport")
    counts = [(await api.user(user).ok("GET", f"{INBOX}/counts"))["unread"] for user in (ANNA, BEN)]
    assert counts == [0, 1]
    again = await anna.ok("PATCH", OWN, {"categories": {"sport": {"inbox": None}}})
    assert again["categories"][0]["chosen"] == {"email": False}
    assert await anna.code("PATCH", OWN, {"categories": {"other": {"inbox": False}}}) is Code.REQUEST_INVALID
    assert await anna.code("PATCH", OWN, {"channels": {"fax": False}}) is Code.REQUEST_INVALID


async def test_the_server_sets_preferences_and_explains_what_they_exclude(use_cases: UseCaseEnv) -> None:
    api, server, anna = await opened(use_cases)
    changed = await server.ok("PATCH", OF_ANNA, {"channels": {"inbox": False}})
    assert changed == await anna.ok("GET", OWN)
    await send(api, server, ANNA)
    explained = await server.ok("GET", f"{INBOX}/users/{ANNA}/explain")
    (reason,) = explained["notifications"]
    assert (reason["is_counted"], reason["why"]) == (False, "channel_off")
    await send(api, server, ANNA, is_critical=True)
    assert (await anna.ok("GET", f"{INBOX}/counts"))["unread"] == 1


async def test_an_inbox_keeps_its_channels_until_they_are_given_again(use_cases: UseCaseEnv) -> None:
    _, server, anna = await opened(use_cases)
    settings = {"weather": {"channels": {"push": False}, "is_critical": True}}
    await server.ok("PUT", INBOX, NEWS | {"channels": {"email": True}, "category_settings": settings})
    kept = await server.ok("PUT", INBOX, NEWS)
    assert (kept["channels"], kept["category_settings"]) == ({"email": True}, settings)
    await anna.ok("PATCH", OWN, {"channels": {"push": True, "email": False}})
    sport, weather = (await anna.ok("GET", OWN))["categories"]
    assert (sport["channels"], sport["is_critical"]) == (ALL, False)
    assert (weather["channels"], weather["is_critical"]) == (ALL | {"push": False, "email": True}, True)
    fewer = await server.ok("PUT", INBOX, NEWS | {"categories": ["sport"]})
    assert "category_settings" not in fewer
    unknown = NEWS | {"category_settings": {"other": {}}}
    assert await server.code("PUT", INBOX, unknown) is Code.REQUEST_INVALID
    emptied = await server.ok("PUT", INBOX, NEWS | {"channels": {}, "category_settings": {}})
    assert "channels" not in emptied


async def test_new_inboxes_start_with_the_channels_of_the_tenant(use_cases: UseCaseEnv) -> None:
    _, server, _ = await opened(use_cases)
    await server.ok("PUT", "/v1/inbox-defaults", {"channels": {"push": False}})
    assert (await server.ok("GET", "/v1/inbox-defaults"))["channels"] == {"push": False}
    assert (await server.ok("PUT", "/v1/inboxes/new", {"title": "New"}))["channels"] == {"push": False}
    assert "channels" not in await server.ok("PUT", INBOX, NEWS)


async def test_a_category_is_throttled(use_cases: UseCaseEnv) -> None:
    api, server, anna = await opened(use_cases)
    throttle = {"limit": 1, "window_s": 3600, "excess": "drop"}
    changed = await server.ok("PUT", INBOX, NEWS | {"category_settings": {"sport": {"throttle": throttle}}})
    assert changed["category_settings"]["sport"]["throttle"] == throttle
    for _ in range(2):
        await send(api, server, ANNA, category="sport")
    assert (await anna.ok("GET", f"{INBOX}/counts"))["unread"] == 1
    explained = await server.ok("GET", f"{INBOX}/users/{ANNA}/explain")
    assert [each["why"] for each in explained["notifications"]] == ["throttled", "delivered"]
    too_short = {"category_settings": {"sport": {"throttle": throttle | {"window_s": 1}}}}
    assert await server.code("PUT", INBOX, NEWS | too_short) is Code.REQUEST_INVALID


async def test_notifications_with_one_key_are_one_entry(use_cases: UseCaseEnv) -> None:
    api, server, anna = await opened(use_cases)
    digest = {"window_s": 3600}
    changed = await server.ok("PUT", INBOX, NEWS | {"category_settings": {"sport": {"digest": digest}}})
    assert changed["category_settings"]["sport"]["digest"] == digest
    for name in ("one", "two", "three"):
        await send(api, server, ANNA, category="sport", digest_key="post:1", message={"title": name})
    await send(api, server, ANNA, category="weather", digest_key="post:1")
    assert (await anna.ok("GET", f"{INBOX}/counts"))["unread"] == 2
    plain, combined = (await anna.ok("GET", f"{INBOX}/notifications"))["notifications"]
    assert "digest_count" not in plain
    assert (combined["message"], combined["digest_count"]) == ({"title": "three"}, 3)
    explained = await server.ok("GET", f"{INBOX}/users/{ANNA}/explain")
    reasons = [each["why"] for each in explained["notifications"]]
    assert reasons == ["delivered", "digested", "digested", "delivered"]
    invalid = {"user_ids": [ANNA], "message": {"title": "x"}, "digest_key": "-"}
    assert await server.code("POST", f"{INBOX}/notifications", invalid) is Code.REQUEST_INVALID
