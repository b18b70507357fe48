"""No plaintext of a message or a profile reaches the engine: not on the wire and not in its files, in any encoding.

Complete sends and profiles on both engines, stored on disk, through a relay that records every byte.
"""

import asyncio
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from contract.tenants.relay import relay_to
from fixtures.engines import NOT_RUN, Dynamo
from fixtures.plaintext import WORDS, found_in
from fixtures.tables import REGION, Tables, make_tables
from fixtures.use_cases import ANNA, BEN, UseCaseEnv, asked

from tidings.accounts.model import Phone, ProfileChange
from tidings.accounts.store.users import DynamoUserStore
from tidings.accounts.users import UserService
from tidings.app.wiring.chats import build_row_projector
from tidings.delivery.audience import StoredAudience
from tidings.engines import dynoxide
from tidings.engines.jars import default_cache
from tidings.engines.local_cluster import LocalCluster
from tidings.engines.model import DynamoKind, Engine, StartRequest
from tidings.kernel.clock import SystemClock
from tidings.kernel.ids import ChatKey, UserId
from tidings.messages.sender import Content
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.open_client import open_client
from tidings.tenants import user_keys
from tidings.tenants.key_ring import KeyPolicy, KeyRing
from tidings.tenants.kms import FileKms
from tidings.tenants.sealing import UserKeys
from tidings.tenants.store import DynamoKeyStore, DynamoUserKeyStore
from tidings.tenants.user_keys import UserKeyPolicy, UserKeyRing

NUMBER = "+4915112345678"
DORA = UserId("dora")


class Leaks(NamedTuple):
    """Return the encodings of the plaintext that were found."""

    on_the_wire: set[str]
    on_disk: set[str]


def files_below(directory: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(directory.rglob("*")) if path.is_file())


async def send_all_shapes(use_cases: UseCaseEnv, ring: UserKeyRing) -> ChatKey:
    """Send alone, in a batch, with an idempotency row, ephemeral and edited; and write a preview to a chat list."""
    chat = await use_cases.group(BEN)
    await use_cases.send(chat, ANNA, WORDS)
    await asyncio.gather(*(use_cases.send(chat, ANNA, WORDS) for _ in range(6)))
    await use_cases.send(chat, BEN, WORDS, after=None)
    await use_cases.send(chat, ANNA, WORDS, ttl_s=3600)
    await ring.tenants.rotate(chat.tenant)
    await ring.rotate(chat.tenant, ANNA)
    last = await use_cases.send(chat, ANNA, "nothing yet")
    await use_cases.change.edit(asked(chat, ANNA, last.sequence), Content(text=WORDS, data={"again": WORDS}))
    rows = build_row_projector(use_cases.client, ring, StoredAudience(use_cases.rows))
    for committed, entries in use_cases.commits:
        await rows.handle(committed, entries)
    return chat


async def write_profile(use_cases: UseCaseEnv, ring: UserKeyRing) -> None:
    """Create a user with all personal fields, and change one of them."""
    users = UserService(DynamoUserStore(use_cases.client, ring.tenants, ring), SystemClock())
    avatar = f"https://example.com/{WORDS}"
    await users.create(use_cases.tenant, DORA, phone=Phone(NUMBER), display_name="Dora", avatar_uri=avatar)
    await users.update(use_cases.tenant, DORA, ProfileChange(display_name=WORDS))


async def profile_read(use_cases: UseCaseEnv, ring: UserKeyRing) -> tuple[str | None, str | None]:
    users = DynamoUserStore(use_cases.client, ring.tenants, ring)
    dora = await users.owner(use_cases.tenant, Phone(NUMBER))
    assert dora == DORA
    found = await users.confirm_profile(use_cases.tenant, dora)
    assert found is not None
    return found.display_name, found.phone


async def words_read(use_cases: UseCaseEnv, chat: ChatKey) -> list[str]:
    page = await use_cases.history.before(chat, ANNA, None, 100)
    return [shown.content.text for shown in page.entries if shown.content]


def leaks(fleet: LocalCluster, tables: Tables, key_file: Path, *, is_encrypting: bool = True) -> Leaks:
    def ring_on(client: DynamoClient) -> UserKeyRing:
        policy = KeyPolicy(is_encrypting=is_encrypting)
        tenants = KeyRing(DynamoKeyStore(client), FileKms(key_file), SystemClock(), policy)
        of_users = UserKeyPolicy(is_encrypting=is_encrypting)
        return UserKeyRing(DynamoUserKeyStore(client), tenants, SystemClock(), of_users)

    async def run() -> tuple[bytes, ChatKey]:
        async with relay_to(tables.url) as relay, open_client(relay.url, REGION, tables.prefix) as client:
            use_cases = UseCaseEnv(client, "acme", key_file)
            use_cases.keys = ring = ring_on(client)
            use_cases.open_process()
            chat = await send_all_shapes(use_cases, ring)
            await write_profile(use_cases, ring)
            use_cases.keys = ring = ring_on(client)
            use_cases.open_process()
            assert await words_read(use_cases, chat) == [WORDS] * 10, "another process reads it all"
            assert await profile_read(use_cases, ring) == (WORDS, NUMBER)
        return bytes(relay.sent), chat

    wire, chat = asyncio.run(asyncio.wait_for(run(), 60))
    data = fleet.status()[0].node.data
    fleet.stop()
    disk = files_below(data)
    for place in (wire, disk):
        assert chat.chat.encode() in place, (
            "what is not secret is found, so the search looks at the right bytes"
        )
    return Leaks(*(found_in(place) | found_in(place, NUMBER) for place in (wire, disk)))


type Searched = Callable[..., Leaks]


@pytest.fixture(params=["local", "dynoxide"])
def searched(
    request: pytest.FixtureRequest, own_fleet: Callable[[StartRequest], LocalCluster], tmp_path: Path
) -> Searched:
    """Send on a separate engine with files on disk, and return where plaintext was found."""
    kind: DynamoKind = request.param
    if kind == "dynoxide" and not dynoxide.is_installed(default_cache()) and not dynoxide.can_be_installed():
        pytest.skip(NOT_RUN)
    fleet = own_fleet(StartRequest(engines=frozenset({Engine.DYNAMO}), dynamo=kind, on_disk=True))
    dynamo = Dynamo(kind, f"http://{fleet.status()[0].node.address}")
    tables = next(make_tables(dynamo, "plaintext-"))
    return lambda **options: leaks(fleet, tables, tmp_path / "tidings.key", **options)


def test_no_plaintext_reaches_the_engine(searched: Searched) -> None:
    assert searched() == Leaks(set(), set())


def test_a_mutant_without_encryption_is_detected(searched: Searched, monkeypatch: pytest.MonkeyPatch) -> None:
    """A mutant without encryption, which shows that the test above can fail."""
    monkeypatch.setattr(user_keys, "UserKeys", lambda *user, **_: UserKeys(*user, is_encrypting=False))
    found = searched()
    assert any("base64" in spelled for spelled in found.on_the_wire)
    assert found.on_disk


def test_plaintext_is_found_with_encryption_off(searched: Searched) -> None:
    found = searched(is_encrypting=False)
    assert found.on_the_wire
    assert found.on_disk


@pytest.mark.parametrize("before", range(6))
@pytest.mark.parametrize("after", range(4))
def test_the_search_finds_every_encoding_inside_other_bytes(before: int, after: int) -> None:
    longer = b"\xff" * before + WORDS.encode() + b"\xff" * after
    assert found_in(longer) == {"plain"}
    assert found_in(longer.hex().encode()) == {"hex"}
    assert found_in(longer.hex().upper().encode()) == {"HEX"}
    for encode in (b64encode, urlsafe_b64encode):
        assert {spelled.rpartition(" ")[2] for spelled in found_in(encode(longer))} == {str(before % 3)}
    for name in ("utf-16-le", "utf-16-be"):
        assert found_in(b"x" * before + WORDS.encode(name)) >= {name.replace("16-", "16")}
