"""Preferences on a whole installation: the SDK changes them, and workers and gateways follow."""

import pytest
from fixtures.installation_processes import InstallationProcesses
from fixtures.loops import until
from fixtures.phone_login import LONG_S, Phone, server_of

from tidings_sdk import RequestRefused

pytestmark = pytest.mark.deadline(600.0)


async def test_a_category_that_is_switched_off_reaches_no_device(installation: InstallationProcesses) -> None:
    """Direct notifications and broadcasts of the category, on two gateways; a critical one is delivered."""
    one, two, _ = installation.ready("gateway", "gateway", "notifications")
    async with (
        server_of(installation) as server,
        Phone(installation, one.socket_port, "ben") as phone,
        Phone(installation, two.socket_port, "ben", "laptop") as laptop,
        Phone(installation, two.socket_port, "anna") as other,
    ):
        await server.ask("POST", "/broadcasts", {"message": {"title": "all"}, "category": "news"})
        await until(lambda: all(each.inbox.is_stale for each in (phone, laptop, other)), LONG_S)
        for each in (phone, laptop, other):
            assert (await each.inbox.refresh()).unread == 1
        changed = await phone.inbox.change_preferences(categories={"news": {"inbox": False}})
        assert changed.categories[0].channels["inbox"] is False
        # The laptop learns that a broadcast has left the list.
        await until(lambda: laptop.counts[0] == 0, LONG_S)
        assert (await laptop.inbox.list()).notifications == ()
        await server.send("ben", "anna", title="one")
        await server.ask("POST", "/broadcasts", {"message": {"title": "two"}, "category": "news"})
        await until(lambda: len(other.ids("added")) >= 1, LONG_S)
        critical = await server.ask(
            "POST",
            "/notifications",
            {"user_ids": ["ben"], "message": {"title": "now"}, "category": "news", "is_critical": True},
        )
        await until(lambda: laptop.ids("added") == {critical["id"]}, LONG_S)
        await until(lambda: phone.counts == laptop.counts == (1, 1, {"news": 1}), LONG_S)
        assert await server.counts("ben") == (1, 1, {"news": 1})
        assert (await other.inbox.refresh()).unread == 3
        with pytest.raises(RequestRefused, match="no category `other`"):
            await phone.inbox.change_preferences(categories={"other": {"inbox": False}})
