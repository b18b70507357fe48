"""Ports of push notifications: registrations, preferences, alerts and results."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple, Protocol

from msgspec import Struct

from tidings.inboxes.model import InboxKey, NotificationId
from tidings.kernel.ids import ChatKey, DeviceId, TenantId, UserId
from tidings.push.model import (
    PushKind,
    PushPreferences,
    PushRegistration,
    PushResult,
    PushTask,
    ShownAlert,
)
from tidings.push.notification import Notification
from tidings.push.provider_config import StoredProvider


class TokenOwner(NamedTuple):
    user: UserId
    device: DeviceId


class RegistrationStore(Protocol):
    """Registrations of devices. A token has one owner. Raises `overloaded` or `outcome_unknown`."""

    async def list(self, tenant: TenantId, user: UserId, /) -> Sequence[PushRegistration]:
        """List a user's registrations. Strongly consistent. Those that cannot be decrypted are omitted."""
        ...

    async def put(self, registration: PushRegistration, /) -> TokenOwner | None:
        """Register a device, replacing its registration; atomic. Return the former owner of the token, if it is another.

        The former owner's registration is deleted in the same transaction. Idempotent. Raises `write_conflict` after
        concurrent changes of the same device or token.
        """
        ...

    async def remove(self, registration: PushRegistration, /) -> bool:
        """Delete a registration if its token is unchanged; atomic. False: it was replaced or removed meanwhile."""
        ...


class PushEraser(Protocol):
    async def delete_user(self, tenant: TenantId, user: UserId, /) -> int:
        """Delete registrations with their tokens, preferences and alerts of an erased user. Idempotent.

        Return the number of registrations.
        """
        ...


class AlertState(NamedTuple):
    alert: ShownAlert | None
    preferences: PushPreferences


class AlertStore(Protocol):
    """Alerts that are shown, and preferences. Raises `overloaded` or `outcome_unknown`."""

    async def read(self, chat: ChatKey, user: UserId, /) -> AlertState:
        """Read both. Strongly consistent."""
        ...

    async def raise_alert(self, chat: ChatKey, user: UserId, alert: ShownAlert, /) -> None:
        """Record the shown alert unless a newer message is recorded. Idempotent."""
        ...

    async def withdraw(self, chat: ChatKey, user: UserId, sequence: int, /) -> None:
        """Record that notifications up to this sequence were withdrawn. Idempotent."""
        ...

    async def preferences(self, tenant: TenantId, user: UserId, /) -> PushPreferences: ...

    async def put_preferences(
        self, tenant: TenantId, user: UserId, preferences: PushPreferences, now_ms: int, /
    ) -> None: ...


type OnPushFinished = Callable[[Sequence[PushResult]], Awaitable[None]]
"""Called with the results of a message for one recipient before they are stored, so at least once. May raise."""


class ResultStore(Protocol):
    """Results of notifications, kept for 7 days. A result replaces the earlier one of the same message and device."""

    async def put(self, results: Sequence[PushResult], /) -> None:
        """Store results. Idempotent. Not atomic: after an error, some are stored."""
        ...

    async def of_recipient(self, chat: ChatKey, sequence: int, user: UserId, /) -> Sequence[PushResult]:
        """Return the results of a message for one recipient. Strongly consistent."""
        ...

    async def of_notification(
        self, inbox_key: InboxKey, notification: NotificationId, /
    ) -> Sequence[PushResult]:
        """Return the results of a notification for the owner of an inbox. Strongly consistent."""
        ...

    async def of_message(self, chat: ChatKey, sequence: int, /) -> Sequence[PushResult]:
        """Return the results of a message for all recipients. Eventually consistent."""
        ...


class ProviderStore(Protocol):
    """The credentials of tenants' providers. Raises `keys_unavailable` while the store or the keys are unavailable."""

    async def read(self, tenant: TenantId, /) -> Mapping[PushKind, StoredProvider]:
        """Read all providers of a tenant. Strongly consistent. Those that cannot be decrypted are omitted."""
        ...

    async def put(self, tenant: TenantId, provider: StoredProvider, /) -> bool:
        """Store a provider on condition that the stored one is the version before; atomic. False: it is not."""
        ...


class SendVerdict(StrEnum):
    """The meaning of a provider's answer.

    ACCEPTED: the provider delivers it. GONE: the token is invalid, and must be removed. RETRY: try again later.
    REJECTED: the same request can never succeed.
    """

    ACCEPTED = "accepted"
    GONE = "gone"
    RETRY = "retry"
    REJECTED = "rejected"


class SendResult(Struct, frozen=True, kw_only=True):
    """A provider's answer. `status` is 0 without one.

    retry_after_s: how long the provider asks to wait.
    gone_ms: since when the token is invalid, if the provider says so. A registration that is newer is kept.
    is_outage: the provider did not answer or is overloaded, so that other requests would fail too.
    """

    verdict: SendVerdict
    status: int
    answer: str = ""
    provider_id: str = ""
    retry_after_s: float | None = None
    gone_ms: int | None = None
    is_outage: bool = False


class PushSender(Protocol):
    """Send notifications through one kind of provider. Never raises for an answer or the lack of one."""

    async def send(
        self, registration: PushRegistration, note: Notification, provider: StoredProvider, /
    ) -> SendResult: ...


class TaskPublisher(Protocol):
    """Publish tasks for another attempt, and dead letters. Both return after Kafka has stored them.

    Raises `overloaded` if Kafka does not accept the record.
    """

    async def retry(self, task: PushTask, /) -> None: ...

    async def dead_letter(self, task: PushTask, reason: str, /) -> None: ...


type ReadBadge = Callable[[TenantId, UserId], Awaitable[int]]
"""Return the number that the app's icon shows."""
