"""Ports of channels. Each method states what it guarantees."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from tidings.inboxes.channels.model import AlertOutcome, InboxAlert
from tidings.jobs.model import Job
from tidings.kernel.ids import UserId


class ChannelJobStarter(Protocol):
    async def start(
        self, parent: Job, chunk: int, users: Sequence[UserId], *, starts_ms: int, attempt: int
    ) -> None:
        """Start the job that sends to these users of a chunk. Idempotent for the same arguments."""
        ...


type SendChunk = Callable[[Job, int, Sequence[UserId]], Awaitable[Sequence[UserId]]]
"""Sends the chunk of a channel's job, given by its number. Idempotent. Returns the users that failed permanently."""


class AlertSender(Protocol):
    async def send(self, alert: InboxAlert, /) -> AlertOutcome:
        """Send to the user's devices that have not accepted it before, and record the results. Raises an error of a store."""
        ...
