"""Defaults for new inboxes of a tenant, on both engines: no change is lost, and other tenants are not affected."""

import asyncio

import pytest
from contract.inboxes.conftest import OpenInboxes
from msgspec.structs import replace

from tidings.inboxes.config import InboxDefaults
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import TenantId


async def test_of_two_concurrent_changes_none_is_lost(open_inboxes: OpenInboxes) -> None:
    async with open_inboxes() as notifications:
        here, other_process = (
            notifications.cases.defaults,
            notifications.process(notifications.client).defaults,
        )
        await asyncio.gather(
            here.set(notifications.tenant, lambda before: replace(before, retention_days=7)),
            other_process.set(notifications.tenant, lambda before: replace(before, is_for_known_users=True)),
        )
        found = await here.read(notifications.tenant)
        assert (found.retention_days, found.is_for_known_users, found.version) == (7, True, 2)


async def test_defaults_do_not_apply_to_another_tenant(open_inboxes: OpenInboxes) -> None:
    async with open_inboxes() as notifications:
        defaults = notifications.cases.defaults
        await defaults.set(notifications.tenant, lambda _: InboxDefaults(retention_days=7))
        assert await defaults.read(TenantId(f"{notifications.tenant}2")) == InboxDefaults()


@pytest.mark.parametrize("days", [0, 3651])
async def test_invalid_inbox_settings_are_rejected(open_inboxes: OpenInboxes, days: int) -> None:
    async with open_inboxes() as notifications:
        defaults = notifications.cases.defaults
        with pytest.raises(TidingsError) as refused:
            await defaults.set(notifications.tenant, lambda _: InboxDefaults(retention_days=days))
        assert refused.value.code is Code.REQUEST_INVALID
        assert await defaults.read(notifications.tenant) == InboxDefaults()
