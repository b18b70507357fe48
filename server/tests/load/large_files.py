"""Send a file of 2 GB and six decompression bombs through the SDK, the API and the media worker, and measure their memory."""

import argparse
import asyncio
import hashlib
import json
import multiprocessing
import os
import resource
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from fixtures.installation_processes import InstallationProcess, InstallationProcesses
from fixtures.media_bombs import BOMBS
from fixtures.media_env import make_bucket
from fixtures.use_cases import ANNA, BEN, UseCaseEnv
from msgspec.structs import replace as changed

from load.standalone import s3_url, standalone_installation
from tidings.engines.model import Engine
from tidings.kernel.clock import SystemClock
from tidings.kernel.ids import ChatId, ChatKey, ClientKey, new_ulid
from tidings.media.model import CheckState, Upload
from tidings.media.store.uploads import DynamoUploadStore
from tidings.messages.sender import Content
from tidings.tenants.model import MediaPolicy
from tidings.tenants.settings import TenantService
from tidings.tenants.store import DynamoTenantStore
from tidings_sdk.attachments import Attachments
from tidings_sdk.credentials import Credentials

MB = 1024 * 1024
POLL_S = 0.02
WITHIN_S = 900.0


@dataclass(frozen=True, kw_only=True)
class LargeFilesRun:
    """Peaks of resident memory in MB. `bombs`: why each was refused, and the peak of its decoder."""

    file_mb: int
    upload_s: float
    process_s: float
    download_s: float
    is_same: bool
    client_mb: float
    api_mb: float
    worker_mb: float
    bombs: dict[str, tuple[str, float]]


class MemoryProbe(threading.Thread):
    """The peak of the resident memory of a process and its children, read again and again."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self._pid = pid
        self._done = threading.Event()
        self.own_mb = self.child_mb = 0.0

    def run(self) -> None:
        while not self._done.wait(POLL_S):
            self.own_mb = max(self.own_mb, resident_mb(self._pid))
            self.child_mb = max([self.child_mb, *map(resident_mb, children(self._pid))])

    def stop(self) -> None:
        self._done.set()
        self.join()


@contextmanager
def probed(process: InstallationProcess) -> Iterator[MemoryProbe]:
    probe = MemoryProbe(process.popen.pid)
    probe.start()
    try:
        yield probe
    finally:
        probe.stop()


def resident_mb(pid: int) -> float:
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError):
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / MB


def children(pid: int) -> list[int]:
    try:
        text = "".join(path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/children"))
    except OSError:
        return []
    return [int(word) for word in text.split()]


def upload(api: str, token: str, chat: str, path: str) -> tuple[str, float]:
    """Upload a file with the SDK, in a process of its own. Return the upload and the process's peak of memory."""
    found = asyncio.run(Attachments(api, Credentials(token)).upload(chat, path))
    return found, own_peak_mb()


def download(api: str, token: str, message: str, name: str, path: str) -> tuple[str, float]:
    """Download a file with the SDK. Return its SHA-256 and the process's peak of memory."""
    chat, _, sequence = message.rpartition(".")
    asyncio.run(Attachments(api, Credentials(token)).download(chat, int(sequence), name, path))
    return digest(Path(path)), own_peak_mb()


def own_peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def in_own_process[T](call: Callable[[], T]) -> T:
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(call).result()


def digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_file(path: Path, mb: int) -> None:
    with path.open("wb") as file:
        for _ in range(mb):
            file.write(os.urandom(MB))


async def processed(use_cases: UseCaseEnv, name: str) -> Upload:
    store = DynamoUploadStore(use_cases.client)
    async with asyncio.timeout(WITHIN_S):
        while True:
            found = await store.find(use_cases.tenant, name)
            assert found is not None
            if found.check is not CheckState.WAITING:
                return found
            await asyncio.sleep(0.1)


async def run(installation: InstallationProcesses, s3: str, folder: Path, mb: int) -> LargeFilesRun:
    bucket = await asyncio.to_thread(make_bucket, s3, installation.space)
    settings = {name.removeprefix("TIDINGS_"): value for name, value in bucket.items()}
    chat = await installation.group(ANNA, BEN)
    async with installation.use_cases() as use_cases:
        policy = MediaPolicy(max_file_mb=max(mb, 100))
        tenants = TenantService(DynamoTenantStore(use_cases.client, use_cases.authentic), SystemClock())
        await tenants.change(use_cases.tenant, lambda now: changed(now, media=policy))
        api, worker = await asyncio.to_thread(
            installation.ready, "api", "media", FAILPOINTS_PAUSE_AT="", **settings
        )
        with probed(api) as api_probe, probed(worker) as worker_probe:
            session = _Session(installation, use_cases, f"http://127.0.0.1:{api.socket_port}", chat, folder)
            found = await session.send_large(mb)
        bombs = {bomb.__name__: await session.send_bomb(worker, bomb()) for bomb in BOMBS}
        return replace(
            found, api_mb=round(api_probe.own_mb, 1), worker_mb=round(worker_probe.own_mb, 1), bombs=bombs
        )


@dataclass
class _Session:
    installation: InstallationProcesses
    use_cases: UseCaseEnv
    api: str
    chat: str
    folder: Path

    async def _call[T](self, call: Callable[[], T]) -> tuple[T, float]:
        began = time.monotonic()
        result = await asyncio.to_thread(in_own_process, call)
        return result, round(time.monotonic() - began, 1)

    async def send_large(self, mb: int) -> LargeFilesRun:
        path, copy = self.folder / "film", self.folder / "copy"
        write_file(path, mb)
        anna, ben = (self.installation.token(user) for user in (ANNA, BEN))
        (name, sender_mb), upload_s = await self._call(partial(upload, self.api, anna, self.chat, str(path)))
        began = time.monotonic()
        assert (await processed(self.use_cases, name)).check is CheckState.READY
        process_s = round(time.monotonic() - began, 1)
        key = ChatKey(self.use_cases.tenant, ChatId(self.chat))
        content = Content(text="the film", attachments=(name,))
        sent = await self.use_cases.sender.send(key, ANNA, ClientKey(new_ulid()), content, after=1)
        (found, reader_mb), download_s = await self._call(
            partial(download, self.api, ben, f"{self.chat}.{sent.sequence}", name, str(copy))
        )
        return LargeFilesRun(
            file_mb=mb,
            upload_s=upload_s,
            process_s=process_s,
            download_s=download_s,
            is_same=found == digest(path),
            client_mb=round(max(sender_mb, reader_mb), 1),
            api_mb=0,
            worker_mb=0,
            bombs={},
        )

    async def send_bomb(self, worker: InstallationProcess, data: bytes) -> tuple[str, float]:
        path = self.folder / "bomb"
        path.write_bytes(data)
        with probed(worker) as probe:
            token = self.installation.token(ANNA)
            (name, _), _ = await self._call(partial(upload, self.api, token, self.chat, str(path)))
            found = await processed(self.use_cases, name)
        return found.facts.reason or "processed", round(probe.child_mb, 1)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mb", type=int, default=2048)
    given: Any = parser.parse_args()
    with (
        standalone_installation(Engine.S3, kafka_extra={}) as installation,
        tempfile.TemporaryDirectory() as home,
    ):
        found = asyncio.run(run(installation, s3_url(installation.fleet), Path(home), given.mb))
    sys.stdout.write(json.dumps(asdict(found)) + "\n")
    return 0 if found.is_same else 1


if __name__ == "__main__":
    sys.exit(main())
