"""The key file: its permissions, creation and errors."""

import asyncio
import os
import stat
from collections.abc import Awaitable
from pathlib import Path

import pytest

from tidings.kernel.errors import Code, TidingsError
from tidings.tenants.kms import FileKms
from tidings.tenants.model import GeneratedKey, UnwrapError

FOR = {"tenant": "acme", "key": "content-0000000001"}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "keys" / "tidings.key"


def generate(path: Path) -> GeneratedKey:
    return asyncio.run(FileKms(path).generate(FOR))


def unwrap(path: Path, generated: GeneratedKey) -> bytes:
    return asyncio.run(FileKms(path).unwrap(generated.wrapped, FOR))


def refusal(path: Path, generated: GeneratedKey) -> TidingsError:
    with pytest.raises(TidingsError) as caught:
        unwrap(path, generated)
    assert caught.value.code is Code.KEYS_UNAVAILABLE
    return caught.value


def test_the_file_is_private_to_its_owner_and_has_a_warning(path: Path) -> None:
    generated = generate(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [p.name for p in path.parent.iterdir()] == ["tidings.key"]
    assert "never commit" in path.read_text()
    assert len(unwrap(path, generated)) == 32


def test_the_mode_does_not_depend_on_the_umask(path: Path) -> None:
    before = os.umask(0)
    try:
        generate(path)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644, 0o660, 0o610])
def test_a_file_that_others_may_open_is_refused(path: Path, mode: int) -> None:
    generated = generate(path)
    path.chmod(mode)
    error = refusal(path, generated)
    assert f"{mode:04o}" in error.message
    assert "chmod 600" in error.hint


def test_a_file_of_another_user_is_rejected(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    generated = generate(path)
    os.chown(path, 1234, -1) if os.geteuid() == 0 else None
    monkeypatch.setattr(os, "geteuid", lambda: 4321)
    assert "another user" in refusal(path, generated).message


def test_a_file_that_may_only_be_read_is_enough(path: Path) -> None:
    generated = generate(path)
    path.chmod(0o400)
    assert len(unwrap(path, generated)) == 32


def test_a_missing_file_is_reported_and_not_recreated_to_unwrap(path: Path) -> None:
    generated = generate(path)
    path.unlink()
    error = refusal(path, generated)
    assert str(path) in error.message
    assert "cannot be decrypted without it" in error.message
    assert not path.exists()


def test_another_key_file_is_detected(path: Path, tmp_path: Path) -> None:
    generated = generate(path)
    other = tmp_path / "other.key"
    wrapped_by_other = generate(other).wrapped_by
    with pytest.raises(UnwrapError, match=wrapped_by_other):
        unwrap(other, generated)
    assert generated.wrapped_by.startswith("file:")
    assert wrapped_by_other != generated.wrapped_by


@pytest.mark.parametrize(
    "text", ["", "# only a note\n", "c2hvcnQ=\n", "not base64!\n", "\xff\n", "AA==\nAA==\n"]
)
def test_a_file_without_a_key_is_reported(path: Path, text: str) -> None:
    generated = generate(path)
    path.write_text(text)
    assert "does not contain one key" in refusal(path, generated).message


def test_an_unwritable_path_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(TidingsError, match="Cannot create the key file") as caught:
        generate(tmp_path / "file" / "tidings.key")
    assert caught.value.code is Code.KEYS_UNAVAILABLE


async def test_concurrent_creators_of_the_file_all_use_the_same_key(path: Path) -> None:
    services = [FileKms(path) for _ in range(16)]
    made = await asyncio.gather(*(service.generate(FOR) for service in services))
    assert len({generated.wrapped_by for generated in made}) == 1
    unwraps: list[Awaitable[bytes]] = [
        reader.unwrap(generated.wrapped, FOR)
        for reader, generated in zip(reversed(services), made, strict=True)
    ]
    assert len(set(await asyncio.gather(*unwraps))) == 16


async def test_the_file_is_read_once(path: Path) -> None:
    kms = FileKms(path)
    generated = await kms.generate(FOR)
    path.unlink()  # noqa: ASYNC240 - a file of this test
    assert len(await kms.unwrap(generated.wrapped, FOR)) == 32
