"""Add more members than one transaction takes: a job adds them in chunks, each as one entry of the chat's log.

Every step can be repeated. The job's id is claimed by the request's idempotency key, its chunks are stored before it
starts, and the entry of a chunk has a key that is derived from the job. So a process may die at any step: a retry of the
request, or the next worker, continues without naming a user twice.
"""

import hashlib
import secrets
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tidings.chats import rules
from tidings.chats.commands import Admit, ChangeContext, ChatCommands
from tidings.chats.model import MAX_JOINS_PER_CALL
from tidings.jobs.model import Job, JobClaim, JobId, JobKind, JobProgress
from tidings.jobs.ports import JobStarter, JobStore
from tidings.kernel.clock import Clock
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatKey, ClientKey, TenantId, UserId, encode_ulid

_KEPT_DAYS = 0
"""Chunks are stored as long as their job: nothing reads them later."""


class GroupCreated(NamedTuple):
    """`job` adds the members that did not fit into the first transaction. None: all were added."""

    chat: ChatKey
    job: JobId | None


class MemberJobs:
    def __init__(self, commands: ChatCommands, store: JobStore, jobs: JobStarter, clock: Clock) -> None:
        self._commands = commands
        self._store = store
        self._jobs = jobs
        self._clock = clock

    async def max_members(self, tenant: TenantId) -> int:
        return await self._commands.max_members(tenant)

    async def create_group(
        self, tenant: TenantId, caller: ChangeContext, name: str, others: Iterable[UserId], *, admit: Admit
    ) -> GroupCreated:
        """Create a group with any number of members that the tenant allows. Idempotent.

        Raises `chat_full`; nothing was done then.
        """
        users = [user for user in dict.fromkeys(others) if user != caller.user]
        await self._commands.refuse_full(tenant, 1 + len(users))
        first, rest = users[: MAX_JOINS_PER_CALL - 1], users[MAX_JOINS_PER_CALL - 1 :]
        chat = await self._commands.group(tenant, caller, name, first, admit=admit)
        return GroupCreated(chat, await self._start(chat, caller, rest) if rest else None)

    async def add(self, chat: ChatKey, caller: ChangeContext, users: Iterable[UserId]) -> JobId | None:
        """Add users to a group. Idempotent. Returns the job that adds them; None: one entry added all.

        Raises `chat_full` if the group would have too many members; nothing was done then. If others join while the
        job runs, the limit applies to each of its chunks.
        """
        wanted = list(dict.fromkeys(users))
        if len(wanted) <= MAX_JOINS_PER_CALL:
            await self._commands.add(chat, caller, wanted)
            return None
        await self._commands.check_may_add(chat, caller)
        return await self._start(chat, caller, wanted)

    async def progress(self, chat: ChatKey, caller: ChangeContext, job: JobId) -> JobProgress:
        """Return the progress of a job of this chat, for users who may add members."""
        await self._commands.check_may_add(chat, caller)
        found = await self._jobs.progress(chat.tenant, job)
        if found.job.chat != chat.chat:
            raise TidingsError(Code.JOB_NOT_FOUND, "This job does not exist, or has expired.")
        return found

    async def _start(self, chat: ChatKey, caller: ChangeContext, users: Sequence[UserId]) -> JobId:
        id_ = await self._claim(chat, caller, users)
        if await self._store.read(chat.tenant, id_) is not None:
            return id_
        await self._refuse_full(chat, users)
        chunks = [users[at : at + MAX_JOINS_PER_CALL] for at in range(0, len(users), MAX_JOINS_PER_CALL)]
        job = Job(
            tenant=chat.tenant,
            id=id_,
            kind=JobKind.ADD_MEMBERS,
            source=id_,
            total=len(users),
            created_ms=self._clock.now_ms(),
            chat=chat.chat,
            user=caller.user,
            chunk_users=MAX_JOINS_PER_CALL,
        )
        await self._jobs.put_chunks(job, chunks, _KEPT_DAYS)
        await self._jobs.start(job)
        return id_

    async def _claim(self, chat: ChatKey, caller: ChangeContext, users: Sequence[UserId]) -> JobId:
        """Return the id of the first attempt with this key. Raises `idempotency_conflict` for other users."""
        fingerprint = rules.request_fingerprint(JobKind.ADD_MEMBERS, "\n".join(users).encode())
        new = JobClaim(
            job=JobId(encode_ulid(self._clock.now_ms(), secrets.randbits(80))), fingerprint=fingerprint
        )
        key = hashlib.sha256(f"{caller.client_key}/{caller.user}".encode()).hexdigest()
        claim = await self._store.claim(chat.tenant, chat.chat, key, new)
        if claim.fingerprint != fingerprint:
            raise TidingsError(
                Code.IDEMPOTENCY_CONFLICT,
                "This idempotency key was already used to add other users. Use a new key.",
            )
        return claim.job

    async def _refuse_full(self, chat: ChatKey, users: Sequence[UserId]) -> None:
        """Refuse more members than the tenant allows. Memberships are read only if all users would be too many."""
        count = await self._commands.member_count(chat)
        if count + len(users) > await self.max_members(chat.tenant):
            await self._commands.refuse_full(chat.tenant, count + await self._commands.count_new(chat, users))


class MemberChunkWorker:
    """Adds the users of one chunk, in the name of the user who started the job."""

    def __init__(self, commands: ChatCommands) -> None:
        self._commands = commands

    async def add(self, job: Job, chunk: int, users: Sequence[UserId]) -> Sequence[UserId]:
        """Add the users; returns the users that could not be added. Idempotent.

        Permissions and the tenant's limit are checked again: a user who was removed from the chat or lost their role
        adds no members from then on.
        """
        if job.chat is None or job.user is None:
            raise ValueError(f"job {job.id} names no chat or no user")
        caller = ChangeContext(job.user, ClientKey(f"{job.id}/{chunk}"))
        return await self._commands.add_chunk(ChatKey(job.tenant, job.chat), caller, users)
