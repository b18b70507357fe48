"""What new inboxes of a tenant get, on both engines: no change is lost, and no other tenant has it."""

import asyncio

import pytest
from contract.inboxes.conftest import Act
from fixtures.notifications import NotificationEnv
from msgspec.structs import replace

from tidings.inboxes.config import InboxDefaults
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import TenantId


def test_of_two_changes_at_once_none_is_lost(act: Act) -> None:
    async def scene(notifications: NotificationEnv) -> None:
        here, there = notifications.cases.defaults, notifications.process(notifications.client).defaults
        await asyncio.gather(
            here.set(notifications.tenant, lambda before: replace(before, retention_days=7)),
            there.set(notifications.tenant, lambda before: replace(before, is_for_known_users=True)),
        )
        found = await here.read(notifications.tenant)
        assert (found.retention_days, found.is_for_known_users, found.version) == (7, True, 2)

    act(scene)


def test_another_tenant_has_none_of_it(act: Act) -> None:
    async def scene(notifications: NotificationEnv) -> None:
        defaults = notifications.cases.defaults
        await defaults.set(notifications.tenant, lambda _: InboxDefaults(retention_days=7))
        assert await defaults.read(TenantId(f"{notifications.tenant}2")) == InboxDefaults()

    act(scene)


@pytest.mark.parametrize("days", [0, 3651])
def test_what_an_inbox_could_not_have_is_refused(act: Act, days: int) -> None:
    async def scene(notifications: NotificationEnv) -> None:
        defaults = notifications.cases.defaults
        with pytest.raises(TidingsError) as refused:
            await defaults.set(notifications.tenant, lambda _: InboxDefaults(retention_days=days))
        assert refused.value.code is Code.REQUEST_INVALID
        assert await defaults.read(notifications.tenant) == InboxDefaults()

    act(scene)
