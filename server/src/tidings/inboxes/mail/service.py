"""Configure the mails of an inbox, unsubscribe by a link, and turn addresses off that mail does not reach."""

import re
from collections.abc import Sequence
from typing import Final

import msgspec
from msgspec.structs import replace

from tidings.accounts.model import EmailRefusal
from tidings.accounts.ports import UserStore
from tidings.inboxes.config_service import CACHE_POLICY, InboxConfigCache
from tidings.inboxes.mail import rules
from tidings.inboxes.mail.model import (
    MAX_CONFIG_BYTES,
    MAX_TEMPLATES,
    NO_CONFIG,
    MailConfig,
    MailReference,
    MailResult,
)
from tidings.inboxes.mail.ports import MailConfigStore, MailResultStore
from tidings.inboxes.mail.rendering import check_template
from tidings.inboxes.model import InboxId, InboxKey
from tidings.inboxes.preference_service import PreferenceService
from tidings.inboxes.preferences import Channel
from tidings.kernel.action_notes import note_change
from tidings.kernel.cache import Cache
from tidings.kernel.clock import Clock
from tidings.kernel.concurrency import retry_on_conflict
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import TenantId, UserId
from tidings.kernel.mail_addresses import parse_mail_address
from tidings.tenants.model import SealingKeyProvider, TenantLookup

UNSUBSCRIBE: Final = "unsubscribe"
MAIL_ID: Final = "message"
"""Purposes of signed references. A Message-ID is no link to unsubscribe, although both name the user."""
_MESSAGE_ID = re.compile(r"^<?([A-Za-z0-9_.-]+)@[^<>@\s]+>?$")


class MailConfigs:
    """Serves the configurations to the worker. A change applies after some seconds."""

    def __init__(self, store: MailConfigStore, clock: Clock) -> None:
        self._cache: Cache[tuple[TenantId, InboxId], MailConfig] = Cache(
            lambda key: store.read(*key), clock, CACHE_POLICY
        )

    async def of(self, tenant: TenantId, inbox: InboxId) -> MailConfig:
        return await self._cache.get((tenant, inbox)) or NO_CONFIG


class MailService:
    def __init__(
        self,
        store: MailConfigStore,
        results: MailResultStore,
        *,
        inboxes: InboxConfigCache,
        preferences: PreferenceService,
        users: UserStore,
        tenants: TenantLookup,
        keys: SealingKeyProvider,
        clock: Clock,
    ) -> None:
        self._store = store
        self._results = results
        self._inboxes = inboxes
        self._preferences = preferences
        self._users = users
        self._tenants = tenants
        self._keys = keys
        self._clock = clock

    async def read(self, tenant: TenantId, inbox: str) -> MailConfig:
        """Return the configuration of an inbox. Raises `inbox_not_found`."""
        name = (await self._inboxes.of(tenant, inbox)).id
        return await self._store.read(tenant, name) or NO_CONFIG

    async def set(self, tenant: TenantId, inbox: str, config: MailConfig) -> MailConfig:
        """Replace the configuration of an inbox.

        Raises `inbox_not_found`, and `request_invalid` for a template or an address for replies.
        """
        found = await self._inboxes.of(tenant, inbox)
        for template in config.templates:
            check_template(template)
            if template.category is not None:
                found.code_of(template.category)
        if config.reply_to is not None:
            _check_reply_to(config.reply_to)
        _check_size(config)

        async def step() -> MailConfig:
            before = await self._store.read(tenant, found.id) or NO_CONFIG
            after = replace(config, version=before.version + 1, updated_ms=self._clock.now_ms())
            if not await self._store.write(tenant, found.id, after):
                raise TidingsError(Code.WRITE_CONFLICT, "Another request changed the mails. Try again.")
            note_change({"version": before.version}, {"version": after.version})
            return after

        return await retry_on_conflict(step)

    async def results(self, inbox_key: InboxKey, limit: int) -> Sequence[MailResult]:
        await self._inboxes.of(inbox_key.tenant, inbox_key.inbox)
        return await self._results.page(inbox_key, limit)

    async def unsubscribed_from(self, token: str) -> MailReference:
        """Return what a link to unsubscribe names. Raises `credential_invalid`."""
        return await self._verified(rules.named_tenant(token), token, UNSUBSCRIBE)

    async def unsubscribe(self, token: str) -> MailReference:
        """Switch e-mail off for the category that the link names, or for all categories. Idempotent.

        Raises `credential_invalid`.
        """
        reference = await self.unsubscribed_from(token)
        off = {Channel.EMAIL: False}
        if reference.detail:
            await self._preferences.change(reference.inbox_key, {}, {reference.detail: off})
        else:
            await self._preferences.change(reference.inbox_key, off, {})
        return reference

    async def refuse(self, tenant: TenantId, message_id: str, kind: EmailRefusal) -> UserId:
        """Turn off the address that a mail was sent to, unless the user has another one since. Idempotent.

        Raises `notification_not_found` if the Message-ID is not one of this tenant's mails.
        """
        found = _MESSAGE_ID.fullmatch(message_id.strip())
        token = "" if found is None else found.group(1)
        if rules.named_tenant(token) != tenant:
            raise _unknown_mail()
        try:
            reference = await self._verified(tenant, token, MAIL_ID)
        except TidingsError as error:
            if error.code is not Code.CREDENTIAL_INVALID:
                raise
            raise _unknown_mail() from error
        mac, user = (await self._keys.of(tenant)).fingerprint, reference.inbox_key.user
        await self._users.refuse_email(
            tenant, user, kind, lambda address: rules.address_hash(address, mac) == reference.address_hash
        )
        note_change(None, {"user": user, "kind": kind.value})
        return user

    async def _verified(self, tenant: TenantId | None, token: str, purpose: str) -> MailReference:
        # The token names its tenant before it is verified. Only an existing tenant is looked up in the key ring: that
        # creates keys for a tenant without any.
        if tenant is not None and await self._tenants.find(tenant) is not None:
            reference = rules.verify_reference(token, purpose, (await self._keys.of(tenant)).fingerprint)
            if reference is not None and reference.inbox_key.tenant == tenant:
                return reference
        raise TidingsError(Code.CREDENTIAL_INVALID, "This link is not valid.")


def _check_reply_to(address: str) -> None:
    try:
        parse_mail_address(address)
    except ValueError as error:
        raise TidingsError(Code.REQUEST_INVALID, f"Invalid address for replies: {error}.") from None


def _check_size(config: MailConfig) -> None:
    names = [(each.category, each.locale.lower()) for each in config.templates]
    if len(set(names)) < len(names):
        raise TidingsError(Code.REQUEST_INVALID, "A category has two templates in the same language.")
    if len(names) > MAX_TEMPLATES or len(msgspec.json.encode(config)) > MAX_CONFIG_BYTES:
        raise TidingsError(
            Code.REQUEST_INVALID,
            f"An inbox has at most {MAX_TEMPLATES} templates and {MAX_CONFIG_BYTES // 1024} KB of them.",
        )


def _unknown_mail() -> TidingsError:
    return TidingsError(
        Code.NOTIFICATION_NOT_FOUND, "`message_id` is not the Message-ID of a mail of this tenant."
    )
