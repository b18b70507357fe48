"""Files are scanned by ClamAV: a real `clamd` if it is installed, and a server with its protocol for its faults."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from contract.media.test_worker import process, sweeper, worker
from fixtures.clamd import EICAR, MAX_STREAM_BYTES
from fixtures.media_env import MediaEnv
from fixtures.use_cases import BEN, code_of

from tidings.kernel.errors import Code, UnavailableError
from tidings.kernel.failpoints import Failpoints
from tidings.media.model import CheckState, ScanResult
from tidings.media.store.clamd import ClamdScanner


async def test_malware_is_found_and_other_files_are_not_refused(clamd: str, tmp_path: Path) -> None:
    scanner, path = ClamdScanner(clamd), tmp_path / "file"
    await scanner.ping()
    for data, expected in (
        (b"hello", ScanResult()),
        (b"", ScanResult()),
        (b"x" * (MAX_STREAM_BYTES - 100_000), ScanResult()),
        (EICAR, ScanResult(infection="Eicar-Test.UNOFFICIAL")),
        (b"x" * (5 * MAX_STREAM_BYTES), ScanResult(is_too_large=True)),
    ):
        path.write_bytes(data)
        assert await scanner.check(path) == expected
    assert await ClamdScanner("127.0.0.1:1", max_mb=1).check(path) == ScanResult(is_too_large=True)


async def test_an_infected_file_is_deleted_and_its_message_says_so(media: MediaEnv, clamd: str) -> None:
    chat = await media.use_cases.group(BEN)
    upload = await media.put(chat, EICAR)
    sequence = await media.message(chat, upload)
    await worker(media, scanner=ClamdScanner(clamd)).run(process(media, upload.id))
    now = await media.now(upload)
    assert (now.check, now.facts.reason) == (
        CheckState.REFUSED,
        "the file contains malware: Eicar-Test.UNOFFICIAL",
    )
    assert await media.keys() == []
    assert await code_of(media.service.link(chat, BEN, sequence, upload.id)) is Code.UPLOAD_REFUSED
    assert (await sweeper(media).sweep_all()).missing == 0


async def test_the_sweeper_deletes_an_infected_file_of_a_killed_worker(media: MediaEnv, clamd: str) -> None:
    chat = await media.use_cases.group(BEN)
    upload = await media.put(chat, EICAR)

    class KillAfterRecord(Failpoints):
        async def hit(self, name: str, /) -> None:
            if name == "media.recorded":
                raise InterruptedError

    with pytest.raises(InterruptedError):
        await worker(media, KillAfterRecord(), ClamdScanner(clamd)).run(process(media, upload.id))
    assert await media.keys() == [upload.original]
    await sweeper(media).sweep_all()
    assert await media.keys() == []


async def test_files_wait_while_clamd_does_not_answer(media: MediaEnv, tmp_path: Path) -> None:
    chat = await media.use_cases.group(BEN)
    upload = await media.put(chat)
    down = ClamdScanner(f"unix:{tmp_path}/nobody")
    with pytest.raises(UnavailableError):
        await worker(media, scanner=down).run(process(media, upload.id))
    assert (await media.now(upload)).check is CheckState.WAITING
    with pytest.raises(UnavailableError):
        await down.ping()


@asynccontextmanager
async def answering(answer: bytes) -> AsyncIterator[str]:
    """Listen, read a little, answer and close: as clamd does at its limits."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(64)
        writer.write(answer)
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"


@pytest.mark.parametrize(
    "answer",
    [b"", b"stream: OK", b"\0", b"UNKNOWN COMMAND\0", b"stream: Out of memory ERROR\0", b"x" * 9_000],
)
async def test_an_answer_that_is_not_understood_is_no_permission(tmp_path: Path, answer: bytes) -> None:
    (tmp_path / "file").write_bytes(b"hello")
    async with answering(answer) as address:
        with pytest.raises(UnavailableError):
            await ClamdScanner(address, timeout_s=5).check(tmp_path / "file")
