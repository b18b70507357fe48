"""Ports of e-mail. Each method states what it guarantees."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from tidings.inboxes.mail.model import MailAnswer, MailConfig, MailResult, OutgoingMail
from tidings.inboxes.model import InboxId, InboxKey, NotificationId
from tidings.kernel.ids import TenantId, UserId


class MailResultStore(Protocol):
    """Results of mails. Reads are strongly consistent, except `page`."""

    async def of(
        self, tenant: TenantId, inbox: InboxId, notification: NotificationId, users: Sequence[UserId]
    ) -> Mapping[UserId, MailResult]: ...

    async def claim(self, inbox_key: InboxKey, claimed: MailResult, now_ms: int) -> bool:
        """Write a claim, on condition that nothing was sent and no other claim holds. False: nothing was written."""
        ...

    async def put(self, inbox_key: InboxKey, result: MailResult) -> None:
        """Write a result. Safe to repeat."""
        ...

    async def page(self, inbox_key: InboxKey, limit: int) -> Sequence[MailResult]:
        """Read the last results of a user, newest notification first."""
        ...


class MailConfigStore(Protocol):
    async def read(self, tenant: TenantId, inbox: InboxId) -> MailConfig | None: ...

    async def write(self, tenant: TenantId, inbox: InboxId, config: MailConfig) -> bool:
        """Write a configuration. False: the stored version is not the one before."""
        ...


class MailTransport(Protocol):
    async def send(self, mail: OutgoingMail) -> MailAnswer:
        """Hand one mail to the mail server. Never raises: a failure is an answer without a code."""
        ...
