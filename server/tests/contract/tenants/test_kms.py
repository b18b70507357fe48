"""Contract of a KMS: the key file, AWS KMS requests, and the fake in memory."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
from contract.tenants.kms_server import ACCESS_KEY, REGION, SECRET_KEY, kms_server
from fixtures.loops import AsyncFixture
from fixtures.memory_keys import MemoryKms

from tidings.kernel.security import Secret
from tidings.platform.dynamo.credentials import AwsKeys
from tidings.tenants.kms import FileKms, open_aws_kms
from tidings.tenants.model import UnwrapError
from tidings.tenants.ports import Kms

type OpenKms = Callable[[], AbstractAsyncContextManager[Kms]]

FOR = {"tenant": "acme", "key": "content-0000000001", "purpose": "content"}


@pytest.fixture(params=["memory", "file", "aws"])
def kms(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncFixture[Kms]:
    @asynccontextmanager
    async def memory() -> AsyncIterator[Kms]:
        yield MemoryKms()

    @asynccontextmanager
    async def file() -> AsyncIterator[Kms]:
        yield FileKms(tmp_path / "tidings.key")

    @asynccontextmanager
    async def aws() -> AsyncIterator[Kms]:
        keys = AwsKeys(ACCESS_KEY, Secret(SECRET_KEY))
        async with kms_server() as server:
            name = server.add_key("alias/tidings")
            async with open_aws_kms(server.url, REGION, name, keys=keys) as kms:
                yield kms

    kinds: dict[str, OpenKms] = {"memory": memory, "file": file, "aws": aws}
    return AsyncFixture(kinds[request.param])


async def test_a_key_unwraps_to_the_same_32_bytes_every_time(kms: Kms) -> None:
    generated = await kms.generate(FOR)
    first = await kms.unwrap(generated.wrapped, FOR)
    assert len(first) == 32
    assert await kms.unwrap(generated.wrapped, FOR) == first
    assert first not in generated.wrapped
    assert generated.wrapped_by


async def test_no_two_keys_are_the_same(kms: Kms) -> None:
    made = [await kms.generate(FOR) for _ in range(10)]
    assert len({await kms.unwrap(generated.wrapped, FOR) for generated in made}) == 10


@pytest.mark.parametrize(
    "other",
    [
        {**FOR, "tenant": "other"},
        {**FOR, "key": "content-0000000002"},
        {**FOR, "more": ""},
        {"tenant": "acme"},
    ],
)
async def test_a_key_does_not_unwrap_for_another_context(kms: Kms, other: dict[str, str]) -> None:
    generated = await kms.generate(FOR)
    with pytest.raises(UnwrapError):
        await kms.unwrap(generated.wrapped, other)


async def test_the_order_of_the_context_does_not_matter(kms: Kms) -> None:
    generated = await kms.generate(FOR)
    assert await kms.unwrap(generated.wrapped, dict(reversed(FOR.items())))


async def test_an_altered_key_does_not_unwrap(kms: Kms) -> None:
    wrapped = (await kms.generate(FOR)).wrapped
    for altered in (
        b"",
        wrapped[:-1],
        wrapped + b"\0",
        wrapped[:-1] + bytes([wrapped[-1] ^ 1]),
        b"x" * 60,
    ):
        with pytest.raises(UnwrapError):
            await kms.unwrap(altered, FOR)


class Turned(NamedTuple):
    """The KMS before the master key is replaced, while both keys are configured, and after the former key was removed."""

    former: Kms
    both: Kms
    present: Kms


@pytest.fixture(params=["file", "aws"])
def turned(
    request: pytest.FixtureRequest, tmp_path: Path
) -> Callable[[], AbstractAsyncContextManager[Turned]]:
    @asynccontextmanager
    async def file() -> AsyncIterator[Turned]:
        old, new = tmp_path / "old.key", tmp_path / "new.key"
        present = FileKms(new)
        await present.generate(FOR)
        yield Turned(FileKms(old), FileKms(new, former=old), present)

    @asynccontextmanager
    async def aws() -> AsyncIterator[Turned]:
        keys = AwsKeys(ACCESS_KEY, Secret(SECRET_KEY))
        async with kms_server() as server:
            old, older, new = (server.add_key(f"alias/{name}") for name in ("old", "older", "new"))
            async with (
                open_aws_kms(server.url, REGION, old, keys=keys) as former,
                open_aws_kms(server.url, REGION, new, [older, old], keys=keys) as both,
                open_aws_kms(server.url, REGION, new, keys=keys) as present,
            ):
                yield Turned(former, both, present)

    return file if request.param == "file" else aws


async def test_a_rewrapped_key_needs_the_former_master_key_no_longer(
    turned: Callable[[], AbstractAsyncContextManager[Turned]],
) -> None:
    async with turned() as (former, both, present):
        wrapped, by = await former.generate(FOR)
        key = await both.unwrap(wrapped, FOR)
        made = await both.rewrap(wrapped, FOR)
        assert made is not None
        assert made.wrapped_by != by
        assert await present.unwrap(made.wrapped, FOR) == key
        assert await both.rewrap(made.wrapped, FOR) is None
        assert await present.rewrap(made.wrapped, FOR) is None
        for asking in (
            present.unwrap(wrapped, FOR),
            present.rewrap(wrapped, FOR),
            both.rewrap(wrapped, {**FOR, "tenant": "other"}),
            both.rewrap(made.wrapped, {**FOR, "tenant": "other"}),
            former.unwrap(made.wrapped, FOR),
        ):
            with pytest.raises(UnwrapError):
                await asking
