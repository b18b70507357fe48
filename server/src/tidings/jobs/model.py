"""A job: work on many users, in chunks. Its progress is not stored but derived from the chunks that are done."""

from enum import StrEnum
from typing import NamedTuple, NewType

from msgspec import Struct

from tidings.kernel.fences import OffsetFence
from tidings.kernel.ids import ChatId, TenantId, UserId

JobId = NewType("JobId", str)

CHUNK_USERS = 100

WHOLE_TENANT = UserId("/tenant")
"""The user of a job that deletes all users of its tenant. No user has this id: it has a `/`."""


class JobKind(StrEnum):
    DELIVER = "deliver"
    REDACT = "redact"
    AMEND = "amend"
    """Notifies connected users of a changed content. Writes nothing."""
    BROADCAST = "broadcast"
    """The start of a broadcast, or a rollout step: one chunk, due at its time."""
    ADD_MEMBERS = "add_members"
    """Adds users to a chat. Each chunk is one entry of the chat's log."""
    MAIL = "mail"
    """Sends a notification by e-mail. Its chunks have a topic of their own: a slow mail server delays nothing else."""
    PUSH = "push"
    """Sends a notification to the devices of users, in the process `push`."""
    INDEX = "index"
    """Rebuilds the search index of a tenant, in the process `search`. A chunk is a part of the user directory.

    With `user`: deletes the documents of an erased user, or of a deleted tenant.
    """
    ERASE = "erase"
    """Erases a user or deletes a tenant: one chunk, which is published until it is done."""
    EXPORT = "export"
    """Exports a user: one chunk, which is published until the archive is stored."""


KINDS_WITH_A_TOPIC = frozenset({JobKind.MAIL, JobKind.PUSH, JobKind.INDEX, JobKind.ERASE, JobKind.EXPORT})
"""Their chunks have a topic and a consumer group of their own."""


class JobState(StrEnum):
    """`DONE` is never stored: a job is done when each of its chunks is."""

    RUNNING = "running"
    PAUSED = "paused"
    CANCELLED = "cancelled"
    DONE = "done"


class Job(Struct, frozen=True, kw_only=True):
    """`source` is the job that has the chunks: this one, or the send whose notification is recalled or amended.

    The job does nothing before `starts_ms`. `percent` is the share of a broadcast's users. `inbox` and `notification`
    are empty for a job that adds members: `user` adds them to `chat`. `user` of an erasure is erased, and
    that of an export is exported. `attempt`: earlier attempts to send these mails or push notifications. `expires_ms` is
    set by the store.
    """

    tenant: TenantId
    id: JobId
    kind: JobKind
    inbox: str = ""
    notification: str = ""
    source: JobId
    total: int
    created_ms: int
    state: JobState = JobState.RUNNING
    updated_ms: int = 0
    version: int = 1
    starts_ms: int = 0
    percent: int = 0
    chat: ChatId | None = None
    user: UserId | None = None
    chunk_users: int = CHUNK_USERS
    attempt: int = 0
    expires_ms: int = 0

    @property
    def chunks(self) -> int:
        return self.chunks_of(self.total, self.chunk_users)

    @staticmethod
    def chunks_of(users: int, chunk_users: int = CHUNK_USERS) -> int:
        return -(-users // chunk_users)


class JobClaim(Struct, frozen=True, kw_only=True):
    """The job that an idempotency key belongs to. `fingerprint` identifies the request that used the key first."""

    job: JobId
    fingerprint: bytes


class ChunkRef(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The Kafka event for a worker: process one chunk of a job.

    Chunks with the same `chat` go to one partition. They append to the same log, so workers that process them at the
    same time would only conflict with each other. `kind` is set if chunks of this kind have a topic of their own.
    """

    tenant: TenantId
    job: JobId
    chunk: int
    chat: ChatId | None = None
    kind: JobKind | None = None


class ChunkResult(Struct, frozen=True, kw_only=True):
    """A chunk that is done, with the users that failed permanently."""

    chunk: int
    users: int
    failed: tuple[UserId, ...]
    at_ms: int


class DueJob(NamedTuple):
    """A check of a job, scheduled at `at_ms`. `seen` chunks were done at the last check; `tries` checks had no progress.

    `fences` are the ends of the partitions at the last check: missing chunks before them may wait because consumers lag.
    They are stored, because another process may make the next check.
    """

    tenant: TenantId
    job: JobId
    at_ms: int
    seen: int = 0
    tries: int = 0
    fences: tuple[OffsetFence, ...] = ()


class JobProgress(Struct, frozen=True, kw_only=True):
    """`rate_per_s`: users over the last 10 seconds, or over the whole job if it is done. `remaining_s` None: unknown."""

    job: Job
    state: JobState
    done: int
    failed: int
    chunks_done: int
    rate_per_s: float
    remaining_s: float | None
    finished_ms: int | None
