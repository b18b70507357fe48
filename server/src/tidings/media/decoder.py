"""Decode one file, in a process of its own: `python -m tidings.media.decoder`.

Files come from anyone, and image libraries have defects. So this process has no credentials and no configuration, limits
its own memory, CPU time and files before it opens the file, and is killed by its parent after a time. It writes
`facts.json` and, of images, `clean` and `thumbnail` into a folder.
"""

import json
import resource
import sys
import zipfile
from pathlib import Path
from typing import Any

from tidings.media.blurhash import encode_blurhash
from tidings.media.sniffing import HEAD_BYTES, ZIP, sniff_type

MEMORY_BYTES = 1024 * 1024 * 1024
CPU_S = 20
OUTPUT_BYTES = 256 * 1024 * 1024
MAX_PIXELS = 64_000_000
"""Pixels of an image, of all its frames together."""
MAX_ARCHIVE_FILES = 100_000
MAX_ARCHIVE_BYTES = 10 * 1024 * 1024 * 1024
MAX_ARCHIVE_RATIO = 200
THUMBNAIL_PIXELS = 320
_HASH_PIXELS = 32
_KEPT_INFO = ("transparency", "icc_profile", "duration", "loop", "background", "disposal", "blend")


class RefusedFileError(Exception):
    """The file is not processed. The text says why, for the sender."""


def limit_resources() -> None:
    """Limit this process. An allocation above the limit raises `MemoryError`."""
    for which, limit in (
        (resource.RLIMIT_AS, MEMORY_BYTES),
        (resource.RLIMIT_CPU, CPU_S),
        (resource.RLIMIT_FSIZE, OUTPUT_BYTES),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, 64),
    ):
        _, hard = resource.getrlimit(which)
        allowed = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
        resource.setrlimit(which, (allowed, allowed))


def decode_file(path: Path, out: Path, *, strips_metadata: bool) -> dict[str, Any]:
    """Return the facts of a file, and write the images made from it. Raises `RefusedFileError`."""
    with path.open("rb") as file:
        type_ = sniff_type(file.read(HEAD_BYTES))
    facts: dict[str, Any] = {"type": type_}
    if type_.startswith("image/"):
        facts |= _decode_image(path, out, strips_metadata=strips_metadata)
    elif type_.startswith(("audio/", "video/")):
        facts |= _decode_media(path, type_)
    elif type_ == ZIP:
        _check_archive(path)
    return facts


def _decode_image(path: Path, out: Path, *, strips_metadata: bool) -> dict[str, Any]:
    from PIL import Image, ImageOps, UnidentifiedImageError  # noqa: PLC0415 - an optional package

    Image.MAX_IMAGE_PIXELS = MAX_PIXELS
    try:
        with Image.open(path, formats=("PNG", "JPEG", "GIF", "WEBP")) as image:
            frames = getattr(image, "n_frames", 1)
            if image.width * image.height * frames > MAX_PIXELS:
                raise RefusedFileError(
                    f"{image.width} x {image.height} pixels in {frames} frames; {MAX_PIXELS} pixels are allowed"
                )
            upright = ImageOps.exif_transpose(image)
            facts = {"width": upright.width, "height": upright.height}
            if strips_metadata:
                _write_clean(image, upright, out / "clean", frames)
            return facts | {"is_clean": strips_metadata, **_write_thumbnail(upright, out / "thumbnail")}
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise RefusedFileError("the image has too many pixels") from error
    except (UnidentifiedImageError, OSError, ValueError, SyntaxError, EOFError, TypeError) as error:
        raise RefusedFileError(f"the image cannot be decoded: {type(error).__name__}") from error


def _write_clean(image: Any, upright: Any, to: Path, frames: int) -> None:  # noqa: ANN401 - Pillow is optional
    """Write the image without metadata: only its pixels, its colour profile and the timing of its frames."""
    kind = image.format
    options: dict[str, Any] = {"quality": 90} if kind in ("JPEG", "WEBP") else {}
    if frames > 1:
        pictures = []
        durations = []
        for number in range(frames):
            image.seek(number)
            durations.append(image.info.get("duration", 100))
            pictures.append(_bare(image.copy()))
        pictures[0].save(
            to,
            kind,
            save_all=True,
            append_images=pictures[1:],
            duration=durations,
            loop=image.info.get("loop", 0),
        )
        return
    bare = _bare(upright)
    if "icc_profile" in bare.info:
        options["icc_profile"] = bare.info["icc_profile"]
    bare.save(to, kind, **options)


def _bare(picture: Any) -> Any:  # noqa: ANN401 - see above
    bare = picture.copy()
    bare.info = {name: picture.info[name] for name in _KEPT_INFO if name in picture.info}
    return bare


def _write_thumbnail(upright: Any, to: Path) -> dict[str, Any]:  # noqa: ANN401 - see above
    small = _bare(upright).convert("RGBA" if _has_alpha(upright) else "RGB")
    small.thumbnail((THUMBNAIL_PIXELS, THUMBNAIL_PIXELS))
    small.info = {}
    small.save(to, "WEBP", quality=75)
    tiny = small.convert("RGB")
    tiny.thumbnail((_HASH_PIXELS, _HASH_PIXELS))
    pixels = [tiny.getpixel((x, y)) for y in range(tiny.height) for x in range(tiny.width)]
    return {"has_thumbnail": True, "blurhash": encode_blurhash(pixels, tiny.width, tiny.height)}


def _has_alpha(picture: Any) -> bool:  # noqa: ANN401 - see above
    return picture.mode in ("RGBA", "LA", "PA") or "transparency" in picture.info


def _decode_media(path: Path, type_: str) -> dict[str, Any]:
    """Return the duration, if it can be read. A file without one is not refused: nothing was decoded."""
    from tinytag import TinyTag, TinyTagException  # noqa: PLC0415 - an optional package

    names = {"audio/mpeg": "mp3", "audio/ogg": "ogg", "audio/wav": "wav", "audio/flac": "flac"}
    suffix = names.get(type_, "mp4")
    try:
        with path.open("rb") as file:
            found = TinyTag.get(f"file.{suffix}", file_obj=file, tags=False)
    except (TinyTagException, OSError, ValueError, EOFError, ArithmeticError, LookupError, TypeError):
        return {}
    seconds = found.duration
    return {"duration_ms": round(seconds * 1000)} if seconds is not None and 0 < seconds < 10**7 else {}


def _check_archive(path: Path) -> None:
    """Refuse archives that expand to many times their size. Nothing is expanded here; clients would do it."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        return
    expanded, packed = sum(member.file_size for member in members), path.stat().st_size
    starts = {member.header_offset for member in members}
    if len(members) > MAX_ARCHIVE_FILES or len(starts) < len(members):
        raise RefusedFileError("the archive has too many files, or files that overlap")
    if expanded > MAX_ARCHIVE_BYTES or expanded > MAX_ARCHIVE_RATIO * max(packed, 1024 * 1024):
        raise RefusedFileError(f"the archive expands from {packed} to {expanded} bytes")


def main(arguments: list[str]) -> int:
    path, out, strips = Path(arguments[0]), Path(arguments[1]), arguments[2] == "strip"
    limit_resources()
    try:
        facts = decode_file(path, out, strips_metadata=strips)
    except RefusedFileError as error:
        facts = {"reason": str(error)}
    except MemoryError:
        facts = {"reason": "the file needs too much memory"}
    (out / "facts.json").write_text(json.dumps(facts))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
