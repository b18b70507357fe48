"""Read what a channel needs to send a notification to the users of a chunk."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from tidings.inboxes.config import Inbox
from tidings.inboxes.config_service import InboxConfigCache
from tidings.inboxes.model import InboxKey, NotificationContent, NotificationId, NotificationRow
from tidings.inboxes.ports import ContentStore, InboxRepository, PreferenceStore
from tidings.inboxes.preferences import NO_PREFERENCES, Channel, UserPreferences
from tidings.inboxes.queries import seal_location
from tidings.jobs.model import Job
from tidings.kernel.ids import UserId
from tidings.tenants.model import SealingKeyProvider, SealingKeys


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelBatch:
    """State that is read once for all users of a chunk."""

    job: Job
    inbox: Inbox
    content: NotificationContent
    keys: SealingKeys
    rows: Mapping[UserId, NotificationRow]
    preferences: Mapping[UserId, UserPreferences]
    shown: Mapping[NotificationId, NotificationContent]
    """Contents that rows of digests show, by their notification."""

    @property
    def is_critical(self) -> bool:
        return self.content.is_critical or self.inbox.settings_of(self.content.category).is_critical

    def key_of(self, user: UserId) -> InboxKey:
        return InboxKey(self.job.tenant, user, self.inbox.id)

    def content_of(self, user: UserId) -> NotificationContent | None:
        """Return the content that the user's row shows: that of the newest notification, in a digest."""
        row = self.rows.get(user)
        if row is None or row.content_id == self.content.id:
            return self.content
        return self.shown.get(row.content_id)

    def channels_of(self, user: UserId) -> dict[Channel, bool]:
        preferences = self.preferences.get(user, NO_PREFERENCES)
        return self.inbox.channels_for(
            self.content.category, preferences, is_critical=self.content.is_critical
        )

    def message(self, content: NotificationContent) -> Mapping[str, Any]:
        """Decrypt the message of a notification. Raises a permanent error if it cannot be decrypted."""
        body = self.keys.unseal(
            seal_location(self.job.tenant, content.id), content.version, content.sealed or b""
        )
        found: Mapping[str, Any] = msgspec.json.decode(body)
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelReader:
    contents: ContentStore
    repository: InboxRepository
    preferences: PreferenceStore
    inboxes: InboxConfigCache
    keys: SealingKeyProvider

    async def read(self, job: Job, users: Sequence[UserId]) -> ChannelBatch | None:
        """Read the notification of a job and the state of these users. None: the notification no longer exists."""
        notification = NotificationId(job.notification)
        content = await self.contents.find(job.tenant, notification)
        if content is None:
            return None
        inbox = await self.inboxes.of(job.tenant, job.inbox)
        rows = await self.repository.rows_of(job.tenant, inbox.id, notification, users)
        newest = {row.content_id for row in rows.values()} - {notification}
        shown = await self.contents.of(job.tenant, newest) if newest else {}
        sealed = [each.sealed for each in (content, *shown.values()) if each.sealed is not None]
        return ChannelBatch(
            job=job,
            inbox=inbox,
            content=content,
            keys=await self.keys.to_read(job.tenant, sealed),
            rows=rows,
            preferences=await self.preferences.of(job.tenant, inbox.id, users),
            shown=shown,
        )
