"""The decoder in its own process: facts, metadata, and files that are made to exhaust it."""

import io
import os
import resource
import subprocess
import wave
from pathlib import Path
from typing import Any

import pytest
from fixtures.media_bombs import BOMBS, zlib_bomb
from PIL import Image

from tidings.media import decoder
from tidings.media.model import MediaFacts
from tidings.media.sandbox import decoder_command, run_decoder

GPS = 0x8825
MAX_RSS_KB = decoder.MEMORY_BYTES // 1024


async def decode(tmp_path: Path, data: bytes, *, strips: bool = True, **more: Any) -> MediaFacts:
    (tmp_path / "file").write_bytes(data)
    return await run_decoder(tmp_path / "file", tmp_path, strips_metadata=strips, **more)


def photo(kind: str = "JPEG", size: tuple[int, int] = (60, 30)) -> bytes:
    """Return a picture with a place in its metadata, stored on its side."""
    exif = Image.Exif()
    exif[0x0112] = 6
    exif.get_ifd(GPS)[2] = (52.0, 31.0, 12.0)
    exif[0x010E] = "secret-place"
    out = io.BytesIO()
    Image.new("RGB", size, (200, 30, 30)).save(out, kind, exif=exif)
    return out.getvalue()


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
async def test_an_image_is_stored_upright_and_without_its_place(tmp_path: Path, kind: str) -> None:
    data = photo(kind)
    assert b"secret-place" in data
    facts = await decode(tmp_path, data)
    assert (facts.reason, facts.width, facts.height, facts.is_clean) == (None, 30, 60, True)
    for name in ("clean", "thumbnail"):
        made = (tmp_path / name).read_bytes()
        assert b"secret-place" not in made
        with Image.open(io.BytesIO(made)) as image:
            assert image.size == (30, 60)
            assert not dict(image.getexif())
    assert facts.blurhash is not None
    assert len(facts.blurhash) == 28


async def test_a_tenant_may_keep_metadata(tmp_path: Path) -> None:
    facts = await decode(tmp_path, photo(), strips=False)
    assert (facts.is_clean, facts.has_thumbnail) == (False, True)
    assert not (tmp_path / "clean").exists()


async def test_an_animation_keeps_its_frames_and_loses_its_comment(tmp_path: Path) -> None:
    frames = [Image.new("P", (8, 8), number) for number in range(4)]
    out = io.BytesIO()
    frames[0].save(out, "GIF", save_all=True, append_images=frames[1:], duration=50, comment=b"secret-place")
    facts = await decode(tmp_path, out.getvalue())
    assert facts.type == "image/gif"
    with Image.open(tmp_path / "clean") as image:
        assert getattr(image, "n_frames", 1) >= 1
        assert "comment" not in image.info
    assert b"secret-place" not in (tmp_path / "clean").read_bytes()


async def test_the_duration_of_a_recording_is_read(tmp_path: Path) -> None:
    out = io.BytesIO()
    with wave.open(out, "wb") as recording:
        recording.setnchannels(1)
        recording.setsampwidth(2)
        recording.setframerate(8_000)
        recording.writeframes(b"\0\0" * 12_000)
    facts = await decode(tmp_path, out.getvalue())
    assert (facts.type, facts.duration_ms) == ("audio/wav", 1_500)


@pytest.mark.parametrize(
    "data",
    [b"<html><script>alert(1)</script>", b"<svg xmlns='http://www.w3.org/2000/svg'/>", b"%PDF-1.7", b""],
)
async def test_what_can_contain_scripts_is_opaque(tmp_path: Path, data: bytes) -> None:
    assert await decode(tmp_path, data) == MediaFacts()


@pytest.mark.parametrize("bomb", BOMBS, ids=lambda made: made.__name__)
def test_a_bomb_is_harmless_in_bounded_memory(tmp_path: Path, bomb: Any) -> None:
    (tmp_path / "file").write_bytes(bomb())
    command = decoder_command(tmp_path / "file", tmp_path, strips_metadata=True)
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, _, used = os.wait4(child.pid, 0)
    child.returncode = 0
    # Until it executes the decoder, the child has the memory of this process.
    own_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert used.ru_maxrss < max(MAX_RSS_KB, own_kb + 1024), "kilobytes"
    assert used.ru_utime + used.ru_stime < decoder.CPU_S
    produced = [each for each in tmp_path.iterdir() if each.name in ("clean", "thumbnail")]
    facts = (tmp_path / "facts.json").read_text() if (tmp_path / "facts.json").exists() else ""
    if bomb is not zlib_bomb:  # it decodes no more than the pixels that it declares
        assert "reason" in facts or not facts
        assert produced == []


async def test_a_decoder_that_hangs_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidings.media.sandbox.decoder_command", lambda *_, **__: ["/bin/sleep", "60"])
    facts = await decode(tmp_path, b"x", timeout_s=0.2)
    assert facts.reason is not None


async def test_the_decoder_has_no_credentials(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hidden")
    command = ["/bin/sh", "-c", f"env > {tmp_path}/env"]
    monkeypatch.setattr("tidings.media.sandbox.decoder_command", lambda *_, **__: command)
    await decode(tmp_path, b"x")
    assert "hidden" not in (tmp_path / "env").read_text()
