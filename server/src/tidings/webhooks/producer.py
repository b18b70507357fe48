"""Queue events that are not entries of a log: of users, reads, reports, notifications, jobs, push notifications and presence.

A caller waits until the event is stored, before it answers a request or records its work as done: after that, the event
is sent at least once. A process that dies before has not answered, and the repeated request or work queues the event.
`docs/howto/receive-webhooks.md` states the guarantee of each type.

Events have ids and no content. Receivers read the rest with REST: it is encrypted, and can be erased.
"""

from collections.abc import Sequence
from typing import Any

from tidings.accounts.model import UserChange, UserChangeKind
from tidings.inboxes.model import DeliveredChunk, InboxKey, NotificationId
from tidings.jobs.model import JobProgress
from tidings.kernel.clock import Clock
from tidings.kernel.group_commit import GroupCommit
from tidings.kernel.ids import ChatKey, TenantId, UserId, new_ulid
from tidings.push.model import PushOutcome, PushResult
from tidings.webhooks import rules
from tidings.webhooks.endpoints import EndpointDirectory, make_event, queued_event
from tidings.webhooks.model import EndpointName, EventType, QueuedItem
from tidings.webhooks.ports import WebhookQueue

_USER_EVENTS = {
    UserChangeKind.CREATED: EventType.USER_CREATED,
    UserChangeKind.UPDATED: EventType.USER_UPDATED,
    UserChangeKind.SUSPENDED: EventType.USER_SUSPENDED,
    UserChangeKind.UNSUSPENDED: EventType.USER_UNSUSPENDED,
}


class EventProducer:
    """Queues events for the endpoints that chose their type. A tenant without endpoints costs a look-up in a cache.

    Raises `overloaded` or `outcome_unknown` if the queue cannot be written. Every method may be repeated.
    """

    def __init__(self, directory: EndpointDirectory, queue: WebhookQueue, clock: Clock) -> None:
        self.directory = directory
        """The endpoints, through a cache that other parts of the process share."""
        self._queue = queue
        self._clock = clock
        # Every write of the queue also notes the backlog of the endpoint, one item for all events. Without batches, many
        # events at a time would exceed what DynamoDB writes to one item.
        self._commits = GroupCommit(self._store)

    async def user_changed(self, change: UserChange) -> None:
        await self._emit(change.tenant, _USER_EVENTS[change.kind], {"user": change.user})

    async def reported(self, tenant: TenantId, review: str, about: dict[str, str], reporter: UserId) -> None:
        """Report that a user reported a message or a user. The text and the reporter are read with REST."""
        await self._emit(
            tenant,
            EventType.REPORT_CREATED,
            {"review": review, **about},
            event=rules.stable_id(tenant, "report", review, reporter),
        )

    async def chat_read(self, chat: ChatKey, user: UserId, sequence: int) -> None:
        """Report how far a user has read a chat. It replaces a lower read of the chat that waits."""
        await self._emit(
            chat.tenant,
            EventType.MESSAGE_READ,
            {"chat": chat.chat, "user": user, "read": sequence},
            event=rules.stable_id(chat.tenant, "read", chat.chat, user, sequence),
            key=rules.stable_id(chat.tenant, "read", chat.chat, user),
            order=sequence,
        )

    async def notification_delivered(self, delivered: DeliveredChunk) -> None:
        """Report the users of a chunk that a notification reached, except users who switched the channel off."""
        job = delivered.job
        await self._emit(
            job.tenant,
            EventType.NOTIFICATION_DELIVERED,
            {
                "inbox": job.inbox,
                "notification": job.notification,
                "job": job.id,
                "users": list(delivered.users),
            },
            event=rules.stable_id(job.tenant, "chunk", job.id, delivered.chunk),
        )

    async def notifications_read(self, inbox_key: InboxKey, ids: Sequence[NotificationId] | None) -> None:
        """Report notifications that a user marked as read. None: all of the inbox, or of a category."""
        about: dict[str, Any] = {"inbox": inbox_key.inbox, "user": inbox_key.user}
        about |= {"all": True} if ids is None else {"notifications": list(ids)}
        await self._emit(inbox_key.tenant, EventType.NOTIFICATION_READ, about)

    async def job_ended(self, ended: JobProgress) -> None:
        job = ended.job
        about = {"notification": job.notification, "inbox": job.inbox, "chat": job.chat}
        await self._emit(
            job.tenant,
            EventType.JOB_ENDED,
            {
                "job": job.id,
                "kind": job.kind,
                "state": ended.state,
                "done": ended.done,
                "failed": ended.failed,
            }
            | {name: value for name, value in about.items() if value},
            event=rules.stable_id(job.tenant, "job", job.id, ended.state),
        )

    async def push_finished(self, results: Sequence[PushResult]) -> None:
        """Report what became of the notifications of one message for one recipient. Further attempts are left out."""
        final = [each for each in results if each.outcome is not PushOutcome.RETRYING]
        if not final:
            return
        first = final[0]
        parts = [f"{each.device} {each.outcome}" for each in final]
        await self._emit(
            first.tenant,
            EventType.PUSH_FINISHED,
            {
                **_push_subject(first),
                "user": first.user,
                "results": [_push_fields(each) for each in final],
            },
            event=rules.stable_id(first.tenant, "push", *_push_subject(first).values(), first.user, *parts),
        )

    async def presence_changed(self, tenant: TenantId, user: UserId, status: str, after_s: float) -> None:
        """Report the presence of a user after a time. It replaces an earlier report of the user that waits."""
        await self._emit(
            tenant,
            EventType.PRESENCE_CHANGED,
            {"user": user, "status": status},
            key=rules.stable_id(tenant, "presence", user),
            due_ms=self._clock.now_ms() + round(after_s * 1000),
        )

    async def has_endpoint_for(self, tenant: TenantId, kind: EventType) -> bool:
        return any(kind in each.settings.events for each in await self.directory.enabled(tenant))

    async def _emit(
        self,
        tenant: TenantId,
        kind: EventType,
        data: dict[str, Any],
        *,
        event: str | None = None,
        key: str | None = None,
        order: int = 0,
        due_ms: int | None = None,
    ) -> None:
        """Queue an event. Without `event`, its id is new: a repeated call is another event."""
        if not await self.has_endpoint_for(tenant, kind):
            return
        made = make_event(event or f"evt_{new_ulid().lower()}", kind, self._clock.now_ms(), data)
        endpoints = [each for each in await self.directory.enabled(tenant) if each.wants(made)]
        items = [queued_event(each.name, made, key=key, order=order, due_ms=due_ms) for each in endpoints]
        if items:
            await self._commits.add(items)

    async def _store(self, items: Sequence[QueuedItem]) -> None:
        await self._queue.add_items(_newest(items))


def _push_subject(result: PushResult) -> dict[str, Any]:
    if result.notification is None:
        return {"chat": result.chat, "sequence": result.sequence}
    return {"inbox": result.inbox, "notification_id": result.notification}


def _push_fields(result: PushResult) -> dict[str, Any]:
    about = {"device": result.device, "provider": result.provider, "reason": result.reason[:256]}
    return {"outcome": result.outcome} | {name: value for name, value in about.items() if value}


def _newest(items: Sequence[QueuedItem]) -> list[QueuedItem]:
    """Return the items without those that a later one replaces."""
    found: dict[tuple[EndpointName, str], QueuedItem] = {}
    for item in items:
        before = found.get((item.endpoint, item.key))
        if before is None or before.order <= item.order:
            found[item.endpoint, item.key] = item
    return list(found.values())
