"""The state of attachments after a run: erase a user, sweep with a clock that is ahead, read table, bucket and messages."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Self

import failpoints
from fixtures.installation_processes import InstallationProcesses
from fixtures.media_env import fetch, open_bucket
from fixtures.use_cases import UseCaseEnv
from yarl import URL

from load.media_checker import FinalState, SentFile, VisibleMessage
from load.media_client import MediaClients, RefusedError, attachment_path, images, sha256
from tidings.app.wiring.media import build_sweeper
from tidings.kernel.concurrency import gather_limited
from tidings.kernel.ids import ChatId, ChatKey, UserId, message_id
from tidings.media.store.tasks import KafkaMediaTasks
from tidings.media.store.uploads import DynamoUploadStore
from tidings.media.sweeper import SweepStats
from tidings.messages.model import EntryKind
from tidings.platform.kafka.config import KafkaConfig
from tidings.platform.kafka.publisher import KafkaPublisher
from tidings.platform.s3.client import S3Client
from tidings.schema.tables.items.media import SHARDS

AHEAD_MS = 2 * 86_400_000
MAX_SWEEPS = 60
CONCURRENT = 16
MAX_DOWNLOADS = 3_000
"""Kept files that are downloaded. The bytes of the others are not compared; their objects are listed."""


class MediaState:
    def __init__(
        self, use_cases: UseCaseEnv, bucket: S3Client, publisher: KafkaPublisher, clients: MediaClients
    ) -> None:
        self._use_cases, self._bucket, self._clients = use_cases, bucket, clients
        self._uploads = DynamoUploadStore(use_cases.client)
        _, self._sweeper = build_sweeper(
            use_cases.client,
            use_cases.ring,
            bucket,
            KafkaMediaTasks(publisher),
            clock=use_cases.clock,
            interval_s=1.0,
        )
        self.swept = SweepStats()

    @classmethod
    @asynccontextmanager
    async def open(
        cls, installation: InstallationProcesses, s3: str, clients: MediaClients, *, mutant: str
    ) -> AsyncIterator[Self]:
        if mutant:
            failpoints.activate_mutant(mutant)
        config = KafkaConfig(
            bootstrap_servers=installation.kafka, topic_prefix=installation.space.topic_prefix
        )
        publisher = KafkaPublisher(config)
        async with installation.use_cases() as use_cases, open_bucket(s3, installation.space) as bucket:
            yield cls(use_cases, bucket, publisher, clients)
        await publisher.close()

    async def erase(self, user: str) -> None:
        """Erase a user and their files."""
        await self._use_cases.user_keys.destroy(self._use_cases.tenant, UserId(user))
        for file in self._clients.files:
            file.is_gone = file.is_gone or file.owner == user

    async def sweep_until_stable(self) -> None:
        """Sweep after all uploads without a message have expired, until a sweep finds nothing to do."""
        self._use_cases.clock.ahead_ms = AHEAD_MS
        for _ in range(MAX_SWEEPS):
            found = await self._sweeper.sweep(self._use_cases.tenant)
            self.swept.add(found)
            if not found.orphans + found.expired + found.leftovers + found.aborted + found.republished:
                break
            await asyncio.sleep(
                min(20.0, 1 + found.republished / 50)
            )  # The workers process what was published.
        self._use_cases.clock.ahead_ms = 0

    async def read(self) -> FinalState:
        tenant, bucket = self._use_cases.tenant, self._bucket
        rows = [row for shard in range(SHARDS) async for row in self._uploads.list_shard(tenant, shard)]
        kept = [file for file in self._clients.files if file.message is not None and not file.is_gone]
        gone = [file for file in self._clients.files if file.is_gone]
        wrong = await gather_limited((self._download(file) for file in kept[:MAX_DOWNLOADS]), CONCURRENT)
        readable = await gather_limited((self._get(url) for file in gone for url in file.urls), CONCURRENT)
        return FinalState(
            rows=rows,
            objects=[key async for key in bucket.keys(f"{tenant}/")],
            multiparts=[found.key async for found in bucket.open_multiparts(f"{tenant}/")],
            total_bytes=await self._uploads.total_bytes(tenant),
            messages=await self._messages(),
            wrong_bytes=[found for found in wrong if found],
            readable=[found for found in readable if found],
        )

    async def _download(self, file: SentFile) -> str | None:
        """Return what is wrong with a file that another member downloads, or None."""
        assert file.message is not None
        reader = next(user for user in self._clients.users if user != file.owner)
        path = attachment_path(message_id(ChatId(file.message[0]), file.message[1]), file)
        try:
            link = await self._clients.ask("GET", path, reader)
        except RefusedError as error:
            return f"{file.upload}: {error}"
        status, body, _ = await fetch(link["url"])
        is_clean = file.sha256 in {sha256(image) for image in images()}
        if status != 200 or (sha256(body) != file.sha256) != is_clean:
            return f"{file.upload}: {status}, {len(body)} of {file.size} bytes"
        return None

    async def _get(self, url: str) -> str | None:
        async with self._clients.session.get(URL(url, encoded=True)) as answer:
            return url if answer.status == 200 else None

    async def _messages(self) -> list[VisibleMessage]:
        """Read all messages that a member can read. Expiring ones have expired: the clock of the workers is ahead."""
        found: list[VisibleMessage] = []
        now_ms = self._use_cases.clock.now_ms() + AHEAD_MS
        erased = UserId(self._clients.users[-1])
        for name in self._clients.chats:
            chat, after = ChatKey(self._use_cases.tenant, ChatId(name)), 0
            while page := await self._use_cases.reader.range(chat, after, 10**9, 200, newest_first=False):
                after = page[-1].sequence
                found += [
                    VisibleMessage(chat=name, sequence=entry.sequence, attachments=entry.attachments)
                    for entry in page
                    if entry.kind is EntryKind.MESSAGE
                    and entry.redacted_at_ms is None
                    and entry.sender != erased
                    and (entry.visible_until_ms is None or entry.visible_until_ms > now_ms)
                ]
        return found
