"""Users who upload files, send, redact and abandon them, on API processes that are killed meanwhile."""

import asyncio
import base64
import hashlib
import io
import os
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from typing import Any

import aiohttp
from failpoints.small_files import PART_BYTES
from fixtures.installation_processes import InstallationProcesses
from PIL import Image
from yarl import URL

from load.media_checker import SentFile
from tidings.kernel.ids import new_ulid

MULTIPART_SHARE, IMAGE_SHARE = 0.01, 0.02
MAX_SMALL_BYTES = 1024
URL_SHARE = 0.2
"""Attached files whose URL is kept, to request it after the file was deleted."""
EXPIRING_S = 5
_TRIES = 200
_OK, _FAILED = 300, 500
GONE = frozenset({"upload_not_found", "upload_incomplete"})
"""The sweeper has deleted the upload of a user who was slow."""


class Plan(StrEnum):
    """The use that a user makes of a file."""

    STARTED = "abandoned after the start"
    SENT = "abandoned after the bytes"
    COMPLETED = "abandoned when complete"
    DISCARDED = "deleted by its owner"
    LATE = "deleted by its owner, and the bytes arrive later"
    KEPT = "attached"
    REDACTED = "attached and redacted"
    EXPIRED = "attached to an expiring message"


_WEIGHTS = {
    Plan.STARTED: 4,
    Plan.SENT: 4,
    Plan.COMPLETED: 4,
    Plan.DISCARDED: 4,
    Plan.LATE: 2,
    Plan.KEPT: 52,
    Plan.REDACTED: 22,
    Plan.EXPIRED: 8,
}


class RefusedError(Exception):
    """A request was refused, and a repetition would be too."""

    def __init__(self, status: int, code: str) -> None:
        super().__init__(f"{status} {code}")
        self.code = code


@dataclass
class MediaClients:
    """All users of a run. `ports`: of the API processes that run now. `refused`: codes."""

    installation: InstallationProcesses
    session: aiohttp.ClientSession
    users: Sequence[str]
    ports: list[int] = field(default_factory=list)
    chats: list[str] = field(default_factory=list)
    files: list[SentFile] = field(default_factory=list)
    refused: Counter[str] = field(default_factory=Counter)
    retries: int = 0
    _tokens: dict[str, str] = field(default_factory=dict)

    async def create_chats(self, count: int) -> None:
        for number in range(count):
            body = {"type": "group", "name": "us", "members": list(self.users[1:])}
            made = await self.ask(
                "POST", "/v1/chats", self.users[0], {**body, "client_message_id": f"c{number}"}
            )
            self.chats.append(made["id"])

    async def ask(self, method: str, path: str, user: str, body: object = None) -> Any:
        """Send a request until it is answered. Raises `RefusedError`."""
        key = {"Idempotency-Key": new_ulid()} if method == "DELETE" and "/messages/" in path else {}
        headers = {"Authorization": f"Bearer {self._token(user)}", **key}
        for _ in range(_TRIES):
            try:
                address = f"http://127.0.0.1:{random.choice(self.ports)}{path}"
                async with self.session.request(method, address, json=body, headers=headers) as answer:
                    found: Any = await answer.json() if answer.status != 204 else None
                    if answer.status < _OK:
                        return found
                    if answer.status < _FAILED and answer.status != 429 and found["code"] != "write_conflict":
                        raise RefusedError(answer.status, found["code"])
            except (aiohttp.ClientError, TimeoutError, OSError, IndexError):
                pass
            self.retries += 1
            await asyncio.sleep(random.uniform(0.05, 0.3))
        raise AssertionError(f"no answer to {method} {path}")

    def _token(self, user: str) -> str:
        if user not in self._tokens:
            self._tokens[user] = self.installation.token(user, 6 * 3600)
        return self._tokens[user]

    async def use_file(self) -> None:
        """Upload one file and do with it what a plan says. The API may have deleted it meanwhile, if it is slow."""
        plan = random.choices(list(_WEIGHTS), list(_WEIGHTS.values()))[0]
        try:
            await self._follow(plan)
        except RefusedError as error:
            self.refused[error.code] += 1

    async def _follow(self, plan: Plan) -> None:
        owner, chat, data = random.choice(self.users), random.choice(self.chats), new_data()
        sums = sha256(data)
        request = {"chat": chat, "name": "a.bin", "size": len(data), "sha256": sums}
        started = await self.ask(
            "POST", "/v1/uploads", owner, {**request, "type": "application/octet-stream"}
        )
        file = SentFile(upload=started["id"], owner=owner, chat=chat, size=len(data), sha256=sums)
        self.files.append(file)
        if plan is Plan.STARTED:
            return
        path = f"/v1/uploads/{file.upload}"
        if plan is Plan.LATE:
            await self.ask("DELETE", path, owner)
            await asyncio.sleep(random.uniform(0.5, 3.0))
        parts = await self._send_bytes(path, owner, started, data, is_late=plan is Plan.LATE)
        if plan in (Plan.SENT, Plan.LATE):
            return
        await self.ask("POST", f"{path}/complete", owner, {"parts": parts})
        if plan is Plan.DISCARDED:
            await self.ask("DELETE", path, owner)
        elif plan is not Plan.COMPLETED:
            await self._attach(plan, file)

    async def _send_bytes(
        self, path: str, owner: str, started: dict[str, Any], data: bytes, *, is_late: bool
    ) -> list[dict[str, Any]]:
        if "put" in started:
            await self.put(started["put"], data)
            return []
        cut = [data[at : at + PART_BYTES] for at in range(0, len(data), PART_BYTES)]
        parts = [{"number": number, "sha256": sha256(part)} for number, part in enumerate(cut, 1)]
        if is_late:
            return parts
        signed = (await self.ask("POST", f"{path}/parts", owner, {"parts": parts}))["parts"]
        for request, part in zip(signed, cut, strict=True):
            await self.put(request, part)
        return parts

    async def put(self, request: dict[str, Any], data: bytes) -> None:
        """Send bytes to the bucket. It may refuse parts of an upload that was deleted meanwhile."""
        url = URL(request["url"], encoded=True)
        async with self.session.put(url, data=io.BytesIO(data), headers=request["headers"]) as answer:
            await answer.read()
            if answer.status >= _OK:
                raise RefusedError(answer.status, "upload_not_found")

    async def _attach(self, plan: Plan, file: SentFile) -> None:
        body: dict[str, Any] = {"text": "look", "attachments": [file.upload], "client_message_id": new_ulid()}
        if plan is Plan.EXPIRED:
            body["ttl_seconds"] = EXPIRING_S
        sent = await self.ask("POST", f"/v1/chats/{file.chat}/messages", file.owner, body)
        file.message = file.chat, sent["sequence"]
        file.is_gone = plan is Plan.EXPIRED
        if plan is Plan.REDACTED or random.random() < URL_SHARE:
            link = await self.ask("GET", attachment_path(sent["id"], file), file.owner)
            file.urls = [url for url in (link["url"], link.get("thumbnail_url")) if url]
        if plan is Plan.REDACTED:
            if random.random() < 0.5:
                await asyncio.sleep(random.uniform(0, 2))
            # From here on it may be redacted, even if no answer arrives.
            await self.ask("DELETE", f"/v1/messages/{sent['id']}", file.owner)
            file.is_gone = True


def attachment_path(message: str, file: SentFile) -> str:
    return f"/v1/messages/{message}/attachments/{file.upload}"


def new_data() -> bytes:
    kind = random.random()
    if kind < IMAGE_SHARE:
        return random.choice(images())
    if kind < IMAGE_SHARE + MULTIPART_SHARE:
        return bytes(PART_BYTES) + os.urandom(MAX_SMALL_BYTES)
    return os.urandom(random.randrange(1, MAX_SMALL_BYTES))


@cache
def images() -> list[bytes]:
    """Return small photos with metadata. They are made once: drawing them takes longer than sending them."""
    made = []
    for shade in range(8):
        out = io.BytesIO()
        exif = Image.Exif()
        exif[0x010E] = "a place"
        Image.new("RGB", (8, 6), (shade * 20, 200, 30)).save(out, "JPEG", exif=exif, quality=40)
        made.append(out.getvalue())
    return made


def sha256(data: bytes) -> str:
    return base64.b64encode(hashlib.sha256(data).digest()).decode()
