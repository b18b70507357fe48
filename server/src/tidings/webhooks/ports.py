"""Ports of webhooks: endpoints, the queue, the delivery log and the HTTP client."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol

from tidings.kernel.ids import ChatKey, TenantId
from tidings.messages.model import Entry
from tidings.webhooks.model import (
    Attempt,
    Backlog,
    Delivery,
    DeliveryPage,
    DisabledEndpoint,
    Endpoint,
    EndpointName,
    QueuedItem,
    QueueKind,
)


class EndpointStore(Protocol):
    """The endpoints of tenants. Every method raises `keys_unavailable` while the store is unavailable."""

    async def list(self, tenant: TenantId, /) -> Sequence[Endpoint]:
        """Return all endpoints of a tenant, oldest first. Strongly consistent."""
        ...

    async def read(self, name: EndpointName, /) -> Endpoint | None: ...

    async def put(self, endpoint: Endpoint, /) -> bool:
        """Store an endpoint if the stored one has the version before, or none exists for version 1; else False."""
        ...

    async def delete(self, name: EndpointName, /) -> None: ...


class WebhookQueue(Protocol):
    """Events that wait for an endpoint. Durable: an item exists until it is settled.

    Every method raises `overloaded` or `outcome_unknown` if the store does not answer; all may be repeated.
    """

    async def add_run(
        self,
        endpoint: EndpointName,
        chat: ChatKey,
        first: int,
        last: int,
        *,
        kind: QueueKind = QueueKind.RUN,
        due_ms: int,
        attempt: Attempt | None = None,
        tried_ms: int = 0,
    ) -> None:
        """Queue a run. If the chat has one, it is extended to `last`, and keeps its first entry and its attempts.

        A replayed run is also extended down to `first`.
        """
        ...

    async def extend(self, endpoint: EndpointName, chat: ChatKey, last: int) -> bool:
        """Extend the chat's run to `last`. False: it has none, because everything was delivered."""
        ...

    async def add_items(self, items: Sequence[QueuedItem]) -> None:
        """Queue events and requests. Each replaces one that waits with the same key, unless that has a higher `order`."""
        ...

    async def items(self, endpoint: EndpointName, limit: int) -> Sequence[QueuedItem]:
        """Return up to `limit` items. Strongly consistent."""
        ...

    async def claim(self, item: QueuedItem, until_ms: int) -> QueuedItem | None:
        """Claim an item that has not changed its due time. None: another worker was faster."""
        ...

    async def settle(self, claimed: QueuedItem, after: QueuedItem | None) -> None:
        """Replace a claimed item, or delete it if everything up to its `last` is settled (`after` is None).

        If the run was extended meanwhile, the rest stays and is due at once. Without the claim, nothing changes.
        """
        ...

    async def drop(self, endpoint: EndpointName) -> int:
        """Delete the whole queue of an endpoint. Return the number of items."""
        ...

    async def backlogs(self) -> Sequence[Backlog]:
        """Return all endpoints with queued items. Strongly consistent."""
        ...

    async def lease(self, backlog: Backlog, now_ms: int, until_ms: int) -> bool:
        """Take the lease of an endpoint's queue, if no other worker has it."""
        ...

    async def release(self, backlog: Backlog, due_ms: int, failing_ms: int) -> None:
        """Give up the lease and say when to look at the queue again. An item that is queued meanwhile is not delayed."""
        ...

    async def finish(self, backlog: Backlog) -> bool:
        """Forget an endpoint whose queue is empty. False: an item was queued since `backlog` was read."""
        ...

    async def mark_healthy(self, endpoint: EndpointName) -> None:
        """Record that the endpoint accepts events, so that it is not disabled because some of them fail."""
        ...

    async def retry_all(self, endpoint: EndpointName, now_ms: int) -> None:
        """Make all items due that were tried before now."""
        ...


class DisabledEndpoints(Protocol):
    """The list of endpoints that were disabled automatically. Raises as the queue does."""

    async def add(self, endpoint: EndpointName, reason: str, at_ms: int) -> None: ...

    async def remove(self, endpoint: EndpointName) -> None: ...

    async def list(self, limit: int) -> Sequence[DisabledEndpoint]: ...


class DeliveryLog(Protocol):
    """The delivery log. It is for people: an entry can be missing after a failure."""

    async def add(self, deliveries: Sequence[Delivery]) -> None: ...

    async def page(self, endpoint: EndpointName, limit: int, start: str | None) -> DeliveryPage: ...


class WebhookTransport(Protocol):
    def check(self, url: str) -> str | None:
        """Return what is wrong with a URL, or None."""
        ...

    async def post(
        self,
        url: str,
        body: bytes,
        headers: Mapping[str, str],
        *,
        timeout_s: float,
        max_answer_bytes: int = 0,
    ) -> Attempt:
        """Send one request. Never raises: a request that fails is an attempt with a reason.

        The answer's body is returned up to `max_answer_bytes`; a longer one is a failure.
        """
        ...


class EntryView(Protocol):
    """Entries in the JSON form of the REST API, with decrypted content."""

    async def show(self, chat: ChatKey, entries: Sequence[Entry], /) -> Sequence[dict[str, Any]]: ...

    async def now(self, chat: ChatKey, sequences: Collection[int], /) -> Mapping[int, dict[str, Any]]:
        """Return the present state of messages, by sequence."""
        ...


class ReplaySource(Protocol):
    async def runs_since(self, tenant: TenantId, since_ms: int) -> Mapping[ChatKey, tuple[int, int]]:
        """Return the first and last sequence of each chat's entries that were committed since a time."""
        ...
